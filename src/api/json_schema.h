// JSON Schemas in small: the texts that /openapi.json is put together from. Each function gives one
// schema, a JSON object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal::schema {

std::string Any();
std::string Text();
std::string TextTo(std::size_t length_max, std::size_t length_min = 1);
std::string Id();        // As callers may choose one.
std::string Time();      // RFC 3339.
std::string Duration();  // "90s", as answers have it.
std::string Number();
std::string Number(double min, double max);
std::string Bool();
// The bounds are part of it where they are given.
std::string Integer(std::optional<std::int64_t> min = {}, std::optional<std::int64_t> max = {});
std::string OneOf(const std::vector<std::string_view>& names);
std::string Map();  // Of names and texts.
// Of what the schema `item` says; as long as it likes unless a bound is given.
std::string ListOf(std::string_view item, std::optional<std::size_t> count_max = {},
                   std::size_t count_min = 0);
std::string Reference(std::string_view name);         // One of the document's schemas.
std::string PageOf(std::string_view name);            // {"items": […], "next_cursor": …}
std::string OrNull(std::string_view schema);          // Or null.
std::string OrText(std::string_view schema);          // Or a text that says it in short.
std::string OrSeconds(std::string_view description);  // A duration as requests may have it.

// `schema` with a sentence in it, unless that is empty.
std::string Described(std::string schema, std::string_view about);

// An object with nothing but these members.
class Object {
  public:
    Object& Add(std::string_view name, std::string_view schema, bool required = true);
    bool Has(std::string_view name) const;
    Object& Require(std::string_view name);  // Of one that was added without.
    std::string Text() const;

  private:
    std::vector<std::string> names_;
    std::string properties_;
    std::string required_;
};

}  // namespace takt::internal::schema
