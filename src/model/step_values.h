// Values in a step's JSON that stand for others, and what they stand for.
//
//   {"$from": "extract", "pointer": "/rows", "default": []}   part of an earlier step's result
//   {"$input": "/day"}                                        part of the run's own parameters
//   {"$item": "/path"}                                        part of the item of `for_each`
//   {"$literal": {"$from": "x"}}                              the value itself, whatever it looks like
//
// A pointer is a JSON pointer (RFC 6901); none, or "", is the whole. Pure: texts in, texts out, and
// whatever is not replaced, numbers above all, stays letter by letter as it was written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace takt::internal {

// Payloads and results may be as large as a store takes them, and each was checked when it came.
constexpr JsonLimits kAnyJson{.bytes_max = 64u << 20};
// What a reference stands for: a list of values, each as deep as may be, of which it may take one.
constexpr JsonLimits kSourceJson{.bytes_max = 64u << 20, .depth_max = kAnyJson.depth_max + 1};

struct StepReference {
    enum class Kind : std::uint8_t { kFrom, kInput, kItem };
    Kind kind{};
    std::string step;  // Of kFrom.
    std::string pointer;
    bool has_default = false;
};

// Whether anything in `json` may have to be replaced; else it is what it stands for.
bool MayRefer(std::string_view json);

// Calls `visit` for each reference in `json`. Nothing for a text that is not JSON: it has none.
void ForEachReference(std::string_view json,
                      const std::function<void(const StepReference&)>& visit);

// kInvalid if an object looks like a reference and is none: another member beside it, a pointer that
// is no pointer, a step's name that is no text.
Result<void> CheckReferences(std::string_view json);

// Where values come from.
struct ValueSources {
    // The result of a step: nothing if there is none. It may be no JSON: then it is a string.
    std::function<std::optional<std::string_view>(std::string_view step)> result;
    std::string_view input;  // The run's parameters; empty if it has none.
    std::optional<std::string_view> item;
    // Whether the value is compared: results that are given by reference cannot be.
    bool compared = false;
};

// `json` with every reference replaced by what it stands for. kNotFound, with a sentence, if a value
// is not there and has no default; kExhausted, whatever its default, if it is in results that are given
// by reference; kInvalid if what comes of it is nested too deep. A text that is not JSON is given back
// as it is.
Result<std::string> FillIn(std::string_view json, const ValueSources& sources);

// The part of a JSON text that the pointer names; nothing if it is not there. REQUIRES: CheckJson
// accepts `json`.
std::optional<std::string_view> AtPointer(std::string_view json, std::string_view pointer);

// Whether both texts are the same JSON value: members in any order, 1 and 1.0 are one number.
// REQUIRES: CheckJson accepts both.
bool SameJson(std::string_view a, std::string_view b);

}  // namespace takt::internal
