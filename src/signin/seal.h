// Seal: texts that are handed out and come back, such as cookies. Whoever holds one can read it and
// cannot change it; it ends by itself, and one made for one purpose is worth nothing for another.
//
//     Seal seal(key);
//     const std::string cookie = seal.Close("session", json, now + hours(8));
//     const auto json = seal.Open("session", cookie, now);
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace takt::internal {

class Seal {
  public:
    static constexpr std::size_t kKeyBytesMin = 32;

    // REQUIRES: at least kKeyBytesMin bytes that nobody can guess.
    explicit Seal(std::string_view key);

    // Without dots in `purpose`.
    std::string Close(std::string_view purpose, std::string_view text, Time until) const;

    struct Opened {
        std::string text;
        Time until{};
    };
    // Nothing if it was not made with this key, for this purpose, or is over.
    std::optional<Opened> Open(std::string_view purpose, std::string_view sealed, Time now) const;

  private:
    std::string Sign(std::string_view what) const;

    std::string key_;
};

}  // namespace takt::internal
