#include "model/record.h"
#include "model/record_scratch.h"
#include "model/wire_writer.h"
#include "model/workflow.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

using record::Scratch;

void Put(std::string_view text, std::string& to) {
    to.assign(text);
}

std::int64_t Ms(Time time) {
    return time.time_since_epoch().count();
}

template <typename Field>
void PutPairs(const Pairs& pairs, Field& field) {
    for (const auto& [key, value] : pairs) {
        auto& pair = *field.Add();
        Put(key, *pair.mutable_key());
        Put(value, *pair.mutable_value());
    }
}

template <typename Field>
void PutTexts(const std::vector<Text>& texts, Field& field) {
    for (const Text& text : texts) field.Add()->assign(text.view());
}

void Put(const RetryPolicy& retry, record::Retry& to) {
    to.set_retries_max(retry.retries_max);
    to.set_delay_ms(retry.delay.count());
    to.set_backoff_rate(retry.backoff_rate);
    to.set_delay_max_ms(retry.delay_max.count());
    to.set_jitter(retry.jitter);
}

void Put(const Recurrence& recurrence, record::Recurrence& to) {
    Put(recurrence.cron, *to.mutable_cron());
    Put(recurrence.timezone, *to.mutable_timezone());
    to.set_every_ms(recurrence.every.count());
    to.set_every_after_end_ms(recurrence.every_after_end.count());
    to.set_dst(static_cast<std::uint32_t>(recurrence.dst));
    to.set_start_at_ms(Ms(recurrence.start_at));
    to.set_end_at_ms(Ms(recurrence.end_at));
    to.set_fires_max(recurrence.fires_max);
    to.set_jitter_ms(recurrence.jitter.count());
    PutTexts(recurrence.excluded_dates, *to.mutable_excluded_dates());
}

void Put(const Task& task, record::Task& to);

void Put(const WorkflowStep& step, record::Step& to) {
    Put(*step.task, *to.mutable_task());
    Put(step.named, *to.mutable_named());
    PutTexts(step.after, *to.mutable_after());
    to.set_when(static_cast<std::uint32_t>(step.when));
    if (step.condition) {
        Put(step.condition->value, *to.mutable_condition()->mutable_value());
        Put(step.condition->equals, *to.mutable_condition()->mutable_equals());
    }
    to.set_shards(step.shards);
    Put(step.for_each, *to.mutable_for_each());
    to.set_each_worker(step.each_worker);
    to.set_parallel_max(step.parallel_max);
    to.set_min_success(step.min_success);
    if (step.priority) to.set_priority(*step.priority);
    to.set_backfill(step.backfill);
}

void Put(const Workflow& workflow, record::Workflow& to) {
    for (const WorkflowStep& step : workflow.steps()) Put(step, *to.add_steps());
    to.set_on_failure(static_cast<std::uint32_t>(workflow.options().on_failure));
    to.set_short_form(workflow.options().short_form);
}

void Put(const TaskOptions& options, record::Options& to) {
    if (options.retry) Put(*options.retry, *to.mutable_retry());
    if (options.strategy) to.set_strategy(static_cast<std::uint32_t>(*options.strategy));
    Put(options.strategy_name, *to.mutable_strategy_name());
    PutPairs(options.metadata, *to.mutable_metadata());
    PutPairs(options.labels, *to.mutable_labels());
    Put(options.target, *to.mutable_executor());
    Put(options.unique_key, *to.mutable_unique_key());
    to.set_unique_for_ms(options.unique_for.count());
    to.set_expires_after_ms(options.expires_after.count());
    Put(options.trace, *to.mutable_trace());
    Put(options.trace_state, *to.mutable_trace_state());
    Put(options.concurrency_key, *to.mutable_concurrency_key());
    to.set_concurrency_max(options.concurrency_max);
    to.set_rate_count(options.rate.count);
    to.set_rate_per_ms(options.rate.per.count());
    if (options.recurrence) Put(*options.recurrence, *to.mutable_recurrence());
    to.set_mode(static_cast<std::uint32_t>(options.mode));
    to.set_misfire(static_cast<std::uint32_t>(options.misfire));
    to.set_misfires_max(options.misfires_max);
    to.set_backlog_max(options.backlog_max);
    to.set_start_deadline_ms(options.start_deadline.count());
    to.set_catch_up_after_pause(options.catch_up_after_pause);
    to.set_delay_ms(options.delay.count());
    for (const LockWant& want : options.locks) {
        record::LockWant& lock = *to.add_locks();
        Put(want.name, *lock.mutable_name());
        lock.set_permits(want.permits);
    }
}

void Put(const Task& task, record::Task& to) {
    Put(task.id.view(), *to.mutable_id());
    Put(task.name, *to.mutable_name());
    Put(task.type, *to.mutable_type());
    Put(task.queue, *to.mutable_queue());
    Put(task.payload, *to.mutable_payload());
    to.set_priority(task.priority);
    to.set_version(task.version);
    to.set_timeout_ms(task.timeout.count());
    to.set_run_at_ms(Ms(task.run_at));
    to.set_created_at_ms(Ms(task.created_at));
    to.set_updated_at_ms(Ms(task.updated_at));
    if (!task.options) return;
    Put(*task.options, *to.mutable_options());
    if (task.workflow()) Put(*task.workflow(), *to.mutable_options()->mutable_workflow());
}

void Put(const FireState& state, record::FireState& to) {
    to.set_paused(state.paused);
    to.set_next_at_ms(Ms(state.next_at));
    to.set_last_at_ms(Ms(state.last_at));
    to.set_paused_at_ms(Ms(state.paused_at));
    to.set_fires(state.fires);
    to.set_missed(state.missed);
    to.set_replaced_below(state.replaced_below);
    to.set_first_at_ms(Ms(state.first_at));
    for (const PassedOver& passed : state.passed) {
        record::PassedOver& stretch = *to.add_passed();
        stretch.set_from_ms(Ms(passed.from));
        stretch.set_to_ms(Ms(passed.to));
        stretch.set_missed(passed.missed);
    }
}

