// The table of a request: each of its fields once, with its name, its sentence, the values that it
// may have and how they are read. What is taken and what /openapi.json says of it come from the
// same line.
//
//     const RequestTable<Nap> kNapFields = {
//         {"length", "How long it lasts.",
//          TakenBy<Nap>::Duration(&Nap::length, Duration(1'000)).Required()}};
//     const auto nap = ReadRequest(kNapFields, object);  // Result<Nap>
//
// request_kinds.h has TakenBy; resource_table.h joins requests with answers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json_read.h"
#include "api/json_schema.h"
#include "base/error.h"
#include "base/json_view.h"

namespace takt::internal {

// How a request has a field.
template <typename Request>
struct Taken {
    std::string schema;  // Of its value. Empty: a request does not have it.
    std::string words;   // The values that it may have, for people.
    // Blames `name`, which is the field's with those of the objects around it: "rate_limit.count".
    std::function<Result<void>(Request& request, const JsonView& value, std::string_view name)>
        read = {};
    std::function<void(Request& request)> clear = {};  // For null; without it null is refused.
    bool required = false;

    Taken Required() && {
        required = true;
        return std::move(*this);
    }
    // null is taken too, and means what `to` does.
    Taken Clears(std::function<void(Request& request)> to) && {
        clear = std::move(to);
        schema = schema::OrNull(schema);
        return std::move(*this);
    }
};

template <typename Request>
struct RequestField {
    std::string_view name;
    std::string_view about;  // One sentence; empty where the name says it all.
    Taken<Request> taken;
};

template <typename Request>
using RequestTable = std::vector<RequestField<Request>>;

// Reads the members of `object` into `request`; those that it leaves out stay as they are there.
// All mistakes, kInvalid with the field at fault; if there is one, `request` is of no use. `prefix`
// names the object itself, if it is the value of a field: "rate_limit.".
template <typename Request>
std::vector<Error> ReadMembers(const RequestTable<Request>& fields, const JsonView& object,
                               Request& request, std::string_view prefix = {}) {
    std::vector<Error> mistakes;
    std::vector<bool> given(fields.size());
    JsonView::Members members(object);
    while (members.Next()) {
        std::size_t at = 0;
        while (at < fields.size() && fields[at].name != members.key()) ++at;
        if (at == fields.size()) {
            std::vector<std::string_view> names;
            for (const RequestField<Request>& field : fields) names.push_back(field.name);
            mistakes.push_back(UnknownField(members.key(), names, prefix).error());
            continue;
        }
        given[at] = true;
        const Taken<Request>& taken = fields[at].taken;
        if (taken.clear && members.value().is_null()) {
            taken.clear(request);
            continue;
        }
        const std::string name = std::string(prefix) + std::string(fields[at].name);
        auto read = taken.read(request, members.value(), name);
        if (!read) mistakes.push_back(std::move(read.error()));
    }
    for (std::size_t at = 0; at < fields.size(); ++at) {
        if (!fields[at].taken.required || given[at]) continue;
        mistakes.push_back(
            BadField(std::string(prefix) + std::string(fields[at].name), "is missing").error());
    }
    return mistakes;
}

// The same for a request that is refused for its first mistake.
template <typename Request>
Result<Request> ReadRequest(const RequestTable<Request>& fields, const JsonView& object,
                            Request request = {}, std::string_view prefix = {}) {
    std::vector<Error> mistakes = ReadMembers(fields, object, request, prefix);
    if (!mistakes.empty()) return std::unexpected(std::move(mistakes.front()));
    return request;
}

template <typename Request>
schema::Object& AddRequestFields(schema::Object& object, const RequestTable<Request>& fields) {
    for (const RequestField<Request>& field : fields) {
        object.Add(field.name, schema::Described(field.taken.schema, field.about),
                   field.taken.required);
    }
    return object;
}

template <typename Request>
std::string RequestSchema(const RequestTable<Request>& fields) {
    schema::Object object;
    return AddRequestFields(object, fields).Text();
}

}  // namespace takt::internal
