// JSON Web Tokens as OpenID providers sign them: RS256 and ES256 with a key of the provider's key set.
// Anything else (none, keys shared with us, other curves) is refused: a token never chooses how it is
// judged.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct evp_pkey_st;

namespace takt::internal {

// The public keys of a provider, by their id (kid).
class KeySet {
  public:
    // A JSON Web Key Set (RFC 7517). Keys that are not for signatures, or of another kind, are left
    // out; kInvalid if it is no key set or none is left.
    static Result<KeySet> Parse(std::string_view json);

    bool Has(std::string_view id) const { return keys_.contains(id); }
    bool empty() const { return keys_.empty(); }

  private:
    friend Result<boost::json::object> ReadJwt(std::string_view token, const KeySet& keys);
    struct Key {
        std::string algorithm;  // RS256 or ES256.
        std::shared_ptr<evp_pkey_st> key;
    };
    std::map<std::string, Key, std::less<>> keys_;
};

// The id of the key that a token says it was signed with; kInvalid if it is no such token.
Result<std::string> KeyOfJwt(std::string_view token);

// The claims of a token, if one of the keys has signed it. kInvalid says what is wrong.
Result<boost::json::object> ReadJwt(std::string_view token, const KeySet& keys);

}  // namespace takt::internal
