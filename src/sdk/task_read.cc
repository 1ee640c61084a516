// Tasks as the REST API gives them.
#include "sdk/records.h"
#include "sdk/task_names.h"

namespace takt {
namespace {

RateLimit ReadRate(const JsonFields& fields) {
    const internal::JsonView* rate = fields.Find("rate_limit");
    if (!rate) return {};
    const JsonFields inner(*rate);
    return {.count = inner.Count<std::uint32_t>("count"), .per = inner.Span("per")};
}

void ReadRecurrence(const JsonFields& fields, Task& task) {
    task.cron_expression = fields.Text("cron_expression");
    task.interval = fields.Span("interval");
    task.interval_after_end = fields.Span("interval_after_end");
    task.timezone = fields.Text("timezone");
    task.dst = NamedIn<Dst>(kDsts, fields.Text("dst")).value_or(Dst{});
    task.start_at = fields.When("start_at");
    task.end_at = fields.When("end_at");
    task.fires_max = fields.Count<std::uint32_t>("fires_max");
    task.jitter = fields.Span("jitter");
    task.excluded_dates = fields.Texts("excluded_dates");
    task.execution_mode =
        NamedIn<ExecutionMode>(kModes, fields.Text("execution_mode")).value_or(ExecutionMode{});
    task.misfire_policy =
        NamedIn<MisfirePolicy>(kMisfires, fields.Text("misfire_policy")).value_or(MisfirePolicy{});
    task.misfires_max = fields.Count<std::uint32_t>("misfires_max");
    task.backlog_max = fields.Count<std::uint32_t>("backlog_max");
    task.start_deadline = fields.Span("start_deadline");
    task.catch_up_after_pause = fields.Bool("catch_up_after_pause");
    task.enabled = fields.Bool("enabled");
}

// Names, or objects for more than one permit.
void ReadLocks(const internal::JsonView& list, std::vector<LockWant>& locks) {
    if (list.kind() != internal::JsonView::Kind::kArray) return;
    internal::JsonView::Elements elements(list);
    while (elements.Next()) {
        const internal::JsonView element = elements.value();
        std::string scratch;
        if (element.is_string()) {
            locks.push_back({.name = std::string(element.AsString(scratch))});
        } else {
            const JsonFields lock(element);
            locks.push_back(
                {.name = lock.Text("name"), .permits = lock.Count<std::uint32_t>("permits")});
        }
    }
}

Step ReadStep(const JsonFields& fields) {
    Step step;
    step.name = fields.Text("name");
    step.type = fields.Text("type");
    step.task = fields.Text("task");
    step.payload = fields.Raw("payload");
    step.after = fields.Texts("after");
    step.when = NamedIn<When>(kWhens, fields.Text("when")).value_or(When{});
    if (const internal::JsonView* condition = fields.Find("if")) {
        const JsonFields inner(*condition);
        step.condition = StepCondition{inner.Raw("value"), inner.Raw("equals")};
    }
    step.shards = fields.Count<std::uint32_t>("shards");
    step.for_each = fields.Raw("for_each");
    step.each_worker = fields.Bool("each_worker");
    step.parallel_max = fields.Count<std::uint32_t>("parallel_max");
    step.min_success = fields.Count<std::uint32_t>("min_success");
    step.queue = fields.Text("queue");
    if (fields.Find("priority")) step.priority = fields.Count<int>("priority");
    step.metadata = fields.Pairs("metadata");
    step.labels = fields.Pairs("labels");
    step.retry = ReadRetry(fields);
    step.executor = fields.Text("executor");
    step.load_balance_strategy = fields.Text("load_balance_strategy");
    step.timeout = fields.Span("timeout_seconds");
    step.expires_after = fields.Span("expires_after");
    step.delay = fields.Span("delay");
    step.concurrency_key = fields.Text("concurrency_key");
    step.concurrency_max = fields.Count<std::uint32_t>("concurrency_max");
    step.rate_limit = ReadRate(fields);
    if (const internal::JsonView* locks = fields.Find("locks")) ReadLocks(*locks, step.locks);
    return step;
}

}  // namespace

RetryPolicy ReadRetry(const JsonFields& fields) {
    const internal::JsonView* policy = fields.Find("retry_policy");
    if (!policy) return {};
    const JsonFields inner(*policy);
    return {.max_retries = inner.Count<std::uint32_t>("max_retries"),
            .delay = inner.Span("delay"),
            .backoff_rate = inner.Number("backoff_rate"),
            .delay_max = inner.Span("delay_max"),
            .jitter = inner.Number("jitter")};
}

TaskRecord ReadTask(const JsonFields& fields) {
    TaskRecord task;
    task.id = fields.Text("id");
    task.name = fields.Text("name");
    task.type = fields.Text("type");
    task.queue = fields.Text("queue");
    task.priority = fields.Count<int>("priority");
    task.payload = fields.Raw("parameters");
    task.metadata = fields.Pairs("metadata");
    task.labels = fields.Pairs("labels");
    task.executor = fields.Text("executor");
    task.load_balance_strategy = fields.Text("load_balance_strategy");
    task.retry = ReadRetry(fields);
    task.timeout = fields.Span("timeout_seconds");
    task.expires_after = fields.Span("expires_after");
    task.unique_key = fields.Text("unique_key");
    task.unique_for = fields.Span("unique_for");
    task.concurrency_key = fields.Text("concurrency_key");
    task.concurrency_max = fields.Count<std::uint32_t>("concurrency_max");
    task.rate_limit = ReadRate(fields);
    task.steps = ReadList<Step>(fields, "steps", ReadStep);
    task.on_failure =
        NamedIn<OnFailure>(kOnFailures, fields.Text("on_failure")).value_or(OnFailure{});
    task.shards = fields.Count<std::uint32_t>("shards");
    task.each_worker = fields.Bool("each_worker");
    task.parallel_max = fields.Count<std::uint32_t>("parallel_max");
    task.min_success = fields.Count<std::uint32_t>("min_success");
    if (const internal::JsonView* locks = fields.Find("locks")) ReadLocks(*locks, task.locks);
    task.run_at = fields.When("run_at");
    task.delay = fields.Span("delay");
    task.version = fields.Count<std::uint32_t>("version");
    // Only what runs once has a state of its own.
    if (fields.Find("status")) {
        task.execution = ReadExecution(fields);
        task.execution->task_id = task.id;
        task.execution->task_name = task.name;
        return task;
    }
    ReadRecurrence(fields, task);
    task.created_at = fields.When("created_at");
    task.updated_at = fields.When("updated_at");
    task.next_fire_at = fields.When("next_fire_at");
    task.last_fire_at = fields.When("last_fire_at");
    task.fires = fields.Count<std::uint64_t>("fires");
    task.missed = fields.Count<std::uint64_t>("missed");
    return task;
}

}  // namespace takt
