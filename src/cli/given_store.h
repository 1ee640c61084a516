// The store that a command is given by its URL.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "store/store.h"

namespace takt::internal::cli {

// A URL may hold a password, which others could read on a command line: "-" takes it from standard
// input.
Result<std::string> GivenUrl(std::string url);
Result<std::unique_ptr<Store>> OpenGiven(const std::string& given);

// The same for a store that is to be read. Opening an embedded one makes it where there is none, and a
// name that is misspelt must not look like an empty store: kNotFound.
Result<std::string> ExistingUrl(const std::string& given);
Result<std::unique_ptr<Store>> OpenExisting(const std::string& given);

}  // namespace takt::internal::cli
