// Json: a small value for payloads and results. Numbers stay as they were written: 1.50 is not 1.5, and
// a fraction of thirty digits keeps them all. (Whole numbers have 64 bits, as everywhere in Takt.)
//
//     task.payload = takt::Json{{"user_id", 12345}, {"tags", takt::Json::List({"a", "b"})}};
//
//     const auto in = takt::Json::Parse(context.payload());
//     if (!in) return takt::TaskResult::Rejected(in.error().message);
//     const std::int64_t user = (*in)["user_id"].AsInteger().value_or(0);
//     return takt::TaskResult::Success(takt::Json{{"done", true}});
//
// Who has a JSON library already needs none of this: payloads and results are texts.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/error.h"
#include "takt/export.h"

namespace takt {

class TAKT_EXPORT Json {
  public:
    enum class Kind : std::uint8_t { kNull, kBool, kNumber, kText, kList, kObject };
    struct Member;

    Json();  // null
    Json(std::nullptr_t) : Json() {}
    Json(bool value);
    template <std::integral Integer>
        requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>)
    Json(Integer value) : Json(Kind::kNumber, std::to_string(value)) {}
    // As short as it reads back the same; null for what no JSON number can be (NaN, infinite).
    Json(double value);
    Json(std::string_view text);
    Json(const char* text) : Json(std::string_view(text)) {}
    Json(const std::string& text) : Json(std::string_view(text)) {}
    // An object. {} is null: Object() has no members.
    Json(std::initializer_list<Member> members);
    static Json Object();
    static Json List(std::vector<Json> elements = {});
    // A number as it is written. kInvalid if that is none.
    static Result<Json> Number(std::string_view text);
    // kInvalid says what is wrong and where; of two members of one name too.
    static Result<Json> Parse(std::string_view text);

    Json(const Json&);
    Json(Json&&) noexcept;
    Json& operator=(const Json&);
    Json& operator=(Json&&) noexcept;
    ~Json();

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::kNull; }

    // None if it is of another kind, or does not fit.
    std::optional<bool> AsBool() const;
    std::optional<std::int64_t> AsInteger() const;  // 3 and 3.0, not 3.5.
    std::optional<std::uint64_t> AsUnsigned() const;
    std::optional<double> AsDouble() const;
    std::optional<std::string> AsText() const;
    // As it was written; empty if it is no number.
    std::string_view number() const;

    // Of a list or an object; 0 of anything else.
    std::size_t size() const;
    // null if there is none.
    const Json& At(std::size_t index) const;
    template <std::integral Index>
    const Json& operator[](Index index) const {
        return At(static_cast<std::size_t>(index));
    }
    const Json& operator[](std::string_view name) const;
    const Json& operator[](const char* name) const { return (*this)[std::string_view(name)]; }
    // Null pointer: there is none.
    const Json* Find(std::string_view name) const;
    // In the order in which they were written.
    const std::vector<Member>& members() const;
    const std::vector<Json>& elements() const;

    // Makes an object of a null; in the place of the member of this name, if there is one. REQUIRES: an
    // object, or null.
    Json& Set(std::string_view name, Json value);
    // Makes a list of a null. REQUIRES: a list, or null.
    Json& Add(Json element);

    // Without space.
    std::string ToText() const;
    operator std::string() const { return ToText(); }

    // Numbers are equal if they are written alike.
    friend bool operator==(const Json& a, const Json& b) { return a.ToText() == b.ToText(); }

  private:
    friend class JsonBuilder;
    Json(Kind kind, std::string scalar);
    void Write(std::string& out) const;

    Kind kind_ = Kind::kNull;
    std::string scalar_;  // The text, the number as written, or "true".
    std::vector<Member> members_;
    std::vector<Json> elements_;
};

struct Json::Member {
    Member(std::string_view named, Json held);
    std::string name;
    Json value;
};

// So that a handler may take and give Json: worker.Handle<takt::Json, takt::Json>("resize", …).
template <typename T>
struct Codec;
template <>
struct Codec<Json> {
    static Result<Json> Read(std::string_view json) { return Json::Parse(json); }
    static std::string Write(const Json& value) { return value.ToText(); }
};

}  // namespace takt
