#include <algorithm>
#include <cmath>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "model/record.h"
#include "model/record_scratch.h"
#include "model/workflow.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

using record::Scratch;

// Milliseconds, some 35,000 years: beyond, sums of times and durations could overflow.
constexpr std::int64_t kTimeMax = std::int64_t{1} << 50;

// Takes values out of a message and remembers what is out of bounds, so that the many fields of a
// record need one check at the end.
class Taker {
  public:
    template <typename Enum>
    Enum OneOf(std::uint32_t value, Enum last) {
        return Within(value <= static_cast<std::uint32_t>(last)) ? static_cast<Enum>(value)
                                                                 : Enum{};
    }
    Time At(std::int64_t ms) {
        return Within(ms >= -kTimeMax && ms <= kTimeMax) ? Time(Duration(ms)) : Time{};
    }
    Duration For(std::int64_t ms) {
        return Within(ms >= -kTimeMax && ms <= kTimeMax) ? Duration(ms) : Duration(0);
    }
    double Number(double value) { return Within(std::isfinite(value)) ? value : 0.0; }
    template <typename SomeId>
    SomeId Required(const std::string& text) {
        Within(!text.empty());
        return SomeId(Text(text));
    }
    bool Within(bool condition) {
        within_ = within_ && condition;
        return condition;
    }

    bool within() const { return within_; }

  private:
    bool within_ = true;
};

std::unexpected<Error> NotA(const char* kind) {
    return Fail(ErrorCode::kInvalid, std::string("the stored bytes are not ") + kind);
}

template <typename Field>
Pairs TakePairs(const Field& field) {
    Pairs pairs;
    pairs.reserve(static_cast<std::size_t>(field.size()));
    for (const auto& pair : field) pairs.emplace_back(pair.key(), pair.value());
    return pairs;
}

template <typename Field>
std::vector<Text> TakeTexts(const Field& field) {
    return std::vector<Text>(field.begin(), field.end());
}

RetryPolicy Take(Taker& take, const record::Retry& from) {
    return {.retries_max = from.retries_max(),
            .delay = take.For(from.delay_ms()),
            .backoff_rate = take.Number(from.backoff_rate()),
            .delay_max = take.For(from.delay_max_ms()),
            .jitter = take.Number(from.jitter())};
}

Recurrence Take(Taker& take, const record::Recurrence& from) {
    return {.cron = from.cron(),
            .timezone = from.timezone(),
            .every = take.For(from.every_ms()),
            .every_after_end = take.For(from.every_after_end_ms()),
            .dst = take.OneOf(from.dst(), Dst::kTwice),
            .start_at = take.At(from.start_at_ms()),
            .end_at = take.At(from.end_at_ms()),
            .fires_max = from.fires_max(),
            .jitter = take.For(from.jitter_ms()),
            .excluded_dates = TakeTexts(from.excluded_dates())};
}

TaskPtr Take(Taker& take, const record::Task& from, bool is_step);

WorkflowStep Take(Taker& take, const record::Step& from) {
    WorkflowStep step;
    step.task = Take(take, from.task(), true);
    step.named = from.named();
    step.after = TakeTexts(from.after());
    step.when = take.OneOf(from.when(), When::kNoneFailed);
    if (from.has_condition()) {
        step.condition = {from.condition().value(), from.condition().equals()};
    }
    take.Within(from.shards() <= kStepChildrenMax);
    step.shards = from.shards();
    step.for_each = from.for_each();
    step.each_worker = from.each_worker();
    step.parallel_max = from.parallel_max();
    step.min_success = from.min_success();
    if (from.has_priority() && take.Within(from.priority() <= kPriorityMax)) {
        step.priority = static_cast<std::uint8_t>(from.priority());
    }
    step.backfill = from.backfill();
    return step;
}

WorkflowPtr Take(Taker& take, const record::Workflow& from) {
    std::vector<WorkflowStep> steps;
    for (const record::Step& step : from.steps()) steps.push_back(Take(take, step));
    auto made = Workflow::Make(std::move(steps),
                               {.on_failure = take.OneOf(from.on_failure(), OnFailure::kContinue),
                                .short_form = from.short_form()});
    return take.Within(made.has_value()) ? *made : WorkflowPtr();
}

