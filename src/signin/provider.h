// Provider: an OpenID provider, asked for who somebody is by authorization code with PKCE.
//
//     const auto url = co_await provider.AskUrl({.state = …, .nonce = …, .challenge = …});
//     … the browser comes back with a code …
//     const auto person = co_await provider.Redeem({.code = code, .verifier = …, .nonce = …});
//
// Its description and its keys are fetched when they are needed, kept for an hour, and fetched again
// for a key that is not known yet. All on one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/flow.h"
#include "base/time.h"
#include "http/client.h"
#include "signin/jwt.h"
#include "signin/person.h"

namespace takt::internal {

struct ProviderOptions {
    std::string issuer;  // As its tokens name it.
    std::string client_id;
    std::string client_secret;  // Empty: a public client, which PKCE alone protects.
    std::string redirect_url;   // Where the browser comes back to.
    std::string scopes = "openid profile email";
    std::string name_claim = "email";
    std::string groups_claim = "groups";
};

class Provider {
  public:
    using Send = std::function<void(HttpCall call, HttpDone done)>;

    // `send` answers on the thread of whoever asks.
    Provider(ProviderOptions options, Send send);

    struct Question {
        std::string state;
        std::string nonce;
        std::string challenge;  // S256 of the verifier.
    };
    // Where to send the browser. kUnavailable says why the provider could not be asked.
    Flow<Result<std::string>> AskUrl(Question question);

    struct Answer {
        std::string code;
        std::string verifier;
        std::string nonce;
    };
    // kInvalid: the provider, or what it says of itself, is not believed; kUnavailable: it did not
    // answer.
    Flow<Result<Person>> Redeem(Answer answer);

    const ProviderOptions& options() const { return options_; }

  private:
    struct Description {
        std::string authorization_endpoint;
        std::string token_endpoint;
        std::string jwks_uri;
    };
    Flow<Result<boost::json::object>> Fetch(HttpCall call, std::string what);
    Flow<Result<void>> Describe();
    Flow<Result<void>> LoadKeys(std::string wanted);

    const ProviderOptions options_;
    const Send send_;
    std::optional<Description> description_;
    Steady described_at_{};
    KeySet keys_;
    Steady keys_at_{};
};

}  // namespace takt::internal
