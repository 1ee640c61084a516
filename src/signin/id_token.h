// The rules by which an id token is believed (OpenID Connect Core, 3.1.3.7).
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "signin/person.h"

namespace takt::internal {

struct IdTokenRules {
    std::string issuer;
    std::string client_id;  // Whom the token must be for.
    std::string nonce;      // As sent with the question; an answer to another one is none to this.
    std::string name_claim;
    std::string groups_claim;
};

// REQUIRES: the signature was checked. kInvalid says which claim is wrong.
Result<Person> CheckIdToken(const boost::json::object& claims, const IdTokenRules& rules, Time now);

}  // namespace takt::internal
