#include "worker/worker_core.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/utf8.h"
#include "wire/frame_codec.h"
#include "wire/zstd.h"

namespace takt::internal {
namespace {

constexpr std::uint32_t kProtocol = 1;

// As long as a Bye may take to leave.
constexpr Duration kByeWait{1'000};

// Of a payload once unpacked. The scheduler's own bound is far below.
constexpr std::size_t kPayloadBytesMax = 64 << 20;

// Longer messages are cut. The scheduler would do it too, but refuses a frame that is too large.
constexpr std::size_t kResultMessageBytesMax = 4 << 10;

std::string NewInstance() {
    Random random(NewRandomSeed());
    return std::to_string(random.Next());
}

std::string KeyOf(std::string_view execution, std::uint32_t attempt) {
    return std::string(execution) + '/' + std::to_string(attempt);
}

// Runs on the pool's threads, and after the worker is gone if the handler is abandoned: touches
// nothing but what it is given.
void RunHandler(const ExecutorRegistry& executors, RunTracer* tracer, const HeldPtr& held) {
    auto span = tracer ? tracer->Begin(held->task) : nullptr;
    if (held->timeout > Duration(0)) held->deadline = SteadyClock::now() + held->timeout;
    held->mailbox->Started(held);
    TaskContext context(held->task, *held, held->stop.get_token(), held->deadline);
    TaskResult result;
    if (Executor* executor = executors.Find(held->task.type)) {
        try {
            result = executor->Execute(context);
        } catch (const std::exception& error) {
            result = TaskResult::Failure(error.what());
        } catch (...) {
            result = TaskResult::Failure("the handler threw something that is no std::exception");
        }
    } else {
        // Another worker may know it: not final.
        result =
            TaskResult::Rejected("this worker has no executor for type '" + held->task.type + "'");
        result.final = false;
    }
    if (tracer) tracer->End(std::move(span), result);
    held->mailbox->Finished(held, std::move(result));
}

}  // namespace

WorkerCore::WorkerCore(boost::asio::io_context& loop, HttpClient& client,
                       const WorkerOptions& options,
                       std::shared_ptr<const ExecutorRegistry> executors,
                       std::shared_ptr<RunTracer> tracer, std::function<void(Result<void>)> stopped)
    : loop_(loop),
      options_(options),
      stopped_(std::move(stopped)),
      instance_(NewInstance()),
      types_(options.types.empty() ? executors->Types() : options.types),
      mailbox_(std::make_shared<Mailbox>(options.log_bytes_max,
                                         [this, &loop, alive = std::weak_ptr(alive_)] {
                                             boost::asio::post(loop, [this, alive] {
                                                 if (!alive.expired()) OnMail();
                                             });
                                         })),
      pool_({.threads_max = options.capacity, .abandoned_max = options.capacity},
            [executors, tracer = std::move(tracer)](const HeldPtr& held) {
                RunHandler(*executors, tracer.get(), held);
            }),
      connector_(loop, client, options_,
                 {.on_open = [this] { OnOpen(); },
                  .on_message = [this](WebSocketMessage message) { OnMessage(message); },
                  .on_close = [this](const std::string& why) { OnLost(why); },
                  .on_failed =
                      [this](const std::string& why) {
                          Log(LogLevel::kWarning, "worker", "cannot connect", {{"error", why}});
                          Tell(WorkerEvent::kDisconnected, why);
                      }}),
      timer_(loop),
      flush_timer_(loop) {}

WorkerCore::~WorkerCore() {
    mailbox_->Close();
}

void WorkerCore::Start() {
    idle_since_ = SteadyClock::now();
    readings_.Read(idle_since_);
    connector_.Start();
    ArmNext();
}

void WorkerCore::Tell(WorkerEvent event, std::string_view detail) {
    if (options_.on_event) options_.on_event(event, detail);
}

// --- The connection -----------------------------------------------------------------------------

void WorkerCore::OnOpen() {
    heard_at_ = SteadyClock::now();
    frame_.Clear();
    worker::v1::Hello& hello = *frame_.mutable_hello();
    hello.set_protocol(kProtocol);
    hello.set_worker_id(options_.id);
    hello.set_instance(instance_);
    hello.set_name(options_.name);
    for (const std::string& type : types_) hello.add_types(type);
    for (const std::string& queue : options_.queues) hello.add_queues(queue);
    hello.mutable_labels()->insert(options_.labels.begin(), options_.labels.end());
    hello.set_capacity(options_.capacity);
    hello.set_weight(options_.weight);
    hello.set_group(options_.group);
    hello.set_version(options_.version);
    hello.set_epoch_seen(epoch_seen_);
    hello.set_accepts_zstd(true);
    for (const auto& [key, held] : held_) {
        worker::v1::Attempt& attempt = *hello.add_holding();
        attempt.set_execution_id(held->task.execution_id);
        attempt.set_attempt(held->task.attempt);
        attempt.set_token(held->token);
    }
    SendFrame();
    // A scheduler that takes the connection and says nothing is as good as none.
    ArmNext();
}

void WorkerCore::OnLost(const std::string& why) {
    if (std::exchange(welcomed_, false)) ++counters_.reconnects;
    counters_.attached = false;
    Log(LogLevel::kInfo, "worker", "disconnected", {{"why", why}});
    Tell(WorkerEvent::kDisconnected, why);
    CheckDrained();
}

void WorkerCore::OnMessage(const WebSocketMessage& message) {
    heard_at_ = SteadyClock::now();
    const auto form = message.text ? FrameForm::kJson : FrameForm::kBinary;
    if (auto read = ReadFrame(form, message.bytes, received_); !read) {
        return connector_.Drop("the scheduler sent what is no frame: " + read.error().detail);
    }
    if (received_.has_refused()) return OnRefused(received_.refused());
    if (received_.has_moved()) return connector_.Move(received_.moved().address());
    if (received_.has_welcome()) OnWelcome(received_.welcome());
    if (!welcomed_) return;
    for (const auto& assign : received_.assigns()) OnAssign(assign);
    for (const auto& cancel : received_.cancels()) OnCancel(cancel);
    for (const auto& ack : received_.acks()) OnAck(ack);
    if (received_.has_drain()) {
        Log(LogLevel::kInfo, "worker",
            received_.drain().draining() ? "set aside by an operator" : "back in rotation");
    }
    if (received_.has_beat()) {
        const auto now = SteadyClock::now().time_since_epoch();
        const auto there = Duration(static_cast<Duration::rep>(received_.beat().sent_at_ms()));
        counters_.heartbeat_delay_ms =
            std::max(Duration(0), std::chrono::duration_cast<Duration>(now) - there).count();
    }
    Flush();
    CheckDrained();
}

void WorkerCore::OnWelcome(const worker::v1::Welcome& welcome) {
    if (welcome.epoch() < epoch_seen_) {
        return connector_.Drop("the scheduler leads an older term than the latest known");
    }
    epoch_seen_ = welcome.epoch();
    welcomed_ = true;
    counters_.attached = true;
    heartbeat_ = Duration(std::max(1u, welcome.heartbeat_ms()));
    if (options_.heartbeat > Duration(0)) heartbeat_ = std::min(heartbeat_, options_.heartbeat);
    lease_ = options_.lease > Duration(0) ? options_.lease : Duration(welcome.lease_ms());
    // What went out on the session before may not have arrived.
    started_due_.clear();
    results_due_.clear();
    suspects_due_.clear();
    suspect_.reset();
    for (const auto& [key, held] : held_) {
        held->result_sent = false;
        held->started_due = held->phase == Held::Phase::kRunning;
        held->result_due = held->phase == Held::Phase::kEnded;
        if (held->started_due) started_due_.push_back(held);
        if (held->result_due) (held->refusals > 0 ? suspects_due_ : results_due_).push_back(held);
    }
    Log(LogLevel::kInfo, "worker", "attached",
        {{"node", welcome.node_id()}, {"epoch", epoch_seen_}, {"in_hand", held_.size()}});
    Tell(WorkerEvent::kAttached, welcome.node_id());
    Beat();
}

void WorkerCore::OnRefused(const worker::v1::Refused& refused) {
    const std::string why = refused.code() + ": " + refused.message();
    Log(LogLevel::kError, "worker", "refused by the scheduler", {{"why", why}});
    const bool frame_at_fault = refused.code() == "malformed" || refused.code() == "too_large";
    if (welcomed_ && frame_at_fault) BlameResults(why);
    // These stay as they are however often it is tried.
    const bool final = refused.code() == "protocol" || refused.code() == "invalid_hello" ||
                       refused.code() == "replaced";
    if (!final) return connector_.Drop(why);
    failure_ = Error{ErrorCode::kConflict, "the scheduler refused the worker: " + why, {}};
    connector_.Drop(why);
    StopAll(SteadyClock::now());
    Finish();
}

// One of the results that are under way may be what the scheduler does not take. Said again with the
// same words it would end every session, and none of the others would arrive either. So they are
// said one by one; see suspects_due_.
void WorkerCore::BlameResults(const std::string& why) {
    std::vector<HeldPtr> sent;
    for (const auto& [key, held] : held_) {
        if (held->result_sent) sent.push_back(held);
    }
    for (const HeldPtr& held : sent) {
        if (++held->refusals == 1) continue;
        Log(LogLevel::kError, "worker", "dropped a result that the scheduler does not take",
            {{"execution", held->task.execution_id}, {"attempt", held->task.attempt}});
        if (held->refusals == 2) {
            held->result = TaskResult::FinalFailure(
                "the scheduler did not take the result: " +
                std::string(CutUtf8(why, kResultMessageBytesMax / 2)));
            continue;
        }
        // Not even that. Without it in hand, the scheduler gives the execution to others.
        --unacknowledged_;
        Forget(*held);
    }
}

void WorkerCore::Beat() {
    const Steady now = SteadyClock::now();
    const Reading reading = readings_.Read(now);
    frame_.Clear();
    worker::v1::Heartbeat& beat = *frame_.mutable_heartbeat();
    beat.set_cpu(reading.cpu);
    beat.set_memory(reading.memory);
    beat.set_network_in(reading.network_in);
    beat.set_network_out(reading.network_out);
    beat.set_connections(reading.connections);
    beat.set_sent_at_ms(static_cast<std::uint64_t>(
        std::chrono::duration_cast<Duration>(now.time_since_epoch()).count()));
    beat.set_draining(stage_ != Stage::kServing);
    beat_at_ = now + heartbeat_;
    SendFrame();
    ArmNext();
}

// --- Attempts -----------------------------------------------------------------------------------

HeldPtr WorkerCore::Find(const worker::v1::Attempt& attempt) const {
    const auto found = held_.find(KeyOf(attempt.execution_id(), attempt.attempt()));
    return found != held_.end() && found->second->token == attempt.token() ? found->second
                                                                           : nullptr;
}

void WorkerCore::OnAssign(const worker::v1::Assign& assign) {
    // From a leader that a later one has followed: whoever leads now decides anew.
    if (assign.epoch() < epoch_seen_) {
        Log(LogLevel::kWarning, "worker", "ignored an assignment of an older term",
            {{"execution", assign.attempt().execution_id()}, {"epoch", assign.epoch()}});
        return;
    }
    epoch_seen_ = assign.epoch();
    std::string key = KeyOf(assign.attempt().execution_id(), assign.attempt().attempt());
    if (held_.contains(key)) return;
    auto held = std::make_shared<Held>();
    AssignedTask& task = held->task;
    task.execution_id = assign.attempt().execution_id();
    task.task_id = assign.task_id();
    task.task_name = assign.task_name();
    task.type = assign.type();
    task.queue = assign.queue();
    task.priority = assign.priority();
    task.attempt = assign.attempt().attempt();
    task.failures = assign.failures();
    task.epoch = assign.epoch();
    task.metadata.insert(assign.metadata().begin(), assign.metadata().end());
    task.scheduled_at = Time(Duration(static_cast<Duration::rep>(assign.scheduled_at_ms())));
    task.traceparent = assign.traceparent();
    task.tracestate = assign.tracestate();
    held->token = assign.attempt().token();
    held->timeout =
        assign.timeout_ms() > 0
            ? std::min(kDurationMax, Duration(static_cast<Duration::rep>(assign.timeout_ms())))
            : options_.task_timeout;
    held->mailbox = mailbox_;
    held_.emplace(std::move(key), held);
    counters_.in_hand = static_cast<std::uint32_t>(held_.size());
    ++counters_.assigned;
    if (assign.payload_zstd().empty()) {
        task.payload = assign.payload();
    } else if (auto payload = Unzstd(assign.payload_zstd(), kPayloadBytesMax)) {
        task.payload = std::move(*payload);
    } else {
        return End(held, TaskResult::Rejected("the payload is " + payload.error().detail), {});
    }
    waiting_.push_back(std::move(held));
    FeedPool();
}

// Gives attempts to the pool, unless too many results wait to be acknowledged.
void WorkerCore::FeedPool() {
    while (!waiting_.empty() && unacknowledged_ < options_.buffer_size) {
        HeldPtr held = std::move(waiting_.front());
        waiting_.pop_front();
        if (held->phase == Held::Phase::kWaiting) pool_.Push(std::move(held));
    }
}

void WorkerCore::OnCancel(const worker::v1::Cancel& cancel) {
    const HeldPtr held = Find(cancel.attempt());
    if (!held) return;
    StopHeld(held, cancel.reason() == "timeout" ? StopReason::kTimeout : StopReason::kCancelled);
}

void WorkerCore::StopHeld(const HeldPtr& held, StopReason reason) {
    auto waiting = Held::Phase::kWaiting;
    if (held->phase.compare_exchange_strong(waiting, Held::Phase::kWithdrawn)) {
        if (reason == StopReason::kShutdown) return Forget(*held);
        return End(held, TaskResult::Failure("stopped before it began"), reason);
    }
    if (held->phase != Held::Phase::kRunning) return;
    auto none = StopReason::kNone;
    if (!held->reason.compare_exchange_strong(none, reason)) return;
    SetDue(*held, SteadyClock::now() + options_.stop_grace);
    pool_.RequestStop(held);
}

void WorkerCore::OnAck(const worker::v1::Ack& ack) {
    const HeldPtr held = Find(ack.attempt());
    if (!held || held->phase != Held::Phase::kEnded) return;
    if (!ack.accepted()) ++counters_.refused_stale;
    if (suspect_ == held) suspect_.reset();
    --unacknowledged_;
    Forget(*held);
    FeedPool();
}

void WorkerCore::Forget(Held& held) {
    SetDue(held, std::nullopt);
    held_.erase(KeyOf(held.task.execution_id, held.task.attempt));
    counters_.in_hand = static_cast<std::uint32_t>(held_.size());
    if (held_.empty()) idle_since_ = SteadyClock::now();
}

void WorkerCore::OnMail() {
    mailbox_->Take(mail_);
    for (HeldPtr& held : mail_.started) {
        if (held->phase != Held::Phase::kRunning) continue;
        if (held->deadline && held->reason == StopReason::kNone) SetDue(*held, held->deadline);
        held->started_due = true;
        started_due_.push_back(std::move(held));
    }
    mail_.started.clear();
    for (HeldPtr& held : mail_.news) {
        held->news_due = true;
        news_due_.push_back(std::move(held));
    }
    mail_.news.clear();
    for (auto& [held, result] : mail_.finished) OnFinished(held, std::move(result));
    mail_.finished.clear();
    counters_.abandoned = static_cast<std::uint32_t>(pool_.abandoned());
    Flush();
    CheckDrained();
}

void WorkerCore::OnFinished(const HeldPtr& held, TaskResult result) {
    // Abandoned before: how it ended has been told.
    if (held->phase != Held::Phase::kRunning) return;
    const StopReason reason = held->reason;
    if (result.success() || reason == StopReason::kNone) {
        return End(held, std::move(result), std::nullopt);
    }
    // Stopped because the worker goes: nobody's failure. Bye gives it to others.
    if (reason == StopReason::kShutdown) {
        held->phase = Held::Phase::kWithdrawn;
        return Forget(*held);
    }
    End(held, std::move(result), reason);
}

void WorkerCore::End(const HeldPtr& held, TaskResult result, std::optional<StopReason> by) {
    SetDue(*held, std::nullopt);
    held->phase = Held::Phase::kEnded;
    // What is not UTF-8 grows when it is replaced.
    if (result.data.size() <= options_.result_bytes_max) MakeUtf8(result.data);
    if (result.data.size() > options_.result_bytes_max) {
        result = TaskResult::FinalFailure("the result has " + std::to_string(result.data.size()) +
                                          " bytes, which is more than the limit of " +
                                          std::to_string(options_.result_bytes_max));
    }
    result.message = CutUtf8(result.message, kResultMessageBytesMax);
    MakeUtf8(result.message);
    ++(result.success() ? counters_.succeeded : counters_.failed);
    held->result = std::move(result);
    held->ended_by = by;
    held->result_due = true;
    ++unacknowledged_;
    results_due_.push_back(held);
}

// --- Time and stages ----------------------------------------------------------------------------

void WorkerCore::SetDue(Held& held, std::optional<Steady> due) {
    if (held.due) deadlines_.erase({*held.due, &held});
    held.due = due;
    if (!due) return;
    deadlines_.emplace(*due, &held);
    Arm(*due);
}

// Its timeout has passed, or its grace after being asked to stop.
void WorkerCore::OnDue(const HeldPtr& held, Steady) {
    if (held->phase != Held::Phase::kRunning) return;
    if (held->reason == StopReason::kNone) return StopHeld(held, StopReason::kTimeout);
    const StopReason reason = held->reason;
    if (!pool_.Abandon(*held)) {
        Log(LogLevel::kError, "worker",
            "a handler does not stop, and too many were abandoned already; its place stays taken",
            {{"execution", held->task.execution_id}, {"type", held->task.type}});
        return;
    }
    counters_.abandoned = static_cast<std::uint32_t>(pool_.abandoned());
    Log(LogLevel::kWarning, "worker", "abandoned a handler that does not stop",
        {{"execution", held->task.execution_id},
         {"type", held->task.type},
         {"reason", Name(reason)}});
    if (reason == StopReason::kShutdown) {
        held->phase = Held::Phase::kWithdrawn;
        return Forget(*held);
    }
    End(held, TaskResult::Failure("did not stop when asked to, and was abandoned"), reason);
}

void WorkerCore::Arm(Steady at) {
    if (stage_ == Stage::kStopped || (armed_ && *armed_ <= at)) return;
    armed_ = at;
    timer_.expires_after(std::max(SteadyClock::duration(0), at - SteadyClock::now()));
    timer_.async_wait(
        [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
            if (error || alive.expired()) return;
            armed_.reset();
            OnTimer();
        });
}

void WorkerCore::ArmNext() {
    if (connector_.open()) Arm(heard_at_ + lease_);
    if (welcomed_) Arm(beat_at_);
    if (!deadlines_.empty()) Arm(deadlines_.begin()->first);
    if (stage_ != Stage::kServing) {
        Arm(stage_until_);
    } else if (options_.idle_timeout > Duration(0) && held_.empty()) {
        Arm(idle_since_ + options_.idle_timeout);
    }
}

void WorkerCore::OnTimer() {
    const Steady now = SteadyClock::now();
    if (stage_ == Stage::kFinishing && now >= stage_until_) return Done();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const HeldPtr held = deadlines_.begin()->second->shared_from_this();
        SetDue(*held, std::nullopt);
        OnDue(held, now);
    }
    if (connector_.open() && now - heard_at_ >= lease_) {
        connector_.Drop("nothing was heard from the scheduler for longer than the lease");
    }
    if (welcomed_ && now >= beat_at_) Beat();
    if (stage_ == Stage::kServing && options_.idle_timeout > Duration(0) && held_.empty() &&
        now - idle_since_ >= options_.idle_timeout) {
        Drain("no work for longer than the idle timeout");
    }
    if (stage_ == Stage::kDraining && now >= stage_until_) StopAll(now);
    if (stage_ == Stage::kStopping && now >= stage_until_) return Finish();
    Flush();
    CheckDrained();
    ArmNext();
}

void WorkerCore::Stop() {
    if (stage_ == Stage::kServing) return Drain("asked to stop");
    if (stage_ == Stage::kFinishing || stage_ == Stage::kStopped) return;
    StopAll(SteadyClock::now());
    Finish();
}

void WorkerCore::Drain(const std::string& why) {
    stage_ = Stage::kDraining;
    stage_until_ = SteadyClock::now() + options_.drain_timeout;
    counters_.draining = true;
    Log(LogLevel::kInfo, "worker", "draining", {{"why", why}, {"in_hand", held_.size()}});
    Tell(WorkerEvent::kDraining, why);
    if (welcomed_) Beat();  // Says that nothing new is wanted.
    ArmNext();
    CheckDrained();
}

void WorkerCore::StopAll(Steady now) {
    stage_ = Stage::kStopping;
    // A handler that stops at the last moment still has its result sent.
    stage_until_ = now + options_.stop_grace + kByeWait;
    std::vector<HeldPtr> all;
    all.reserve(held_.size());
    for (const auto& [key, held] : held_) all.push_back(held);
    for (const HeldPtr& held : all) StopHeld(held, StopReason::kShutdown);
}

void WorkerCore::CheckDrained() {
    const bool waiting = stage_ == Stage::kDraining || stage_ == Stage::kStopping;
    if (waiting && held_.empty()) Finish();
}

void WorkerCore::Finish() {
    if (stage_ == Stage::kFinishing || stage_ == Stage::kStopped) return;
    Flush();
    stage_ = Stage::kFinishing;
    stage_until_ = SteadyClock::now() + kByeWait;
    if (welcomed_) {
        frame_.Clear();
        frame_.mutable_bye()->set_reason("stopped");
        SendFrame();
    }
    ArmNext();
    connector_.Finish([this, alive = std::weak_ptr(alive_)] {
        boost::asio::post(loop_, [this, alive] {
            if (!alive.expired()) Done();
        });
    });
}

void WorkerCore::Done() {
    if (std::exchange(stage_, Stage::kStopped) == Stage::kStopped) return;
    timer_.cancel();
    flush_timer_.cancel();
    counters_.attached = false;
    mailbox_->Close();
    Tell(WorkerEvent::kStopped, failure_ ? failure_->detail : "");
    if (failure_) return stopped_(std::unexpected(*failure_));
    stopped_({});
}

}  // namespace takt::internal