void Put(const Outcome& outcome, record::Outcome& to) {
    to.set_reason(static_cast<std::uint32_t>(outcome.reason));
    to.set_code(outcome.code);
    Put(outcome.message, *to.mutable_message());
    Put(outcome.data, *to.mutable_data());
    for (const PastAttempt& attempt : outcome.past) {
        record::PastAttempt& past = *to.add_past();
        past.set_attempt(attempt.attempt);
        past.set_end(static_cast<std::uint32_t>(attempt.end));
        past.set_reason(static_cast<std::uint32_t>(attempt.reason));
        Put(attempt.worker.view(), *past.mutable_worker());
        past.set_started_at_ms(Ms(attempt.started_at));
        past.set_finished_at_ms(Ms(attempt.finished_at));
        Put(attempt.message, *past.mutable_message());
    }
}

void PutState(const Execution& execution, record::State& to) {
    to.set_status(static_cast<std::uint32_t>(execution.status));
    to.set_attempt(execution.attempt);
    to.set_failures(execution.failures);
    to.set_losses(execution.losses);
    to.set_epoch(execution.epoch);
    if (execution.token != Token{}) to.set_token(execution.token.data(), execution.token.size());
    Put(execution.worker.view(), *to.mutable_worker());
    to.set_ready_at_ms(Ms(execution.ready_at));
    to.set_started_at_ms(Ms(execution.started_at));
    to.set_finished_at_ms(Ms(execution.finished_at));
    if (execution.outcome) Put(*execution.outcome, *to.mutable_outcome());
    Put(execution.progress, *to.mutable_progress());
}

}  // namespace

const std::string& Workflow::Spelled() const {
    std::call_once(spelled_once_, [&] {
        Scratch<record::Workflow> scratch;
        Put(*this, *scratch);
        spelled_ = scratch.Encode();
    });
    return spelled_;
}

std::string EncodeOptions(const TaskOptions& options) {
    Scratch<record::Options> scratch;
    Put(options, *scratch);
    std::string bytes = scratch.Encode();
    if (!options.workflow) return bytes;
    // As the last field, which it is, so that the bytes are those of the whole message.
    WireWriter workflow;
    workflow.Item(record::Options::kWorkflowFieldNumber, options.workflow->Spelled());
    return bytes + workflow.Take();
}

std::string EncodeTaskRow(const TaskRow& row) {
    Scratch<record::TaskRow> scratch;
    Put(*row.task, *(*scratch).mutable_task());
    Put(row.state, *(*scratch).mutable_state());
    return scratch.Encode();
}

std::string EncodeExecution(const Execution& execution) {
    Scratch<record::Execution> scratch;
    record::Execution& to = *scratch;
    to.set_serial(execution.serial);
    Put(execution.id.view(), *to.mutable_id());
    Put(*execution.task, *to.mutable_task());
    to.set_origin(static_cast<std::uint32_t>(execution.origin));
    Put(execution.payload, *to.mutable_payload());
    to.set_created_at_ms(Ms(execution.created_at));
    to.set_scheduled_at_ms(Ms(execution.scheduled_at));
    PutState(execution, *to.mutable_state());
    Put(execution.parent.view(), *to.mutable_parent());
    Put(execution.step, *to.mutable_step());
    to.set_shard_index(execution.shard_index);
    to.set_shard_total(execution.shard_total);
    to.set_round(execution.round);
    return scratch.Encode();
}

std::string EncodeOutcome(const OutcomePtr& outcome) {
    if (!outcome) return {};
    Scratch<record::Outcome> scratch;
    Put(*outcome, *scratch);
    return scratch.Encode();
}

std::string EncodeWorker(const Worker& worker) {
    Scratch<record::Worker> scratch;
    record::Worker& to = *scratch;
    Put(worker.id.view(), *to.mutable_id());
    Put(worker.name, *to.mutable_name());
    to.set_link(static_cast<std::uint32_t>(worker.link));
    PutTexts(worker.types, *to.mutable_types());
    PutTexts(worker.queues, *to.mutable_queues());
    PutPairs(worker.labels, *to.mutable_labels());
    Put(worker.group, *to.mutable_group());
    to.set_capacity(worker.capacity);
    to.set_capacity_said(worker.capacity_said);
    to.set_capacity_set(worker.capacity_set);
    to.set_weight(worker.weight);
    Put(worker.address, *to.mutable_address());
    Put(worker.health_url, *to.mutable_health_url());
    Put(worker.version, *to.mutable_version());
    to.set_status(static_cast<std::uint32_t>(worker.status));
    Put(worker.status_reason, *to.mutable_status_reason());
    to.set_joined_at_ms(Ms(worker.joined_at));
    to.set_seen_at_ms(Ms(worker.seen_at));
    Put(worker.instance, *to.mutable_instance());
    return scratch.Encode();
}

std::string EncodeEvent(const Event& event) {
    Scratch<record::Event> scratch;
    record::Event& to = *scratch;
    to.set_serial(event.serial);
    to.set_type(static_cast<std::uint32_t>(event.type));
    to.set_at_ms(Ms(event.at));
    Put(event.task.view(), *to.mutable_task());
    Put(event.execution.view(), *to.mutable_execution());
    Put(event.worker.view(), *to.mutable_worker());
    to.set_attempt(event.attempt);
    Put(event.detail, *to.mutable_detail());
    return scratch.Encode();
}

}  // namespace takt::internal
