// The page that asks somebody who has just signed in whether a command line may have the session.
//
// Anybody can lure a browser to an address that names a port of its machine, where a program of theirs
// waits. So nothing goes there before the person has said so, to a page that no other site can show or
// press; the number on it is the one that `takt login` has printed.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace takt::internal {

// "1234 5678", made of the challenge that a command line sent: what page and terminal both show.
std::string LoginNumber(std::string_view challenge);

struct ConsentQuestion {
    std::string_view who;
    std::string_view number;
    std::string_view port;    // Of this machine, where the command line waits.
    std::string_view action;  // The address that the button posts to.
    bool chinese = false;
};
HttpResponse ConsentPage(const ConsentQuestion& question);

}  // namespace takt::internal
