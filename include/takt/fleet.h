// Workers as the scheduler sees them. (The one that runs in your process is Worker, worker.h.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/export.h"
#include "takt/name.h"
#include "takt/time.h"

namespace takt {

enum class WorkerState : std::uint8_t {
    kOnline,
    kOffline,      // Not heard of; its work was given to others.
    kDraining,     // Finishes what it has, gets nothing new.
    kMaintenance,  // Taken out of rotation by an operator until put back.
};

TAKT_EXPORT std::string_view Name(WorkerState state);
template <>
inline constexpr bool kHasName<WorkerState> = true;

struct WorkerLoad {
    double cpu = 0;          // Fraction of all cores, 0 to 1.
    double memory = 0;       // Fraction of the machine's, 0 to 1.
    double network_in = 0;   // Bytes per second.
    double network_out = 0;  // Bytes per second.
    std::uint32_t connections = 0;
};

struct WorkerRecord {
    std::string id;
    std::string name;
    WorkerState state = WorkerState::kOffline;
    std::string state_reason;
    std::string link;  // stream: it connected to a scheduler. push: it is called over HTTP.
    bool connected = false;
    std::string group;
    std::vector<std::string> types;   // Empty: every type.
    std::vector<std::string> queues;  // Empty: every queue.
    std::map<std::string, std::string> labels;
    std::uint32_t capacity = 0;  // Attempts at once: what an operator has set, else its own word,
    std::uint32_t capacity_own = 0;  // which is this.
    std::optional<std::uint32_t> capacity_set;
    std::uint32_t weight = 0;
    std::uint32_t running = 0;
    std::string address;  // push: the base URL. stream: where it connected from.
    std::string version;
    std::optional<Time> joined_at;
    std::optional<Time> seen_at;
    WorkerLoad load;

    bool busy() const { return running >= capacity; }
};

// A worker that is called over HTTP, as RegisterWorker announces it. docs/executors.md says what it
// is sent and what it answers. (A takt::Worker announces itself.)
//
// The scheduler asks health_check_url, and takes a worker that does not answer for offline. Without
// one the worker must be heard of: SendHeartbeat, or an answer, every minute or so.
struct WorkerRegistration {
    std::string id;
    std::string address;                  // http://host:port; POST {address}/execute runs a task.
    std::vector<std::string> types = {};  // Task types that it runs; empty is every type.
    std::uint32_t capacity = 10;          // Calls at once.
    std::string name = {};                // The service it is an instance of, which a task's
                                          // `executor` can name; empty is the id.
    std::string health_check_url = {};    // Of the same host and port as the address.
    std::uint32_t weight = 1;
    std::map<std::string, std::string> labels = {};
};

}  // namespace takt
