// The connection: what a scheduler says, and what follows from it for the session.
#include "worker/worker_core.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "wire/frame_codec.h"
#include "worker/attempt_run.h"

namespace takt::internal {
namespace {

constexpr std::uint32_t kProtocol = 1;

// Between two log lines about the same refusal.
constexpr Duration kRefusedAgain{60'000};

// A lead that is lost is taken over within scheduler.leader_ttl, ten seconds; that nobody takes it
// for this long is worth a line.
constexpr Duration kOutsideAgainMin{3'000};
constexpr Duration kOutsideAgainMax{600'000};

std::string NewInstance() {
    Random random(NewRandomSeed());
    return std::to_string(random.Next());
}

// Nobody can set a higher capacity; see model/worker.h, which this side does not otherwise need.
constexpr std::uint32_t kThreadsMax = 100'000;

// Threads for handlers that return at once, and how many of them may hang all the same.
constexpr HandlerPool::Bounds kSoonBounds{.threads_max = 4, .abandoned_max = 100};

void BeginHandler(TaskHandler& handler, std::shared_ptr<AttemptRun> run) {
    try {
        handler.Begin(run);
    } catch (const std::exception& error) {
        run->Finish(TaskResult::Failure(error.what()));
    } catch (...) {
        run->Finish(TaskResult::Failure("the handler threw something that is no std::exception"));
    }
}

// Runs on the pool's threads, and after the worker is gone if the handler is abandoned: touches
// nothing but what it is given.
void RunHandler(const HandlerRegistry& handlers, const std::shared_ptr<RunTracer>& tracer,
                const LeaseEnd& lease_end, const HeldPtr& held) {
    // The process was asleep, or all threads were busy while nobody heard of the worker: others
    // have been given it.
    if (SteadyClock::now().time_since_epoch().count() >= lease_end) {
        return held->mailbox->PutBack(held);
    }
    auto span = tracer ? tracer->Begin(held->task) : nullptr;
    held->begun = SteadyClock::now();
    if (held->timeout > Duration(0)) held->deadline = *held->begun + held->timeout;
    held->mailbox->Started(held);
    if (held->async) {
        return BeginHandler(*handlers.Find(held->task.type),
                            std::make_shared<AttemptRun>(held, tracer, std::move(span)));
    }
    TaskContext context(held->task, *held, held->stop.get_token(), held->deadline);
    TaskResult result;
    if (TaskHandler* handler = handlers.Find(held->task.type)) {
        try {
            result = handler->Execute(context);
        } catch (const std::exception& error) {
            result = TaskResult::Failure(error.what());
        } catch (...) {
            result = TaskResult::Failure("the handler threw something that is no std::exception");
        }
    } else {
        // Another worker may know it: not final.
        result =
            TaskResult::Rejected("this worker has no handler for type '" + held->task.type + "'");
        result.final = false;
    }
    if (tracer) tracer->End(std::move(span), result);
    held->mailbox->Finished(held, std::move(result));
}

}  // namespace

WorkerCore::WorkerCore(boost::asio::io_context& loop, HttpClient& client,
                       const WorkerOptions& options,
                       std::shared_ptr<const HandlerRegistry> handlers,
                       std::shared_ptr<RunTracer> tracer, std::function<void(Result<void>)> stopped)
    : loop_(loop),
      options_(options),
      stopped_(std::move(stopped)),
      instance_(NewInstance()),
      types_(options.types.empty() ? handlers->Types() : options.types),
      mailbox_(std::make_shared<Mailbox>(options.log_bytes_max, [&loop, mail = life_.Guard([this] {
                                             OnMail();
                                         })] { boost::asio::post(loop, auto(mail)); })),
      handlers_(handlers),
      pool_({.threads_max = options.capacity, .abandoned_max = options.capacity},
            [handlers, tracer, lease_end = lease_end_](const HeldPtr& held) {
                RunHandler(*handlers, tracer, *lease_end, held);
            }),
      soon_pool_(kSoonBounds,
                 [handlers, tracer, lease_end = lease_end_](const HeldPtr& held) {
                     RunHandler(*handlers, tracer, *lease_end, held);
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
      capacity_said_(options.capacity),
      timer_(loop),
      flush_timer_(loop) {
    counters_.capacity = capacity_said_;
}

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
    heard_at_ = hello_at_ = SteadyClock::now();
    frame_.Clear();
    worker::v1::Hello& hello = *frame_.mutable_hello();
    hello.set_protocol(kProtocol);
    hello.set_worker_id(options_.id);
    hello.set_instance(instance_);
    hello.set_name(options_.name);
    for (const std::string& type : types_) hello.add_types(type);
    // What it can run is not what somebody asked it to.
    hello.set_any_of_types(options_.types.empty());
    for (const std::string& queue : options_.queues) hello.add_queues(queue);
    hello.mutable_labels()->insert(options_.labels.begin(), options_.labels.end());
    hello.set_capacity(capacity_said_);
    hello.set_weight(options_.weight);
    hello.set_group(options_.group);
    hello.set_version(options_.version);
    hello.set_epoch_seen(epoch_seen_);
    hello.set_term_id(term_seen_);
    hello.set_namespace_(options_.space);
    hello.set_namespace_id(space_id_);
    hello.set_accepts_zstd(true);
    if (hello_at_.time_since_epoch().count() >= *lease_end_) WithdrawWaiting();
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
    const bool was_attached = std::exchange(welcomed_, false);
    if (was_attached) ++counters_.reconnects;
    counters_.attached = false;
    const bool told = was_attached || TellsWhyOutside(why);
    Log(told ? LogLevel::kInfo : LogLevel::kDebug, "worker", "disconnected", {{"why", why}});
    Tell(WorkerEvent::kDisconnected, why);
    CheckDrained();
}

// Of sessions that end before they have begun, several in each second: told for each reason, and
// while that stays the same after ever longer pauses. Who has just begun to serve is about to lead,
// which is nothing to tell.
bool WorkerCore::TellsWhyOutside(const std::string& why) {
    const Steady now = SteadyClock::now();
    const bool news = why != outside_why_;
    if (!news && now < outside_tell_at_) return false;
    outside_pause_ = news ? kOutsideAgainMin : std::min(outside_pause_ * 2, kOutsideAgainMax);
    outside_tell_at_ = now + outside_pause_;
    outside_why_ = why;
    return !news || why != kNobodyLeads;
}

void WorkerCore::OnMessage(const WebSocketMessage& message) {
    const Steady now = SteadyClock::now();
    // This process was asleep: what lies in the socket was sent to a worker that has been taken for
    // dead since, and its work given to others.
    if (welcomed_ && now - heard_at_ >= lease_) {
        return connector_.Drop("nothing was read from the scheduler for longer than the lease");
    }
    heard_at_ = now;
    const auto form = message.text ? FrameForm::kJson : FrameForm::kBinary;
    if (auto read = ReadFrame(form, message.bytes, received_); !read) {
        return connector_.Drop("the scheduler sent what is no frame: " + read.error().detail);
    }
    if (received_.has_refused()) return OnRefused(received_.refused());
    if (received_.has_moved()) return connector_.Move(received_.moved().address());
    if (received_.has_welcome()) OnWelcome(received_.welcome());
    if (!welcomed_) return;
    if (received_.beat().sent_at_ms() > 0) {
        ExtendLease(Steady(Duration(static_cast<Duration::rep>(received_.beat().sent_at_ms()))));
    }
    for (const auto& assign : received_.assigns()) OnAssign(assign);
    for (const auto& cancel : received_.cancels()) OnCancel(cancel);
    for (const auto& ack : received_.acks()) OnAck(ack);
    for (const auto& verdict : received_.lock_verdicts()) OnLockVerdict(verdict);
    for (const auto& fetched : received_.fetched()) OnFetched(fetched);
    if (received_.has_capacity()) OnCapacity(received_.capacity().capacity());
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
    // The namespace was deleted and made again, or the token is for another one now.
    if (welcome.namespace_id() != space_id_) epoch_seen_ = 0;
    space_id_ = welcome.namespace_id();
    if (welcome.epoch() < epoch_seen_) {
        return connector_.Drop("the scheduler leads an older term than the latest known");
    }
    epoch_seen_ = welcome.epoch();
    term_seen_ = welcome.term_id();
    welcomed_ = true;
    outside_why_.clear();
    counters_.attached = true;
    // A capacity that an operator has set is said again; this scheduler may not know of it.
    if (capacity_set_ != 0) OnCapacity(0);
    heartbeat_ = Duration(std::max(1u, welcome.heartbeat_ms()));
    if (options_.heartbeat > Duration(0)) heartbeat_ = std::min(heartbeat_, options_.heartbeat);
    lease_said_ = Duration(welcome.lease_ms());
    lease_ = options_.lease > Duration(0) ? options_.lease : lease_said_;
    ExtendLease(hello_at_);
    // Frames of the session before may not have arrived.
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
    RepeatLocks();
    RepeatFetches();
    Log(LogLevel::kInfo, "worker", "attached",
        {{"node", welcome.node_id()}, {"epoch", epoch_seen_}, {"in_hand", held_.size()}});
    Tell(WorkerEvent::kAttached, welcome.node_id());
    Beat();
}

void WorkerCore::SetCapacity(std::uint32_t capacity) {
    capacity_said_ = capacity;
    OnCapacity(capacity_set_);
    if (welcomed_) Beat();
}

void WorkerCore::OnCapacity(std::uint32_t set) {
    capacity_set_ = std::min(set, kThreadsMax);
    const std::uint32_t capacity = capacity_set_ != 0 ? capacity_set_ : capacity_said_;
    if (counters_.capacity.exchange(capacity) == capacity) return;
    Log(LogLevel::kInfo, "worker", "has another capacity",
        {{"capacity", capacity}, {"by", capacity_set_ != 0 ? "an operator" : "itself"}});
    pool_.SetBounds({.threads_max = capacity, .abandoned_max = capacity});
}

void WorkerCore::OnRefused(const worker::v1::Refused& refused) {
    const std::string why = refused.code() + ": " + refused.message();
    const Steady now = SteadyClock::now();
    // Said once in a while: it may be so for days.
    const bool said = why == refused_why_ && now - refused_said_at_ < kRefusedAgain;
    Log(said ? LogLevel::kDebug : LogLevel::kError, "worker", "refused by the scheduler",
        {{"why", why}});
    if (!said) refused_said_at_ = now;
    refused_why_ = why;
    const bool seldom = refused.code() == "taken" || refused.code() == "full";
    if (seldom) return connector_.DropForLong(why);
    const bool frame_at_fault = refused.code() == "malformed" || refused.code() == "too_large";
    if (welcomed_ && frame_at_fault) BlameResults(why);
    // These stay as they are however often it is tried.
    const bool final = refused.code() == "protocol" || refused.code() == "invalid_hello" ||
                       refused.code() == "not_yours" || refused.code() == "wrong_namespace" ||
                       refused.code() == "replaced";
    if (!final) return connector_.Drop(why);
    failure_ = Error{ErrorCode::kConflict, "the scheduler refused the worker: " + why, {}};
    connector_.Drop(why);
    StopAll(SteadyClock::now());
    Finish();
}

// The lease counts from what the scheduler has heard; a beat's own `sent_at_ms` tells when that was,
// which no other frame does.
void WorkerCore::ExtendLease(Steady heard) {
    *lease_end_ = (heard + lease_said_).time_since_epoch().count();
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
    beat.set_capacity(capacity_said_);
    beat_at_ = now + heartbeat_;
    SendFrame();
    ArmNext();
}

}  // namespace takt::internal
