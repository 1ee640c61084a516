// The sessions of stream workers: what comes from them, and who they are. See stream_link.h.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "http/websocket.h"
#include "links/outgoing.h"
#include "links/stream_link.h"
#include "wire/frame_codec.h"

namespace takt::worker::v1 {
class Fetch;
class SchedulerFrame;
}  // namespace takt::worker::v1

namespace takt::internal {

class StreamSessions;

// By a key of the session's own: a worker says which tokens it brings, and must not be able to choose
// such that collide.
struct TokenHash {
    using is_avalanching = void;
    std::size_t operator()(const Token& token) const;

    RandomSeed key = NewRandomSeed();
};

// One connection. Methods on the thread of its server, unless they say otherwise.
class StreamSession : public std::enable_shared_from_this<StreamSession> {
  public:
    StreamSession(std::shared_ptr<StreamSessions> sessions, Steady opened,
                  AttachBounds bounds = {});

    void OnOpen(std::shared_ptr<WebSocketSession> socket);
    void OnMessage(const WebSocketMessage& message);
    void OnClose(const WebSocketClosed& closed);

    // Any thread. Frames go out in the form in which the worker said Hello. A worker that does not
    // read is cut off: what it was sent in vain, the engine gives to others.
    void Send(const worker::v1::SchedulerFrame& frame);
    // One that is spelled in binary already.
    void SendSpelled(std::string_view frame);
    void Refuse(const FrameFault& fault);
    void Move();
    // For good, because the engine said so.
    void End(const CloseSession& close);
    // Lets go of the socket. REQUIRES: its server is not running any more.
    void Drop() { socket_.reset(); }

    SessionId id() const { return id_; }
    Steady opened() const { return opened_; }
    // Whether the worker is there, as far as anybody can tell: it said something since `then`.
    bool HeardSince(Steady then) const { return !ended_ && heard_at_.load() >= then; }
    bool greeted() const { return greeted_; }
    const OutgoingPeer& peer() const { return peer_; }

    // An attempt in the worker's hand is given to it, settled without it, acknowledged. Any thread.
    void NoteHeld(const Token& attempt);
    void NoteSettled(const Token& attempt);
    void NoteAcknowledged(const Token& attempt);
    const std::string& worker() const { return worker_; }
    const std::string& instance() const { return instance_; }
    // The connection, for people: an address, and since when.
    std::string Describe() const;
    void set_replaced() { replaced_ = true; }

  private:
    void SendBytes(std::string_view bytes);
    void OnFirst(const worker::v1::WorkerFrame& frame);
    void OnFrame(const worker::v1::WorkerFrame& frame);
    void Welcome(std::uint64_t epoch, std::uint64_t term_id);
    void Renew(const worker::v1::WorkerFrame& frame, std::vector<Input>& inputs);
    void Detach();
    bool ClaimId();
    Holding HoldingOf(const Token& attempt) const;
    void RefuseForeign(const std::vector<AttemptRef>& foreign);
    void AnswerFetch(const worker::v1::Fetch& fetch);
    // The worker, for the log: other threads may ask before it said so.
    std::string_view name() const { return greeted_ ? std::string_view(worker_) : ""; }

    const SessionId id_;
    const std::shared_ptr<StreamSessions> sessions_;
    const Steady opened_;
    const AttachBounds bounds_;
    std::shared_ptr<WebSocketSession> socket_;

    // Set by the first frame, before the session can be found by other threads' effects.
    std::atomic<FrameForm> form_ = FrameForm::kBinary;
    OutgoingPeer peer_;
    std::string worker_;
    std::string instance_;
    std::string address_;
    Time greeted_at_{};

    // The server's thread only.
    WorkerLoad load_;      // Of the last heartbeat.
    Steady renewed_at_{};  // When the engine last heard that it lives.
    bool welcomed_ = false;

    // Attempts that were given to it on this session or that it came with; of those whose results
    // are acknowledged, the latest, since a worker may say again what it has just said.
    mutable std::mutex held_mutex_;
    boost::unordered_flat_map<Token, Holding, TokenHash> held_;
    std::deque<Token> acknowledged_;

    std::atomic<Steady> heard_at_;
    std::atomic<bool> greeted_ = false;
    std::atomic<bool> attached_ = false;  // The engine knows it.
    std::atomic<bool> ended_ = false;     // Nothing more is taken from it.
    std::atomic<bool> leaving_ = false;   // It said Bye.
    std::atomic<bool> replaced_ = false;  // Another process uses its worker id now.
};

// All of them. Methods from any thread.
class StreamSessions : public std::enable_shared_from_this<StreamSessions> {
  public:
    StreamSessions(Runtime& runtime, StreamLinkConfig config);

    const StreamLinkConfig& config() const { return config_; }
    Node* node() const { return node_; }
    void set_node(Node* node) { node_ = node; }

    void AddSession(std::shared_ptr<StreamSession> session);
    void RemoveSession(const StreamSession& session);
    std::shared_ptr<StreamSession> FindSession(SessionId id) const;
    std::vector<std::shared_ptr<StreamSession>> All() const;
    // The worker of `session` is that session's now. An older one of another process is told so
    // when the engine closes it; unless it was heard of since `then`: it keeps the worker, and is
    // what comes back.
    std::shared_ptr<StreamSession> ClaimWorker(const StreamSession& session, Steady then);

    // Where the leader is, as far as this node knows; empty if it does not, or leads itself.
    std::string LeaderAddress() const;

    struct Counters {
        std::atomic<std::uint64_t> attached, refused, moved, too_slow, frames_in, frames_out,
            assigns, results;
    };
    Counters& counters() { return counters_; }
    // Messages that have not come whole, of all sessions together.
    const std::shared_ptr<UnfinishedBytes>& unfinished() const { return unfinished_; }
    std::size_t size() const;
    void Drop();  // See StreamSession.

  private:
    void ArmSweep();
    void Sweep();

    Runtime& runtime_;
    const StreamLinkConfig config_;
    const std::shared_ptr<UnfinishedBytes> unfinished_;
    std::atomic<Node*> node_ = nullptr;

    mutable std::mutex mutex_;
    std::unordered_map<SessionId, std::shared_ptr<StreamSession>> sessions_;
    std::unordered_map<std::string, SessionId> by_worker_;
    bool sweeping_ = false;

    Counters counters_{};
};

}  // namespace takt::internal
