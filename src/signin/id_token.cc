#include "signin/id_token.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <optional>

#include "base/utf8.h"

namespace takt::internal {
namespace {

namespace json = boost::json;

// As far as clocks of two machines may differ.
constexpr Duration kSkew{60'000};
constexpr std::size_t kSubjectBytesMax = 255;

std::unexpected<Error> Wrong(std::string why) {
    return Fail(ErrorCode::kInvalid, "the id token " + why);
}

// All of them: ReadJwt bounds what a token can say.
std::vector<std::string> Texts(const json::value* value) {
    std::vector<std::string> texts;
    if (!value) return texts;
    if (value->is_string()) texts.emplace_back(value->get_string());
    if (!value->is_array()) return texts;
    for (const json::value& one : value->get_array()) {
        if (one.is_string()) texts.emplace_back(one.get_string());
    }
    return texts;
}

std::string ClaimedText(const json::object& claims, std::string_view name) {
    const json::value* value = claims.if_contains(name);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Seconds since 1970; nothing if it is not there or no such time.
std::optional<Time> ClaimedTime(const json::object& claims, std::string_view name) {
    const json::value* value = claims.if_contains(name);
    if (!value || !value->is_number()) return std::nullopt;
    const double seconds = value->to_number<double>();
    if (!(seconds > 0) || seconds > 1e11) return std::nullopt;
    return Time(Duration(static_cast<Duration::rep>(seconds * 1000)));
}

Result<void> CheckAudience(const json::object& claims, const std::string& client) {
    const std::vector<std::string> audience = Texts(claims.if_contains("aud"));
    if (std::ranges::find(audience, client) == audience.end()) {
        return Wrong("is for somebody else (aud)");
    }
    const std::string party = ClaimedText(claims, "azp");
    if (audience.size() > 1 && party.empty())
        return Wrong("does not say whom of several it is for");
    if (!party.empty() && party != client) return Wrong("was asked for by somebody else (azp)");
    return {};
}

// A person in very many groups: some providers (Entra) then name an address to ask instead. Without
// them somebody would have fewer rights than were given, and nobody would know why.
Result<void> CheckGroupsAreThere(const json::object& claims, const std::string& groups) {
    const json::value* elsewhere = claims.if_contains("_claim_names");
    const bool distributed = elsewhere && elsewhere->is_object() &&
                             elsewhere->get_object().contains(groups) && !claims.contains(groups);
    if (!distributed) return {};
    return Wrong(
        "does not have the groups themselves ('" + groups +
        "' is in _claim_names: too many for the provider); have it send only those that are "
        "assigned to this application");
}

Result<void> CheckTimes(const json::object& claims, Time now) {
    const auto expires = ClaimedTime(claims, "exp");
    const auto made = ClaimedTime(claims, "iat");
    if (!expires || !made) return Wrong("does not say when it was made and until when it holds");
    if (*expires + kSkew <= now) return Wrong("has expired; is this machine's clock right?");
    const auto begins = claims.contains("nbf") ? ClaimedTime(claims, "nbf") : made;
    if (!begins || std::max(*made, *begins) > now + kSkew) {
        return Wrong("is of a time to come; is this machine's clock right?");
    }
    return {};
}

}  // namespace

Result<Person> CheckIdToken(const json::object& claims, const IdTokenRules& rules, Time now) {
    if (ClaimedText(claims, "iss") != rules.issuer) return Wrong("is of another issuer (iss)");
    if (auto checked = CheckAudience(claims, rules.client_id); !checked) {
        return std::unexpected(checked.error());
    }
    if (auto checked = CheckTimes(claims, now); !checked) return std::unexpected(checked.error());
    if (rules.nonce.empty() || ClaimedText(claims, "nonce") != rules.nonce) {
        return Wrong("answers another question (nonce)");
    }
    if (auto checked = CheckGroupsAreThere(claims, rules.groups_claim); !checked) {
        return std::unexpected(checked.error());
    }
    Person person{.subject = ClaimedText(claims, "sub"),
                  .name = ClaimedText(claims, rules.name_claim),
                  .groups = Texts(claims.if_contains(rules.groups_claim))};
    if (person.subject.empty() || person.subject.size() > kSubjectBytesMax) {
        return Wrong("does not say who it is about (sub)");
    }
    if (person.name.empty()) person.name = person.subject;
    person.name = CutUtf8(person.name, kSubjectBytesMax);
    return person;
}

}  // namespace takt::internal
