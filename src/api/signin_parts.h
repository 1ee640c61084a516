// The parts of signing in that browsers and command lines share; see signin.cc and signin_cli.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/route.h"
#include "api/schemas.h"
#include "api/services.h"
#include "api/signin.h"

namespace takt::internal {

extern const Problem kNoSignIn;

// S256 of it, as PKCE (RFC 7636) has it.
std::string ChallengeFor(std::string_view verifier);

HttpResponse GoTo(std::string url);

// A person who may not be believed is told so; why, in detail, stands in the log.
void RefuseSignIn(Call& call, const Error& error);

// Nothing, and the call is refused, if too many groups mean something here.
std::optional<std::string> MakeSession(Call& call, const SignIn& signin, Person person);

// A command line that somebody signs in.
struct WaitingCommandLine {
    std::string port;       // Of the browser's machine.
    std::string challenge;  // It knows what this is the hash of.
};
HttpResponse AskForConsent(const Call& call, const SignIn& signin,
                           const WaitingCommandLine& waiting, const Person& person);

void AddCommandLineSchemas(SchemaList& to);
void AddCommandLineRoutes(std::vector<Route>& routes);

}  // namespace takt::internal
