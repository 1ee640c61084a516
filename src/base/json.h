// JSON from strangers, and JSON for them.
//
// Reading is strict: what two programs could understand differently (a key that comes twice, a
// number that does not fit, broken UTF-8) is refused, so that what Takt stores is what the sender
// meant. The tree is boost::json's; who looks into one includes <boost/json/value.hpp>.
#pragma once

#include <boost/json/fwd.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

struct JsonLimits {
    std::size_t bytes_max = 1 << 20;  // As REST bodies; callers with other bounds say so.
    std::size_t depth_max = 64;       // Deep enough for people, far from the end of any stack.
};
// Of a scheduler's answer: what it shows may be as deep as that, and lies in objects and lists.
constexpr std::size_t kAnswerDepthMax = 80;

// The value that `text` spells, whole. kInvalid, with line and column, for anything but one RFC
// 8259 value; kExhausted if it is longer than `bytes_max`. Integers are exact or refused, other
// numbers are the nearest double or, when there is none (1e400), refused.
Result<boost::json::value> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Whether ParseJson would accept it; cheaper, since nothing is built.
Result<void> CheckJson(std::string_view text, const JsonLimits& limits = {});

// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD: an
// answer must be valid whatever a worker reported.
void AppendJsonString(std::string& out, std::string_view text);

// Appends a tree, in the order of its members. Numbers are written in the shortest form that reads
// back as the same, and stay what they are: 1.0 does not become 1.
void AppendJson(std::string& out, const boost::json::value& value);

// Writes JSON straight into a string, with commas where they belong:
//
//   JsonWriter json(out);
//   json.BeginObject().Field("id", id.view()).Field("attempt", 3);
//   json.Key("labels").BeginArray().Value("gpu").EndArray();
//   json.EndObject();
//
// Keys come from our own code and are written as they are; others go through UserKey. REQUIRES:
// keys need no escaping; each value in an object follows a key; every Begin has its End.
class JsonWriter {
  public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    JsonWriter& BeginObject() { return Open('{'); }
    JsonWriter& EndObject() { return Close('}'); }
    JsonWriter& BeginArray() { return Open('['); }
    JsonWriter& EndArray() { return Close(']'); }
    JsonWriter& Key(std::string_view key);
    JsonWriter& UserKey(std::string_view key);  // Of somebody's choice; escaped as it needs.

    JsonWriter& Value(std::string_view text);
    JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
    JsonWriter& Value(bool value);
    JsonWriter& Value(double value);  // null for infinities and NaN, which JSON cannot spell.
    JsonWriter& Value(Time time);     // RFC 3339; null for 0, which stands for none everywhere.
    template <std::integral Number>
    JsonWriter& Value(Number number) {
        if constexpr (std::signed_integral<Number>) {
            return Signed(static_cast<std::int64_t>(number));
        } else {
            return Unsigned(static_cast<std::uint64_t>(number));
        }
    }
    JsonWriter& Null();
    JsonWriter& Raw(std::string_view json);  // REQUIRES: one valid value; see CheckJson.

    template <typename T>
    JsonWriter& Field(std::string_view key, const T& value) {
        return Key(key).Value(value);
    }

  private:
    JsonWriter& Open(char bracket);
    JsonWriter& Close(char bracket);
    JsonWriter& Signed(std::int64_t number);
    JsonWriter& Unsigned(std::uint64_t number);
    void Separate();

    std::string& out_;
    bool comma_ = false;  // The next value or key has one before it in its container.
};

}  // namespace takt::internal
