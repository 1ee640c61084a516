#include "store/conformance/rows.h"

#include <fmt/core.h>

namespace takt::internal::conformance {
namespace {

std::int64_t Ms(Time time) {
    return time.time_since_epoch().count();
}

std::unique_ptr<const TaskOptions> MakeOptions() {
    auto options = std::make_unique<TaskOptions>();
    options->retry = RetryPolicy{7, Duration(1500), 1.5, Duration(60'000), 0.25};
    options->strategy = Strategy::kSticky;
    options->metadata = {{"owner", "billing"}, {"ticket", "4711"}};
    options->labels = {{"zone", "eu"}};
    options->target = "reports";
    options->unique_key = "unique";
    options->unique_for = Duration(5000);
    options->expires_after = Duration(6000);
    options->trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    options->trace_state = "vendor=opaque";
    options->concurrency_key = "tenant-1";
    options->concurrency_max = 3;
    options->rate = {10, Duration(1000)};
    return options;
}

std::string ShowPairs(const Pairs& pairs) {
    std::string text;
    for (const auto& [key, value] : pairs) text += key.str() + "=" + value.str() + ",";
    return text;
}

std::string ShowOptions(const Task& task) {
    const TaskOptions none;
    const TaskOptions& o = task.options ? *task.options : none;
    const RetryPolicy r = o.retry.value_or(RetryPolicy{});
    std::string text = fmt::format(
        "retry {} {} {} {} {} {} strategy {} {} metadata {} labels {} executor {} unique {} {} "
        "expires {} trace {} {} concurrency {} {} rate {} {} mode {} misfire {} {} backlog {} "
        "deadline {} catch up {}",
        o.retry.has_value(), r.retries_max, r.delay.count(), r.backoff_rate, r.delay_max.count(),
        r.jitter, o.strategy ? static_cast<int>(*o.strategy) : -1, o.strategy_name.view(),
        ShowPairs(o.metadata), ShowPairs(o.labels), o.target.view(), o.unique_key.view(),
        o.unique_for.count(), o.expires_after.count(), o.trace.view(), o.trace_state.view(),
        o.concurrency_key.view(), o.concurrency_max, o.rate.count, o.rate.per.count(),
        static_cast<int>(o.mode), static_cast<int>(o.misfire), o.misfires_max, o.backlog_max,
        o.start_deadline.count(), o.catch_up_after_pause);
    if (o.recurrence) {
        text += fmt::format(" cron {} zone {} every {} after end {} from {} to {} max {}",
                            o.recurrence->cron.view(), o.recurrence->timezone.view(),
                            o.recurrence->every.count(), o.recurrence->every_after_end.count(),
                            Ms(o.recurrence->start_at), Ms(o.recurrence->end_at),
                            o.recurrence->fires_max);
    }
    return text;
}

// Long texts by size and ends: a megabyte of payload in a failure message helps nobody.
std::string Short(std::string_view text) {
    if (text.size() <= 200) return std::string(text);
    return fmt::format("{}…{} ({} bytes, hash {:x})", text.substr(0, 20),
                       text.substr(text.size() - 20), text.size(),
                       std::hash<std::string_view>{}(text));
}

std::string ShowTask(const Task& task) {
    return fmt::format(
        "task {} name {} type {} queue {} payload {} priority {} version {} timeout {} run_at {} "
        "created {} updated {}\n  {}\n",
        task.id.view(), Short(task.name), Short(task.type), Short(task.queue), Short(task.payload),
        task.priority, task.version, task.timeout.count(), Ms(task.run_at), Ms(task.created_at),
        Ms(task.updated_at), ShowOptions(task));
}

OutcomePtr MakeOutcome(Reason reason, std::int32_t code) {
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = reason;
    outcome->code = code;
    outcome->message = "it said so";
    outcome->data = R"({"rows": 12})";
    outcome->past = {{.attempt = 1,
                      .end = AttemptEnd::kLost,
                      .worker = WorkerId("w-0"),
                      .finished_at = Time(Duration(1'700'000'000'000))},
                     {.attempt = 2,
                      .end = AttemptEnd::kFailed,
                      .reason = Reason::kTimeout,
                      .worker = WorkerId("w-1"),
                      .started_at = Time(Duration(1'700'000'001'000)),
                      .finished_at = Time(Duration(1'700'000'002'000)),
                      .message = "took too long"}};
    return outcome;
}

}  // namespace

Execution RowMaker::OneOff(std::string_view id) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId(Text(id));
    task->name = Text("name of " + std::string(id));
    task->type = "mail";
    task->queue = "default";
    task->payload = R"({"to": "somebody"})";
    task->priority = 7;
    task->timeout = Duration(30'000);
    task->run_at = now_ + Duration(10);
    task->created_at = now_;
    task->updated_at = now_ + Duration(1);
    task->options = MakeOptions();
    Execution row;
    row.serial = serials_.Next(now_);
    row.id = ExecutionId(Text(id));
    row.task = task;
    row.created_at = now_;
    row.scheduled_at = now_ + Duration(20);
    row.ready_at = now_ + Duration(30);
    return row;
}

Execution RowMaker::Fire(std::string_view task, std::string_view id) {
    Execution row = OneOff(id);
    row.task = Recurring(task).task;
    row.origin = Origin::kFire;
    row.payload = R"({"override": true})";
    return row;
}

Execution RowMaker::Child(const Execution& run, std::string_view id) {
    Execution row = OneOff(id);
    row.task = run.task;
    row.origin = Origin::kStep;
    row.parent = run.id;
    row.step = Text("step of " + std::string(id));
    row.shard_index = ++children_;
    row.shard_total = 1000;
    row.round = 3;
    return row;
}

TaskRow RowMaker::Recurring(std::string_view id, Text name) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId(Text(id));
    task->name = std::move(name);
    task->type = "report";
    task->queue = "nightly";
    task->payload = R"({"kind": "daily"})";
    task->version = 3;
    task->created_at = now_;
    task->updated_at = now_ + Duration(5);
    auto options = std::make_unique<TaskOptions>();
    options->recurrence = Recurrence{};
    options->recurrence->cron = "0 30 2 * * *";
    options->recurrence->timezone = "Europe/Berlin";
    options->recurrence->fires_max = 9;
    options->mode = Mode::kSkip;
    options->misfire = Misfire::kFireAll;
    options->backlog_max = 17;
    task->options = std::move(options);
    FireState state{.paused = true,
                    .next_at = now_ + Duration(1000),
                    .last_at = now_ - Duration(1000),
                    .paused_at = now_ - Duration(500),
                    .fires = 4,
                    .missed = 2,
                    .first_at = now_ - Duration(4000),
                    .passed = {{now_ - Duration(3000), now_ - Duration(2000), true}},
                    .replaced_below = 77};
    return {task, state};
}

Worker RowMaker::MakeWorker(std::string_view id) {
    Worker row;
    row.id = WorkerId(Text(id));
    row.name = Text("worker " + std::string(id));
    row.link = LinkKind::kPush;
    row.types = {"mail", "report"};
    row.queues = {"default"};
    row.labels = {{"zone", "eu"}};
    row.group = "reports";
    row.capacity = 32;
    row.capacity_said = 16;
    row.capacity_set = 32;
    row.weight = 5;
    row.address = "http://10.0.0.7:9000";
    row.health_url = "http://10.0.0.7:9000/health";
    row.version = "2.1";
    row.status = WorkerStatus::kDraining;
    row.status_reason = "asked to";
    row.joined_at = now_;
    row.seen_at = now_ + Duration(3);
    return row;
}

Event RowMaker::MakeEvent(EventType type) {
    return Event{.serial = serials_.Next(now_),
                 .type = type,
                 .at = now_,
                 .task = TaskId("t-1"),
                 .execution = ExecutionId("e-1"),
                 .worker = WorkerId("w-1"),
                 .attempt = 2,
                 .detail = "something happened"};
}

AuditRow RowMaker::MakeAudit(std::string_view body) {
    return {.serial = serials_.Next(now_), .at = now_, .body = Text(body)};
}

Execution Scheduled(Execution row, std::string_view worker) {
    row.status = Status::kScheduled;
    ++row.attempt;
    row.epoch = 12;
    for (std::size_t i = 0; i < row.token.size(); ++i) row.token[i] = std::uint8_t(i * 17);
    row.worker = WorkerId(Text(worker));
    return row;
}

Execution Running(Execution row) {
    row.status = Status::kRunning;
    row.started_at = row.created_at + Duration(40);
    return row;
}

Execution Retrying(Execution row) {
    row.status = Status::kRetrying;
    ++row.failures;
    row.losses += 2;  // Another number than failures, so that a swap shows.
    row.ready_at = row.created_at + Duration(9000);
    row.outcome = MakeOutcome(Reason::kHandlerFailed, -5);
    return row;
}

Execution Finished(Execution row, Status status) {
    row.status = status;
    row.finished_at = row.created_at + Duration(50);
    row.outcome = MakeOutcome(status == Status::kSuccess ? Reason::kNone : Reason::kTimeout, 3);
    return row;
}

Execution Redriven(Execution row) {
    row.status = Status::kPending;
    row.attempt = 0;
    row.failures = 0;
    row.losses = 0;
    row.epoch = 0;
    row.token = {};
    row.worker = {};
    row.started_at = {};
    row.finished_at = {};
    row.outcome = {};
    return row;
}

std::string Show(const Execution& row) {
    std::string token;
    for (const std::uint8_t byte : row.token) token += fmt::format("{:02x}", byte);
    std::string text = fmt::format(
        "execution {} serial {} status {} origin {} attempt {} failures {} losses {} epoch {} "
        "token {} worker {} payload {} created {} scheduled {} ready {} started {} finished {}\n",
        row.id.view(), row.serial, Name(row.status), static_cast<int>(row.origin), row.attempt,
        row.failures, row.losses, row.epoch, token, row.worker.view(), Short(row.payload),
        Ms(row.created_at), Ms(row.scheduled_at), Ms(row.ready_at), Ms(row.started_at),
        Ms(row.finished_at));
    text += ShowTask(*row.task);
    text += fmt::format("parent {} step {} shard {} of {} round {} progress {}\n",
                        row.parent.view(), Short(row.step), row.shard_index, row.shard_total,
                        row.round, Short(row.progress));
    if (row.outcome) {
        text +=
            fmt::format("outcome {} {} {} {}", static_cast<int>(row.outcome->reason),
                        row.outcome->code, Short(row.outcome->message), Short(row.outcome->data));
        for (const PastAttempt& past : row.outcome->past) {
            text += fmt::format("\n  attempt {} {} {} {} {} {} {}", past.attempt, Name(past.end),
                                static_cast<int>(past.reason), past.worker.view(),
                                Ms(past.started_at), Ms(past.finished_at), Short(past.message));
        }
    }
    return text;
}

std::string Show(const TaskRow& row) {
    const FireState& state = row.state;
    std::string text =
        ShowTask(*row.task) +
        fmt::format(
            "paused {} next {} first {} last {} paused at {} fires {} missed {} replaced {}",
            state.paused, Ms(state.next_at), Ms(state.first_at), Ms(state.last_at),
            Ms(state.paused_at), state.fires, state.missed, state.replaced_below);
    for (const PassedOver& passed : state.passed) {
        text += fmt::format(" passed {} to {} {}", Ms(passed.from), Ms(passed.to), passed.missed);
    }
    return text;
}

std::string Show(const Worker& row) {
    std::string types;
    for (const Text& type : row.types) types += type.str() + ",";
    for (const Text& queue : row.queues) types += "queue " + queue.str() + ",";
    return fmt::format(
        "worker {} name {} link {} types {} labels {} group {} capacity {} {} {} weight {} "
        "address {} health {} version {} status {} {} joined {} seen {}",
        row.id.view(), row.name.view(), static_cast<int>(row.link), types, ShowPairs(row.labels),
        row.group.view(), row.capacity, row.capacity_said, row.capacity_set, row.weight,
        row.address.view(), row.health_url.view(), row.version.view(), static_cast<int>(row.status),
        row.status_reason.view(), Ms(row.joined_at), Ms(row.seen_at));
}

std::string Show(const Event& row) {
    return fmt::format("event {} type {} at {} task {} execution {} worker {} attempt {} {}",
                       row.serial, static_cast<int>(row.type), Ms(row.at), row.task.view(),
                       row.execution.view(), row.worker.view(), row.attempt, row.detail.view());
}

std::string Show(const LogChunk& row) {
    return fmt::format("chunk {} of {} attempt {} at {}: {}", row.index, row.execution.view(),
                       row.attempt, Ms(row.at), Short(row.lines));
}

std::string Show(const AuditRow& row) {
    return fmt::format("audit {} at {}: {}", row.serial, Ms(row.at), Short(row.body));
}

}  // namespace takt::internal::conformance
