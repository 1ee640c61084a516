// Errors in the caller's own words: a field is called as the caller's struct calls it.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "takt/error.h"

namespace takt {

struct OwnName {
    std::string_view inside;
    std::string_view callers;
};
using OwnNames = std::initializer_list<OwnName>;

// The field, and its name at the beginning of the message. "a.b" is covered by "a", too.
Error InOwnNames(Error error, OwnNames names);

// The same of what a call gave.
template <typename T>
Result<T> InOwnNames(Result<T> result, OwnNames names) {
    if (result) return result;
    return InOwnNames(result.error(), names);
}

Error InTaskNames(Error error);
template <typename T>
Result<T> InTaskNames(Result<T> result) {
    if (result) return result;
    return InTaskNames(result.error());
}

}  // namespace takt
