// Worker: a process that runs executions, as the scheduler knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/text.h"
#include "base/time.h"
#include "model/task.h"

namespace takt::internal {

// How the scheduler reaches the worker.
enum class LinkKind : std::uint8_t {
    kStream,  // It connected to us.
    kPush,    // An instance of a service, which we call over HTTP; REST: executor.
};
std::string_view Name(LinkKind kind);

enum class WorkerStatus : std::uint8_t {
    kOnline,
    kOffline,      // Not heard of; its work was given to others.
    kDraining,     // Finishes what it has, gets nothing new.
    kMaintenance,  // Taken out of rotation by an operator until put back.
};
std::string_view Name(WorkerStatus status);
std::optional<WorkerStatus> ParseWorkerStatus(std::string_view name);

constexpr std::uint32_t kCapacityMax = 100'000;
constexpr std::uint32_t kWeightMax = 1'000;

// A worker's word on itself when it attaches. Stored, so that the next leader knows whom to
// expect.
struct Worker {
    WorkerId id;
    Text name;
    LinkKind link = LinkKind::kStream;
    std::vector<Text> types;   // Sorted. Empty: every type.
    std::vector<Text> queues;  // Sorted. Empty: every queue.
    Pairs labels;
    Text group;                   // The service it is an instance of; what a task's target names.
    std::uint32_t capacity = 10;  // Attempts at once: what an operator has set, else its own word.
    std::uint32_t capacity_said = 0;  // Its own word; 0 until the engine has heard it.
    std::uint32_t capacity_set = 0;   // What an operator has set; 0: nothing.
    std::uint32_t weight = 1;
    Text address;     // Push: base URL. Stream: where it connected from.
    Text health_url;  // Push only.
    Text version;
    Text instance;  // New in each process that uses the id: tells a restart from a reconnection.
    WorkerStatus status = WorkerStatus::kOnline;
    Text status_reason;
    Time joined_at{};
    Time seen_at{};  // 0: its leader has never heard of it, and no leader before wrote when it did.
};

// The load that a heartbeat tells. Not stored.
struct WorkerLoad {
    float cpu = 0;                  // Fraction of all cores, 0 to 1.
    float memory = 0;               // Fraction of the machine's, 0 to 1.
    double network_in = 0;          // Bytes per second.
    double network_out = 0;         // Bytes per second.
    std::uint32_t connections = 0;  // What the worker itself has open, for least_connections.
    bool draining = false;          // The worker itself says that it takes nothing new.
    Time tried_at{};    // Push: calls to it keep failing, and none goes out before. 0 if they work.
    Text trouble = {};  // Push: why the last call to it failed; empty if it went well.
};

}  // namespace takt::internal
