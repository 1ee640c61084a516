#include "api/sessions.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <map>

#include "base/json.h"

namespace takt::internal {
namespace {

constexpr std::string_view kPurpose = "takt-session";

int StrengthOf(AccessRole role) {
    switch (role) {
        case AccessRole::kAdmin:
            return 3;
        case AccessRole::kOperator:
            return 2;
        default:
            return 1;
    }
}

}  // namespace

Result<std::vector<GroupRole>> ReadGroupRoles(
    const std::vector<std::map<std::string, std::string>>& lines) {
    std::vector<GroupRole> roles;
    for (const auto& line : lines) {
        const auto bad = [&](std::string why) {
            return Fail(ErrorCode::kInvalid,
                        "entry " + std::to_string(roles.size() + 1) + " " + std::move(why),
                        "signin.roles");
        };
        GroupRole role;
        for (const auto& [name, value] : line) {
            if (name == "group") {
                role.group = value;
            } else if (name == "namespace") {
                role.grant.space = value;
            } else if (name == "role") {
                const auto known = ParseAccessRole(value);
                if (!known || *known == AccessRole::kWorker || *known == AccessRole::kExecutor) {
                    return bad("must have the role viewer, operator or admin, not '" + value + "'");
                }
                role.grant.role = *known;
            } else {
                return bad("has group, role and namespace only, not '" + name + "'");
            }
        }
        if (role.group.empty()) return bad("names no group");
        if (!line.contains("role")) return bad("names no role");
        if (role.grant.space.empty()) return bad("names an empty namespace");
        roles.push_back(std::move(role));
    }
    return roles;
}

Sessions::Sessions(Options options) : options_(std::move(options)), seal_(options_.key) {}

Person Sessions::Known(Person person) const {
    std::vector<std::string> groups;
    for (const GroupRole& role : options_.roles) {
        if (std::ranges::find(person.groups, role.group) == person.groups.end()) continue;
        if (std::ranges::find(groups, role.group) == groups.end()) groups.push_back(role.group);
    }
    person.groups = std::move(groups);
    return person;
}

std::string Sessions::Make(Person person, Time now) const {
    person = Known(std::move(person));
    std::string text;
    AppendJson(text, boost::json::object{{"subject", person.subject},
                                         {"name", person.name},
                                         {"groups", boost::json::array(person.groups.begin(),
                                                                       person.groups.end())}});
    return seal_.Close(kPurpose, text, now + options_.lifetime);
}

bool Sessions::IsSession(std::string_view text) {
    return text.starts_with(kPurpose) && text.substr(kPurpose.size(), 1) == ".";
}

std::optional<Sessions::Session> Sessions::Read(std::string_view text, Time now) const {
    const auto opened = seal_.Open(kPurpose, text, now);
    if (!opened) return std::nullopt;
    const auto value = ParseJson(opened->text);
    if (!value || !value->is_object()) return std::nullopt;
    const boost::json::object& object = value->get_object();
    Session session{.until = opened->until};
    session.person.subject = std::string(object.at("subject").as_string());
    session.person.name = std::string(object.at("name").as_string());
    for (const auto& group : object.at("groups").as_array()) {
        session.person.groups.emplace_back(group.as_string());
    }
    return session;
}

std::vector<Grant> Sessions::GrantsOf(const Person& person) const {
    std::vector<Grant> grants;
    for (const GroupRole& role : options_.roles) {
        if (std::ranges::find(person.groups, role.group) != person.groups.end()) {
            grants.push_back(role.grant);
        }
    }
    return grants;
}

const Grant* StrongestIn(const std::vector<Grant>& grants, std::string_view space) {
    const Grant* best = nullptr;
    for (const Grant& grant : grants) {
        const bool fits = grant.space == kEverySpace || (!space.empty() && grant.space == space);
        if (fits && (!best || StrengthOf(grant.role) > StrengthOf(best->role))) best = &grant;
    }
    if (best || !space.empty() || grants.empty()) return best;
    return StrongestIn(grants, grants.front().space);
}

const Grant* StrongestFor(const std::vector<Grant>& grants, Permission permission) {
    const Grant* best = nullptr;
    for (const Grant& grant : grants) {
        if (!Allows(grant.role, permission)) continue;
        if (!best || (grant.space == kEverySpace && best->space != kEverySpace)) best = &grant;
    }
    return best ? best : StrongestIn(grants, {});
}

}  // namespace takt::internal
