#include "api/access.h"

#include <utility>
#include <vector>

#include "base/json_view.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"viewer", "operator", "admin", "worker",
                                                    "executor"};
constexpr std::array<std::string_view, 7> kPermissions = {"none",   "viewer",   "operator", "admin",
                                                          "worker", "executor", "any"};

std::string Base64Url(const std::vector<std::uint8_t>& bytes) {
    static constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    unsigned bits = 0;
    unsigned held = 0;
    for (const std::uint8_t byte : bytes) {
        bits = bits << 8 | byte;
        held += 8;
        while (held >= 6) {
            held -= 6;
            out += kLetters[bits >> held & 63];
        }
    }
    if (held > 0) out += kLetters[bits << (6 - held) & 63];
    return out;
}

std::optional<Sha256> ParseHash(std::string_view hex) {
    Sha256 hash{};
    if (hex.size() != 2 * hash.size()) return std::nullopt;
    const auto digit = [](char c) {
        if (c >= '0' && c <= '9') return c - '0';
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (std::size_t i = 0; i < hash.size(); ++i) {
        const int high = digit(hex[2 * i]);
        const int low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        hash[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return hash;
}

constexpr std::pair<std::string_view, std::vector<std::string> TokenBounds::*> kBounds[] = {
    {"worker_ids", &TokenBounds::worker_ids},
    {"queues", &TokenBounds::queues},
    {"types", &TokenBounds::types},
    {"services", &TokenBounds::services}};

void WriteBound(JsonWriter& json, std::string_view name, const std::vector<std::string>& list) {
    if (list.empty()) return;
    json.Key(name).BeginArray();
    for (const std::string& one : list) json.Value(std::string_view(one));
    json.EndArray();
}

std::vector<std::string> ReadBound(const JsonView& value) {
    std::vector<std::string> list;
    if (value.kind() != JsonView::Kind::kArray) return list;
    std::string scratch;
    JsonView::Elements elements(value);
    while (elements.Next()) {
        if (elements.value().is_string()) list.emplace_back(elements.value().AsString(scratch));
    }
    return list;
}

std::string_view View(const Sha256& hash) {
    return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

}  // namespace

std::string_view Name(AccessRole role) {
    return kRoles[static_cast<std::size_t>(role)];
}

std::optional<AccessRole> ParseAccessRole(std::string_view name) {
    for (std::size_t i = 0; i < kRoles.size(); ++i) {
        if (kRoles[i] == name) return static_cast<AccessRole>(i);
    }
    return std::nullopt;
}

std::string_view Name(Permission permission) {
    return kPermissions[static_cast<std::size_t>(permission)];
}

bool Allows(AccessRole role, Permission permission) {
    if (permission == Permission::kNone || permission == Permission::kAny) return true;
    if (role == AccessRole::kAdmin) return true;
    switch (permission) {
        case Permission::kViewer:
            return role == AccessRole::kViewer || role == AccessRole::kOperator;
        case Permission::kOperator:
            return role == AccessRole::kOperator;
        case Permission::kWorker:
            return role == AccessRole::kWorker;
        case Permission::kExecutor:
            return role == AccessRole::kExecutor;
        case Permission::kNone:
        case Permission::kAny:
        case Permission::kAdmin:
            break;
    }
    return false;
}

std::string HexText(std::string_view bytes) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    out.reserve(2 * bytes.size());
    for (const char c : bytes) {
        out += kDigits[static_cast<std::uint8_t>(c) >> 4];
        out += kDigits[static_cast<std::uint8_t>(c) & 15];
    }
    return out;
}

std::string EncodeToken(const AccessToken& token) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject();
    json.Field("hash", std::string_view(HexText(View(token.hash))));
    json.Field("role", Name(token.role)).Field("name", std::string_view(token.name));
    // Schedulers that know of no namespaces read on what is for all of them.
    if (token.space != kEverySpace) json.Field("namespace", std::string_view(token.space));
    // A number: earlier versions take every text that they do not know for a time.
    if (token.space_id != 0) json.Field("namespace_id", token.space_id);
    for (const auto& [name, list] : kBounds) WriteBound(json, name, token.bounds.*list);
    json.Field("created_at", token.created_at).Field("expires_at", token.expires_at).EndObject();
    return out;
}

Result<AccessToken> DecodeToken(std::string_view id, std::string_view value) {
    const auto broken = [&] {
        return Fail(ErrorCode::kInvalid,
                    "the setting token/" + std::string(id) + " is not a token; remove it");
    };
    if (!CheckJson(value)) return broken();
    const JsonView view(value);
    if (view.kind() != JsonView::Kind::kObject) return broken();
    AccessToken token{.id = std::string(id)};
    bool has_hash = false;
    bool has_role = false;
    std::string scratch;
    JsonView::Members members(view);
    while (members.Next()) {
        for (const auto& [name, list] : kBounds) {
            if (members.key() == name) token.bounds.*list = ReadBound(members.value());
        }
        if (members.key() == "namespace_id") {
            const auto number = members.value().AsInteger();
            if (!number || *number < 0) return broken();
            token.space_id = static_cast<std::uint64_t>(*number);
        }
        if (!members.value().is_string()) continue;
        const std::string_view text = members.value().AsString(scratch);
        if (members.key() == "hash") {
            const auto hash = ParseHash(text);
            if (!hash) return broken();
            token.hash = *hash;
            has_hash = true;
        } else if (members.key() == "role") {
            const auto role = ParseAccessRole(text);
            if (!role) return broken();
            token.role = *role;
            has_role = true;
        } else if (members.key() == "name") {
            token.name = text;
        } else if (members.key() == "namespace") {
            token.space = text;
        } else if (const auto time = ParseTime(text); !time) {
            return broken();
        } else if (members.key() == "created_at") {
            token.created_at = *time;
        } else if (members.key() == "expires_at") {
            token.expires_at = *time;
        }
    }
    if (!has_hash || !has_role) return broken();
    return token;
}

bool IsForEarlier(const AccessToken& token, const SpaceMark& space) {
    // Schedulers that wrote the two times may have had clocks that differ by this.
    constexpr Duration kClocksDiffer{60'000};
    if (token.space_id != 0) return token.space_id != space.id;
    return space.id != 0 && token.created_at + kClocksDiffer < space.created_at;
}

NewToken MakeToken(AccessRole role, std::string name, Time now, Time expires_at, Random& random) {
    std::vector<std::uint8_t> secret(32);
    random.Fill(secret);
    std::array<std::uint8_t, 6> id{};
    random.Fill(id);
    NewToken made;
    made.text = "takt_" + std::string(Name(role)) + "_" + Base64Url(secret);
    made.token = {.id = HexText({reinterpret_cast<const char*>(id.data()), id.size()}),
                  .name = std::move(name),
                  .role = role,
                  .hash = Sha256Of(made.text),
                  .created_at = now,
                  .expires_at = expires_at};
    return made;
}

bool IsLoopback(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    // A name may begin like a number: 127.example.com is anywhere.
    return host == "localhost" || host == "::1" ||
           (host.starts_with("127.") &&
            host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace takt::internal
