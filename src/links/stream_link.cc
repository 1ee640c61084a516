#include "links/stream_link.h"

#include <algorithm>
#include <utility>

#include "http/websocket.h"
#include "links/stream_session.h"
#include "node/node.h"
#include "worker.pb.h"

namespace takt::internal {

// Sends one frame for each session; the node's thread's.
struct StreamLink::Sender {
    explicit Sender(StreamSessions& all)
        : sessions(all),
          outgoing(all.config().compress_bytes_min, all.config().tracing),
          frame_bytes_max(
              std::min(all.config().frame_bytes_max, all.config().queue_bytes_max / 2)) {}

    // Null if the session is not ours, or gone.
    Outgoing::Frame* FrameFor(SessionId id) {
        if (Outgoing::Frame* found = outgoing.FindFrame(id)) return found;
        auto session = sessions.FindSession(id);
        if (!session) return nullptr;
        const OutgoingPeer& peer = session->peer();
        return &outgoing.MakeFrame(id, std::move(session), peer);
    }

    void AddAssigns(const std::vector<Assign>& assigns) {
        for (const Assign& assign : assigns) {
            Outgoing::Frame* frame = FrameFor(assign.session);
            if (!frame) continue;
            outgoing.Add(*frame, assign);
            frame->to->NoteHeld(assign.execution.token);
            ++count;
            if (frame->payload_bytes < frame_bytes_max) continue;
            SendFrame(*frame);
            Outgoing::EmptyFrame(*frame);
        }
        sessions.counters().assigns.fetch_add(std::exchange(count, 0), std::memory_order_relaxed);
    }

    void AddStops(const std::vector<StopAttempt>& stops) {
        for (const StopAttempt& stop : stops) {
            Outgoing::Frame* frame = FrameFor(stop.session);
            if (!frame) continue;
            outgoing.Add(*frame, stop);
            if (stop.reason == Reason::kWorkerLost) frame->to->NoteSettled(stop.attempt.token);
        }
    }

    void AddVerdicts(const std::vector<Verdict>& verdicts) {
        for (const Verdict& verdict : verdicts) {
            Outgoing::Frame* frame = FrameFor(verdict.session);
            if (!frame) continue;
            outgoing.Add(*frame, verdict);
            frame->to->NoteAcknowledged(verdict.attempt.token);
        }
    }

    void AddLockVerdicts(const std::vector<LockVerdict>& verdicts) {
        for (const LockVerdict& verdict : verdicts) {
            if (Outgoing::Frame* frame = FrameFor(verdict.session)) outgoing.Add(*frame, verdict);
        }
    }

    void AddDrains(const std::vector<DrainNotice>& drains) {
        for (const DrainNotice& drain : drains) {
            if (Outgoing::Frame* frame = FrameFor(drain.session)) outgoing.Add(*frame, drain);
        }
    }

    void AddCapacities(const std::vector<CapacityNotice>& notices) {
        for (const CapacityNotice& notice : notices) {
            if (Outgoing::Frame* frame = FrameFor(notice.session)) outgoing.Add(*frame, notice);
        }
    }

    static void SendFrame(const Outgoing::Frame& frame) {
        frame.to->SendSpelled(frame.spelled.view());
    }

    StreamSessions& sessions;
    Outgoing outgoing;
    // Large payloads must not pile up into a frame that the worker cannot read, nor into one that
    // would not fit its queue even when that is empty.
    const std::size_t frame_bytes_max;
    std::uint64_t count = 0;
};

StreamLink::StreamLink(Runtime& runtime, StreamLinkConfig config)
    : sessions_(std::make_shared<StreamSessions>(runtime, std::move(config))),
      sender_(std::make_unique<Sender>(*sessions_)) {}

StreamLink::~StreamLink() {
    sessions_->Drop();
}

void StreamLink::Bind(Node& node) {
    sessions_->set_node(&node);
}

HttpResponse StreamLink::Attach(const HttpRequest&, AttachBounds bounds) {
    const StreamLinkConfig& config = sessions_->config();
    auto callbacks = std::make_shared<WebSocketCallbacks>();
    // Twice the limit, so that a frame that is a little too large is refused with an explanation;
    // what is far too large is not even read.
    callbacks->options = {.message_bytes_max = config.frame_bytes_max * 2,
                          .queue_bytes_max = config.queue_bytes_max,
                          .ping_interval = config.ping_interval,
                          .unfinished = sessions_->unfinished()};
    auto session =
        std::make_shared<StreamSession>(sessions_, SteadyClock::now(), std::move(bounds));
    callbacks->on_open = [sessions = sessions_, session](std::shared_ptr<WebSocketSession> socket) {
        session->OnOpen(std::move(socket));
        sessions->AddSession(session);
    };
    callbacks->on_message = [session](WebSocketMessage message) { session->OnMessage(message); };
    callbacks->on_close = [session](WebSocketClosed closed) { session->OnClose(closed); };
    HttpResponse response;
    response.websocket = std::move(callbacks);
    return response;
}

void StreamLink::Release(const Effects& effects) {
    sender_->AddAssigns(effects.assigns);
    sender_->AddStops(effects.stops);
    sender_->AddVerdicts(effects.verdicts);
    sender_->AddLockVerdicts(effects.lock_verdicts);
    sender_->AddDrains(effects.drains);
    sender_->AddCapacities(effects.capacities);
    sender_->outgoing.DrainFrames(Sender::SendFrame);
    for (const CloseSession& close : effects.closes) {
        if (const auto session = sessions_->FindSession(close.session)) session->End(close);
    }
}

void StreamLink::OnRole(Role role) {
    if (role == Role::kLeader) return;
    for (const auto& session : sessions_->All()) {
        if (session->greeted()) session->Move();
    }
}

StreamLinkStats StreamLink::stats() const {
    const StreamSessions::Counters& counters = sessions_->counters();
    return {.sessions = sessions_->size(),
            .attached = counters.attached,
            .refused = counters.refused,
            .moved = counters.moved,
            .too_slow = counters.too_slow,
            .frames_in = counters.frames_in,
            .frames_out = counters.frames_out,
            .assigns = counters.assigns,
            .results = counters.results};
}

}  // namespace takt::internal
