// Fields of a task by the kind of their value: each of these makes a line of the table from a name,
// a sentence and the member that keeps it, which may be one of Task, TaskOptions or Recurrence.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json_read.h"
#include "api/json_schema.h"
#include "api/task_field.h"

namespace takt::internal::task_field {

using Kind = TaskField::Kind;
using Input = TaskField::Input;

struct Head {
    std::string_view name;
    std::string_view about;
    Kind kind = Kind::kAny;
    std::vector<std::string_view> also = {};
    std::string_view flags = {};
};

inline TaskField FieldOf(Head head, std::string takes, std::string gives, std::string type) {
    return {.name = head.name,
            .kind = head.kind,
            .about = head.about,
            .takes = std::move(takes),
            .gives = std::move(gives),
            .type = std::move(type),
            .also = std::move(head.also),
            .flags = head.flags};
}

// --- Where a member lives -----------------------------------------------------------------------

template <typename Owner>
Owner& Writable(TaskDraft& draft) {
    if constexpr (std::is_same_v<Owner, Task>) {
        return *draft.task;
    } else if constexpr (std::is_same_v<Owner, TaskOptions>) {
        return draft.opt();
    } else {
        return draft.recur();
    }
}

// Null: the task has no such part, and so the default.
template <typename Owner>
Owner* Present(TaskDraft& draft) {
    if constexpr (std::is_same_v<Owner, Task>) {
        return draft.task.get();
    } else if constexpr (std::is_same_v<Owner, TaskOptions>) {
        return draft.options.get();
    } else {
        return draft.options && draft.options->recurrence ? &*draft.options->recurrence : nullptr;
    }
}

template <typename Owner>
const Owner* Present(const Task& task) {
    if constexpr (std::is_same_v<Owner, Task>) {
        return &task;
    } else if constexpr (std::is_same_v<Owner, TaskOptions>) {
        return &task.opt();
    } else {
        return task.recurring() ? &*task.opt().recurrence : nullptr;
    }
}

// Carries a value that was read to where it belongs.
template <typename T, typename Store>
Result<void> Keep(Result<T> value, Store store) {
    if (!value) return std::unexpected(std::move(value.error()));
    store(std::move(*value));
    return {};
}

template <typename Owner, typename T>
TaskField::Clear Reset(T Owner::* place) {
    return [place](TaskDraft& draft, std::string_view) {
        if (Owner* owner = Present<Owner>(draft)) owner->*place = Owner().*place;
    };
}

// A field that recurring tasks always show is shown with its default too; others only where they
// say something.
template <typename Owner, typename T, typename WriteValue>
TaskField::Write Shown(T Owner::* place, WriteValue write, bool with_default = false) {
    return [place, write, with_default](JsonWriter& json, std::string_view name,
                                        const ShownTask& view) {
        const Owner* owner = Present<Owner>(view.task);
        if (!owner || (with_default && !view.task.recurring())) return;
        if (!with_default && owner->*place == Owner().*place) return;
        json.Key(name);
        write(json, owner->*place);
    };
}

template <typename Owner, typename T, typename ReadValue>
TaskField::Read Into(T Owner::* place, ReadValue read) {
    return [place, read](TaskDraft& draft, const JsonView& value, std::string_view name) {
        return Keep(read(value, name),
                    [&](auto found) { Writable<Owner>(draft).*place = T(std::move(found)); });
    };
}

// --- Kinds --------------------------------------------------------------------------------------

inline void WriteDuration(JsonWriter& json, Duration duration) {
    json.Value(std::string_view(FormatDuration(duration)));
}

template <typename Owner>
TaskField DurationField(Head head, Duration Owner::* place, Duration least) {
    TaskField field =
        FieldOf(std::move(head), schema::OrSeconds({}), schema::Duration(), "duration");
    field.input = Input::kValue;
    field.read = Into(place, [least](const JsonView& value, std::string_view name) {
        return ReadDuration(value, name, least);
    });
    field.clear = Reset(place);
    field.write = Shown(place, WriteDuration);
    return field;
}

// One of the three schedules; exactly one is given, so whoever names one is remembered.
template <typename Owner>
TaskField IntervalField(Head head, Duration Owner::* place, Duration least) {
    TaskField field = DurationField(std::move(head), place, least);
    field.read = [read = std::move(field.read)](TaskDraft& draft, const JsonView& value,
                                                std::string_view name) {
        draft.schedule_field = name;
        return read(draft, value, name);
    };
    field.clear = [clear = std::move(field.clear)](TaskDraft& draft, std::string_view name) {
        draft.schedule_field = name;
        clear(draft, name);
    };
    return field;
}

template <typename Owner>
TaskField TimeField(Head head, Time Owner::* place) {
    TaskField field = FieldOf(std::move(head), schema::Time(), schema::Time(), "time");
    field.read = Into(place, ReadTime);
    field.clear = Reset(place);
    field.write = Shown(place, [](JsonWriter& json, Time time) { json.Value(time); });
    return field;
}

template <typename Owner, typename Number>
TaskField CountField(Head head, Number Owner::* place, IntegerRange range,
                     bool with_default = false) {
    const std::string schema = schema::Integer(range.min, range.max);
    TaskField field = FieldOf(std::move(head), schema, schema,
                              std::to_string(range.min) + " to " + std::to_string(range.max));
    field.input = Input::kValue;
    field.read = Into(place, [range](const JsonView& value, std::string_view name) {
        return ReadInteger(value, name, range);
    });
    field.clear = Reset(place);
    field.write =
        Shown(place, [](JsonWriter& json, Number number) { json.Value(number); }, with_default);
    return field;
}

template <typename Owner>
TaskField TextField(Head head, internal::Text Owner::* place, std::size_t bytes_max) {
    TaskField field = FieldOf(std::move(head), schema::Text(), schema::Text(),
                              "text of up to " + std::to_string(bytes_max) + " bytes");
    field.read = Into(
        place, [bytes_max](const JsonView& value, std::string_view name) -> Result<internal::Text> {
            std::string scratch;
            const auto text = ReadText(value, name, bytes_max, scratch);
            if (!text) return std::unexpected(text.error());
            return internal::Text(*text);
        });
    field.clear = Reset(place);
    field.write =
        Shown(place, [](JsonWriter& json, const internal::Text& text) { json.Value(text.view()); });
    return field;
}

template <typename Owner>
TaskField PairsField(Head head, Pairs Owner::* place, PairLimits limits) {
    TaskField field = FieldOf(std::move(head), schema::Map(), schema::Map(),
                              "up to " + std::to_string(limits.count_max) + " names and texts");
    field.input = Input::kPairs;
    field.read = Into(place, [limits](const JsonView& value, std::string_view name) {
        return ReadPairs(value, name, limits);
    });
    field.clear = Reset(place);
    field.write = Shown(place, [](JsonWriter& json, const Pairs& pairs) {
        json.BeginObject();
        for (const auto& [name, value] : pairs) json.UserKey(name).Value(value.view());
        json.EndObject();
    });
    return field;
}

template <typename Owner>
TaskField TruthField(Head head, bool Owner::* place) {
    TaskField field = FieldOf(std::move(head), schema::Bool(), schema::Bool(), "true or false");
    field.input = Input::kTruth;
    field.read = Into(place, ReadBool);
    field.clear = Reset(place);
    field.write = Shown(place, [](JsonWriter& json, bool truth) { json.Value(truth); }, true);
    return field;
}

// "a, b, c"
std::string Listed(const std::vector<std::string_view>& names);

// The names of an enumeration, from the first to `last`.
template <typename Enum>
std::vector<std::string_view> NamesTo(Enum last) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
        names.push_back(Name(static_cast<Enum>(i)));
    }
    return names;
}

template <typename Owner, typename Enum>
TaskField ChoiceField(Head head, Enum Owner::* place,
                      std::optional<Enum> (*parse)(std::string_view), Enum last) {
    const std::vector<std::string_view> names = NamesTo(last);
    TaskField field =
        FieldOf(std::move(head), schema::OneOf(names), schema::OneOf(names), Listed(names));
    field.read =
        Into(place, [parse, names](const JsonView& value, std::string_view name) -> Result<Enum> {
            std::string scratch;
            const auto known = value.is_string() ? parse(value.AsString(scratch)) : std::nullopt;
            if (known) return *known;
            return BadField(name, "must be one of " + Listed(names));
        });
    field.clear = Reset(place);
    field.write = Shown(place, [](JsonWriter& json, Enum each) { json.Value(Name(each)); }, true);
    return field;
}

}  // namespace takt::internal::task_field
