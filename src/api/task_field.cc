#include "api/task_field.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <iterator>
#include <span>

#include "api/json_read.h"

namespace takt::internal {
namespace {

// All names of all fields. Each member of each task of a flood is looked up.
struct TaskFieldIndex {
    std::vector<std::string_view> names;                               // In order.
    boost::unordered_flat_map<std::string_view, std::size_t> numbers;  // Of the field, by name.

    TaskFieldIndex() {
        const auto fields = TaskFields();
        for (std::size_t i = 0; i < fields.size(); ++i) {
            numbers.emplace(fields[i].name, i);
            for (const std::string_view also : fields[i].also) numbers.emplace(also, i);
        }
        for (const auto& [name, number] : numbers) names.push_back(name);
        std::ranges::sort(names);
    }
};

// Names that people try for what is a part of another field.
struct Elsewhere {
    std::string_view tried;
    std::string_view field;
    std::string_view example;
};
constexpr Elsewhere kElsewhere[] = {
    {"retry", "retry_policy", R"({"retry_policy": {"max_retries": 3, "delay": "10s"}})"},
    {"retries", "max_retry", R"({"max_retry": 3})"},
    {"retry_count", "max_retry", R"({"max_retry": 3})"},
    {"retry_delay", "retry_policy.delay", R"({"retry_policy": {"delay": "10s"}})"},
    {"retry_delay_max", "retry_policy.delay_max", R"({"retry_policy": {"delay_max": "5m"}})"},
    {"retry_backoff", "retry_policy.backoff_rate", R"({"retry_policy": {"backoff_rate": 2}})"},
    {"retry_jitter", "retry_policy.jitter", R"({"retry_policy": {"jitter": 0.1}})"},
};

std::unexpected<Error> NoTaskField(std::string_view name, std::span<const std::string_view> known) {
    const auto* const place = std::ranges::find(kElsewhere, name, &Elsewhere::tried);
    if (place == std::end(kElsewhere)) return UnknownField(name, known);
    return Fail(ErrorCode::kInvalid,
                "there is no field '" + std::string(name) + "'; it is '" +
                    std::string(place->field) + "': " + std::string(place->example),
                std::string(name));
}

const TaskFieldIndex& TheTaskFields() {
    static const TaskFieldIndex index;
    return index;
}

}  // namespace

std::optional<std::size_t> FindTaskField(std::string_view name) {
    const auto& numbers = TheTaskFields().numbers;
    const auto found = numbers.find(name);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

Result<void> ReadTaskField(TaskDraft& draft, std::string_view name, const JsonView& value,
                           bool accept_read_only) {
    const TaskFieldIndex& index = TheTaskFields();
    const auto found = index.numbers.find(name);
    if (found == index.numbers.end()) return NoTaskField(name, index.names);
    const std::size_t number = found->second;
    const TaskField& field = TaskFields()[number];
    // The caller's name goes with his text; the table's own copy of it stays.
    name = found->first;
    if (field.kind == TaskField::Kind::kReadOnly) {
        if (accept_read_only) return {};
        return BadField(name, "is set by the scheduler; leave it out");
    }
    if (value.is_null()) {
        field.clear(draft, name);
        return {};
    }
    std::string_view& seen = draft.seen[number];
    if (!seen.empty()) {
        return BadField(name, "is given twice: '" + std::string(seen) +
                                  "' is another name for it; give one of them");
    }
    seen = name;
    return field.read(draft, value, name);
}

const Text& TextPool::Get(std::string_view text) {
    Text& slot = texts_[TextHash{}(text) % texts_.size()];
    if (!(slot == text)) slot = Text(text);
    return slot;
}

TaskOptions& TaskDraft::opt() {
    if (!options) options = std::make_unique<TaskOptions>();
    return *options;
}

std::string_view TaskDraft::SeenAs(std::string_view field) const {
    const auto number = FindTaskField(field);
    return number ? seen[*number] : std::string_view();
}

Recurrence& TaskDraft::recur() {
    TaskOptions& made = opt();
    if (!made.recurrence) made.recurrence.emplace();
    return *made.recurrence;
}

}  // namespace takt::internal
