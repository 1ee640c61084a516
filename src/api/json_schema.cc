#include "api/json_schema.h"

#include <algorithm>

#include "base/json.h"

namespace takt::internal::schema {

std::string Any() {
    return "{}";
}
std::string Text() {
    return R"({"type":"string"})";
}
std::string TextTo(std::size_t length_max, std::size_t length_min) {
    std::string text = R"({"type":"string")";
    if (length_min > 0) text += ",\"minLength\":" + std::to_string(length_min);
    return text + ",\"maxLength\":" + std::to_string(length_max) + "}";
}
std::string Id() {
    return R"({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$"})";
}
std::string Time() {
    return R"({"type":"string","format":"date-time"})";
}
std::string Duration() {
    return R"({"type":"string","examples":["90s","1h30m"]})";
}
std::string Number() {
    return R"({"type":"number"})";
}
std::string Number(double min, double max) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("type", "number").Field("minimum", min).Field("maximum", max);
    json.EndObject();
    return text;
}
std::string Bool() {
    return R"({"type":"boolean"})";
}

std::string Integer(std::optional<std::int64_t> min, std::optional<std::int64_t> max) {
    std::string text = R"({"type":"integer")";
    if (min) text += ",\"minimum\":" + std::to_string(*min);
    if (max) text += ",\"maximum\":" + std::to_string(*max);
    return text + "}";
}

std::string OneOf(const std::vector<std::string_view>& names) {
    std::string text = "{\"enum\":[";
    for (const std::string_view name : names) {
        if (text.back() != '[') text += ',';
        AppendJsonString(text, name);
    }
    return text + "]}";
}

std::string Map() {
    return R"({"type":"object","additionalProperties":{"type":"string"}})";
}

std::string ListOf(std::string_view item, std::optional<std::size_t> count_max,
                   std::size_t count_min) {
    std::string text = R"({"type":"array",)";
    if (count_min > 0) text += "\"minItems\":" + std::to_string(count_min) + ",";
    if (count_max) text += "\"maxItems\":" + std::to_string(*count_max) + ",";
    return text + "\"items\":" + std::string(item) + "}";
}

std::string Reference(std::string_view name) {
    return R"({"$ref":"#/components/schemas/)" + std::string(name) + "\"}";
}

std::string PageOf(std::string_view name) {
    return Object()
        .Add("items", ListOf(Reference(name)))
        .Add("next_cursor", R"({"type":["string","null"]})")
        .Text();
}

std::string OrNull(std::string_view schema) {
    // The usual case is the short one.
    constexpr std::string_view kType = R"({"type":")";
    if (schema.starts_with(kType)) {
        const std::size_t end = schema.find('"', kType.size());
        const std::string type(schema.substr(kType.size(), end - kType.size()));
        return R"({"type":[")" + type + R"(","null"])" + std::string(schema.substr(end + 1));
    }
    return R"({"anyOf":[)" + std::string(schema) + R"(,{"type":"null"}]})";
}

std::string OrText(std::string_view schema) {
    return R"({"anyOf":[)" + std::string(schema) + "," + Text() + "]}";
}

std::string OrSeconds(std::string_view description) {
    return Described(R"({"type":["string","number"],"examples":["90s","1h30m",90]})", description);
}

std::string Described(std::string schema, std::string_view about) {
    if (about.empty()) return schema;
    schema.pop_back();
    if (schema.size() > 1) schema += ',';
    schema += "\"description\":";
    AppendJsonString(schema, about);
    return schema + "}";
}

Object& Object::Add(std::string_view name, std::string_view schema, bool required) {
    names_.emplace_back(name);
    if (!properties_.empty()) properties_ += ',';
    AppendJsonString(properties_, name);
    properties_ += ':';
    properties_ += schema;
    return required ? Require(name) : *this;
}

Object& Object::Require(std::string_view name) {
    if (!required_.empty()) required_ += ',';
    AppendJsonString(required_, name);
    return *this;
}

bool Object::Has(std::string_view name) const {
    return std::ranges::find(names_, name) != names_.end();
}

std::string Object::Text() const {
    std::string text = R"({"type":"object")";
    if (!required_.empty()) text += ",\"required\":[" + required_ + "]";
    return text + ",\"properties\":{" + properties_ + "},\"additionalProperties\":false}";
}

}  // namespace takt::internal::schema
