// AccessPolicy: decides whether a request may use a route.
//
// Keeps a copy of the tokens. It is read again when it is older than a few seconds and somebody
// asks, so a token that was revoked on another node stops working here soon after.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "api/access.h"
#include "api/problem.h"
#include "api/sessions.h"
#include "http/message.h"
#include "store/store.h"

namespace takt::internal {

struct AccessConfig {
    bool loopback_only = true;          // The server can be reached from this machine only.
    bool insecure = false;              // The operator wants it open, whatever the address.
    std::string own_worker_token = {};  // The worker in this process comes with it; empty: none.
    Duration refresh_interval{2'000};   // Tokens older than this are read again, meanwhile used.
    Duration age_max{5'000};            // Older than this they are not used before that.
    // Wrong tokens from one address in a minute; more of them are answered 429.
    std::uint32_t failures_max = 20;
    std::shared_ptr<const Sessions> sessions = {};  // Of people who sign in; null: nobody can.
};

// The caller. Anonymous while everything is open, and where no token is needed.
struct Principal {
    std::string token_id;  // Empty: anonymous.
    std::string name = "anonymous";
    std::optional<AccessRole> role = {};           // Nothing: anonymous.
    std::string space = std::string(kEverySpace);  // The namespace that its token is for.
    TokenBounds bounds = {};
    // Of somebody who signed in: what they may do elsewhere too, and until when.
    std::vector<Grant> grants = {};
    Time until{};

    // Whether it may do that in the namespace; `*`: in all of them. Who is anonymous may.
    bool May(Permission permission, std::string_view in) const;
};

// The thing that a request asks to be let in for.
struct AccessQuestion {
    Permission permission{};
    std::string_view space = {};  // The namespace that its address names; empty: none.
    bool cluster = false;         // It is for the cluster, and for no namespace.
    // The namespace of a name, if it is known here; empty: none is.
    std::function<std::optional<SpaceMark>(std::string_view name)> find_space = {};
};

class AccessPolicy {
  public:
    explicit AccessPolicy(AccessConfig config);

    // On the server's thread, all of them.

    // Whether the tokens were ever read; without that nothing can be decided.
    bool loaded() const { return loaded_; }
    // Whether they have to be read before a decision: never read, or so old that a token may have
    // been revoked long ago. A store that cannot be read is not waited for again and again.
    bool must_load(Steady now) const {
        return (!loaded_ || now - loaded_at_ >= config_.age_max) &&
               now - tried_at_ >= config_.refresh_interval;
    }
    bool should_load(Steady now) const {
        return !loading_ && now - tried_at_ >= config_.refresh_interval;
    }
    bool loading() const { return loading_; }
    // Numbers rise; several may be under way at once. EndLoad may also bring what another reading
    // has found that began under a number of the same row.
    std::uint64_t BeginLoad(std::uint64_t load) {
        loading_ = true;
        return load_begun_ = load;
    }
    // Takes the answer of the store. If there is none, the tokens known before go on to hold. An
    // answer that was overtaken by a later one counts for nothing: it may have a token that is
    // revoked.
    void EndLoad(std::uint64_t load, Result<std::vector<SettingPut>> settings, Steady now);

    // A refusal, with the caller if that is known: a token that is good, but not for this.
    struct Refusal {
        Problem problem;
        Principal who;
    };
    using Verdict = std::variant<Principal, Refusal>;
    Verdict Decide(const HttpRequest& request, const AccessQuestion& asked, Instant now);

    // Whether the caller may hear what the store says, which names hosts: as Knows, and while the
    // tokens cannot be read whoever is on this machine, if nobody else can come.
    bool MayHearOfTheStore(const HttpRequest& request, Time now) const;
    // Why the tokens were never read, for that caller; REQUIRES: !loaded().
    std::string WhyUnread(const HttpRequest& request) const;

    // Whether the request shows a token that holds, or needs none, as far as the last reading tells.
    // For more than making room for it ask Decide.
    bool Knows(const HttpRequest& request, Time now) const;

    const AccessToken* FindToken(std::string_view id) const;
    // Why the token with this id does not hold, a sentence; empty if it does.
    std::string_view WhyRefused(std::string_view id, Time now) const;
    const std::map<std::string, AccessToken>& tokens() const { return tokens_; }
    // A token whose time of last use is worth writing down: at most once an hour for each.
    const AccessToken* TakeUsed();

  private:
    struct Failures {
        std::uint32_t count = 0;
        Steady since{};
    };

    bool open() const {
        return config_.insecure ||
               (config_.loopback_only && tokens_.empty() && !lost_ && !config_.sessions);
    }
    Verdict DecideSession(std::string_view text, const AccessQuestion& asked, Instant now);
    // Remembers until when the session holds, for what it opens; see WhyRefused.
    void NoteSession(const std::string& id, Time until, Time now);
    // Why somebody may not come in though everybody may.
    std::optional<Problem> CheckOpen(const HttpRequest& request) const;
    std::uint32_t CountFailure(const std::string& address, Steady now);

    // Null if nobody has that text.
    const AccessToken* FindByText(std::string_view text) const;

    const AccessConfig config_;
    const AccessToken own_worker_;  // Holds while others are needed; is in no list.
    bool loaded_ = false;
    bool loading_ = false;
    std::uint64_t load_begun_ = 0;
    std::uint64_t load_ended_ = 0;
    Steady loaded_at_{};
    Steady tried_at_{};
    std::string trouble_;  // Of the last try to read them; empty if there was none.
    std::map<std::string, AccessToken> tokens_;  // By id.
    // There were some, all are gone, and nobody revoked the last one: the store was emptied, which
    // must not open the door.
    bool lost_ = false;
    std::unordered_map<std::string, Failures> failures_;  // By address.
    std::vector<std::string> used_;
    std::unordered_map<std::string, Time> sessions_until_;  // By the principal's id.
};

}  // namespace takt::internal
