// The largest rows that the scheduler accepts, in the batches that it cannot cut any further.
#include "store/conformance/suite.h"

namespace takt::internal::conformance {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

// Bytes that no compression makes smaller.
Text NoiseOf(std::size_t size, std::uint64_t seed) {
    std::string bytes(size, '\0');
    std::uint64_t state = seed;
    for (char& c : bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        c = static_cast<char>(state >> 56);
    }
    return bytes;
}

TaskRow WithLargePayload(const TaskRow& row, Text payload, std::uint32_t version) {
    NewTaskPtr task(new Task(*row.task));
    task->payload = std::move(payload);
    task->version = version;
    return {task, row.state};
}

OutcomePtr LargeResult(std::size_t size) {
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->data = NoiseOf(size, 5);
    return outcome;
}

}  // namespace

// A report runs every minute with the largest payload there may be. Each fire writes where the
// task stands and the run itself, in one batch, and both hold the payload.
TEST_P(StoreConformance, ATaskAndItsFireOfAMegabyteEachAreOneBatch) {
    const auto found = [&] {
        return Await<TaskRow>([&](Done<TaskRow> d) {
            store().FindTask(kDefaultPartition, TaskId("t-1"), std::move(d));
        });
    };
    const auto fire = [&](std::string_view id, const TaskRow& row) {
        Execution run = make_.Fire("t-1", id);
        run.task = row.task;
        run.payload = {};
        return ExecutionChange{Place::kNone, Place::kLive, run};
    };
    TaskRow row = WithLargePayload(make_.Recurring("t-1"), NoiseOf(kMegabyte, 1), 1);
    for (const char* id : {"e-1", "e-2"}) {
        ++row.state.fires;
        const ExecutionChange run = fire(id, row);
        Put({TaskPut{row}, run});
        ASSERT_TRUE(found());
        EXPECT_TRUE(Show(*found()) == Show(row));
        EXPECT_TRUE(Show(*Find(run.row.id)) == Show(run.row));
    }

    // Its owner changes the payload; the next leader finds the new one and goes on.
    row = WithLargePayload(row, NoiseOf(kMegabyte, 2), 2);
    Put({TaskPut{row}, fire("e-3", row)});
    Reopen();
    const Loaded loaded = LoadAll();
    ASSERT_EQ(loaded.tasks.size(), 1u);
    EXPECT_TRUE(Show(loaded.tasks[0]) == Show(row));
    ASSERT_EQ(loaded.executions.size(), 3u);
    EXPECT_TRUE(loaded.executions[2].task->payload == row.task->payload);
    const Result<Term> next = Acquire("node-a");
    ASSERT_TRUE(next) << next.error().detail;
    ++row.state.fires;
    const Result<void> fired = Commit(*next, 1, {TaskPut{row}, fire("e-4", row)});
    ASSERT_TRUE(fired) << fired.error().detail;
    EXPECT_TRUE(Show(*found()) == Show(row));

    row = WithLargePayload(row, "small", 3);
    ASSERT_TRUE(Commit(*next, 2, {TaskPut{row}}));
    EXPECT_EQ(Show(*found()), Show(row));
    ASSERT_TRUE(Commit(*next, 3, {TaskDelete{TaskId("t-1")}}));
    ASSERT_FALSE(found());
    EXPECT_EQ(found().error().code, ErrorCode::kNotFound);
}

// Somebody runs the report by hand, with other parameters of the same size.
TEST_P(StoreConformance, ParametersOfAMegabyteOverrideAPayloadOfAMegabyte) {
    Execution row = make_.Fire("t-1", "e-1");
    row.task = WithLargePayload(make_.Recurring("t-1"), NoiseOf(kMegabyte, 1), 1).task;
    row.payload = NoiseOf(kMegabyte, 2);

    Insert(row);
    EXPECT_TRUE(Show(*Find(row.id)) == Show(row));
    EXPECT_TRUE(Show(LoadAll().executions.at(0)) == Show(row));

    Execution done = Finished(row);
    done.outcome = LargeResult(kMegabyte);
    Put({ExecutionChange{Place::kLive, Place::kHistory, done}});
    EXPECT_TRUE(Show(List({}).at(0)) == Show(done));
    Put({Purge{done.finished_at + Duration(1), {}, 10}});
    EXPECT_FALSE(Find(row.id));
}

// A large result comes in while old executions are cleaned away.
TEST_P(StoreConformance, AResultOfAMegabyteGoesBesideAPurge) {
    std::vector<Change> old;
    const std::size_t many = std::min<std::size_t>(store().limits().purge_max, 300);
    for (std::size_t i = 0; i < many; ++i) {
        const std::string id =
            "an-id-that-somebody-chose-to-be-as-long-as-it-may-" + std::to_string(1'000'000 + i);
        old.push_back(ExecutionChange{Place::kNone, Place::kHistory, Finished(make_.OneOff(id))});
    }
    Put(old);
    make_.Pass(Duration(3'600'000));
    const Execution row = make_.OneOff("large");
    Insert(row);
    Execution done = Finished(row);
    done.outcome = LargeResult(kMegabyte);
    Execution failing = Retrying(make_.OneOff("failing"));
    failing.outcome = LargeResult(kMegabyte / 4);

    Put({ExecutionChange{Place::kLive, Place::kHistory, done},
         ExecutionChange{Place::kNone, Place::kLive, failing},
         Purge{row.created_at, {}, static_cast<std::uint32_t>(many)}});

    EXPECT_EQ(ListIds({.limit = 1000}), (std::vector<std::string>{"failing", "large"}));
    EXPECT_TRUE(Show(*Find(row.id)) == Show(done));
}

}  // namespace takt::internal::conformance
