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
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "takt/export.h"

namespace takt {

// The kind of a failure, for code to act on.
enum class ErrorCode : std::uint8_t {
    kInvalid,      // Can never succeed as asked: a wrong value, a missing right.
    kNotFound,     // There is no such task, execution or worker.
    kConflict,     // It is not in a state for this, or the id is taken by another. Look again.
    kExhausted,    // A limit is reached (queue full, too large). Back off, then try again.
    kUnavailable,  // Nothing was done. Try again after a while.
    kUnknown,      // May have been done. Repeat it only if it has an id of yours.
    kCancelled,    // Given up, because this object is being stopped.
    kTimeout,      // A wait was over before what it waited for; that goes on.
};

// "invalid", "not_found" and so on.
TAKT_EXPORT std::string_view Name(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::kUnknown;
    std::string message;  // One sentence for people: what happened, where, what to do.
    std::string field;    // For kInvalid: the field at fault, "retry_policy.delay"; else empty.
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

  private:
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

  private:
    bool failed_ = false;
    Error error_;
};

}  // namespace takt
