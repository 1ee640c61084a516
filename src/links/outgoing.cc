#include "links/outgoing.h"

#include <utility>

#include "wire/frame_codec.h"
#include "wire/zstd.h"
#include "worker.pb.h"

namespace takt::internal {
namespace {

// More spare frames than any release fills are memory for nothing.
constexpr std::size_t kSpareMax = 256;
// A frame keeps its memory for the next release, unless it grew beyond this.
constexpr std::size_t kFrameBytesKept = 256 << 10;

void Fill(worker::v1::Attempt& out, const ExecutionId& execution, std::uint32_t attempt,
          const Token& token) {
    const std::string_view id = execution.view();
    out.set_execution_id(id.data(), id.size());
    out.set_attempt(attempt);
    out.mutable_token()->assign(TokenText(token));
}

void Fill(worker::v1::Attempt& out, const AttemptRef& attempt) {
    Fill(out, attempt.execution, attempt.attempt, attempt.token);
}

// Payloads and names are whatever was submitted; frames take UTF-8 only. A frame is filled again and
// again: its texts keep their memory.
void PutUtf8(std::string_view text, std::string& to) {
    to.assign(text);
    MakeUtf8(to);
}
std::string Str(std::string_view text) {
    std::string copy;
    PutUtf8(text, copy);
    return copy;
}

}  // namespace

Outgoing::Outgoing(std::size_t compress_bytes_min, const TracePolicy& tracing)
    : compress_bytes_min_(compress_bytes_min), tracing_(tracing) {}

Outgoing::~Outgoing() = default;

Outgoing::Frame* Outgoing::FindFrame(SessionId session) {
    // Most releases speak to few workers, and to one several times in a row.
    if (used_ > 0 && frames_[used_ - 1].session == session) return &frames_[used_ - 1];
    const auto found = index_.find(session);
    return found == index_.end() ? nullptr : &frames_[found->second];
}

Outgoing::Frame& Outgoing::MakeFrame(SessionId session, std::shared_ptr<StreamSession> to,
                                     const OutgoingPeer& peer) {
    if (used_ == frames_.size()) {
        frames_.emplace_back().message = std::make_unique<worker::v1::SchedulerFrame>();
    }
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
    worker::v1::Assign& out = *frame.message->add_assigns();
    Fill(*out.mutable_attempt(), execution.id, execution.attempt, execution.token);
    out.set_epoch(execution.epoch);
    PutUtf8(task.id.text(), *out.mutable_task_id());
    PutUtf8(task.name, *out.mutable_task_name());
    PutUtf8(task.type, *out.mutable_type());
    PutUtf8(task.queue, *out.mutable_queue());
    out.set_priority(task.priority);
    const std::string_view payload = execution.input();
    if (frame.peer.accepts_zstd && compress_bytes_min_ > 0 &&
        payload.size() >= compress_bytes_min_) {
        AppendZstd(*out.mutable_payload_zstd(), payload);
    } else {
        PutUtf8(payload, *out.mutable_payload());
    }
    frame.payload_bytes += payload.size();
    if (task.options) {
        for (const auto& [key, value] : task.options->metadata) {
            (*out.mutable_metadata())[Str(key)] = Str(value);
        }
    }
    if (tracing_.enabled || !task.opt().trace.empty()) {
        const TraceHeaders headers = AttemptHeaders(tracing_, execution);
        out.set_traceparent(headers.traceparent);
        out.set_tracestate(Str(headers.tracestate));
    }
    out.set_timeout_ms(static_cast<std::uint64_t>(assign.timeout.count()));
    out.set_scheduled_at_ms(
        static_cast<std::uint64_t>(execution.scheduled_at.time_since_epoch().count()));
    out.set_failures(execution.failures);
    for (const LockGrant& grant : assign.locks) {
        worker::v1::LockToken& lock = *out.add_locks();
        lock.set_name(grant.name.str());
        lock.set_token(grant.token);
        lock.set_permits(grant.permits);
    }
    if (execution.parent.empty()) return;
    out.set_parent_id(Str(execution.parent.view()));
    out.set_step(Str(execution.step));
    if (execution.shard_total == 0) return;
    out.mutable_shard()->set_index(execution.shard_index);
    out.mutable_shard()->set_total(execution.shard_total);
}

void Outgoing::Add(Frame& frame, const StopAttempt& stop) {
    worker::v1::Cancel& out = *frame.message->add_cancels();
    Fill(*out.mutable_attempt(), stop.attempt);
    out.set_reason(std::string(Name(stop.reason)));
}

void Outgoing::Add(Frame& frame, const Verdict& verdict) {
    worker::v1::Ack& out = *frame.message->add_acks();
    Fill(*out.mutable_attempt(), verdict.attempt);
    out.set_accepted(verdict.accepted);
}

void Outgoing::Add(Frame& frame, const LockVerdict& verdict) {
    worker::v1::LockVerdict& out = *frame.message->add_lock_verdicts();
    Fill(*out.mutable_attempt(), verdict.attempt);
    out.set_ask(verdict.ask);
    out.set_name(verdict.name.str());
    out.set_token(verdict.token);
    out.set_why(verdict.why.str());
}

void Outgoing::Add(Frame& frame, const DrainNotice& drain) {
    frame.message->mutable_drain()->set_draining(drain.draining);
}

void Outgoing::Add(Frame& frame, const CapacityNotice& notice) {
    frame.message->mutable_capacity()->set_capacity(notice.capacity);
}

void Outgoing::EmptyFrame(Frame& frame) {
    if (frame.payload_bytes > kFrameBytesKept) {
        frame.message = std::make_unique<worker::v1::SchedulerFrame>();
    } else {
        frame.message->Clear();
    }
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
