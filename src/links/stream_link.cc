#include "links/stream_link.h"

#include <algorithm>
#include <utility>

#include "http/websocket.h"
#include "links/stream_session.h"
#include "node/node.h"
#include "worker.pb.h"

namespace takt::internal {

// What the node's thread needs to send one frame for each session.
struct StreamLink::Sender {
    explicit Sender(StreamSessions& all)
        : sessions(all),
          outgoing(all.config().compress_bytes_min, all.config().tracing),
          frame_bytes_max(
              std::min(all.config().frame_bytes_max, all.config().queue_bytes_max / 2)) {}

    // The session and its frame; null if the session is not ours, or gone.
    Outgoing::Frame* FrameFor(SessionId id) {
        if (Outgoing::Frame* found = outgoing.Find(id)) return found;
        const auto session = sessions.Find(id);
        return session ? &outgoing.For(id, session->peer()) : nullptr;
    }

    template <typename Effect>
    void Add(const std::vector<Effect>& effects) {
        for (const Effect& effect : effects) {
            if (Outgoing::Frame* frame = FrameFor(effect.session)) outgoing.Add(*frame, effect);
        }
    }

    void AddAssigns(const std::vector<Assign>& assigns) {
        for (const Assign& assign : assigns) {
            Outgoing::Frame* frame = FrameFor(assign.session);
            if (!frame) continue;
            outgoing.Add(*frame, assign);
            ++count;
            if (frame->payload_bytes < frame_bytes_max) continue;
            Send(*frame);
            Outgoing::Empty(*frame);
        }
        sessions.counters().assigns.fetch_add(std::exchange(count, 0), std::memory_order_relaxed);
    }

    void Send(const Outgoing::Frame& frame) {
        if (frame.message->ByteSizeLong() == 0) return;
        if (const auto session = sessions.Find(frame.session)) session->Send(*frame.message);
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

HttpResponse StreamLink::Attach(const HttpRequest&) {
    const StreamLinkConfig& config = sessions_->config();
    auto callbacks = std::make_shared<WebSocketCallbacks>();
    // Twice the limit, so that a frame that is a little too large is refused with an explanation;
    // what is far too large is not even read.
    callbacks->options = {.message_bytes_max = config.frame_bytes_max * 2,
                          .queue_bytes_max = config.queue_bytes_max,
                          .ping_interval = config.ping_interval};
    auto session = std::make_shared<StreamSession>(sessions_, SteadyClock::now());
    callbacks->on_open = [sessions = sessions_, session](std::shared_ptr<WebSocketSession> socket) {
        session->OnOpen(std::move(socket));
        sessions->Add(session);
    };
    callbacks->on_message = [session](WebSocketMessage message) { session->OnMessage(message); };
    callbacks->on_close = [session](WebSocketClosed closed) { session->OnClose(closed); };
    HttpResponse response;
    response.websocket = std::move(callbacks);
    return response;
}

void StreamLink::Release(const Effects& effects) {
    sender_->AddAssigns(effects.assigns);
    sender_->Add(effects.stops);
    sender_->Add(effects.verdicts);
    sender_->Add(effects.drains);
    sender_->outgoing.Take([&](const Outgoing::Frame& frame) { sender_->Send(frame); });
    for (const CloseSession& close : effects.closes) {
        if (const auto session = sessions_->Find(close.session)) session->End(close.reason);
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
