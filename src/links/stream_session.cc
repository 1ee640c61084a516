#include "links/stream_session.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/sha256.h"
#include "links/session_id.h"
#include "node/node.h"
#include "worker.pb.h"

namespace takt::internal {
namespace {

// A thread keeps its parsed frame, and the memory of its lists, for the next one; unless it grew
// beyond this.
constexpr std::size_t kKeptBytesMax = 256 << 10;

// Attempts that a session remembers after their results were acknowledged.
constexpr std::size_t kAcknowledgedMax = 1'000;

// Of the explanation that a refused worker gets.
constexpr std::size_t kFaultBytesMax = 1'000;

void Count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) {
    counter.fetch_add(more, std::memory_order_relaxed);
}

// Tells a term from another of the same epoch. Not its nonce: schedulers know each other by that, and
// workers must not.
std::uint64_t TermId(const LeaderRow& leader) {
    const Sha256 hash = Sha256Of("takt term " + std::to_string(leader.partition) + " " +
                                 std::to_string(leader.epoch) + " " + std::to_string(leader.nonce));
    std::uint64_t id = 0;
    for (std::size_t i = 0; i < sizeof id; ++i) id = id << 8 | hash[i];
    return id;
}

}  // namespace

std::size_t TokenHash::operator()(const Token& token) const {
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(token);
    const auto keys = std::bit_cast<std::array<std::uint64_t, 2>>(key);
    const auto product = static_cast<unsigned __int128>(words[0] ^ keys[0]) * (words[1] ^ keys[1]);
    return static_cast<std::size_t>(product) ^ static_cast<std::size_t>(product >> 64);
}

StreamSession::StreamSession(std::shared_ptr<StreamSessions> sessions, Steady opened,
                             AttachBounds bounds)
    : id_(NewSessionId()),
      sessions_(std::move(sessions)),
      opened_(opened),
      bounds_(std::move(bounds)),
      heard_at_(opened) {}

void StreamSession::OnOpen(std::shared_ptr<WebSocketSession> socket) {
    socket_ = std::move(socket);
}

void StreamSession::OnMessage(const WebSocketMessage& message) {
    if (ended_ || !sessions_->node()) return;
    heard_at_ = SteadyClock::now();
    Count(sessions_->counters().frames_in);
    const auto form = message.text ? FrameForm::kJson : FrameForm::kBinary;
    if (!greeted_) form_ = form;
    // A Hello may be as large as the connection allows: it names everything that is in hand, and
    // cannot be divided.
    if (greeted_ && message.bytes.size() > sessions_->config().frame_bytes_max) {
        return Refuse({"too_large", "the frame has " + std::to_string(message.bytes.size()) +
                                        " bytes, the limit is " +
                                        std::to_string(sessions_->config().frame_bytes_max)});
    }
    thread_local worker::v1::WorkerFrame frame;
    if (auto read = ReadFrame(form, message.bytes, frame); !read) {
        return Refuse({"malformed", read.error().detail});
    }
    if (greeted_) {
        OnFrame(frame);
    } else {
        OnFirst(frame);
    }
    if (message.bytes.size() > kKeptBytesMax) worker::v1::WorkerFrame().Swap(&frame);
}

void StreamSession::OnFirst(const worker::v1::WorkerFrame& frame) {
    if (!frame.has_hello()) return Refuse({"invalid_hello", "the first frame must be a hello"});
    const worker::v1::Hello& hello = frame.hello();
    auto attach = ReadHello(hello, id_, socket_->remote_address());
    if (!attach) return Refuse(attach.error());
    std::string foreign = BindWorker(attach->worker, hello.any_of_types(), bounds_);
    if (!foreign.empty()) {
        if (bounds_.on_foreign) bounds_.on_foreign(foreign);
        return Refuse({"not_yours", std::move(foreign)});
    }
    const StreamLinkConfig& config = sessions_->config();
    if (!hello.namespace_().empty() && hello.namespace_() != config.space) {
        return Refuse({"wrong_namespace", "this address is that of the namespace " + config.space +
                                              ", and the worker is one of " + hello.namespace_() +
                                              ": attach at /api/v1/namespaces/" +
                                              hello.namespace_() + "/workers/attach"});
    }
    // Epochs of another namespace, or of one that had the same name before, say nothing here.
    const std::uint64_t epoch_seen =
        hello.namespace_id() == config.space_id ? hello.epoch_seen() : 0;
    peer_.accepts_zstd = hello.accepts_zstd();
    worker_ = hello.worker_id();
    instance_ = hello.instance();
    address_ = socket_->remote_address();
    greeted_at_ = ReadClocks().wall;
    Node& node = *sessions_->node();
    // From here on the session is told when the role changes, so none falls between.
    greeted_ = true;
    const NodeStatus status = node.status();
    const std::uint64_t known = std::max(status.epoch, status.leader ? status.leader->epoch : 0);
    // Not final for the worker: a node that has just started may know of no term at all.
    if (!IsLikelyEpoch(epoch_seen, known)) {
        return Refuse({"unknown_epoch",
                       "epoch_seen is " + std::to_string(epoch_seen) +
                           ", but the latest term known here is " + std::to_string(known) +
                           ": the worker comes from another cluster, or the store was emptied; "
                           "restart the worker and it forgets"});
    }
    // A store that lost its last writes gives an epoch a second time. Whoever saw the first such term
    // has seen a later one than this: tokens of both would be equal.
    const std::uint64_t term_id = status.leader ? TermId(*status.leader) : 0;
    const bool lost = epoch_seen > 0 && epoch_seen == status.epoch && hello.term_id() != 0 &&
                      hello.term_id() != term_id;
    const std::uint64_t latest = lost ? epoch_seen + 1 : epoch_seen;
    if (latest > status.epoch) node.NoteEpoch(latest);
    // A worker that has seen a later term than this knows better: somebody else leads, or will.
    if (status.role != Role::kLeader || latest > status.epoch) return Move();
    for (const AttemptRef& attempt : attach->holding) NoteHeld(attempt.token);
    if (!ClaimId()) return;
    Count(sessions_->counters().attached);
    Welcome(status.epoch, term_id);
    welcomed_ = true;
    attached_ = true;
    node.Tell(std::move(*attach));
    Log(LogLevel::kInfo, "links", "worker attached",
        {{"worker", worker_},
         {"session", id_},
         {"capacity", hello.capacity()},
         {"holding", hello.holding_size()},
         {"address", address_}});
}

