// Reads configuration from a file, the environment and flags.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/nearest.h"
#include "config/config.h"
#include "config/foreign_keys.h"
#include "model/worker.h"

namespace takt::internal {
namespace {

std::string EnvironmentName(std::string_view key) {
    std::string name = "TAKT_";
    for (const char c : key) {
        name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name;
}

std::string At(const std::string& path, const YAML::Mark& mark) {
    return path + (mark.is_null() ? "" : ":" + std::to_string(mark.line + 1));
}

// A list or map of YAML, spelled as flags spell it.
std::string Flatten(const YAML::Node& node) {
    if (node.IsScalar()) return node.Scalar();
    std::string text;
    for (const auto& item : node) {
        if (!text.empty()) text += ',';
        text += node.IsMap() ? item.first.Scalar() + "=" + item.second.Scalar() : item.Scalar();
    }
    return text;
}

// Whether a list or map holds nothing but plain values.
bool IsFlat(const YAML::Node& node) {
    if (node.IsScalar()) return true;
    return std::all_of(node.begin(), node.end(), [&](const auto& item) {
        return node.IsMap() ? item.first.IsScalar() && item.second.IsScalar() : item.IsScalar();
    });
}

bool IsKey(std::string_view name) {
    return std::ranges::any_of(ConfigKeys(),
                               [&](const ConfigKey& key) { return key.name == name; });
}

std::string_view KindOf(std::string_view name) {
    const auto found = std::ranges::find(ConfigKeys(), name, &ConfigKey::name);
    return found == ConfigKeys().end() ? std::string_view() : found->kind;
}

// What to write instead of a key that does not exist.
std::string HintFor(std::string_view key) {
    if (const ForeignKey* foreign = FindForeignKey(key)) {
        if (foreign->ours.empty()) return std::string(foreign->how);
        const std::string how = foreign->how.empty() ? "" : ": " + std::string(foreign->how);
        return "here it is " + std::string(foreign->ours) + how;
    }
    std::vector<std::string_view> names;
    for (const ConfigKey& known : ConfigKeys()) names.push_back(known.name);
    const std::string nearest(NearestName(key, names));
    if (nearest.empty()) return "docs/configuration.md lists them all";
    return "did you mean '" + nearest + "'?";
}

Result<void> Walk(Config& config, const std::string& path, const YAML::Node& node,
                  const std::string& prefix) {
    for (const auto& item : node) {
        const std::string name = prefix + item.first.Scalar();
        if (item.second.IsMap() && !IsKey(name)) {
            if (auto walked = Walk(config, path, item.second, name + "."); !walked) return walked;
            continue;
        }
        if (item.second.IsNull()) continue;
        if (KindOf(name) == "list of maps") {
            YAML::Emitter flow;
            flow << YAML::Flow << item.second;
            auto set = SetConfig(config, name, flow.c_str());
            if (set) continue;
            Error error = set.error();
            error.detail = At(path, item.first.Mark()) + ": " + error.detail;
            return std::unexpected(std::move(error));
        }
        if (!IsFlat(item.second)) {
            return Fail(ErrorCode::kInvalid,
                        At(path, item.first.Mark()) + ": " + name +
                            ": lists and maps must hold plain values",
                        name);
        }
        if (auto set = SetConfig(config, name, Flatten(item.second)); !set) {
            Error error = set.error();
            error.detail = At(path, item.first.Mark()) + ": " + error.detail;
            return std::unexpected(std::move(error));
        }
    }
    return {};
}

}  // namespace

Result<void> SetConfig(Config& config, std::string_view key, std::string_view value) {
    for (const ConfigKey& known : ConfigKeys()) {
        if (known.name != key) continue;
        auto set = known.set(config, value);
        if (set) return {};
        return Fail(ErrorCode::kInvalid, std::string(key) + ": " + set.error().detail,
                    std::string(key));
    }
    return Fail(ErrorCode::kInvalid, "there is no key '" + std::string(key) + "'; " + HintFor(key),
                std::string(key));
}

Result<void> LoadConfigFile(Config& config, const std::string& path) {
    // yaml-cpp reports by exceptions; they end here.
    try {
        const YAML::Node root = YAML::LoadFile(path);
        if (root.IsNull()) return {};
        if (!root.IsMap()) return Fail(ErrorCode::kInvalid, path + ": must be a map of sections");
        return Walk(config, path, root, "");
    } catch (const YAML::BadFile&) {
        return Fail(ErrorCode::kInvalid, path + ": the file cannot be read");
    } catch (const YAML::Exception& error) {
        return Fail(ErrorCode::kInvalid, At(path, error.mark) + ": " + error.msg);
    }
}

Result<void> LoadConfigEnvironment(Config& config, std::span<const std::string> variables) {
    constexpr std::array<std::string_view, 4> kOthers = {"TAKT_FAILPOINTS", "TAKT_TOKEN",
                                                         "TAKT_SERVER", "TAKT_CONFIG"};
    std::map<std::string, std::string_view> keys;
    std::vector<std::string_view> names;
    for (const ConfigKey& key : ConfigKeys()) keys[EnvironmentName(key.name)] = key.name;
    for (const auto& [name, key] : keys) names.push_back(name);
    for (const std::string& variable : variables) {
        if (!variable.starts_with("TAKT_")) continue;
        const std::size_t equals = variable.find('=');
        const std::string name = variable.substr(0, equals);
        if (std::ranges::find(kOthers, name) != kOthers.end()) continue;
        const auto key = keys.find(name);
        if (key == keys.end()) {
            const std::string_view nearest = NearestName(name, names);
            return Fail(
                ErrorCode::kInvalid,
                "the environment variable " + name + " names no key" +
                    (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?"));
        }
        const std::string value = equals == std::string::npos ? "" : variable.substr(equals + 1);
        if (auto set = SetConfig(config, key->second, value); !set) {
            return Fail(ErrorCode::kInvalid, name + ": " + set.error().detail, name);
        }
    }
    return {};
}

Result<void> CheckConfig(const Config& config) {
    const auto bad = [](std::string_view key, std::string detail) {
        return Fail(ErrorCode::kInvalid, std::string(key) + " " + detail, std::string(key));
    };
    const Config::Scheduler& scheduler = config.scheduler;
    if (scheduler.leader_ttl < Duration(500)) {
        return bad("scheduler.leader_ttl", "must be at least 500ms: clocks and networks need it");
    }
    if (scheduler.leader_renew_interval * 2 > scheduler.leader_ttl ||
        scheduler.leader_renew_interval <= Duration(0)) {
        return bad(
            "scheduler.leader_renew_interval",
            "must be above 0 and at most half of scheduler.leader_ttl, so that one lost renewal "
            "does not cost the lead");
    }
    if (scheduler.leader_acquire_interval < Duration(10)) {
        return bad("scheduler.leader_acquire_interval", "must be at least 10ms");
    }
    if (scheduler.scan_interval < Duration(10) || scheduler.scan_interval > Duration(60'000)) {
        return bad("scheduler.scan_interval", "must be between 10ms and 1m");
    }
    if (scheduler.heartbeat_interval <= Duration(0) ||
        scheduler.heartbeat_interval * 2 > config.engine.worker_lease) {
        return bad("scheduler.heartbeat_interval",
                   "must be above 0 and at most half of scheduler.worker_lease");
    }
    if (config.engine.retry.backoff_rate < 1 || config.engine.retry.backoff_rate > 1000) {
        return bad("scheduler.retry_backoff_rate", "must be between 1 and 1000");
    }
    if (config.engine.retry.jitter < 0 || config.engine.retry.jitter > 1) {
        return bad("scheduler.retry_jitter", "must be between 0 and 1");
    }
    if (config.engine.timeout <= Duration(0)) return bad("scheduler.timeout", "must be above 0");
    if (config.engine.losses_max == 0) return bad("scheduler.losses_max", "must be at least 1");
    if (config.engine.workers_max == 0) return bad("scheduler.workers_max", "must be at least 1");
    if (config.engine.cleanup_interval < Duration(1'000)) {
        return bad("scheduler.cleanup_interval", "must be at least 1s");
    }
    if (config.worker.capacity == 0 || config.worker.capacity > 100'000) {
        return bad("worker.capacity", "must be between 1 and 100000");
    }
    if (config.worker.weight == 0 || config.worker.weight > kWeightMax) {
        return bad("worker.weight", "must be between 1 and " + std::to_string(kWeightMax));
    }
    if (config.metrics.interval < Duration(1'000) || config.metrics.interval > Duration(600'000)) {
        return bad("metrics.interval", "must be between 1s and 10m");
    }
    if (config.alerts.interval < Duration(1'000) || config.alerts.interval > Duration(60'000)) {
        return bad("alerts.interval", "must be between 1s and 1m");
    }
    if (config.statistics.keep < std::chrono::hours(24)) {
        return bad("statistics.keep", "must be at least 1d: statistics are kept by day");
    }
    const Config::Executors& executors = config.executors;
    const std::string& base = executors.callback_base;
    if (!base.empty() && !base.starts_with("http://") && !base.starts_with("https://")) {
        return bad("executors.callback_base", "must be an http:// or https:// URL");
    }
    if (base.ends_with('/')) {
        return bad("executors.callback_base", "must not end with '/': paths are added to it");
    }
    if (executors.circuit_failures == 0) {
        return bad("executors.circuit_failures", "must be at least 1");
    }
    if (executors.circuit_open <= Duration(0) ||
        executors.circuit_open > executors.circuit_open_max) {
        return bad("executors.circuit_open",
                   "must be above 0 and at most executors.circuit_open_max");
    }
    const Config::Tracing& tracing = config.tracing;
    if (!(tracing.sample_ratio >= 0 && tracing.sample_ratio <= 1)) {
        return bad("tracing.sample_ratio", "must be between 0 and 1");
    }
    if (tracing.enabled && !tracing.endpoint.starts_with("http://") &&
        !tracing.endpoint.starts_with("https://")) {
        return bad("tracing.endpoint", "must be an http:// or https:// URL");
    }
    if (config.server.tls_cert.empty() != config.server.tls_key.empty()) {
        return bad("server.tls_cert", "and server.tls_key go together");
    }
    return {};
}

}  // namespace takt::internal
