#include "model/record.h"

#include <gtest/gtest.h>

#include "model/record_testing.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

void ExpectEqual(const OutcomePtr& a, const OutcomePtr& b) {
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (!a) return;
    EXPECT_EQ(a->reason, b->reason);
    EXPECT_EQ(a->code, b->code);
    EXPECT_EQ(a->message, b->message);
    EXPECT_EQ(a->data, b->data);
    EXPECT_EQ(a->past, b->past);
}

void ExpectEqual(const Task& a, const Task& b) {
    EXPECT_TRUE(SameRequest(a, b));
    EXPECT_EQ(a.opt().trace, b.opt().trace);
    EXPECT_EQ(a.opt().trace_state, b.opt().trace_state);
    EXPECT_EQ(a.options == nullptr, b.options == nullptr);
    EXPECT_EQ(a.version, b.version);
    EXPECT_EQ(a.created_at, b.created_at);
    EXPECT_EQ(a.updated_at, b.updated_at);
}

void ExpectEqual(const Execution& a, const Execution& b) {
    EXPECT_EQ(a.serial, b.serial);
    EXPECT_EQ(a.id, b.id);
    ExpectEqual(*a.task, *b.task);
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.origin, b.origin);
    EXPECT_EQ(a.attempt, b.attempt);
    EXPECT_EQ(a.failures, b.failures);
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.epoch, b.epoch);
    EXPECT_EQ(a.token, b.token);
    EXPECT_EQ(a.worker, b.worker);
    EXPECT_EQ(a.payload, b.payload);
    EXPECT_EQ(a.parent, b.parent);
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.shard_index, b.shard_index);
    EXPECT_EQ(a.shard_total, b.shard_total);
    EXPECT_EQ(a.round, b.round);
    EXPECT_EQ(a.progress, b.progress);
    EXPECT_EQ(a.created_at, b.created_at);
    EXPECT_EQ(a.scheduled_at, b.scheduled_at);
    EXPECT_EQ(a.ready_at, b.ready_at);
    EXPECT_EQ(a.started_at, b.started_at);
    EXPECT_EQ(a.finished_at, b.finished_at);
    ExpectEqual(a.outcome, b.outcome);
}

// A new leader reads what the old one wrote: it must be the same, field for field.
TEST(RecordTest, AnExecutionWithEveryFieldReadsBack) {
    const Execution execution = FullExecution();
    const auto read = DecodeExecution(EncodeExecution(execution));
    ASSERT_TRUE(read);
    ExpectEqual(*read, execution);
}

// Most executions are one-off and plain. Their message was used for a full one just before.
TEST(RecordTest, NothingOfTheRecordBeforeShowsInTheNext) {
    ASSERT_TRUE(DecodeExecution(EncodeExecution(FullExecution())));
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId("e-2");
    Execution plain;
    plain.id = ExecutionId("e-2");
    plain.task = task;

    const auto read = DecodeExecution(EncodeExecution(plain));

    ASSERT_TRUE(read);
    ExpectEqual(*read, plain);
    EXPECT_EQ(read->id.view().data(), read->task->id.view().data());  // Held once.
}

TEST(RecordTest, ATaskWithEveryFieldReadsBack) {
    const TaskRow row{.task = FullTask(),
                      .state = {.paused = true,
                                .next_at = Time(1s),
                                .last_at = Time(2s),
                                .paused_at = Time(3s),
                                .fires = 5,
                                .missed = 7,
                                .first_at = Time(8s),
                                .passed = {{Time(9s), Time(11s), true}, {Time(12s), Time(12s)}},
                                .replaced_below = 10}};
    const auto read = DecodeTaskRow(EncodeTaskRow(row));
    ASSERT_TRUE(read);
    ExpectEqual(*read->task, *row.task);
    EXPECT_TRUE(read->state.paused);
    EXPECT_EQ(read->state.next_at, Time(1s));
    EXPECT_EQ(read->state.last_at, Time(2s));
    EXPECT_EQ(read->state.paused_at, Time(3s));
    EXPECT_EQ(read->state.fires, 5u);
    EXPECT_EQ(read->state.missed, 7u);
    EXPECT_EQ(read->state.first_at, Time(8s));
    EXPECT_EQ(read->state.passed, row.state.passed);
    EXPECT_EQ(read->state.replaced_below, 10u);
}

TEST(RecordTest, OptionsWithEveryFieldReadBack) {
    const auto read = DecodeOptions(EncodeOptions(FullOptions()));
    ASSERT_TRUE(read);
    ASSERT_TRUE(*read);
    EXPECT_EQ(**read, FullOptions());
}