// Two processes with one id would take it from each other for ever, and lose their work each time.
// So whoever has it keeps it: a process that died closed its connection, a machine that died falls
// silent.
bool StreamSession::ClaimId() {
    const Duration silence = 2 * sessions_->config().heartbeat;
    const auto other = sessions_->ClaimWorker(*this, SteadyClock::now() - silence);
    if (!other) return true;
    Refuse({"taken", "another worker has the id '" + worker_ + "' (" + other->Describe() +
                         "): give each its own id, or stop that one; if it is dead, wait until it "
                         "has been silent for " +
                         FormatDuration(silence)});
    return false;
}

std::string StreamSession::Describe() const {
    return address_ + ", connected since " + FormatTime(greeted_at_);
}

void StreamSession::Welcome(std::uint64_t epoch, std::uint64_t term_id) {
    const StreamLinkConfig& config = sessions_->config();
    worker::v1::SchedulerFrame frame;
    worker::v1::Welcome& welcome = *frame.mutable_welcome();
    welcome.set_protocol(kWorkerProtocol);
    welcome.set_session(id_);
    welcome.set_epoch(epoch);
    welcome.set_term_id(term_id);
    welcome.set_node_id(config.node.text().str());
    welcome.set_namespace_(config.space);
    welcome.set_namespace_id(config.space_id);
    welcome.set_heartbeat_ms(static_cast<std::uint32_t>(config.heartbeat.count()));
    welcome.set_lease_ms(static_cast<std::uint32_t>(config.lease.count()));
    Send(frame);
}

void StreamSession::OnFrame(const worker::v1::WorkerFrame& frame) {
    if (frame.has_hello()) return Refuse({"invalid_hello", "a session has one hello"});
    FrameInputs read_inputs;
    std::vector<Input>& inputs = read_inputs.inputs;
    inputs.reserve(static_cast<std::size_t>(frame.started_size() + frame.progress_size() +
                                            frame.results_size() + frame.logs_size() + 2));
    const FrameSource source{.session = id_,
                             .holding = [this](const Token& of) { return HoldingOf(of); }};
    if (auto read = ReadInputs(frame, source, sessions_->config().limits, read_inputs); !read) {
        return Refuse(read.error());
    }
    RefuseForeign(read_inputs.foreign);
    Renew(frame, inputs);
    Count(sessions_->counters().results, static_cast<std::uint64_t>(frame.results_size()));
    for (const worker::v1::Fetch& fetch : frame.fetches()) AnswerFetch(fetch);
    if (frame.has_bye()) leaving_ = true;
    if (!inputs.empty()) sessions_->node()->Tell(std::move(inputs));
    if (frame.has_heartbeat()) {
        worker::v1::SchedulerFrame answer;
        answer.mutable_beat()->set_sent_at_ms(frame.heartbeat().sent_at_ms());
        Send(answer);
    }
}

// Any frame is a sign of life, also if it is too busy for heartbeats.
void StreamSession::Renew(const worker::v1::WorkerFrame& frame, std::vector<Input>& inputs) {
    const Steady now = SteadyClock::now();
    if (frame.has_heartbeat()) {
        for (const Input& input : inputs) {
            if (const auto* beat = std::get_if<Heartbeat>(&input)) load_ = beat->load;
        }
    } else if (now - renewed_at_ >= sessions_->config().heartbeat / 2) {
        inputs.emplace_back(Heartbeat{id_, load_});
    } else {
        return;
    }
    renewed_at_ = now;
}

void StreamSession::OnClose(const WebSocketClosed& closed) {
    ended_ = true;
    Detach();
    sessions_->RemoveSession(*this);
    if (!greeted_) return;
    Log(welcomed_ ? LogLevel::kInfo : LogLevel::kDebug, "links", "worker's session closed",
        {{"worker", worker_},
         {"session", id_},
         {"code", static_cast<std::uint16_t>(closed.code)},
         {"reason", closed.reason}});
}

