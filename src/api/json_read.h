// Reads single values of a request, and says which field is at fault when one does not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_view.h"
#include "base/text.h"
#include "base/time.h"
#include "model/task.h"

namespace takt::internal {

std::unexpected<Error> BadField(std::string_view field, std::string_view why);

// "a, b or c"
std::string ListedOr(const std::vector<std::string_view>& names);

struct IntegerRange {
    std::int64_t min = 0;
    std::int64_t max = 0;
};
Result<std::int64_t> ReadInteger(const JsonView& value, std::string_view field, IntegerRange range);

struct NumberRange {
    double min = 0;
    double max = 0;
};
Result<double> ReadNumber(const JsonView& value, std::string_view field, NumberRange range);

Result<bool> ReadBool(const JsonView& value, std::string_view field);

// A number of seconds, or a text such as "90s" or "1h30m"; up to 100 years.
Result<Duration> ReadDuration(const JsonView& value, std::string_view field,
                              Duration min = Duration(0));

// RFC 3339.
Result<Time> ReadTime(const JsonView& value, std::string_view field);

// Any text, without control characters, of 1 to `bytes_max` bytes. The view lives as long as
// `scratch` is not touched.
Result<std::string_view> ReadText(const JsonView& value, std::string_view field,
                                  std::size_t bytes_max, std::string& scratch);

// Texts of 1 to `bytes_max` bytes, in their order.
struct TextsLimits {
    std::size_t count_max;
    std::size_t bytes_max;
};
Result<std::vector<std::string>> ReadTexts(const JsonView& value, std::string_view field,
                                           const TextsLimits& limits);

// Names and values; sorted by name.
struct PairLimits {
    std::size_t count_max;
    std::size_t key_bytes_max;
    std::size_t value_bytes_max;
};
Result<Pairs> ReadPairs(const JsonView& value, std::string_view field, const PairLimits& limits);

// "there is no field 'naem'; did you mean 'name'?"
std::unexpected<Error> UnknownField(std::string_view unknown,
                                    std::span<const std::string_view> known,
                                    std::string_view prefix = {});

// A JSON object that `text` spells. kInvalid or kExhausted otherwise.
Result<JsonView> ReadObject(std::string_view text, std::size_t bytes_max);

}  // namespace takt::internal
