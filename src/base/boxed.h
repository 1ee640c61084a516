// Boxed: a value that is kept elsewhere, so that it takes the room of a pointer where it stands.
//
// For the rare large one among many small: each place of a variant is as large as its largest.
#pragma once

#include <memory>
#include <utility>

#include "base/check.h"

namespace takt::internal {

template <typename T>
class Boxed {
  public:
    Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: stands for it.
    Boxed(const Boxed& other) : value_(std::make_unique<T>(*other)) {}
    Boxed(Boxed&&) noexcept = default;
    Boxed& operator=(const Boxed& other) {
        value_ = std::make_unique<T>(*other);
        return *this;
    }
    Boxed& operator=(Boxed&&) noexcept = default;
    ~Boxed() = default;

    // REQUIRES: not moved from.
    T& operator*() const {
        TAKT_CHECK(value_);
        return *value_;
    }

  private:
    std::unique_ptr<T> value_;
};

// The value itself, boxed or not.
template <typename T>
T& Unboxed(T& value) {
    return value;
}
template <typename T>
T& Unboxed(Boxed<T>& value) {
    return *value;
}

}  // namespace takt::internal