std::unique_ptr<const TaskOptions> Take(Taker& take, const record::Options& from) {
    auto options = std::make_unique<TaskOptions>();
    if (from.has_retry()) options->retry = Take(take, from.retry());
    if (from.has_strategy()) options->strategy = take.OneOf(from.strategy(), Strategy::kCustom);
    options->strategy_name = from.strategy_name();
    options->metadata = TakePairs(from.metadata());
    options->labels = TakePairs(from.labels());
    options->target = from.executor();
    options->unique_key = from.unique_key();
    options->unique_for = take.For(from.unique_for_ms());
    options->expires_after = take.For(from.expires_after_ms());
    options->trace = from.trace();
    options->trace_state = from.trace_state();
    options->concurrency_key = from.concurrency_key();
    options->concurrency_max = from.concurrency_max();
    options->rate = {.count = from.rate_count(), .per = take.For(from.rate_per_ms())};
    if (from.has_recurrence()) options->recurrence = Take(take, from.recurrence());
    options->mode = take.OneOf(from.mode(), Mode::kReplace);
    options->misfire = take.OneOf(from.misfire(), Misfire::kSkip);
    if (from.has_misfires_max()) options->misfires_max = from.misfires_max();
    if (from.has_backlog_max()) options->backlog_max = from.backlog_max();
    options->start_deadline = take.For(from.start_deadline_ms());
    options->catch_up_after_pause = from.catch_up_after_pause();
    options->delay = take.For(from.delay_ms());
    for (const record::LockWant& lock : from.locks()) {
        take.Within(!lock.name().empty() && lock.permits() > 0);
        options->locks.push_back({.name = lock.name(), .permits = lock.permits()});
    }
    take.Within(options->locks.size() <= kLocksPerTaskMax);
    if (from.has_workflow()) options->workflow = Take(take, from.workflow());
    return options;
}

// The task of a step is part of another one, whose id it shares.
TaskPtr Take(Taker& take, const record::Task& from, bool is_step) {
    boost::intrusive_ptr<Task> task(new Task);
    if (!is_step) task->id = take.Required<TaskId>(from.id());
    task->name = from.name();
    task->type = from.type();
    task->queue = from.queue();
    task->payload = from.payload();
    take.Within(from.priority() <= kPriorityMax);
    task->priority = static_cast<std::uint8_t>(from.priority());
    task->version = from.version();
    task->timeout = take.For(from.timeout_ms());
    task->run_at = take.At(from.run_at_ms());
    task->created_at = take.At(from.created_at_ms());
    task->updated_at = take.At(from.updated_at_ms());
    if (from.has_options()) task->options = Take(take, from.options());
    return task;
}

FireState Take(Taker& take, const record::FireState& from) {
    FireState state{.paused = from.paused(),
                    .next_at = take.At(from.next_at_ms()),
                    .last_at = take.At(from.last_at_ms()),
                    .paused_at = take.At(from.paused_at_ms()),
                    .fires = from.fires(),
                    .missed = from.missed(),
                    .first_at = take.At(from.first_at_ms()),
                    .replaced_below = from.replaced_below()};
    if (from.passed_to_ms() != 0) {
        const Time first = take.At(from.passed_from_ms());
        const Time last = std::min(take.At(from.passed_to_ms()), state.last_at);
        if (first <= last) state.passed = {{.from = first, .to = last, .missed = true}};
    }
    if (!take.Within(std::size_t(from.passed_size()) <= kPassedOverMax)) return state;
    for (const record::PassedOver& passed : from.passed()) {
        const Time first = take.At(passed.from_ms());
        const Time last = take.At(passed.to_ms());
        if (!take.Within(first <= last)) return state;
        state.passed.push_back({.from = first, .to = last, .missed = passed.missed()});
    }
    return state;
}

OutcomePtr Take(Taker& take, const record::Outcome& from) {
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = take.OneOf(from.reason(), kReasonLast);
    outcome->code = from.code();
    outcome->message = from.message();
    outcome->data = from.data();
    if (!take.Within(std::size_t(from.past_size()) <= kPastAttemptsMax)) return outcome;
    for (const record::PastAttempt& past : from.past()) {
        PastAttempt& attempt = outcome->past.emplace_back();
        attempt.attempt = past.attempt();
        attempt.end = take.OneOf(past.end(), AttemptEnd::kCancelled);
        attempt.reason = take.OneOf(past.reason(), kReasonLast);
        if (!past.worker().empty()) attempt.worker = WorkerId(past.worker());
        attempt.started_at = take.At(past.started_at_ms());
        attempt.finished_at = take.At(past.finished_at_ms());
        attempt.message = past.message();
    }
    return outcome;
}

void TakeState(Taker& take, const record::State& from, Execution& execution) {
    execution.status = take.OneOf(from.status(), Status::kSkipped);
    execution.attempt = from.attempt();
    execution.failures = from.failures();
    execution.losses = from.losses();
    execution.epoch = from.epoch();
    const std::string& token = from.token();
    // No token is written for an execution that was never assigned.
    if (take.Within(token.empty() || token.size() == execution.token.size())) {
        std::ranges::copy(token, execution.token.begin());
    }
    if (!from.worker().empty()) execution.worker = WorkerId(from.worker());
    execution.ready_at = take.At(from.ready_at_ms());
    execution.started_at = take.At(from.started_at_ms());
    execution.finished_at = take.At(from.finished_at_ms());
    if (from.has_outcome()) execution.outcome = Take(take, from.outcome());
    execution.progress = from.progress();
}

}  // namespace

Result<std::unique_ptr<const TaskOptions>> DecodeOptions(std::string_view bytes) {
    if (bytes.empty()) return nullptr;
    Scratch<record::Options> scratch;
    if (!scratch.Decode(bytes)) return NotA("task options");
    Taker take;
    auto options = Take(take, *scratch);
    if (!take.within()) return NotA("task options");
    return options;
}

