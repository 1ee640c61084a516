#include "cli/given_fields.h"

#include <algorithm>
#include <boost/json/value.hpp>

#include "base/json.h"

namespace takt::internal::cli {

void GivenFields::Set(std::string_view name, std::string json) {
    for (auto& [known, value] : fields_) {
        if (known == name) {
            value = std::move(json);
            return;
        }
    }
    fields_.emplace_back(name, std::move(json));
}

void GivenFields::SetText(std::string_view name, std::string_view text) {
    Set(name, Quoted(text));
}

const std::string* GivenFields::Find(std::string_view name) const {
    for (const auto& [known, value] : fields_) {
        if (known == name) return &value;
    }
    return nullptr;
}

std::string GivenFields::Body() const {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    for (const auto& [name, value] : fields_) json.UserKey(name).Raw(value);
    json.EndObject();
    return body;
}

std::string FlagName(std::string_view field) {
    std::string name = field.size() == 1 ? "-" : "--";
    name += field;
    std::ranges::replace(name, '_', '-');
    return name;
}

std::string Quoted(std::string_view text) {
    std::string json;
    AppendJsonString(json, text);
    return json;
}

std::string JsonOrText(const std::string& given) {
    return CheckJson(given) ? given : Quoted(given);
}

std::string NumberOrText(const std::string& given) {
    const auto value = ParseJson(given);
    return value && value->is_number() ? given : Quoted(given);
}

std::string ListJson(const std::vector<std::string>& values) {
    std::string json = "[";
    for (const std::string& value : values) {
        if (json.size() > 1) json += ',';
        json += Quoted(value);
    }
    return json + "]";
}

}  // namespace takt::internal::cli
