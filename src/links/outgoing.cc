#include "links/outgoing.h"

#include <utility>

#include "base/utf8.h"
#include "wire/frame_codec.h"
#include "wire/zstd.h"

namespace takt::internal {
namespace {

// More spare frames than any release fills are memory for nothing.
constexpr std::size_t kSpareMax = 256;
// A frame keeps its memory for the next release, unless it grew beyond this.
constexpr std::size_t kFrameBytesKept = 256 << 10;

// The numbers of fields are those of worker.proto; a test spells every frame by its messages, too.

std::string AsUtf8(std::string_view text) {
    std::string copy(text);
    MakeUtf8(copy);
    return copy;
}
// Payloads and names are whatever was submitted; frames take UTF-8 only.
void PutUtf8(WireWriter& to, std::uint32_t field, std::string_view text) {
    IsValidUtf8(text) ? to.Bytes(field, text) : to.Bytes(field, AsUtf8(text));
}
void PutUtf8Item(WireWriter& to, std::uint32_t field, std::string_view text) {
    IsValidUtf8(text) ? to.Item(field, text) : to.Item(field, AsUtf8(text));
}

void Put(WireWriter& to, std::uint32_t field, const ExecutionId& execution, std::uint32_t attempt,
         const Token& token) {
    const std::size_t begin = to.Begin(field);
    PutUtf8(to, 1, execution.view());
    to.Number(2, attempt);
    to.Hex(3, token);
    to.End(begin);
}

void Put(WireWriter& to, std::uint32_t field, const AttemptRef& attempt) {
    Put(to, field, attempt.execution, attempt.attempt, attempt.token);
}

}  // namespace

Outgoing::Outgoing(std::size_t compress_bytes_min, const TracePolicy& tracing)
    : compress_bytes_min_(compress_bytes_min), tracing_(tracing) {}

Outgoing::Frame* Outgoing::FindFrame(SessionId session) {
    // Most releases speak to few workers, and to one several times in a row.
    if (used_ > 0 && frames_[used_ - 1].session == session) return &frames_[used_ - 1];
    const auto found = index_.find(session);
    return found == index_.end() ? nullptr : &frames_[found->second];
}

Outgoing::Frame& Outgoing::MakeFrame(SessionId session, std::shared_ptr<StreamSession> to,
                                     const OutgoingPeer& peer) {
    if (used_ == frames_.size()) frames_.emplace_back();
    Frame& frame = frames_[used_];
    frame.session = session;
    frame.to = std::move(to);
    frame.peer = peer;
    frame.payload_bytes = 0;
    index_.emplace(session, used_++);
    return frame;
}

void Outgoing::Add(Frame& frame, const Assign& assign) {
    const Execution& execution = assign.execution;
    const Task& task = *execution.task;
    WireWriter& out = frame.spelled;
    const std::size_t begin = out.Begin(2);
    Put(out, 1, execution.id, execution.attempt, execution.token);
    out.Number(2, execution.epoch);
    PutUtf8(out, 3, task.id.view());
    PutUtf8(out, 4, task.name);
    PutUtf8(out, 5, task.type);
    PutUtf8(out, 6, task.queue);
    out.Number(7, static_cast<std::uint64_t>(task.priority));
    const std::string_view payload = execution.input();
    if (frame.peer.accepts_zstd && compress_bytes_min_ > 0 &&
        payload.size() >= compress_bytes_min_) {
        packed_.clear();
        AppendZstd(packed_, payload);
        out.Bytes(9, packed_);
    } else {
        PutUtf8(out, 8, payload);
    }
    frame.payload_bytes += payload.size();
    if (task.options) {
        for (const auto& [key, value] : task.options->metadata) {
            const std::size_t pair = out.Begin(10);
            PutUtf8Item(out, 1, key);
            PutUtf8Item(out, 2, value);
            out.End(pair);
        }
    }
    out.Number(11, static_cast<std::uint64_t>(assign.timeout.count()));
    out.Number(12, static_cast<std::uint64_t>(execution.scheduled_at.time_since_epoch().count()));
    out.Number(14, execution.failures);
    if (tracing_.enabled || !task.opt().trace.empty()) {
        const TraceHeaders headers = AttemptHeaders(tracing_, execution);
        PutUtf8(out, 13, headers.traceparent);
        PutUtf8(out, 15, headers.tracestate);
    }
    if (!execution.parent.empty()) {
        PutUtf8(out, 16, execution.parent.view());
        PutUtf8(out, 17, execution.step);
        if (execution.shard_total > 0) {
            const std::size_t shard = out.Begin(18);
            out.Number(1, execution.shard_index);
            out.Number(2, execution.shard_total);
            out.End(shard);
        }
    }
    for (const LockGrant& grant : assign.locks) {
        const std::size_t lock = out.Begin(20);
        PutUtf8(out, 1, grant.name);
        out.Number(2, grant.token);
        out.Number(3, grant.permits);
        out.End(lock);
    }
    out.End(begin);
}

void Outgoing::Add(Frame& frame, const StopAttempt& stop) {
    const std::size_t begin = frame.spelled.Begin(3);
    Put(frame.spelled, 1, stop.attempt);
    frame.spelled.Bytes(2, Name(stop.reason));
    frame.spelled.End(begin);
}

void Outgoing::Add(Frame& frame, const Verdict& verdict) {
    const std::size_t begin = frame.spelled.Begin(4);
    Put(frame.spelled, 1, verdict.attempt);
    frame.spelled.Number(2, verdict.accepted);
    frame.spelled.End(begin);
}

void Outgoing::Add(Frame& frame, const LockVerdict& verdict) {
    const std::size_t begin = frame.spelled.Begin(10);
    Put(frame.spelled, 1, verdict.attempt);
    frame.spelled.Number(2, verdict.ask);
    PutUtf8(frame.spelled, 3, verdict.name);
    frame.spelled.Number(4, verdict.token);
    PutUtf8(frame.spelled, 5, verdict.why);
    frame.spelled.End(begin);
}

void Outgoing::Add(Frame& frame, const DrainNotice& drain) {
    frame.draining = drain.draining;
}

void Outgoing::Add(Frame& frame, const CapacityNotice& notice) {
    frame.capacity = notice.capacity;
}

void Outgoing::SpellLastWords(Frame& frame) {
    const auto spell = [&](std::uint32_t field, std::optional<std::uint64_t> value) {
        if (!value) return;
        const std::size_t begin = frame.spelled.Begin(field);
        frame.spelled.Number(1, *value);
        frame.spelled.End(begin);
    };
    spell(5, std::exchange(frame.draining, std::nullopt));
    spell(13, std::exchange(frame.capacity, std::nullopt));
}

void Outgoing::EmptyFrame(Frame& frame) {
    if (frame.payload_bytes > kFrameBytesKept) frame.spelled = {};
    frame.spelled.Clear();
    frame.payload_bytes = 0;
}

void Outgoing::Clear() {
    for (std::size_t i = 0; i < used_; ++i) {
        EmptyFrame(frames_[i]);
        frames_[i].to.reset();
    }
    if (frames_.size() > kSpareMax) frames_.resize(kSpareMax);
    used_ = 0;
    index_.clear();
}

}  // namespace takt::internal
