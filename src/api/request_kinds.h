// Fields of a request by the kind of their value. Each takes the place where the value is kept: a
// member of the request, or a function that finds the place in it.
//
//     using Take = TakenBy<TokenRequest>;
//     Take::Text(&TokenRequest::name, 100)
//     Take::Text([](Registration& r) -> Text& { return r.worker.group; }, 200)
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/request_table.h"

namespace takt::internal {

template <typename Request>
class TakenBy {
  public:
    template <typename Place>
    static Taken<Request> Truth(Place place) {
        return Own(schema::Bool(), "true or false", Into(place, ReadBool));
    }

    template <typename Place>
    static Taken<Request> Count(Place place, IntegerRange range) {
        return Own(schema::Integer(range.min, range.max),
                   std::to_string(range.min) + " to " + std::to_string(range.max),
                   Into(place, [range](const JsonView& value, std::string_view name) {
                       return ReadInteger(value, name, range);
                   }));
    }

    template <typename Place>
    static Taken<Request> Number(Place place, NumberRange range) {
        return Own(schema::Number(range.min, range.max), "number",
                   Into(place, [range](const JsonView& value, std::string_view name) {
                       return ReadNumber(value, name, range);
                   }));
    }

    template <typename Place>
    static Taken<Request> Duration(Place place, internal::Duration least) {
        return Own(schema::OrSeconds({}), "duration",
                   Into(place, [least](const JsonView& value, std::string_view name) {
                       return ReadDuration(value, name, least);
                   }));
    }

    template <typename Place>
    static Taken<Request> Text(Place place, std::size_t bytes_max) {
        return Own(schema::TextTo(bytes_max),
                   "text of up to " + std::to_string(bytes_max) + " bytes",
                   [place, bytes_max](Request& request, const JsonView& value,
                                      std::string_view name) -> Result<void> {
                       std::string scratch;
                       const auto text = ReadText(value, name, bytes_max, scratch);
                       if (!text) return std::unexpected(text.error());
                       Put(std::invoke(place, request), *text);
                       return {};
                   });
    }

    // A text that may also be empty.
    template <typename Place>
    static Taken<Request> TextOrNone(Place place, std::size_t bytes_max) {
        Taken<Request> taken = Text(place, bytes_max);
        taken.schema = schema::TextTo(bytes_max, 0);
        taken.read = [place, read = std::move(taken.read)](Request& request, const JsonView& value,
                                                           std::string_view name) -> Result<void> {
            std::string scratch;
            if (!value.is_string() || !value.AsString(scratch).empty()) {
                return read(request, value, name);
            }
            Put(std::invoke(place, request), std::string_view());
            return {};
        };
        return taken;
    }

    // An id of the type that the place has.
    template <typename Place>
    static Taken<Request> Id(Place place) {
        using Kept = std::remove_cvref_t<std::invoke_result_t<Place, Request&>>;
        return Own(schema::Id(), "1 to 64 of A-Z a-z 0-9 . _ ~ -",
                   Into(place, [](const JsonView& value, std::string_view name) {
                       std::string scratch;
                       return Kept::Parse(
                           value.is_string() ? value.AsString(scratch) : std::string_view(), name);
                   }));
    }

    // A list of texts.
    template <typename Place>
    static Taken<Request> Texts(Place place, std::size_t bytes_max, std::size_t count_max) {
        const std::string most = std::to_string(count_max);
        return Own(schema::ListOf(schema::TextTo(bytes_max), count_max), "up to " + most + " texts",
                   Into(place, [=](const JsonView& value, std::string_view name) {
                       return ReadTexts(value, name,
                                        {.count_max = count_max, .bytes_max = bytes_max});
                   }));
    }

    template <typename Place>
    static Taken<Request> Pairs(Place place, PairLimits limits) {
        return Own(schema::Map(), "up to " + std::to_string(limits.count_max) + " names and texts",
                   Into(place, [limits](const JsonView& value, std::string_view name) {
                       return ReadPairs(value, name, limits);
                   }));
    }

    // A text that `parse` knows: one of `names`.
    template <typename Place, typename Value>
    static Taken<Request> Choice(Place place, std::optional<Value> (*parse)(std::string_view),
                                 const std::vector<std::string_view>& names) {
        return Own(schema::OneOf(names), ListedOr(names),
                   [place, parse, names](Request& request, const JsonView& value,
                                         std::string_view name) -> Result<void> {
                       std::string scratch;
                       const std::string_view text =
                           value.is_string() ? value.AsString(scratch) : std::string_view();
                       const auto known = parse(text);
                       // Some know more names than are offered.
                       if (!known || std::ranges::find(names, Name(*known)) == names.end()) {
                           return BadField(name, "must be " + ListedOr(names));
                       }
                       Put(std::invoke(place, request), *known);
                       return {};
                   });
    }

    // A value with a rule of its own.
    static Taken<Request> Own(std::string schema, std::string words,
                              decltype(Taken<Request>::read) read) {
        return {.schema = std::move(schema), .words = std::move(words), .read = std::move(read)};
    }

  private:
    template <typename Kept, typename Value>
    static void Put(std::optional<Kept>& place, Value value) {
        place = static_cast<Kept>(std::move(value));
    }
    template <typename Kept, typename Value>
    static void Put(Kept& place, Value value) {
        place = static_cast<Kept>(std::move(value));
    }

    template <typename Place, typename Read>
    static decltype(Taken<Request>::read) Into(Place place, Read read) {
        return [place, read](Request& request, const JsonView& value,
                             std::string_view name) -> Result<void> {
            auto found = read(value, name);
            if (!found) return std::unexpected(std::move(found.error()));
            Put(std::invoke(place, request), std::move(*found));
            return {};
        };
    }
};

}  // namespace takt::internal
