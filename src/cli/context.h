// Contexts: several clusters by name, in a file of the user's own, so that commands need no flags.
//
//   current: prod
//   contexts:
//     prod: {server: "https://takt.example:8080", namespace: billing, token_file: ~/.takt/prod}
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "cli/client.h"

namespace takt::internal::cli {

struct NamedServer {
    std::string server;
    std::string space;
    std::string token;
    std::string token_file;
    std::string ca_file;
};

struct Contexts {
    std::string current;  // Empty: none.
    std::map<std::string, NamedServer> by_name;
};

// $XDG_CONFIG_HOME/takt/contexts.yaml, else ~/.config/…; empty if there is no home.
std::string ContextsPath();

// No file is no contexts. kInvalid if it is not understood, or has a token and others may read it.
Result<Contexts> ReadContexts();

// The options with what they do not say taken from the context that they name, or from the current
// one. Flags and environment are stronger; a token goes to no other server than its context's.
// Options that are resolved already stay as they are. kInvalid if a context was named that there is
// not.
Result<ClientOptions> InContext(ClientOptions options);

}  // namespace takt::internal::cli
