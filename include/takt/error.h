// Errors are values: whatever can fail returns a Result.
//
//     takt::Result<takt::TaskRecord> task = client.SubmitTask({.type = "resize"});
//     if (!task) {
//         std::cerr << task.error().message << "\n";
//         return 1;
//     }
//     std::cout << task->id << "\n";
//
// Who would rather have exceptions calls value(): it throws takt::Failure if there is none. Nothing
// else in this library throws, but for memory that has run out and for what your own functions
// throw before they are handed to it.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <version>

#ifdef __cpp_lib_expected
#include <expected>
#endif

#include "takt/export.h"
#include "takt/name.h"

namespace takt {

// The kind of a failure, for code to act on.
enum class ErrorCode : std::uint8_t {
    kInvalid,      // Can never succeed as asked: a wrong value, too large, a missing right.
    kNotFound,     // There is no such task, execution or worker.
    kConflict,     // It is not in a state for this, or the id is taken by another. Look again.
    kExhausted,    // A limit is reached: the queue is full. Back off, then try again.
    kUnavailable,  // Nothing was done. Try again after a while.
    kUnknown,      // May have been done. Repeat it only if it has an id of yours.
    kCancelled,    // Given up, because this object is being stopped.
    kTimeout,      // A wait was over before what it waited for; that goes on.
};

// "invalid", "not_found" and so on.
TAKT_EXPORT std::string_view Name(ErrorCode code);
template <>
inline constexpr bool kHasName<ErrorCode> = true;

struct Error {
    ErrorCode code = ErrorCode::kUnknown;
    std::string message = {};  // One sentence for people: what happened, where, what to do.
    std::string field = {};  // For kInvalid: the field at fault, "retry_policy.delay"; else empty.
};

// The exception that value() throws. what() is the error's message.
class TAKT_EXPORT Failure : public std::runtime_error {
  public:
    explicit Failure(Error error);
    ~Failure() override;
    const Error& error() const { return error_; }

  private:
    Error error_;
};

template <typename T>
class Result;
template <>
class Result<void>;

// A value, or the error that came instead of it.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

    bool has_value() const { return held_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    // The value; throws Failure if there is none.
    const T& value() const& { return Check(), std::get<0>(held_); }
    T& value() & { return Check(), std::get<0>(held_); }
    T&& value() && { return Check(), std::get<0>(std::move(held_)); }
    template <typename U>
    T value_or(U&& otherwise) const& {
        return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
    }

    // REQUIRES: has_value().
    const T& operator*() const& { return *Pointer(); }
    T& operator*() & { return *Pointer(); }
    T&& operator*() && { return std::move(*Pointer()); }
    const T* operator->() const { return Pointer(); }
    T* operator->() { return Pointer(); }

    // REQUIRES: !has_value().
    const Error& error() const {
        assert(!has_value());
        return *std::get_if<1>(&held_);
    }

    // As those of std::expected. A next step with a Result of its own, or the error as it is:
    //
    //     client.SubmitTask(task).and_then(
    //         [&](const auto& made) { return client.WaitForTask(made.id, 1min); })
    template <typename Then>
    auto and_then(Then&& then) const& {
        return AndThen(*this, std::forward<Then>(then));
    }
    template <typename Then>
    auto and_then(Then&& then) && {
        return AndThen(std::move(*this), std::forward<Then>(then));
    }
    // The value made into another one.
    template <typename Make>
    auto transform(Make&& make) const& {
        return Transform(*this, std::forward<Make>(make));
    }
    template <typename Make>
    auto transform(Make&& make) && {
        return Transform(std::move(*this), std::forward<Make>(make));
    }
    // The value, or what is given for the error: a Result of the same kind.
    template <typename Instead>
    Result or_else(Instead&& instead) const& {
        return has_value() ? *this : Result(std::invoke(std::forward<Instead>(instead), error()));
    }
    template <typename Instead>
    Result or_else(Instead&& instead) && {
        return has_value() ? std::move(*this)
                           : Result(std::invoke(std::forward<Instead>(instead), error()));
    }
    // The value, or the error made into another one.
    template <typename Make>
    Result transform_error(Make&& make) const& {
        return has_value() ? *this : Result(std::invoke(std::forward<Make>(make), error()));
    }

#ifdef __cpp_lib_expected
    operator std::expected<T, Error>() const& {
        if (has_value()) return **this;
        return std::unexpected(error());
    }
    operator std::expected<T, Error>() && {
        if (has_value()) return *std::move(*this);
        return std::unexpected(error());
    }
#endif

  private:
    template <typename Self, typename Then>
    static auto AndThen(Self&& self, Then&& then) {
        using Next =
            std::remove_cvref_t<std::invoke_result_t<Then, decltype(*std::forward<Self>(self))>>;
        if (!self.has_value()) return Next(self.error());
        return Next(std::invoke(std::forward<Then>(then), *std::forward<Self>(self)));
    }
    template <typename Self, typename Make>
    static auto Transform(Self&& self, Make&& make) {
        using Made =
            std::remove_cvref_t<std::invoke_result_t<Make, decltype(*std::forward<Self>(self))>>;
        if (!self.has_value()) return Result<Made>(self.error());
        if constexpr (std::is_void_v<Made>) {
            std::invoke(std::forward<Make>(make), *std::forward<Self>(self));
            return Result<Made>();
        } else {
            return Result<Made>(std::invoke(std::forward<Make>(make), *std::forward<Self>(self)));
        }
    }

    void Check() const {
        if (!has_value()) throw Failure(error());
    }
    const T* Pointer() const {
        assert(has_value());
        return std::get_if<0>(&held_);
    }
    T* Pointer() {
        assert(has_value());
        return std::get_if<0>(&held_);
    }

    std::variant<T, Error> held_;
};

// Success, or the error that came instead of it.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : failed_(true), error_(std::move(error)) {}

    bool has_value() const { return !failed_; }
    explicit operator bool() const { return !failed_; }
    void value() const {
        if (failed_) throw Failure(error_);
    }
    // REQUIRES: !has_value().
    const Error& error() const {
        assert(failed_);
        return error_;
    }

    template <typename Then>
    auto and_then(Then&& then) const {
        using Next = std::remove_cvref_t<std::invoke_result_t<Then>>;
        return failed_ ? Next(error_) : Next(std::invoke(std::forward<Then>(then)));
    }
    template <typename Make>
    auto transform(Make&& make) const {
        using Made = std::remove_cvref_t<std::invoke_result_t<Make>>;
        if (failed_) return Result<Made>(error_);
        if constexpr (std::is_void_v<Made>) {
            std::invoke(std::forward<Make>(make));
            return Result<void>();
        } else {
            return Result<Made>(std::invoke(std::forward<Make>(make)));
        }
    }
    template <typename Instead>
    Result or_else(Instead&& instead) const {
        return failed_ ? Result(std::invoke(std::forward<Instead>(instead), error_)) : *this;
    }
    template <typename Make>
    Result transform_error(Make&& make) const {
        return failed_ ? Result(std::invoke(std::forward<Make>(make), error_)) : *this;
    }

#ifdef __cpp_lib_expected
    operator std::expected<void, Error>() const {
        if (!failed_) return {};
        return std::unexpected(error_);
    }
#endif

  private:
    bool failed_ = false;
    Error error_;
};

}  // namespace takt
