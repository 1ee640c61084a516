#include "sdk/json_fields.h"

#include <cmath>

#include "base/time.h"

namespace takt {

using internal::JsonView;

JsonFields::JsonFields(const JsonView& object) {
    if (object.kind() != JsonView::Kind::kObject) return;
    JsonView::Members members(object);
    while (members.Next()) fields_.emplace_back(members.key(), members.value());
}

const JsonView* JsonFields::Find(std::string_view name) const {
    for (const auto& [key, value] : fields_) {
        if (key == name) return &value;
    }
    return nullptr;
}

std::string JsonFields::Text(std::string_view name) const {
    const JsonView* value = Find(name);
    if (!value || !value->is_string()) return {};
    std::string scratch;
    return std::string(value->AsString(scratch));
}

bool JsonFields::Bool(std::string_view name) const {
    const JsonView* value = Find(name);
    return value && value->AsBool().value_or(false);
}

double JsonFields::Number(std::string_view name) const {
    const JsonView* value = Find(name);
    return value ? value->AsDouble().value_or(0) : 0;
}

std::int64_t JsonFields::Integer(std::string_view name) const {
    const JsonView* value = Find(name);
    return value ? value->AsInteger().value_or(0) : 0;
}

std::string JsonFields::Raw(std::string_view name) const {
    const JsonView* value = Find(name);
    return value && !value->is_null() ? std::string(value->raw()) : std::string();
}

std::optional<Time> JsonFields::When(std::string_view name) const {
    const auto time = internal::ParseTime(Text(name));
    if (!time) return std::nullopt;
    return Time(time->time_since_epoch());
}

Duration JsonFields::Span(std::string_view name) const {
    const JsonView* value = Find(name);
    if (!value) return Duration(0);
    if (const auto seconds = value->AsDouble()) return Duration(std::llround(*seconds * 1000));
    return internal::ParseDuration(Text(name)).value_or(Duration(0));
}

std::vector<std::string> JsonFields::Texts(std::string_view name) const {
    std::vector<std::string> texts;
    const JsonView* list = Find(name);
    if (!list || list->kind() != JsonView::Kind::kArray) return texts;
    JsonView::Elements elements(*list);
    std::string scratch;
    while (elements.Next()) {
        if (elements.value().is_string()) texts.emplace_back(elements.value().AsString(scratch));
    }
    return texts;
}

std::map<std::string, std::string> JsonFields::Pairs(std::string_view name) const {
    std::map<std::string, std::string> pairs;
    const JsonView* object = Find(name);
    if (!object || object->kind() != JsonView::Kind::kObject) return pairs;
    JsonView::Members members(*object);
    std::string scratch;
    while (members.Next()) {
        if (!members.value().is_string()) continue;
        pairs.emplace(members.key(), members.value().AsString(scratch));
    }
    return pairs;
}

JsonFields JsonFields::Inner(std::string_view name) const {
    static const internal::JsonView kNothing("null");
    const internal::JsonView* inner = Find(name);
    return JsonFields(inner ? *inner : kNothing);
}

std::optional<double> JsonFields::NumberIf(std::string_view name) const {
    const internal::JsonView* value = Find(name);
    if (!value || value->is_null()) return std::nullopt;
    return Number(name);
}

}  // namespace takt
