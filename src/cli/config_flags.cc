#include <cstdlib>

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
    shorts.push_back(std::make_unique<Short>(Short{key, {}}));
    return command.add_option(flag, shorts.back()->value, help);
}

Result<Config> ConfigFlags::Load() const {
    Config config;
    const char* from_environment = std::getenv("TAKT_CONFIG");
    const std::string path = !file.empty()      ? file
                             : from_environment ? std::string(from_environment)
                                                : std::string();
    if (!path.empty()) {
        if (auto loaded = LoadConfigFile(config, path); !loaded)
            return std::unexpected(loaded.error());
    }
    std::vector<std::string> variables;
    for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
    if (auto loaded = LoadConfigEnvironment(config, variables); !loaded) {
        return std::unexpected(loaded.error());
    }
    for (const std::string& set : sets) {
        const std::size_t equals = set.find('=');
        if (equals == std::string::npos) {
            return Fail(ErrorCode::kInvalid, "--set wants KEY=VALUE, not '" + set + "'");
        }
        if (auto done = SetConfig(config, set.substr(0, equals), set.substr(equals + 1)); !done) {
            return std::unexpected(done.error());
        }
    }
    for (const auto& flag : shorts) {
        if (flag->value.empty()) continue;
        if (auto done = SetConfig(config, flag->key, flag->value); !done) {
            return std::unexpected(done.error());
        }
    }
    if (auto checked = CheckConfig(config); !checked) return std::unexpected(checked.error());
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
    std::fprintf(stderr, "takt: %s\n", error.detail.c_str());
}

}  // namespace takt::internal::cli
