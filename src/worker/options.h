// WorkerOptions: the one table of what a worker can be told, with its defaults. The keys
// `worker.*` (config/keys.cc, docs/configuration.md) are these; takt::WorkerOptions (takt/worker.h)
// is those of them that users of the library set, with the same defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "base/url.h"

namespace takt::internal {

enum class WorkerEvent : std::uint8_t {
    kAttached,      // A scheduler took it in; the detail is its node id.
    kDisconnected,  // Work goes on; the detail says why, and the worker connects again.
    kDraining,      // Takes nothing new.
    kStopped,       // Everything is over; the last event.
};

struct WorkerOptions {
    // http://host:port or https://…; any scheduler will do, the worker follows to the leader.
    std::vector<std::string> servers;
    // Where they are by now, if that can be found out: asked, on a thread of its own, when none of
    // them could be reached. Those that replaced others may have other addresses.
    std::function<Result<std::vector<std::string>>()> find_servers;
    std::string space;                // The namespace it serves; empty: its token's, else default.
    std::string id;                   // Empty: made from host name and a random part.
    std::string name;                 // Shown to people; empty is the id.
    std::vector<std::string> types;   // Empty: what the handlers say.
    std::vector<std::string> queues;  // Empty: every queue.
    std::map<std::string, std::string> labels;
    std::uint32_t capacity = 10;  // Attempts at once.
    std::uint32_t weight = 1;
    std::string group;
    std::string version;
    std::string token;    // Sent as a bearer token; empty is none.
    std::string ca_file;  // For https; empty is the system's certificates.

    Duration heartbeat{0};     // 0: as the scheduler says. Never slower than that.
    Duration lease{0};         // A scheduler silent for longer is left; 0: as the scheduler says.
    Duration task_timeout{0};  // Of an attempt, beside its own: the shorter one counts. 0 is none.
    Duration idle_timeout{0};  // Stops itself after this long without work; 0 is never.
    // From being asked to stop to being abandoned. Below the scheduler's own grace (5 s), so that
    // the worker is the one to say how it ended.
    Duration stop_grace{3'000};
    Duration drain_timeout{60'000};  // How long Stop waits for what runs.
    Duration backoff_min{100};       // Reconnecting: random in [0, d), d doubling to backoff_max.
    Duration backoff_max{1'000};     // Short: a new leader waits for its workers.
    Duration connect_timeout{5'000};

    // Finished attempts that may wait for their acknowledgement; beyond, nothing new is begun.
    std::size_t buffer_size = 10'000;
    std::size_t log_bytes_max = 4 << 20;       // Log lines waiting for a connection; then dropped.
    std::size_t result_bytes_max = 1 << 20;    // As the scheduler's.
    bool compression = true;                   // Of results, by zstd,
    std::size_t compress_bytes_min = 8 << 10;  // from this size on.
    std::size_t frame_bytes_max = 1 << 20;     // Of what is sent at once, if it can be divided.
    std::size_t message_bytes_max = 64 << 20;  // Of what is received.
    std::string trace_endpoint;  // Where spans go by OTLP over HTTP; empty is nowhere.
    std::string health_listen;   // host:port of /healthz, /readyz and /metrics; empty is none.

    // On the worker's network thread; must not block it.
    std::function<void(WorkerEvent event, std::string_view detail)> on_event;
};

// `health_listen` in its parts. kInvalid if it is not host:port.
Result<HostPort> ParseHealthListen(std::string_view listen);

// kInvalid, naming the field, for what cannot work.
Result<void> CheckWorkerOptions(const WorkerOptions& options);

}  // namespace takt::internal
