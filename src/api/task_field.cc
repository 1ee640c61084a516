#include "api/task_field.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "api/json_read.h"

namespace takt::internal {
namespace {

// All names of all fields, for finding them fast.
struct TaskFieldIndex {
    std::vector<std::string_view> names;  // In order.
    std::vector<std::size_t> numbers;     // Of the field, in the order of names.

    TaskFieldIndex() {
        std::vector<std::pair<std::string_view, std::size_t>> all;
        const auto fields = TaskFields();
        for (std::size_t i = 0; i < fields.size(); ++i) {
            all.emplace_back(fields[i].name, i);
            for (const std::string_view also : fields[i].also) all.emplace_back(also, i);
        }
        std::ranges::sort(all);
        for (const auto& [name, number] : all) {
            names.push_back(name);
            numbers.push_back(number);
        }
    }

    // The place in both lists; nothing if no field has this name.
    std::optional<std::size_t> Find(std::string_view name) const {
        const auto found = std::ranges::lower_bound(names, name);
        if (found == names.end() || *found != name) return std::nullopt;
        return static_cast<std::size_t>(found - names.begin());
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
    const TaskFieldIndex& index = TheTaskFields();
    const auto place = index.Find(name);
    return place ? std::optional(index.numbers[*place]) : std::nullopt;
}

Result<void> ReadTaskField(TaskDraft& draft, std::string_view name, const JsonView& value,
                           bool accept_read_only) {
    const TaskFieldIndex& index = TheTaskFields();
    const auto place = index.Find(name);
    if (!place) return NoTaskField(name, index.names);
    const std::size_t number = index.numbers[*place];
    const TaskField& field = TaskFields()[number];
    // The caller's name goes with his text; the table's own copy of it stays.
    name = index.names[*place];
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