void StreamSession::NoteHeld(const Token& attempt) {
    const std::scoped_lock lock(held_mutex_);
    held_[attempt] = Holding::kHeld;
}

void StreamSession::NoteSettled(const Token& attempt) {
    const std::scoped_lock lock(held_mutex_);
    held_[attempt] = Holding::kSettled;
}

void StreamSession::NoteAcknowledged(const Token& attempt) {
    const std::scoped_lock lock(held_mutex_);
    const auto found = held_.find(attempt);
    if (found == held_.end()) return;
    if (std::exchange(found->second, Holding::kAcknowledged) == Holding::kAcknowledged) return;
    acknowledged_.push_back(attempt);
    if (acknowledged_.size() <= kAcknowledgedMax) return;
    held_.erase(acknowledged_.front());
    acknowledged_.pop_front();
}

Holding StreamSession::HoldingOf(const Token& attempt) const {
    const std::scoped_lock lock(held_mutex_);
    const auto found = held_.find(attempt);
    return found == held_.end() ? Holding::kNone : found->second;
}

void StreamSession::RefuseForeign(const std::vector<AttemptRef>& foreign) {
    if (foreign.empty()) return;
    worker::v1::SchedulerFrame answer;
    for (const AttemptRef& attempt : foreign) {
        worker::v1::Attempt& out = *answer.add_acks()->mutable_attempt();
        out.set_execution_id(attempt.execution.text().str());
        out.set_attempt(attempt.attempt);
        out.set_token(TokenText(attempt.token));
    }
    Send(answer);
}

// Tells the engine, once, that the worker cannot be reached on this session.
void StreamSession::Detach() {
    if (!attached_.exchange(false)) return;
    if (Node* node = sessions_->node()) node->Tell(internal::Detach{id_});
}

void StreamSession::Send(const worker::v1::SchedulerFrame& frame) {
    // A thread's own, like the frame that it reads into.
    thread_local std::string bytes;
    WriteFrame(form_, frame, bytes);
    SendBytes(bytes);
    if (bytes.capacity() > kKeptBytesMax) std::string().swap(bytes);
}

void StreamSession::SendSpelled(std::string_view frame) {
    if (form_ == FrameForm::kBinary) return SendBytes(frame);
    worker::v1::SchedulerFrame message;
    const auto read = ReadFrame(FrameForm::kBinary, frame, message);
    TAKT_CHECK(read);
    Send(message);
}

void StreamSession::SendBytes(std::string_view bytes) {
    const bool sent =
        form_ == FrameForm::kBinary ? socket_->SendBinary(bytes) : socket_->SendText(bytes);
    const std::size_t queued = socket_->queued_bytes() + bytes.size();
    if (sent) return Count(sessions_->counters().frames_out);
    // Else the connection is closing already, and OnClose will follow.
    if (queued < sessions_->config().queue_bytes_max || ended_.exchange(true)) return;
    Count(sessions_->counters().too_slow);
    Log(LogLevel::kWarning, "links", "cut off a worker that does not read",
        {{"worker", name()}, {"session", id_}, {"queued_bytes", queued}});
    Detach();
    socket_->Close(WebSocketCode::kTryLater, "too much waits to be read");
}

void StreamSession::Refuse(const FrameFault& fault) {
    if (ended_.exchange(true)) return;
    Count(sessions_->counters().refused);
    Log(LogLevel::kWarning, "links", "refused a worker",
        {{"worker", name()},
         {"address", socket_->remote_address()},
         {"code", fault.code},
         {"message", fault.message}});
    worker::v1::SchedulerFrame frame;
    frame.mutable_refused()->set_code(fault.code);
    // It may quote what the worker sent, cut anywhere.
    std::string message = fault.message.substr(0, kFaultBytesMax);
    MakeUtf8(message);
    frame.mutable_refused()->set_message(std::move(message));
    Send(frame);
    Detach();
    socket_->Close(WebSocketCode::kPolicy, fault.code);
}

void StreamSession::Move() {
    if (ended_.exchange(true)) return;
    Count(sessions_->counters().moved);
    worker::v1::SchedulerFrame frame;
    const std::string leader = sessions_->LeaderAddress();
    frame.mutable_moved()->set_address(leader);
    Send(frame);
    Detach();
    socket_->Close(WebSocketCode::kGoingAway,
                   leader.empty() ? "nobody leads" : "another scheduler leads");
}

void StreamSession::End(const CloseSession& close) {
    const std::string_view reason = close.reason;
    attached_ = false;  // The engine closed it itself.
    if (replaced_) {
        return Refuse({"replaced", "another process connected as worker '" + worker_ + "'"});
    }
    if (ended_.exchange(true)) return;
    if (!leaving_) {
        worker::v1::SchedulerFrame frame;
        frame.mutable_refused()->set_code(close.full ? "full" : "closed");
        frame.mutable_refused()->set_message(std::string(reason));
        Send(frame);
    }
    socket_->Close(WebSocketCode::kNormal, reason);
}

}  // namespace takt::internal
