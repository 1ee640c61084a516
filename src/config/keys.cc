// The table of keys: one line of code for each thing that can be set.
#include <algorithm>
#include <iterator>
#include <string>

#include "config/config.h"
#include "config/key_values.h"
#include "model/event_types.h"

namespace takt::internal {
namespace {

// A key for the member that `member` finds in a Config.
template <typename Member>
ConfigKey Key(std::string_view name, Member member, std::string_view help) {
    using Value = std::remove_cvref_t<decltype(member(std::declval<Config&>()))>;
    return {
        .name = name,
        .kind = key_values::kKind<Value>,
        .help = help,
        .set = [member](Config& config,
                        std::string_view text) { return key_values::Read(text, member(config)); },
        .get =
            [member](const Config& config) {
                return key_values::Show(member(const_cast<Config&>(config)));
            }};
}

// Parentheses would make no path of it. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define FIELD(path) [](Config& config) -> auto& { return config.path; }

using Keys = std::vector<ConfigKey>;

std::string TypesText(std::uint32_t types) {
    std::vector<std::string> names;
    for (int i = 0; i < kEventTypeCount; ++i) {
        if ((types >> i & 1u) != 0) names.emplace_back(Name(static_cast<EventType>(i)));
    }
    return key_values::Show(names);
}

ConfigKey EventsStoredKey() {
    return {.name = "scheduler.events_stored",
            .kind = key_values::kKind<std::vector<std::string>>,
            .help =
                "Types of events, or groups of them (task, worker, lock …), that the store keeps; "
                "Redis "
                "publishes these, too. Each costs a row for each time.",
            .set = [](Config& config, std::string_view text) -> Result<void> {
                std::vector<std::string> names;
                if (auto read = key_values::Read(text, names); !read) return read;
                std::uint32_t types = 0;
                for (const std::string& name : names) {
                    const std::uint32_t named = EventTypesNamed(name);
                    if (named == 0) {
                        return Fail(ErrorCode::kInvalid, "has no such type of event: '" + name +
                                                             "'; there are " + TypesText(~0u) +
                                                             ", and their groups, such as task");
                    }
                    types |= named;
                }
                config.engine.events_stored = types;
                return {};
            },
            .get = [](const Config& config) { return TypesText(config.engine.events_stored); }};
}

Keys ServerKeys() {
    return {
        Key("store.url", FIELD(store.url),
            "Where all state is kept: file:DIR, redis://, rediss://, redis+sentinel://, etcd:// or "
            "mysql://. Key prefix, namespace and database are parts of it; see docs/stores."),
        Key("store.wait", FIELD(store.wait),
            "Whether a scheduler starts although its store cannot be reached yet: it serves, says "
            "so "
            "and goes on trying. Without it, such a start fails with exit code 5."),
        Key("server.listen", FIELD(server.listen),
            "Host and port for everything: REST, workers, console."),
        Key("server.advertise", FIELD(server.advertise),
            "URL at which other nodes and workers reach this one; by default made from "
            "server.listen, or, if that is every address, from the one that routes outward or the "
            "host name."),
        Key("server.node_id", FIELD(server.node_id),
            "Name of this scheduler; by default the host name and a random part."),
        Key("server.insecure", FIELD(server.insecure),
            "Allows listening beyond loopback although there are no access tokens."),
        Key("server.tls_cert", FIELD(server.tls_cert),
            "PEM file with the certificate chain; turns TLS on."),
        Key("server.tls_key", FIELD(server.tls_key), "PEM file with the private key."),
        Key("server.tls_ca", FIELD(server.tls_ca),
            "PEM file with the authorities to trust when this node calls other schedulers, and "
            "besides the system's when it calls executors; by default the system's."),
        Key("server.connections_max", FIELD(server.connections_max), "Open connections in all."),
        Key("server.connections_per_address_max", FIELD(server.connections_per_address_max),
            "Open connections from one address."),
        Key("server.body_bytes_max", FIELD(server.body_bytes_max), "Largest request body."),
        Key("server.bulk_bytes_max", FIELD(server.bulk_bytes_max),
            "Largest body of a bulk creation."),
        Key("server.io_threads", FIELD(server.io_threads),
            "Threads that serve the port (TLS, HTTP, JSON); 0: the scheduler's own."),
    };
}

Keys SignInKeys() {
    return {
        Key("signin.issuer", FIELD(signin.issuer),
            "URL of the OpenID provider by which people sign in, as its tokens name it; empty: "
            "nobody can, and there are tokens only."),
        Key("signin.client_id", FIELD(signin.client_id),
            "What the provider calls this installation."),
        Key("signin.client_secret_file", FIELD(signin.client_secret_file),
            "File with the secret of a confidential client; without it PKCE alone protects."),
        Key("signin.session_key_file", FIELD(signin.session_key_file),
            "File with at least 32 random bytes that sign the sessions; the same for all "
            "schedulers. "
            "Another key ends all sessions."),
        Key("signin.public_url", FIELD(signin.public_url),
            "URL at which browsers find the console; the provider sends them back to "
            "PUBLIC_URL/auth/callback. By default server.advertise."),
        Key("signin.scopes", FIELD(signin.scopes), "Scopes to ask for, with spaces between them."),
        Key("signin.name_claim", FIELD(signin.name_claim), "Claim that people are called by."),
        Key("signin.groups_claim", FIELD(signin.groups_claim),
            "Claim with the groups that somebody is in."),
        Key("signin.lifetime", FIELD(signin.lifetime),
            "How long a sign-in holds; at most 8h, as nothing can take it back before."),
        Key("signin.roles", FIELD(signin.roles),
            "What groups may do: {group, role: viewer, operator or admin, namespace: all unless "
            "given}."),
    };
}

Keys LeadershipKeys() {
    return {
        Key("scheduler.leader_ttl", FIELD(scheduler.leader_ttl),
            "How long an announcement of this scheduler lasts, and with it what it leads; failover "
            "takes "
            "about this long."),
        Key("scheduler.leader_renew_interval", FIELD(scheduler.leader_renew_interval),
            "How often a scheduler announces itself."),
        Key("scheduler.leader_acquire_interval", FIELD(scheduler.leader_acquire_interval),
            "How often a scheduler reads who leads what."),
        Key("scheduler.namespaces", FIELD(scheduler.namespaces),
            "Names of the namespaces that this scheduler may lead; empty: all. Others must be "
            "there for the rest. The log names those that are no namespace."),
        Key("scheduler.scan_interval", FIELD(scheduler.scan_interval),
            "How often the leader looks for due work if no timer wakes it: notices clock jumps."),
        Key("scheduler.heartbeat_interval", FIELD(scheduler.heartbeat_interval),
            "How often workers are told to send a sign of life."),
        Key("scheduler.worker_lease", FIELD(engine.worker_lease),
            "A worker silent for longer is taken for dead and its work given to others. At least "
            "scheduler.leader_ttl."),
        Key("scheduler.takeover_grace", FIELD(engine.takeover_grace),
            "How long a new leader waits for workers to come back with what they run; never less "
            "than scheduler.worker_lease, after which they notice that the old one is gone."),
        Key("scheduler.worker_forgotten", FIELD(engine.worker_forgotten),
            "How long an offline worker stays in the lists."),
        Key("scheduler.workers_max", FIELD(engine.workers_max),
            "Workers and executors that are known at once. Beyond, those that are offline make "
            "way, the "
            "longest gone first; if all are online, one more is refused."),
    };
}

Keys TaskKeys() {
    return {
        Key("scheduler.timeout", FIELD(engine.timeout),
            "Timeout of an attempt, for tasks that name none."),
        Key("scheduler.timeout_grace", FIELD(engine.timeout_grace),
            "How long after its timeout an attempt that its worker does not end is given up, and "
            "how "
            "long after a cancel what it held is kept for its handler to stop."),
        Key("scheduler.max_retry", FIELD(engine.retry.retries_max),
            "Retries after a failure, for tasks that name none."),
        Key("scheduler.retry_delay", FIELD(engine.retry.delay), "Delay before the first retry."),
        Key("scheduler.retry_backoff_rate", FIELD(engine.retry.backoff_rate),
            "Each later delay is the one before times this."),
        Key("scheduler.retry_delay_max", FIELD(engine.retry.delay_max), "No retry waits longer."),
        Key("scheduler.retry_jitter", FIELD(engine.retry.jitter),
            "Each delay is shortened by up to this fraction, at random."),
        Key("scheduler.losses_max", FIELD(engine.losses_max),
            "An execution that lost this many workers is failed: it may be what kills them."),
        Key("scheduler.executions_max", FIELD(scheduler.executions_max),
            "Executions that are not finished, of all namespaces that a scheduler leads together; "
            "submits "
            "beyond are refused (429), first those of namespaces that have their equal share or "
            "more."),
        Key("scheduler.queue_size", FIELD(engine.pending_max),
            "Executions that may wait in one queue; submits beyond are refused (429)."),
        Key("scheduler.inbox_max", FIELD(scheduler.inbox_max),
            "Requests that may wait to be taken; those beyond are refused (429)."),
        Key("scheduler.loops", FIELD(scheduler.loops),
            "Threads that namespaces are served on: `default` has one of its own, the others share "
            "the "
            "rest. 1: all share one."),
        Key("scheduler.retention", FIELD(engine.retention),
            "How long finished executions, their logs and events are kept."),
        Key("scheduler.audit_retention", FIELD(engine.audit_retention),
            "How long the audit is kept: who changed what."),
        Key("scheduler.cleanup_interval", FIELD(engine.cleanup_interval),
            "How often old records are looked for when nothing else happens."),
        Key("scheduler.strategy", FIELD(engine.strategy),
            "How a worker is chosen, until an operator says otherwise."),
        Key("scheduler.ageing", FIELD(engine.ageing),
            "Waiting this long counts as one priority more; 0s is off."),
        Key("scheduler.misfire_tolerance", FIELD(engine.misfire_tolerance),
            "A fire this late is not missed yet under misfire_policy skip."),
        Key("scheduler.log_bytes_max", FIELD(engine.log_bytes_max),
            "Output kept of one execution; what is beyond is dropped."),
        EventsStoredKey(),
        Key("scheduler.stop_deadline", FIELD(scheduler.stop_deadline),
            "How long a stop waits for the store and for the answers of HTTP executors to calls "
            "that are open, which it passes on to the next leader; the only scheduler takes them "
            "itself before it stops, for 2s less or half of it."),
    };
}

Keys ExecutorKeys() {
    return {
        Key("executors.health_check", FIELD(executors.health_check),
            "Whether HTTP executors are asked for their health."),
        Key("executors.health_interval", FIELD(executors.health_interval), "How often."),
        Key("executors.health_timeout", FIELD(executors.health_timeout),
            "How long an answer may take."),
        Key("executors.failure_threshold", FIELD(executors.failure_threshold),
            "Failed checks in a row that take an executor out."),
        Key("executors.recovery_threshold", FIELD(executors.recovery_threshold),
            "Good checks in a row that bring it back."),
        Key("executors.concurrency_max", FIELD(executors.concurrency_max),
            "Calls at once to one executor instance."),
        Key("executors.timeout", FIELD(executors.timeout),
            "How long one call may take, answer included."),
        Key("executors.circuit_failures", FIELD(executors.circuit_failures),
            "Calls in a row that must fail before an instance is not called for a while."),
        Key("executors.circuit_open", FIELD(executors.circuit_open),
            "How long it is not called the first time; twice as long after each try that fails."),
        Key("executors.circuit_open_max", FIELD(executors.circuit_open_max),
            "It is tried again after this long at the latest."),
        Key("executors.allow", FIELD(executors.allow),
            "Hosts, addresses or CIDR ranges that may be called; loopback is allowed while the "
            "server listens on loopback."),
        Key("executors.callback_base", FIELD(executors.callback_base),
            "One URL at which executors reach the schedulers, of a balancer for example; by "
            "default "
            "they are told the URL of each."),
    };
}

Keys WatchKeys() {
    return {
        Key("metrics.enabled", FIELD(metrics.enabled), "Whether /metrics is served."),
        Key("metrics.interval", FIELD(metrics.interval), "Throughput is measured over this long."),
        Key("metrics.clear_within", FIELD(metrics.clear_within),
            "In this time as many workers as takt_queue_workers_wanted tells would clear what "
            "waits."),

        Key("alerts.enabled", FIELD(alerts.enabled),
            "Whether alert rules are judged and channels told."),
        Key("alerts.interval", FIELD(alerts.interval), "How often the rules are judged."),
        Key("alerts.rules", FIELD(alerts.rules),
            "Alert rules beside those that come with the scheduler; what an operator says by API "
            "or console is stronger. See docs/alerts.md."),
        Key("alerts.channels", FIELD(alerts.channels),
            "Webhooks and mail servers that alerts are told to. See docs/alerts.md."),
        Key("statistics.keep", FIELD(statistics.keep),
            "How long statistics are kept, long after the executions themselves are gone."),

        Key("tracing.enabled", FIELD(tracing.enabled),
            "Whether spans are sent, by schedulers and workers."),
        Key("tracing.endpoint", FIELD(tracing.endpoint),
            "Where they go by OTLP over HTTP; /v1/traces is added if there is no path."),
        Key("tracing.sample_ratio", FIELD(tracing.sample_ratio),
            "Which part of the executions is traced, 0 to 1; a caller's traceparent decides for "
            "its own."),

        Key("log.level", FIELD(log.level), "trace, debug, info, warning, error or off."),
        Key("log.format", FIELD(log.format), "text for people, json for programs."),
        Key("log.file", FIELD(log.file), "Empty is standard error. SIGHUP opens the file anew."),
    };
}

Keys WorkerKeys() {
    return {
        Key("worker.servers", FIELD(worker.servers), "Schedulers to connect to, any of a cluster."),
        Key("worker.id", FIELD(worker.id),
            "Name of this worker; by default the host name and a random part."),
        Key("worker.name", FIELD(worker.name), "What people read."),
        Key("worker.types", FIELD(worker.types),
            "Task types it runs; empty is all it has handlers for."),
        Key("worker.queues", FIELD(worker.queues), "Queues it serves; empty is all."),
        Key("worker.labels", FIELD(worker.labels), "What tasks can ask for, zone=a,disk=ssd."),
        Key("worker.namespace", FIELD(worker.space),
            "Namespace that it serves; empty: its token's, else `default`."),
        Key("worker.group", FIELD(worker.group), "What a task's `executor` can name."),
        Key("worker.capacity", FIELD(worker.capacity), "Executions at once."),
        Key("worker.weight", FIELD(worker.weight), "Share under weighted_round_robin."),
        Key("worker.heartbeat_interval", FIELD(worker.heartbeat),
            "How often it sends a sign of life; 0s is as the scheduler says."),
        Key("worker.timeout", FIELD(worker.task_timeout),
            "No attempt runs longer here than this; 0s: as long as its task says."),
        Key("worker.stop_grace", FIELD(worker.stop_grace),
            "How long a handler that was asked to stop may go on before it is abandoned. Less than "
            "scheduler.timeout_grace, or the scheduler gives the attempt up first; not refused, as "
            "that may be another machine's."),
        Key("worker.drain_timeout", FIELD(worker.drain_timeout),
            "How long a stopping worker waits for what it runs."),
        Key("worker.idle_timeout", FIELD(worker.idle_timeout),
            "Stops itself after this long without work; 0s is never."),
        Key("worker.buffer_size", FIELD(worker.buffer_size),
            "Results it keeps while no scheduler takes them; at the bound it takes no more work."),
        Key("worker.compression", FIELD(worker.compression),
            "Whether large payloads are compressed."),
        Key("worker.health_listen", FIELD(worker.health_listen),
            "Host and port for its own /healthz, /readyz and /metrics; empty is none."),
        Key("worker.allow_shell", FIELD(worker.allow_shell), "Whether it runs shell tasks."),
        Key("worker.shell_env", FIELD(worker.shell_env),
            "Names of environment variables that shell tasks get, beside PATH, HOME, USER, LANG, "
            "LC_*, TZ and TMPDIR."),
        Key("worker.executors", FIELD(worker.executors),
            "Services that it hands tasks to: [{type: bill, protocol: http, url: "
            "'https://billing/run'}], or protocol grpc with host:port. See docs/cli.md."),
        Key("worker.token", FIELD(worker.token), "Access token with the role worker."),
        Key("worker.ca_file", FIELD(worker.ca_file),
            "PEM file with the authorities that it trusts for TLS."),
    };
}

#undef FIELD

Keys MakeKeys() {
    Keys all;
    for (const auto part :
         {ServerKeys, SignInKeys, LeadershipKeys, TaskKeys, ExecutorKeys, WatchKeys, WorkerKeys}) {
        std::ranges::move(part(), std::back_inserter(all));
    }
    return all;
}

}  // namespace

std::span<const ConfigKey> ConfigKeys() {
    static const std::vector<ConfigKey> kKeys = MakeKeys();
    return kKeys;
}

}  // namespace takt::internal
