// The draft of what a step writes and sends, without an engine around it.
#include "engine/draft.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

class DraftTest : public ::testing::Test {
  protected:
    DraftTest() { Open(); }
    void Open() {
        draft.Open(effects, Instant{.wall = Time(Duration(1'700'000'000'000))}, {4, 10'000});
    }
    void NextBatch() {
        draft.Close();
        effects = Effects{.generation = effects.generation + 1};
        Open();
    }
    static Execution Row(const char* id, Status status) {
        Execution row;
        row.id = ExecutionId(Text(id));
        row.status = status;
        row.task = TaskPtr(new Task);
        return row;
    }
    static Worker Named(const char* id) {
        Worker worker;
        worker.id = WorkerId(Text(id));
        return worker;
    }

    Effects effects;
    Draft draft{0, 1u << int(EventType::kTaskFailed)};
};

// Submitted and given to a worker in one batch: the store sees one change, from nowhere to live.
TEST_F(DraftTest, ARowChangedTwiceIsWrittenOnceFromWhereItWas) {
    ChangeMark mark;
    draft.Put(mark, Place::kNone, Place::kLive, Row("x", Status::kPending));
    draft.Put(mark, Place::kLive, Place::kHistory, Row("x", Status::kSuccess));

    ASSERT_EQ(effects.changes.size(), 1u);
    const auto& change = std::get<ExecutionChange>(effects.changes[0]);
    EXPECT_EQ(change.before, Place::kNone);
    EXPECT_EQ(change.after, Place::kHistory);
    EXPECT_EQ(change.row.status, Status::kSuccess);
    EXPECT_EQ(effects.rewritten, (std::vector<std::uint32_t>{0}));
}

TEST_F(DraftTest, AMarkOfAnEarlierBatchSaysNothing) {
    ChangeMark mark;
    draft.Put(mark, Place::kNone, Place::kLive, Row("x", Status::kPending));
    NextBatch();
    draft.Put(mark, Place::kLive, Place::kLive, Row("x", Status::kRunning));

    ASSERT_EQ(effects.changes.size(), 1u);
    EXPECT_EQ(std::get<ExecutionChange>(effects.changes[0]).before, Place::kLive);
    EXPECT_TRUE(effects.rewritten.empty());
}

TEST_F(DraftTest, TheLastValueOfASettingCounts) {
    draft.Set({"queue/a", "1"});
    draft.Set({"queue/b", "1"});
    draft.Set({"queue/a", "2"});

    ASSERT_EQ(effects.changes.size(), 2u);
    EXPECT_EQ(std::get<SettingPut>(effects.changes[0]).value, "2");
    EXPECT_TRUE(effects.urgent);
}

TEST_F(DraftTest, WhatNeedNotSurviveIsNotUrgent) {
    draft.SetLater({"pace/a", ""});

    EXPECT_EQ(effects.changes.size(), 1u);
    EXPECT_FALSE(effects.urgent);
}

// It left and came back before the commit, under a slot of its own.
TEST_F(DraftTest, AWorkerIsNeverBothDeletedAndPut) {
    ChangeMark first;
    draft.PutWorker(first, Named("w"));
    draft.DeleteWorker(first, WorkerId("w"));
    ChangeMark second;
    draft.PutWorker(second, Named("w"));

    ASSERT_EQ(effects.changes.size(), 1u);
    EXPECT_TRUE(std::holds_alternative<WorkerPut>(effects.changes[0]));
}

TEST_F(DraftTest, ABatchHasOnePurge) {
    EXPECT_TRUE(draft.AddPurge({}));
    EXPECT_FALSE(draft.AddPurge({}));
    NextBatch();

    EXPECT_TRUE(draft.AddPurge({}));
}

TEST_F(DraftTest, AStepIsTiredByChangesAndByBytes) {
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(draft.Tired());
        draft.Append({Place::kNone, Place::kLive, Row("x", Status::kPending)});
    }
    EXPECT_TRUE(draft.Tired());
    draft.Close();
    Open();  // The next step of the same batch.
    EXPECT_FALSE(draft.Tired());
    draft.AppendLog(ExecutionId("x"), 1, std::string(10'000, 'x'));

    EXPECT_TRUE(draft.Tired());
}

TEST_F(DraftTest, OnlyEventsThatAreStoredAreWritten) {
    draft.Emit({.type = EventType::kTaskCompleted});
    draft.Emit({.type = EventType::kTaskFailed});

    ASSERT_EQ(effects.events.size(), 2u);
    EXPECT_LT(effects.events[0].serial, effects.events[1].serial);
    ASSERT_EQ(effects.changes.size(), 1u);
    EXPECT_EQ(std::get<EventAppend>(effects.changes[0]).row.type, EventType::kTaskFailed);
}

TEST_F(DraftTest, OnlyAnAssignmentOfThisBatchCanBeWithdrawn) {
    ChangeMark mark;
    const Execution row = Row("x", Status::kScheduled);
    draft.Put(mark, Place::kNone, Place::kLive, row);
    draft.Send(Assign{.session = 1, .execution = row});
    EXPECT_TRUE(draft.Withdraw(row, mark));
    EXPECT_TRUE(effects.assigns.empty());
    draft.Send(Assign{.session = 1, .execution = row});
    NextBatch();

    EXPECT_FALSE(draft.Withdraw(row, mark));
}

TEST_F(DraftTest, NobodyIsRepliedToWhoDoesNotWait) {
    draft.Reply(0, Answer{});
    draft.Reply(7, Answer{});

    ASSERT_EQ(effects.replies.size(), 1u);
    EXPECT_EQ(effects.replies[0].request, 7u);
}

}  // namespace
}  // namespace takt::internal