// A task without options is stored with nothing, and zeros that somebody chose stay zeros.
TEST(RecordTest, NoOptionsAndOptionsOfZerosAreToldApart) {
    TaskOptions zeros;
    zeros.misfires_max = 0;
    zeros.backlog_max = 0;
    const std::string bytes = EncodeOptions(zeros);
    EXPECT_FALSE(bytes.empty());
    const auto read = DecodeOptions(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(**read, zeros);
    const auto none = DecodeOptions("");
    ASSERT_TRUE(none);
    EXPECT_EQ(*none, nullptr);
}

// A handler that returns nothing has an outcome all the same; an execution that still runs has
// none.
TEST(RecordTest, NoOutcomeAndAnEmptyOutcomeAreToldApart) {
    EXPECT_EQ(EncodeOutcome(nullptr), "");
    EXPECT_EQ(*DecodeOutcome(""), nullptr);
    const OutcomePtr empty(new Outcome);
    const auto read = DecodeOutcome(EncodeOutcome(empty));
    ASSERT_TRUE(read);
    ExpectEqual(*read, empty);
    ExpectEqual(*DecodeOutcome(EncodeOutcome(FullOutcome())), FullOutcome());
}

// A list shows why a thousand executions failed; their results, of a megabyte each, stay where they
// are.
TEST(RecordTest, TheHeadOfAnOutcomeIsEnoughForItsMessage) {
    boost::intrusive_ptr<Outcome> large(new Outcome(*FullOutcome()));
    large->message = std::string(300, 'm');
    large->data = std::string(1 << 20, 'd');
    const std::string bytes = EncodeOutcome(large);

    const auto head = DecodeOutcomeHead(std::string_view(bytes).substr(0, 300 + kOutcomeHeadBytes));

    ASSERT_TRUE(head) << head.error().detail;
    EXPECT_EQ((*head)->reason, large->reason);
    EXPECT_EQ((*head)->code, large->code);
    EXPECT_EQ((*head)->message, large->message);
    EXPECT_TRUE((*head)->data.empty());
    EXPECT_TRUE((*head)->past.empty());
    const auto cut = DecodeOutcomeHead(std::string_view(bytes).substr(0, 100));
    ASSERT_TRUE(cut) << cut.error().detail;
    EXPECT_TRUE(large->message.view().starts_with((*cut)->message.view()));
    EXPECT_EQ(*DecodeOutcomeHead(""), nullptr);
    const auto none = DecodeOutcomeHead(EncodeOutcome(OutcomePtr(new Outcome)));
    ASSERT_TRUE(none);
    EXPECT_EQ((*none)->reason, Reason::kNone);
}

TEST(RecordTest, AWorkerWithEveryFieldReadsBack) {
    const Worker worker{.id = WorkerId("w-1"),
                        .name = "blue",
                        .link = LinkKind::kPush,
                        .types = {"a", "b"},
                        .queues = {"default", "bulk"},
                        .labels = {{"gpu", "yes"}},
                        .group = "mailers",
                        .capacity = 3,
                        .capacity_said = 4,
                        .capacity_set = 3,
                        .weight = 5,
                        .address = "http://10.0.0.5:8080",
                        .health_url = "http://10.0.0.5:8080/health",
                        .version = "1.2.3",
                        .instance = "i-7",
                        .status = WorkerStatus::kMaintenance,
                        .status_reason = "disk",
                        .joined_at = Time(7ms),
                        .seen_at = Time(11ms)};
    const auto read = DecodeWorker(EncodeWorker(worker));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->id, worker.id);
    EXPECT_EQ(read->name, worker.name);
    EXPECT_EQ(read->link, worker.link);
    EXPECT_EQ(read->types, worker.types);
    EXPECT_EQ(read->queues, worker.queues);
    EXPECT_EQ(read->labels, worker.labels);
    EXPECT_EQ(read->group, worker.group);
    EXPECT_EQ(read->capacity, worker.capacity);
    EXPECT_EQ(read->capacity_said, worker.capacity_said);
    EXPECT_EQ(read->capacity_set, worker.capacity_set);
    EXPECT_EQ(read->weight, worker.weight);
    EXPECT_EQ(read->address, worker.address);
    EXPECT_EQ(read->health_url, worker.health_url);
    EXPECT_EQ(read->version, worker.version);
    EXPECT_EQ(read->instance, worker.instance);
    EXPECT_EQ(read->status, worker.status);
    EXPECT_EQ(read->status_reason, worker.status_reason);
    EXPECT_EQ(read->joined_at, worker.joined_at);
    EXPECT_EQ(read->seen_at, worker.seen_at);
}

TEST(RecordTest, AnEventWithEveryFieldReadsBack) {
    const Event event{.serial = 1,
                      .type = EventType::kAlert,
                      .at = Time(2ms),
                      .task = TaskId("t"),
                      .execution = ExecutionId("e"),
                      .worker = WorkerId("w"),
                      .attempt = 3,
                      .detail = "why"};
    const auto read = DecodeEvent(EncodeEvent(event));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->serial, event.serial);
    EXPECT_EQ(read->type, event.type);
    EXPECT_EQ(read->at, event.at);
    EXPECT_EQ(read->task, event.task);
    EXPECT_EQ(read->execution, event.execution);
    EXPECT_EQ(read->worker, event.worker);
    EXPECT_EQ(read->attempt, event.attempt);
    EXPECT_EQ(read->detail, event.detail);
}

// One payload of a megabyte goes through every thread of a node; the next row is small again.
TEST(RecordTest, ALargeRecordReadsBackAndSoDoesTheNext) {
    Execution execution = FullExecution();
    execution.payload = std::string(1 << 20, 'p');
    const std::string bytes = EncodeExecution(execution);
    EXPECT_GT(bytes.size(), std::size_t{1} << 20);
    ExpectEqual(*DecodeExecution(bytes), execution);
    ExpectEqual(*DecodeExecution(EncodeExecution(FullExecution())), FullExecution());
}

}  // namespace
}  // namespace takt::internal
