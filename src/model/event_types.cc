#include "model/event_types.h"

namespace takt::internal {

std::uint32_t EventTypesNamed(std::string_view name) {
    std::uint32_t types = 0;
    for (int i = 0; i < kEventTypeCount; ++i) {
        const std::string_view known = Name(static_cast<EventType>(i));
        if (known == name || known.substr(0, known.find('.')) == name) types |= 1u << i;
    }
    return types;
}

}  // namespace takt::internal
