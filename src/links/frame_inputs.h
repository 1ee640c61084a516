// From a worker's frame to the engine's inputs.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <vector>

#include "engine/input.h"
#include "links/hello.h"

namespace takt::worker::v1 {
class WorkerFrame;
}

namespace takt::internal {

struct FrameInputLimits {
    // A result beyond is recorded as a failure that says so: every store can take this much.
    std::size_t result_bytes_max = 1 << 20;
    // Of all packed results of one frame; a frame with more is refused. Twice what a frame without
    // packing can bring.
    std::size_t unpacked_bytes_max = 8 << 20;
    std::size_t message_bytes_max = 4 << 10;     // Longer messages are cut.
    std::size_t log_line_bytes_max = 16 << 10;   // Longer lines are cut.
    std::size_t log_piece_bytes_max = 64 << 10;  // One input; more lines make more inputs.
};

// A session's knowledge of an attempt in its worker's hand.
enum class Holding : std::uint8_t {
    kNone,          // It was neither given to this worker nor brought by it.
    kAcknowledged,  // Over; said again, it is judged by what is stored.
    kSettled,       // Settled without the worker; the engine waits until it has stopped.
    kHeld,
};

// The sender of a frame.
struct FrameSource {
    SessionId session = 0;
    std::function<Holding(const Token&)> holding;
};

struct FrameInputs {
    std::vector<Input> inputs;
    // Results for attempts that the worker does not have: to be refused without asking the engine,
    // which would have to ask the store about each.
    std::vector<AttemptRef> foreign;
};

// Appends what the frame says, in this order: started, progress, logs, locks, results, heartbeat,
// bye. So a result is the last that is heard of an attempt. On a fault nothing of the frame counts.
std::expected<void, FrameFault> ReadInputs(const worker::v1::WorkerFrame& frame,
                                           const FrameSource& source,
                                           const FrameInputLimits& limits, FrameInputs& to);

}  // namespace takt::internal
