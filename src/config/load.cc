// Reads configuration from the environment and flags.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/mistakes.h"
#include "base/nearest.h"
#include "config/config.h"
#include "config/foreign_keys.h"

namespace takt::internal {
namespace {

std::string EnvironmentName(std::string_view key) {
    std::string name = "TAKT_";
    for (const char c : key) {
        name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name;
}

std::string_view NearestKey(std::string_view key) {
    std::vector<std::string_view> names;
    for (const ConfigKey& known : ConfigKeys()) names.push_back(known.name);
    return NearestName(key, names);
}

// The key that was meant by one that does not exist has a value that nobody knows.
void NoteMeant(Config& config, std::string_view key) {
    const ForeignKey* foreign = FindForeignKey(key);
    const std::string_view meant = foreign ? foreign->ours : NearestKey(key);
    if (!meant.empty() && !config.places.contains(meant)) config.unread.emplace(meant);
}

// The key to write instead of one that does not exist.
std::string HintFor(std::string_view key) {
    if (const ForeignKey* foreign = FindForeignKey(key)) {
        if (foreign->ours.empty()) return std::string(foreign->how);
        const std::string how = foreign->how.empty() ? "" : ": " + std::string(foreign->how);
        return "here it is " + std::string(foreign->ours) + how;
    }
    const std::string nearest(NearestKey(key));
    if (nearest.empty()) return "docs/configuration.md lists them all";
    return "did you mean '" + nearest + "'?";
}

// Of a key and of the items of its list.
void ForgetPlaces(Config& config, std::string_view key) {
    config.unread.erase(std::string(key));
    std::erase_if(config.places, [&](const auto& place) {
        const std::string_view name = place.first;
        return name.substr(0, name.find('[')) == key;
    });
}

}  // namespace

Error Placed(const Config& config, Error error) {
    auto place = config.places.find(error.field);
    if (place == config.places.end()) {
        place = config.places.find(error.field.substr(0, error.field.find('[')));
    }
    if (place != config.places.end()) error.detail = place->second + ": " + error.detail;
    return error;
}

Result<void> SetConfig(Config& config, std::string_view key, std::string_view value) {
    for (const ConfigKey& known : ConfigKeys()) {
        if (known.name != key) continue;
        auto set = known.set(config, value);
        if (set) {
            ForgetPlaces(config, key);
            return {};
        }
        config.unread.emplace(key);
        return Fail(ErrorCode::kInvalid, std::string(key) + ": " + set.error().detail,
                    std::string(key));
    }
    NoteMeant(config, key);
    return Fail(ErrorCode::kInvalid, "there is no key '" + std::string(key) + "'; " + HintFor(key),
                std::string(key));
}

Result<void> LoadConfigEnvironment(Config& config, std::span<const std::string> variables) {
    // The last are what `takt lock` says to the command that it runs.
    constexpr std::array<std::string_view, 9> kOthers = {
        "TAKT_FAILPOINTS", "TAKT_TOKEN",     "TAKT_SERVER",  "TAKT_CONFIG",    "TAKT_CONTEXT",
        "TAKT_NAMESPACE",  "TAKT_LOCK_NAME", "TAKT_LOCK_ID", "TAKT_LOCK_TOKEN"};
    std::map<std::string, std::string_view> keys;
    std::vector<std::string_view> names;
    for (const ConfigKey& key : ConfigKeys()) keys[EnvironmentName(key.name)] = key.name;
    for (const auto& [name, key] : keys) names.push_back(name);
    Mistakes mistakes;
    for (const std::string& variable : variables) {
        if (!variable.starts_with("TAKT_")) continue;
        const std::size_t equals = variable.find('=');
        const std::string name = variable.substr(0, equals);
        if (std::ranges::find(kOthers, name) != kOthers.end()) continue;
        const auto key = keys.find(name);
        if (key == keys.end()) {
            const std::string nearest(NearestName(name, names));
            if (!nearest.empty()) NoteMeant(config, keys.at(nearest));
            mistakes.Add({ErrorCode::kInvalid,
                          "the environment variable " + name + " names no key" +
                              (nearest.empty() ? "" : "; did you mean " + nearest + "?"),
                          name});
            continue;
        }
        const std::string value = equals == std::string::npos ? "" : variable.substr(equals + 1);
        if (auto set = SetConfig(config, key->second, value); !set) {
            mistakes.Add(
                {ErrorCode::kInvalid, name + ": " + set.error().detail, std::string(key->second)});
        } else {
            config.places.emplace(key->second, name);
        }
    }
    return mistakes.ToResult();
}

}  // namespace takt::internal
