// JSON texts compared and taken apart, letter by letter where numbers are concerned: 1.50 stays
// 1.50, and a number of thirty digits stays what it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_view.h"

namespace takt::internal {

// REQUIRES of all: the texts are valid JSON; see CheckJson.

// Nothing if it is no object, or has no such member.
std::optional<JsonView> MemberOf(const JsonView& object, std::string_view name);
// The content of a member that is a text; else empty.
std::string TextOf(const JsonView& object, std::string_view name);

// The same value without spaces, its names in order: equal values have equal texts.
std::string NormalJson(const JsonView& value);

// A place where two values differ: "retry_policy.delay", "steps[2].after". An empty text: there is
// nothing.
struct FieldChange {
    std::string field;
    std::string before;
    std::string after;
};

// Adds what differs, as deep as both have the same shape. null counts as nothing.
void AddChanges(const std::string& field, std::optional<JsonView> before,
                std::optional<JsonView> after, std::vector<FieldChange>& to);

}  // namespace takt::internal
