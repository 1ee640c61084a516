// Access: who may do what.
//
// Tokens are `takt_<role>_<256 random bits>`; only their SHA-256 is stored, under the setting
// `token/<id>`. While there is no token at all and the server listens on loopback only, everything
// is open; else every route needs the permission that the route table names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/time.h"

namespace takt::internal {

enum class AccessRole : std::uint8_t {
    kViewer,    // Reads.
    kOperator,  // Reads, and changes tasks, executions, workers and queues.
    kAdmin,     // Everything.
    kWorker,    // Attaches as a worker.
    kExecutor,  // Registers as an executor.
};
std::string_view Name(AccessRole role);
std::optional<AccessRole> ParseAccessRole(std::string_view name);

enum class Permission : std::uint8_t {
    kNone,
    kViewer,
    kOperator,
    kAdmin,
    kWorker,
    kExecutor,
    kAny,  // Whoever may come in at all.
};
std::string_view Name(Permission permission);

bool Allows(AccessRole role, Permission permission);

std::string HexText(std::string_view bytes);

constexpr std::string_view kTokenSettingPrefix = "token/";
// In place of a namespace: all of them.
constexpr std::string_view kEverySpace = "*";
// Behind a token's key: when it was last used. A setting of its own, so that writing it down late
// never brings a revoked token back.
constexpr std::string_view kTokenUsedSuffix = "/used";
// In place of that time: it was the last token, and was revoked. Without this word a store that has
// no token any more has lost them.
constexpr std::string_view kLastTokenRevoked = "revoked";

// The bounds of a worker's or an executor's token; an empty list: there is none.
struct TokenBounds {
    std::vector<std::string> worker_ids;  // Executors' instances too.
    std::vector<std::string> queues;
    std::vector<std::string> types;
    std::vector<std::string> services;  // Names of executors.

    bool none() const {
        return worker_ids.empty() && queues.empty() && types.empty() && services.empty();
    }
    friend bool operator==(const TokenBounds&, const TokenBounds&) = default;
};

// A token as it is stored.
struct AccessToken {
    std::string id;
    std::string name;  // What its owner calls it.
    AccessRole role{};
    std::string space = std::string(kEverySpace);  // The namespace it is for, or all of them.
    // The id of that namespace; 0: all of them, `default`, or a token of a version that wrote none.
    std::uint64_t space_id = 0;
    TokenBounds bounds;
    Sha256 hash{};
    Time created_at{};
    Time expires_at{};    // 0 is never.
    Time last_used_at{};  // Not part of the record.
};

inline bool IsExpired(const AccessToken& token, Time now) {
    return token.expires_at != Time{} && token.expires_at <= now;
}

// A namespace that there is: another of its name, made later, has another id.
struct SpaceMark {
    std::uint64_t id = 0;  // 0: `default`.
    Time created_at{};
};
// Whether the token was made for an earlier namespace of that name. One that does not say its id is
// told by its time.
bool IsForEarlier(const AccessToken& token, const SpaceMark& space);

inline bool Covers(const AccessToken& token, std::string_view space) {
    return token.space == kEverySpace || token.space == space;
}

std::string EncodeToken(const AccessToken& token);
Result<AccessToken> DecodeToken(std::string_view id, std::string_view value);

// Makes a token. `text` is the secret, which nobody can read again later.
struct NewToken {
    AccessToken token;
    std::string text;
};
NewToken MakeToken(AccessRole role, std::string name, Time now, Time expires_at, Random& random);

// Whether an address, as given to listen on, is reachable from this machine only.
bool IsLoopback(std::string_view host);

}  // namespace takt::internal
