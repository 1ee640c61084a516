// The table of a resource's answer: each of its fields once, with its name, its JSON Schema, its
// sentence and how it is written. What is sent and what /openapi.json says of it come from the same
// line, so that neither can be changed without the other.
//
//     const AnswerTable<Token> kTokenFields = {
//         {"id", schema::Text(), "…", [](JsonWriter& json, const Token& t) { json.Value(t.id); }},
//         …};
//     json.BeginObject();
//     WriteFields(json, kTokenFields, token);
//     json.EndObject();
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json_schema.h"
#include "base/json.h"

namespace takt::internal {

template <typename Row>
struct AnswerField {
    std::string_view name;
    std::string schema;      // Of its value.
    std::string_view about;  // One sentence; empty where the name says it all.
    void (*write)(JsonWriter& json, const Row& row);  // The value, whose key is there already.
    bool (*shown)(const Row& row) = nullptr;          // Null: in every answer.
};

template <typename Row>
using AnswerTable = std::vector<AnswerField<Row>>;

// Into an object that is open.
template <typename Row>
void WriteFields(JsonWriter& json, const AnswerTable<Row>& fields, const Row& row) {
    for (const AnswerField<Row>& field : fields) {
        if (field.shown && !field.shown(row)) continue;
        json.Key(field.name);
        field.write(json, row);
    }
}

// Adds those that the object does not have yet.
template <typename Row>
schema::Object& AddFields(schema::Object& object, const AnswerTable<Row>& fields,
                          bool required = true) {
    for (const AnswerField<Row>& field : fields) {
        if (object.Has(field.name)) continue;
        object.Add(field.name, schema::Described(field.schema, field.about),
                   required && !field.shown);
    }
    return object;
}

template <typename Row>
std::string AnswerSchema(const AnswerTable<Row>& fields) {
    schema::Object object;
    return AddFields(object, fields).Text();
}

}  // namespace takt::internal
