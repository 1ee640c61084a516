// A worker's Hello, checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/input.h"

namespace takt::worker::v1 {
class Hello;
class Attempt;
}  // namespace takt::worker::v1

namespace takt::internal {

// The only one so far. A worker of another is refused: neither side would know what the other
// means.
constexpr std::uint32_t kWorkerProtocol = 1;

// Bounds on a Hello. Generous for people, and small enough that ten thousand workers fit in memory.
constexpr std::size_t kHelloListMax = 1'000;     // Types, queues, labels: each.
constexpr std::size_t kHelloNameBytesMax = 256;  // Of any one text in it.
// Of all types, queues and labels together: they are stored with the worker, and shown in lists.
constexpr std::size_t kHelloTextBytesMax = 64 << 10;

// The next election goes above the epochs that workers have seen, so a worker that makes one up
// must not be able to use them up. Redis counts exactly to 2^53 - 2; half of that is never reached.
constexpr std::uint64_t kEpochSeenMax = 1ull << 52;
// Above the latest term that this node knows of: more elections than any node can have missed.
constexpr std::uint64_t kEpochJumpMax = 1'000'000;
// Whatever anybody says, and however often: tokens of locks are epochs × 2^32 and must stay below
// 2^53, up to which JSON's numbers are exact. Half of that room is left to terms that really begin.
constexpr std::uint64_t kEpochToldMax = 1 << 20;

// Whether a node whose latest term is `known` believes that there was this one.
constexpr bool IsLikelyEpoch(std::uint64_t told, std::uint64_t known) {
    return told <= known || (told <= known + kEpochJumpMax && told <= kEpochToldMax);
}

// Why a frame is refused: the code that the worker gets, and a sentence for its author.
struct FrameFault {
    std::string code;
    std::string message;
};

// The engine's input for a Hello. `address`: where the worker connected from.
std::expected<Attach, FrameFault> ReadHello(const worker::v1::Hello& hello, SessionId session,
                                            std::string_view address);

// `where` names the message in the fault: "results[3].attempt".
std::expected<AttemptRef, FrameFault> ReadAttempt(const worker::v1::Attempt& attempt,
                                                  std::string_view where);

// The bounds of the token that a worker attaches with; an empty list: there is none.
struct AttachBounds {
    std::vector<std::string> worker_ids;
    std::vector<std::string> queues;
    std::vector<std::string> types;
    // Told why a worker was refused for them: somebody has to know whose token that is. On any thread.
    std::function<void(const std::string& why)> on_foreign = {};
};

// Holds a worker to what its token is bound to: who says nothing of queues or types serves those, and
// no others; so does who says by `any_of_types` that its types are only what it has handlers for. The
// sentence why it may not attach; empty if it may.
std::string BindWorker(Worker& worker, bool any_of_types, const AttachBounds& bounds);

}  // namespace takt::internal