Result<TaskRow> DecodeTaskRow(std::string_view bytes) {
    Scratch<record::TaskRow> scratch;
    if (!scratch.Decode(bytes) || !(*scratch).has_task()) return NotA("a task");
    Taker take;
    TaskRow row{.task = Take(take, (*scratch).task(), false),
                .state = Take(take, (*scratch).state())};
    if (!take.within()) return NotA("a task");
    return row;
}

Result<Execution> DecodeExecution(std::string_view bytes) {
    Scratch<record::Execution> scratch;
    if (!scratch.Decode(bytes) || !(*scratch).has_task()) return NotA("an execution");
    const record::Execution& from = *scratch;
    Taker take;
    Execution execution;
    execution.serial = from.serial();
    execution.task = Take(take, from.task(), false);
    // A one-off task and its execution have one id: hold it once in memory too.
    execution.id = from.id() == execution.task->id.view() ? ExecutionId(execution.task->id.text())
                                                          : take.Required<ExecutionId>(from.id());
    execution.origin = take.OneOf(from.origin(), Origin::kBackfill);
    execution.payload = from.payload();
    execution.created_at = take.At(from.created_at_ms());
    execution.scheduled_at = take.At(from.scheduled_at_ms());
    TakeState(take, from.state(), execution);
    if (!from.parent().empty()) execution.parent = ExecutionId(from.parent());
    execution.step = from.step();
    execution.shard_index = from.shard_index();
    execution.shard_total = from.shard_total();
    execution.round = from.round();
    if (!take.within()) return NotA("an execution");
    return execution;
}

Result<OutcomePtr> DecodeOutcome(std::string_view bytes) {
    if (bytes.empty()) return nullptr;
    Scratch<record::Outcome> scratch;
    if (!scratch.Decode(bytes)) return NotA("an outcome");
    Taker take;
    OutcomePtr outcome = Take(take, *scratch);
    if (!take.within()) return NotA("an outcome");
    return outcome;
}

Result<OutcomePtr> DecodeOutcomeHead(std::string_view bytes) {
    if (bytes.empty()) return nullptr;
    using google::protobuf::internal::WireFormatLite;
    google::protobuf::io::CodedInputStream from(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    Taker take;
    // Fields are written in the order of their numbers; data and past attempts come last.
    for (;;) {
        const std::uint32_t tag = from.ReadTag();
        const int field = WireFormatLite::GetTagFieldNumber(tag);
        std::uint64_t value = 0;
        if (tag == 0 || field > record::Outcome::kMessageFieldNumber) break;
        if (!from.ReadVarint64(&value)) return NotA("an outcome");
        if (field == record::Outcome::kReasonFieldNumber) {
            outcome->reason = take.OneOf(static_cast<std::uint32_t>(value), kReasonLast);
        } else if (field == record::Outcome::kCodeFieldNumber) {
            outcome->code = static_cast<std::int32_t>(value);
        } else {
            const auto begin = static_cast<std::size_t>(from.CurrentPosition());
            outcome->message = Text(bytes.substr(begin, value));
            break;
        }
    }
    if (!take.within()) return NotA("an outcome");
    return OutcomePtr(std::move(outcome));
}

Result<Worker> DecodeWorker(std::string_view bytes) {
    Scratch<record::Worker> scratch;
    if (!scratch.Decode(bytes)) return NotA("a worker");
    const record::Worker& from = *scratch;
    Taker take;
    Worker worker{.id = take.Required<WorkerId>(from.id()),
                  .name = from.name(),
                  .link = take.OneOf(from.link(), LinkKind::kPush),
                  .types = TakeTexts(from.types()),
                  .queues = TakeTexts(from.queues()),
                  .labels = TakePairs(from.labels()),
                  .group = from.group(),
                  .capacity = from.capacity(),
                  .capacity_said = from.capacity_said(),
                  .capacity_set = from.capacity_set(),
                  .weight = from.weight(),
                  .address = from.address(),
                  .health_url = from.health_url(),
                  .version = from.version(),
                  .instance = from.instance(),
                  .status = take.OneOf(from.status(), WorkerStatus::kMaintenance),
                  .status_reason = from.status_reason(),
                  .joined_at = take.At(from.joined_at_ms()),
                  .seen_at = take.At(from.seen_at_ms())};
    if (!take.within()) return NotA("a worker");
    return worker;
}

Result<Event> DecodeEvent(std::string_view bytes) {
    Scratch<record::Event> scratch;
    if (!scratch.Decode(bytes)) return NotA("an event");
    const record::Event& from = *scratch;
    Taker take;
    Event event{.serial = from.serial(),
                .type = take.OneOf(from.type(), EventType::kWorkerChanged),
                .at = take.At(from.at_ms()),
                .task = TaskId(from.task()),
                .execution = ExecutionId(from.execution()),
                .worker = WorkerId(from.worker()),
                .attempt = from.attempt(),
                .detail = from.detail()};
    if (!take.within()) return NotA("an event");
    return event;
}

}  // namespace takt::internal
