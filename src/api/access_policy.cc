#include "api/access_policy.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "api/cookie.h"
#include "base/log.h"

namespace takt::internal {
namespace {

constexpr auto kFailureWindow = std::chrono::seconds(60);
// Addresses that are remembered for their failures; an attacker with more of them than this gains
// as many tries, each against 256 random bits.
constexpr std::size_t kAddressesMax = 10'000;
constexpr auto kUseWritten = std::chrono::hours(1);
constexpr std::string_view kExpired = "the token has expired";
// A token cannot be made here, since nobody is let in to do it, nor in the store while one leads it.
constexpr std::string_view kLost =
    "all access tokens are gone from the store, and nobody revoked them: it was emptied, or has "
    "lost what it had. Nobody is let in: stop the schedulers of this store, make a token with "
    "'takt "
    "token create --role admin --store URL', and start them again";
constexpr std::string_view kSignedOut = "the sign-in is over";
// Before the provider's name for somebody, where tokens have their id.
constexpr std::string_view kSessionId = "signin:";
constexpr std::size_t kSessionsMax = 10'000;

std::string_view HostOf(std::string_view authority) {
    if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
    return authority.substr(0, authority.find(':'));
}

// A page of another site that makes the user's browser call us.
bool IsForeignPage(const HttpRequest& request) {
    const auto origin = request.headers.Find("Origin");
    if (!origin) return false;
    const std::size_t scheme = origin->find("://");
    const auto host = request.headers.Find("Host");
    return scheme == origin->npos || !host ||
           !EqualsIgnoringCase(origin->substr(scheme + 3), *host);
}

std::string_view BearerOf(const HttpRequest& request) {
    constexpr std::string_view kScheme = "Bearer ";
    const auto header = request.headers.Find("Authorization");
    if (!header || header->size() <= kScheme.size() ||
        !EqualsIgnoringCase(header->substr(0, kScheme.size()), kScheme)) {
        return {};
    }
    return header->substr(kScheme.size());
}

// A token, or the session of somebody who signed in.
std::string_view CredentialOf(const HttpRequest& request) {
    const std::string_view bearer = BearerOf(request);
    return bearer.empty() ? CookieOf(request, kSessionCookie) : bearer;
}

Problem Forbidden(std::string detail) {
    return {403, "forbidden", std::move(detail)};
}

// Why a token does not hold for anything; empty if it does.
std::string WhyNot(const AccessToken* token, const AccessQuestion& asked, Time now) {
    if (!token) return "the token is not known";
    if (IsExpired(*token, now)) return std::string(kExpired);
    if (token->space == kEverySpace || !asked.find_space) return "";
    const auto space = asked.find_space(token->space);
    if (!space || !IsForEarlier(*token, *space)) return "";
    return "the token is for a namespace '" + token->space +
           "' that was deleted; the one that has its name now needs tokens of its own";
}

AccessToken OwnWorkerToken(std::string_view text) {
    if (text.empty()) return {};
    return {.id = "own-worker",
            .name = "the worker in this process",
            .role = AccessRole::kWorker,
            .hash = Sha256Of(text)};
}

}  // namespace

bool Principal::May(Permission permission, std::string_view in) const {
    const auto fits = [&](AccessRole given, std::string_view where) {
        return Allows(given, permission) && (where == kEverySpace || where == in);
    };
    return !role || fits(*role, space) || std::ranges::any_of(grants, [&](const Grant& grant) {
        return fits(grant.role, grant.space);
    });
}

AccessPolicy::AccessPolicy(AccessConfig config)
    : config_(std::move(config)), own_worker_(OwnWorkerToken(config_.own_worker_token)) {}

// Looks at every token and at every byte of it, so that how long it takes tells nothing.
const AccessToken* AccessPolicy::FindByText(std::string_view text) const {
    const Sha256 hash = Sha256Of(text);
    const AccessToken* found = nullptr;
    const auto look = [&](const AccessToken& token) {
        if (CRYPTO_memcmp(token.hash.data(), hash.data(), hash.size()) == 0) found = &token;
    };
    for (const auto& [id, token] : tokens_) look(token);
    if (!own_worker_.id.empty()) look(own_worker_);
    return found;
}

void AccessPolicy::EndLoad(std::uint64_t load, Result<std::vector<SettingPut>> settings,
                           Steady now) {
    if (load < load_ended_) return;
    load_ended_ = load;
    loading_ = load < load_begun_;
    tried_at_ = now;
    trouble_ = settings ? std::string() : settings.error().detail;
    if (!settings) {
        Log(LogLevel::kWarning, "api", "cannot read the access tokens",
            {{"error", settings.error().detail}});
        return;
    }
    std::map<std::string, AccessToken> tokens;
    for (const SettingPut& setting : *settings) {
        const std::string_view id = setting.key.view().substr(kTokenSettingPrefix.size());
        if (id.ends_with(kTokenUsedSuffix)) continue;
        auto token = DecodeToken(id, setting.value);
        if (!token) {
            Log(LogLevel::kError, "api", "a token cannot be read",
                {{"error", token.error().detail}});
            // It still counts: a broken record must not open the door that it was to guard.
            token = AccessToken{.id = std::string(id), .expires_at = Time(Duration(1))};
        }
        tokens.emplace(id, std::move(*token));
    }
    for (const SettingPut& setting : *settings) {
        std::string_view id = setting.key.view().substr(kTokenSettingPrefix.size());
        if (!id.ends_with(kTokenUsedSuffix)) continue;
        id.remove_suffix(kTokenUsedSuffix.size());
        const auto token = tokens.find(std::string(id));
        const auto used = ParseTime(setting.value);
        if (token != tokens.end() && used) token->second.last_used_at = *used;
    }
    // Uses since the last reading are not in the store yet.
    for (auto& [id, token] : tokens) {
        const auto known = tokens_.find(id);
        if (known == tokens_.end()) continue;
        token.last_used_at = std::max(token.last_used_at, known->second.last_used_at);
    }
    // The word stays in the store for good, and is about that token alone.
    const auto revokes_known = [&](const SettingPut& row) {
        std::string_view id = row.key.view().substr(kTokenSettingPrefix.size());
        if (row.value.view() != kLastTokenRevoked || !id.ends_with(kTokenUsedSuffix)) return false;
        id.remove_suffix(kTokenUsedSuffix.size());
        return tokens_.contains(std::string(id));
    };
    const bool none = tokens.empty() && std::ranges::none_of(*settings, revokes_known);
    if (none && !tokens_.empty() && !config_.insecure) Log(LogLevel::kError, "api", kLost);
    lost_ = none && (lost_ || !tokens_.empty());
    tokens_ = std::move(tokens);
    loaded_ = true;
    loaded_at_ = now;
}

std::optional<Problem> AccessPolicy::CheckOpen(const HttpRequest& request) const {
    if (config_.insecure) return std::nullopt;
    // A name that some site makes point here gives itself away by not being one of ours.
    const auto host = request.headers.Find("Host");
    if (host && !IsLoopback(HostOf(*host))) {
        return Forbidden("without tokens only calls to localhost are answered, not to '" +
                         std::string(host->substr(0, 100)) + "'");
    }
    // A proxy on this machine makes everybody a caller from this machine.
    for (const char* header : {"Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
                               "X-Forwarded-Proto", "X-Real-IP", "Via"}) {
        if (!request.headers.Find(header)) continue;
        return Forbidden("this came through a proxy (" + std::string(header) +
                         "), and without tokens that lets everybody in; make one with 'takt token "
                         "create --role admin'");
    }
    return std::nullopt;
}

AccessPolicy::Verdict AccessPolicy::Decide(const HttpRequest& request, const AccessQuestion& asked,
                                           Instant now) {
    const Permission permission = asked.permission;
    if (permission == Permission::kNone) return Principal{};
    if (IsForeignPage(request)) {
        return Refusal{{403, "origin_refused", "pages of other sites may not use this API"}, {}};
    }
    if (open()) {
        auto problem = CheckOpen(request);
        if (problem) return Refusal{std::move(*problem), {}};
        return Principal{};
    }
    const std::string_view text = CredentialOf(request);
    if (lost_ && !config_.sessions && !FindByText(text)) {
        return Refusal{{401, "unauthorized", std::string(kLost)}, {}};
    }
    if (text.empty()) {
        return Refusal{{401, "unauthorized",
                        config_.sessions ? "sign in (takt login, or the console), or send a token: "
                                           "Authorization: Bearer takt_…"
                                         : "send a token: Authorization: Bearer takt_…"},
                       {}};
    }
    if (config_.sessions && Sessions::IsSession(text)) return DecideSession(text, asked, now);
    const AccessToken* token = FindByText(text);
    Principal who;
    if (token)
        who = {.token_id = token->id,
               .name = token->name,
               .role = token->role,
               .space = token->space,
               .bounds = token->bounds};
    if (std::string why = WhyNot(token, asked, now.wall); !why.empty()) {
        if (CountFailure(request.remote_address, now.steady) > config_.failures_max) {
            return Refusal{{.status = 429,
                            .code = "rate_limited",
                            .detail = "too many wrong tokens came from this address",
                            .retry_after_seconds = kFailureWindow.count()},
                           std::move(who)};
        }
        return Refusal{{401, "unauthorized", std::move(why)}, std::move(who)};
    }
    if (const auto kept = tokens_.find(token->id); kept != tokens_.end()) {
        Time& last = kept->second.last_used_at;
        if (now.wall - last >= kUseWritten) used_.push_back(token->id);
        last = now.wall;
    }
    if (!asked.space.empty() && !Covers(*token, asked.space)) {
        return Refusal{Forbidden("this token is for the namespace " + token->space +
                                 " and not for " + std::string(asked.space)),
                       std::move(who)};
    }
    if (!Allows(token->role, permission)) {
        return Refusal{Forbidden("a token with the role " + std::string(Name(token->role)) +
                                 " may not do this; it needs " + std::string(Name(permission))),
                       std::move(who)};
    }
    return who;
}

AccessPolicy::Verdict AccessPolicy::DecideSession(std::string_view text,
                                                  const AccessQuestion& asked, Instant now) {
    const auto session = config_.sessions->Read(text, now.wall);
    if (!session) {
        return Refusal{{401, "unauthorized", std::string(kSignedOut) + "; sign in again"}, {}};
    }
    Principal who{.token_id = std::string(kSessionId) + session->person.subject,
                  .name = session->person.name,
                  .grants = config_.sessions->GrantsOf(session->person),
                  .until = session->until};
    const Grant* grant = asked.cluster ? StrongestFor(who.grants, asked.permission)
                                       : StrongestIn(who.grants, asked.space);
    if (!grant) {
        const std::string where =
            asked.space.empty() ? "" : " in the namespace " + std::string(asked.space);
        return Refusal{
            Forbidden("no group of " + who.name + " has a role" + where + " (signin.roles)"),
            std::move(who)};
    }
    who.role = grant->role;
    who.space = grant->space;
    if (!Allows(grant->role, asked.permission)) {
        return Refusal{
            Forbidden(who.name + " has the role " + std::string(Name(grant->role)) +
                      " and may not do this; it needs " + std::string(Name(asked.permission))),
            std::move(who)};
    }
    NoteSession(who.token_id, session->until, now.wall);
    return who;
}

void AccessPolicy::NoteSession(const std::string& id, Time until, Time now) {
    if (sessions_until_.size() >= kSessionsMax) {
        std::erase_if(sessions_until_, [&](const auto& entry) { return entry.second <= now; });
        // The one that ends first: what it opened ends early, and nobody else's does.
        if (sessions_until_.size() >= kSessionsMax) {
            sessions_until_.erase(std::ranges::min_element(
                sessions_until_, {}, [](const auto& entry) { return entry.second; }));
        }
    }
    Time& known = sessions_until_[id];
    known = std::max(known, until);
}

bool AccessPolicy::Knows(const HttpRequest& request, Time now) const {
    if (!loaded_) return false;
    if (open()) return true;
    const std::string_view text = CredentialOf(request);
    if (config_.sessions && Sessions::IsSession(text)) {
        return config_.sessions->Read(text, now).has_value();
    }
    const AccessToken* token = text.empty() ? nullptr : FindByText(text);
    return token && !IsExpired(*token, now);
}

bool AccessPolicy::MayHearOfTheStore(const HttpRequest& request, Time now) const {
    if (loaded_) return Knows(request, now);
    return config_.insecure || (config_.loopback_only && !CheckOpen(request));
}

std::string AccessPolicy::WhyUnread(const HttpRequest& request) const {
    const std::string what = "the store cannot say who may do this";
    if (trouble_.empty()) return what + " yet; try again shortly";
    // No token has been read that could hold at any time.
    return what + (MayHearOfTheStore(request, Time{}) ? ": " + trouble_ : "; its log says why");
}

const AccessToken* AccessPolicy::FindToken(std::string_view id) const {
    if (!own_worker_.id.empty() && id == own_worker_.id) return &own_worker_;
    const auto found = tokens_.find(std::string(id));
    return found == tokens_.end() ? nullptr : &found->second;
}

std::string_view AccessPolicy::WhyRefused(std::string_view id, Time now) const {
    if (id.starts_with(kSessionId)) {
        const auto session = sessions_until_.find(std::string(id));
        const bool over = session == sessions_until_.end() || session->second <= now;
        return over ? kSignedOut : std::string_view();
    }
    const AccessToken* token = FindToken(id);
    if (!token) return "the token was revoked";
    return IsExpired(*token, now) ? kExpired : std::string_view();
}

const AccessToken* AccessPolicy::TakeUsed() {
    while (!used_.empty()) {
        const std::string id = std::move(used_.back());
        used_.pop_back();
        if (const AccessToken* token = FindToken(id)) return token;
    }
    return nullptr;
}

// A right token is never refused for the wrong ones of its neighbours: guessing 256 bits is
// hopeless anyway. The limit is there to make it quiet.
std::uint32_t AccessPolicy::CountFailure(const std::string& address, Steady now) {
    if (failures_.size() >= kAddressesMax) {
        std::erase_if(failures_, [&](const auto& entry) {
            return now - entry.second.since >= kFailureWindow;
        });
        if (failures_.size() >= kAddressesMax) failures_.clear();
    }
    Failures& failures = failures_[address];
    if (now - failures.since >= kFailureWindow) failures = {.since = now};
    return ++failures.count;
}

}  // namespace takt::internal
