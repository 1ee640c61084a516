// JsonView: reads a JSON text in place.
//
// CheckJson has said that the text is valid; what is left to do is to find things in it. A view
// builds no tree and copies nothing, so that ten thousand tasks in one body cost ten thousand tasks
// and nothing besides, and a payload is kept letter by letter as it was sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal {

class JsonView {
  public:
    enum class Kind : std::uint8_t { kObject, kArray, kString, kNumber, kBool, kNull };

    // REQUIRES: CheckJson accepts `text`, and it outlives the view.
    explicit JsonView(std::string_view text);

    Kind kind() const;
    std::string_view raw() const { return raw_; }
    bool is_null() const { return kind() == Kind::kNull; }
    bool is_string() const { return kind() == Kind::kString; }
    bool is_number() const { return kind() == Kind::kNumber; }

    // The string's characters: in the text itself if it has no escapes, else in `scratch`.
    // REQUIRES: a string.
    std::string_view AsString(std::string& scratch) const;

    // Nothing if the value is not a number without fraction that fits.
    std::optional<std::int64_t> AsInteger() const;
    // Nothing if the value is not a number.
    std::optional<double> AsDouble() const;
    std::optional<bool> AsBool() const;

    // Walks through the members of an object: `while (members.Next()) members.key() …`. The key is
    // decoded and lives until the next call.
    class Members {
      public:
        explicit Members(const JsonView& object);
        bool Next();
        std::string_view key() const { return key_; }
        JsonView value() const { return JsonView(value_, Trimmed{}); }

      private:
        std::string_view rest_;
        std::string_view key_;
        std::string_view value_;
        std::string scratch_;
    };

    // The same for the elements of an array.
    class Elements {
      public:
        explicit Elements(const JsonView& array);
        bool Next();
        JsonView value() const { return JsonView(value_, Trimmed{}); }

      private:
        std::string_view rest_;
        std::string_view value_;
    };

  private:
    struct Trimmed {};
    JsonView(std::string_view raw, Trimmed) : raw_(raw) {}

    std::string_view raw_;  // Without space around it.
};

}  // namespace takt::internal
