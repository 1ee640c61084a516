// Outgoing: what one release has for the workers, gathered into one frame for each session, which is a
// SchedulerFrame of the worker protocol, spelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/effects.h"
#include "model/wire_writer.h"
#include "trace/execution_trace.h"

namespace takt::internal {

class StreamSession;

struct OutgoingPeer {
    bool accepts_zstd = false;
};

// Keeps its frames and their memory from one release to the next. Not for concurrent use.
class Outgoing {
  public:
    struct Frame {
        SessionId session = 0;
        std::shared_ptr<StreamSession> to;
        OutgoingPeer peer;
        std::size_t payload_bytes = 0;  // Of the assigns, as they were before compression.
        WireWriter spelled;             // But for what is said once: the last word counts.
        std::optional<bool> draining;
        std::optional<std::uint32_t> capacity;
    };

    // `compress_bytes_min`: payloads from this size on are compressed for workers that accept it;
    // 0 is never.
    Outgoing(std::size_t compress_bytes_min, const TracePolicy& tracing);
    // The session's frame of this release; null if nothing has been said to it yet. Lives until the
    // next call.
    Frame* FindFrame(SessionId session);
    // REQUIRES: there is none yet.
    Frame& MakeFrame(SessionId session, std::shared_ptr<StreamSession> to,
                     const OutgoingPeer& peer);

    void Add(Frame& frame, const Assign& assign);
    static void Add(Frame& frame, const StopAttempt& stop);
    static void Add(Frame& frame, const Verdict& verdict);
    static void Add(Frame& frame, const LockVerdict& verdict);
    static void Add(Frame& frame, const DrainNotice& drain);
    static void Add(Frame& frame, const CapacityNotice& notice);

    // Calls `each` for every frame that says something, in the order in which they were made, and
    // forgets them.
    template <typename Each>
    void DrainFrames(Each each) {
        for (std::size_t i = 0; i < used_; ++i) {
            SpellLastWords(frames_[i]);
            if (!frames_[i].spelled.empty()) each(frames_[i]);
        }
        Clear();
    }

    // Empties one frame for more, as when it has grown too large and was sent.
    static void EmptyFrame(Frame& frame);

  private:
    static void SpellLastWords(Frame& frame);
    void Clear();

    const std::size_t compress_bytes_min_;
    const TracePolicy tracing_;
    std::vector<Frame> frames_;  // The first used_ are of this release, the others spare.
    std::size_t used_ = 0;
    std::unordered_map<SessionId, std::size_t> index_;
    std::string packed_;  // The payload in hand.
};

}  // namespace takt::internal
