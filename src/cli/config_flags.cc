#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/mistakes.h"
#include "cli/cli.h"

extern char** environ;

namespace takt::internal::cli {

void ConfigFlags::Add(CLI::App& command) {
    command.add_option("--config", file, "YAML file with the configuration (also TAKT_CONFIG)");
    command.add_option("--set", sets, "KEY=VALUE: sets one key of the configuration; repeatable")
        ->type_name("KEY=VALUE");
}

CLI::Option* ConfigFlags::AddShort(CLI::App& command, const std::string& flag,
                                   const std::string& key, const std::string& help) {
    shorts.push_back(std::make_unique<Short>(Short{flag.substr(flag.find("--")), key, {}}));
    return command.add_option(flag, shorts.back()->value, help);
}

void ConfigFlags::LoadFlags(Config& config, Mistakes& mistakes) const {
    // The first word on a key: no flag is stronger than another.
    struct Said {
        std::string flag;
        std::string value;  // As the key has it: 1h is 60m.
    };
    std::map<std::string, Said, std::less<>> said;
    const auto take = [&](const std::string& flag, const std::string& key, std::string_view value) {
        if (auto set = SetConfig(config, key, value); !set) return mistakes.AddIfAny(set);
        const auto known = std::ranges::find(ConfigKeys(), key, &ConfigKey::name);
        const std::string meant = known->get(config);
        const auto [first, fresh] = said.try_emplace(key, Said{flag, meant});
        if (fresh || first->second.value == meant) return;
        const bool same = first->second.flag == flag;
        mistakes.Add({ErrorCode::kInvalid,
                      same ? flag + " stands here twice, with different values: give it once"
                           : first->second.flag + " and " + flag + " say different things of " +
                                 key + ": give one of them",
                      key});
    };
    for (const std::string& set : sets) {
        const std::size_t equals = set.find('=');
        if (equals == std::string::npos) {
            mistakes.Add(
                {ErrorCode::kInvalid, "--set wants KEY=VALUE, not '" + set + "'", "--set"});
            continue;
        }
        const std::string key = set.substr(0, equals);
        take("--set " + key, key, std::string_view(set).substr(equals + 1));
    }
    for (const auto& flag : shorts) {
        if (!flag->value.empty()) take(flag->flag, flag->key, flag->value);
    }
}

Result<Config> ConfigFlags::Load(Check more) const {
    Config config;
    Mistakes mistakes;
    const char* from_environment = std::getenv("TAKT_CONFIG");
    const std::string path = !file.empty()      ? file
                             : from_environment ? std::string(from_environment)
                                                : std::string();
    bool unreadable = false;
    if (!path.empty()) {
        const auto loaded = LoadConfigFile(config, path);
        unreadable = !loaded && loaded.error().field.empty();
        mistakes.AddIfAny(loaded);
    }
    std::vector<std::string> variables;
    for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
    mistakes.AddIfAny(LoadConfigEnvironment(config, variables));
    LoadFlags(config, mistakes);
    // A file that cannot be read at all may say what the rest would only seem to contradict.
    if (!unreadable) mistakes.AddIfAny(CheckConfig(config));
    if (more) mistakes.AddIfAny(more(config));
    if (auto good = mistakes.ToResult(); !good) return std::unexpected(good.error());
    return config;
}

Exit ExitOf(const Error& error) {
    switch (error.code) {
        case ErrorCode::kInvalid:
            return kUsage;
        case ErrorCode::kNotFound:
            return kNotFound;
        case ErrorCode::kConflict:
            return kConflict;
        case ErrorCode::kExhausted:
        case ErrorCode::kUnavailable:
        case ErrorCode::kUnknown:
            return kUnavailable;
        default:
            return kFailed;
    }
}

void PrintError(const Error& error) {
    // A configuration may have several mistakes, each on a line.
    for (std::string_view rest = error.detail; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        std::fprintf(stderr, "takt: %.*s\n", static_cast<int>(line.size()), line.data());
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
}

}  // namespace takt::internal::cli
