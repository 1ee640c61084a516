// Sessions: people who signed in at an OpenID provider, each by a sealed text that they bring with
// every request, as a cookie or as a token. Nothing of it is stored: it holds until its time is over,
// on every scheduler that has the same key.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"
#include "base/error.h"
#include "base/time.h"
#include "signin/person.h"
#include "signin/seal.h"

namespace takt::internal {

constexpr std::string_view kSessionCookie = "takt_session";
constexpr Duration kSessionLifetimeMax{std::chrono::hours(8)};

// A role that a person has in a namespace, or in all of them.
struct Grant {
    AccessRole role{};
    std::string space = std::string(kEverySpace);
};

// The people in a group are given that role.
struct GroupRole {
    std::string group;
    Grant grant;
};

// As the configuration has it: {group: ops, role: operator, namespace: billing}. kInvalid says what is
// wrong, with the number of the line.
Result<std::vector<GroupRole>> ReadGroupRoles(
    const std::vector<std::map<std::string, std::string>>& lines);

class Sessions {
  public:
    struct Options {
        std::string key;
        std::vector<GroupRole> roles;
        Duration lifetime = kSessionLifetimeMax;
    };
    explicit Sessions(Options options);

    struct Session {
        Person person;
        Time until{};
    };
    // With the groups that mean something here only.
    Person Known(Person person) const;
    // Of what is known, so that it fits into a cookie.
    std::string Make(Person person, Time now) const;
    std::optional<Session> Read(std::string_view text, Time now) const;

    // Whether a text is one, whatever it is worth.
    static bool IsSession(std::string_view text);

    // By the configuration of now, not of the time when they signed in.
    std::vector<Grant> GrantsOf(const Person& person) const;

    const Seal& seal() const { return seal_; }
    Duration lifetime() const { return options_.lifetime; }

  private:
    const Options options_;
    const Seal seal_;
};

// The strongest of the grants that hold in that namespace; if none is named, of those for all, and else
// the first there is. Null: there is none.
const Grant* StrongestIn(const std::vector<Grant>& grants, std::string_view space);
// For what is the cluster's, and of no namespace: the grant that allows it, rather one for all of them.
// If none does, as StrongestIn without a name.
const Grant* StrongestFor(const std::vector<Grant>& grants, Permission permission);

}  // namespace takt::internal
