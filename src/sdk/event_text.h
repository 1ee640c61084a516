// The text of an event stream, taken apart.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "takt/event.h"

namespace takt {

struct HeardEvent {
    std::string_view id;         // Empty: it has none.
    bool reset = false;          // Events were missed.
    std::optional<Event> event;  // None for a type that this version does not know.
};

class EventText {
  public:
    using Each = std::function<void(const HeardEvent&)>;

    // Calls `each` for each event that is whole with this piece.
    void Append(std::string_view piece, const Each& each);
    // Another stream begins.
    void Clear() { rest_.clear(); }

  private:
    std::string rest_;  // Of an event that has not come whole.
};

// The event that tells callbacks that something was missed.
Event MissedEvent();

}  // namespace takt
