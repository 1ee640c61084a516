#include "sdk/event_text.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "sdk/json_fields.h"

namespace takt {
namespace {

// "data: …" of an event as it is sent.
std::string_view FieldOf(std::string_view event, std::string_view name) {
    while (!event.empty()) {
        const std::size_t end = std::min(event.find('\n'), event.size());
        const std::string_view line = event.substr(0, end);
        if (line.starts_with(name)) return line.substr(name.size());
        event.remove_prefix(std::min(end + 1, event.size()));
    }
    return {};
}

std::optional<Event> ReadEvent(std::string_view kind, std::string_view data, std::uint64_t serial) {
    const auto type = ParseEventType(kind);
    // Of a later version: nobody can have asked for it by name.
    if (!type || !internal::CheckJson(data, {.bytes_max = data.size()})) return std::nullopt;
    const JsonFields fields{internal::JsonView(data)};
    Event event{.serial = serial, .type = *type};
    event.at = fields.When("at").value_or(Time());
    event.task_id = fields.Text("task_id");
    event.execution_id = fields.Text("execution_id");
    event.worker_id = fields.Text("worker_id");
    event.attempt = fields.Count<std::uint32_t>("attempt");
    event.detail = *type == EventType::kAlert ? std::string(data) : fields.Text("detail");
    return event;
}

HeardEvent ReadHeard(std::string_view text) {
    HeardEvent heard{.id = FieldOf(text, "id: ")};
    const std::string_view kind = FieldOf(text, "event: ");
    heard.reset = kind == "reset";
    std::uint64_t serial = 0;
    std::from_chars(heard.id.data(), heard.id.data() + heard.id.size(), serial);
    if (!heard.reset) heard.event = ReadEvent(kind, FieldOf(text, "data: "), serial);
    return heard;
}

}  // namespace

void EventText::Append(std::string_view piece, const Each& each) {
    rest_.append(piece);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find("\n\n", begin)) != rest_.npos;) {
        each(ReadHeard(std::string_view(rest_).substr(begin, end - begin)));
        begin = end + 2;
    }
    rest_.erase(0, begin);
}

Event MissedEvent() {
    return {.type = EventType::kMissed,
            .at = Now(),
            .detail = "events were missed; read the state again"};
}

}  // namespace takt
