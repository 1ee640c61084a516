// Config: everything about `takt serve` and `takt worker` that can be set.
//
// Three places, each stronger than the one before: a YAML file, environment variables, flags. All
// name the same keys: `scheduler.leader_ttl` is `scheduler: {leader_ttl: …}` in YAML,
// TAKT_SCHEDULER_LEADER_TTL in the environment and `--set scheduler.leader_ttl=…` as a flag.
// docs/configuration.md lists the keys; a test keeps it equal to Keys().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/time.h"
#include "engine/config.h"
#include "worker/options.h"

namespace takt::internal {

struct Config {
    struct Store {
        std::string url = "file:./takt-data";
        bool wait = true;  // Serve although it cannot be reached yet, and go on trying.
    } store;

    struct Server {
        std::string listen = "127.0.0.1:8080";
        std::string advertise;         // Where others reach this node; empty: see AdvertisedUrl.
        std::string node_id;           // Empty: the host name and a random part.
        bool insecure = false;         // Listen beyond loopback without credentials.
        std::string own_worker_token;  // Of the worker in this process; no key sets it.
        std::string tls_cert;
        std::string tls_key;
        std::string tls_ca;  // Trusted when this node calls others.
        std::size_t connections_max = 20'000;
        std::size_t connections_per_address_max = 1'000;
        std::size_t body_bytes_max = (1 << 20) + (64 << 10);  // A MiB and what is around it.
        std::size_t bulk_bytes_max = 32 << 20;
        std::size_t io_threads = 0;  // That serve the port; 0: the node's own.
    } server;

    // People who come by an OpenID provider.
    struct SignIn {
        std::string issuer;  // Empty: nobody can.
        std::string client_id;
        std::string client_secret_file;  // Empty: a public client.
        std::string session_key_file;
        std::string public_url;  // Where browsers find the console; empty: server.advertise.
        std::string scopes = "openid profile email";
        std::string name_claim = "email";
        std::string groups_claim = "groups";
        Duration lifetime{std::chrono::hours(8)};
        std::vector<std::map<std::string, std::string>> roles;  // group, role, namespace.
    } signin;

    struct Scheduler {
        Duration leader_ttl{10'000};
        Duration leader_renew_interval{3'000};
        Duration leader_acquire_interval{700};
        std::vector<std::string> namespaces;  // That this scheduler may lead; empty: all.
        Duration scan_interval{1'000};
        Duration heartbeat_interval{10'000};
        std::size_t executions_max = 10'000'000;
        std::size_t inbox_max = 200'000;
        Duration stop_deadline{5'000};
        std::size_t loops = 2;
    } scheduler;
    EngineConfig engine;  // Under `scheduler.` too.

    struct Executors {
        bool health_check = true;
        Duration health_interval{30'000};
        Duration health_timeout{5'000};
        std::uint32_t failure_threshold = 3;
        std::uint32_t recovery_threshold = 2;
        std::uint32_t concurrency_max = 100;  // Calls at once to one instance.
        Duration timeout{30'000};             // Of one call, answer included.
        std::uint32_t circuit_failures = 5;   // Calls in a row that failed.
        Duration circuit_open{5'000};         // Doubles with each try that fails,
        Duration circuit_open_max{300'000};   // up to this.
        std::vector<std::string> allow;       // Hosts, addresses or CIDR ranges that may be called.
        std::string callback_base;            // One URL for all schedulers; empty: each its own.
    } executors;

    struct Metrics {
        bool enabled = true;
        Duration interval{10'000};  // Throughput is over this long.
        // In this time the workers that takt_queue_workers_wanted tells would clear what waits.
        Duration clear_within{60'000};
    } metrics;

    // Lists of rules and channels, each a map of its fields; src/alerts says what they mean.
    struct Alerts {
        bool enabled = true;
        Duration interval{5'000};
        std::vector<std::map<std::string, std::string>> rules;
        std::vector<std::map<std::string, std::string>> channels;
    } alerts;

    struct Statistics {
        Duration keep{std::chrono::hours(24 * 400)};
    } statistics;

    struct Tracing {
        bool enabled = false;
        std::string endpoint = "http://127.0.0.1:4318";  // OTLP over HTTP.
        double sample_ratio = 1;
    } tracing;

    // The settings of the runtime, and the handlers it runs tasks with.
    struct Worker : WorkerOptions {
        bool allow_shell = false;
        std::vector<std::string> shell_env;  // Names of variables that shell tasks get too.
        // Services that tasks are handed to, each a map of its fields; see
        // worker/grpc/configured.h.
        std::vector<std::map<std::string, std::string>> executors;
    } worker;

    LogOptions log;

    // The place that gave a key its value, unless it was a flag: "takt.yaml:12" or the name of a
    // variable. Those of items of a list stand under "alerts.rules[0]".
    std::map<std::string, std::string, std::less<>> places;
    // Keys whose value could not be read: what others say of them cannot be judged.
    std::set<std::string, std::less<>> unread;
};

// One thing that can be set.
struct ConfigKey {
    std::string_view name;
    // "duration", "number", "yes or no", "text", "list", "map" or "list of maps".
    std::string_view kind;
    std::string_view help;  // One sentence.
    std::function<Result<void>(Config&, std::string_view)> set;
    std::function<std::string(const Config&)> get;
};

// All keys, in the order of the documentation.
std::span<const ConfigKey> ConfigKeys();

// kInvalid, naming the key, if there is no such key (with the nearest one) or the value does not
// fit.
Result<void> SetConfig(Config& config, std::string_view key, std::string_view value);

// kInvalid has one line for each mistake, with the file and the line or key at fault. So have the
// errors of the two below.
Result<void> LoadConfigFile(Config& config, const std::string& path);

// Variables named TAKT_… Others than keys are refused, but for those that this process knows
// otherwise (TAKT_FAILPOINTS, TAKT_TOKEN, TAKT_SERVER).
Result<void> LoadConfigEnvironment(Config& config, std::span<const std::string> variables);

// Values that contradict each other: a renewal slower than the lease, a heartbeat slower than its.
// Each with its place.
Result<void> CheckConfig(const Config& config);

// An error in the value of the key that `error.field` names, said with the place that gave it.
Error Placed(const Config& config, Error error);

}  // namespace takt::internal
