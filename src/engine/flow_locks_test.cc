// Runs that hold locks: from their start, through all of their steps, over leaders, until their end.
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FlowLockTest : public FlowHistory {
  protected:
    void SetUp() override { config.worker_lease = config.timeout = 24h; }

    AcquireLock Acquire(const std::string& name, Duration wait = 0s) {
        return {.request = NextRequest(), .name = name, .ttl = 1h, .wait = wait};
    }
    LockAnswer LastAnswer() const {
        const auto found = lock_replies.find(LastRequest());
        return found == lock_replies.end() ? LockAnswer{} : found->second;
    }
    // Whether a client could have it now; if so, it has it for an hour.
    bool IsFree(Duration at, const std::string& name) {
        At(at, Acquire(name));
        return LastAnswer().held;
    }
    std::vector<LockGrant> LocksOf(const std::string& id) const {
        for (auto at = assigns.rbegin(); at != assigns.rend(); ++at) {
            if (at->execution.id.text() == id) return at->locks;
        }
        return {};
    }
    std::size_t HolderRows() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            store.records, [](const auto& row) { return row.first.first == RecordKind::kLock; }));
    }
    std::string WhyWaits(const std::string& id) {
        const auto explanation = engine().Explain(ExecutionId(Text(id)), {});
        return explanation ? explanation->sentence : "";
    }
    PutTask Named(const std::string& id, std::vector<LockWant> locks, WorkflowPtr workflow = {}) {
        RecurringSpec spec{.id = id, .every = 1h};
        spec.options.locks = std::move(locks);
        if (workflow) return PutFlow(std::move(spec), std::move(workflow));
        return Put(std::move(spec));
    }
};

// A nightly run that nobody else may come between, also not between two of its steps.
TEST_F(FlowLockTest, ARunHasItsLocksFromItsStartToItsEnd) {
    At(0s, Acquire("ledger"));
    const Text lock_id = LastAnswer().lock_id;
    At(0s, Join({.id = "w"}));
    At(1s, Flow({.workflow = MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}, .delay = 10s}}),
                 .locks = {{.name = "ledger"}}}));
    EXPECT_EQ(StatusOf("run"), Status::kPending);
    EXPECT_EQ(CodeOf("run"), "lock");
    EXPECT_THAT(WhyWaits("run"), HasSubstr("waits for lock 'ledger', which"));
    At(2s, ReleaseLock{NextRequest(), "ledger", lock_id});

    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_FALSE(IsFree(3s, "ledger"));
    EXPECT_EQ(LastAnswer().holders.at(0).execution.text(), "run");
    At(4s, Success(Child(0)));
    EXPECT_FALSE(IsFree(5s, "ledger")) << "while nothing of it runs";
    Until(20s);
    At(21s, Success(Child(1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
    EXPECT_EQ(HolderRows(), 0u);
    EXPECT_TRUE(IsFree(22s, "ledger"));
}

TEST_F(FlowLockTest, AllOfARunAreGivenItsTokens) {
    At(0s, Join({.id = "w", .capacity = 9}));
    At(1s, Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 2, .locks = {{.name = "x"}}},
                                           {.name = "b", .after = {"a"}}}),
                 .locks = {{.name = "x"}, {.name = "y"}}}));
    EXPECT_THAT(AssignedIds(), ElementsAre(Child(0, 0), Child(0, 1))) << "side by side";
    const auto first = LocksOf(Child(0, 0));
    ASSERT_THAT(first, SizeIs(2));
    EXPECT_EQ(first[0].name, "x");
    EXPECT_GT(first[0].token, 0u);
    EXPECT_EQ(LocksOf(Child(0, 1)), first);
    At(2s, Success(Child(0, 0)));
    At(2s, Success(Child(0, 1)));
    EXPECT_EQ(LocksOf(Child(1)), first);
    EXPECT_EQ(HolderRows(), 1u);
}

TEST_F(FlowLockTest, ARunKeepsItsLocksWhenItsLeaderDies) {
    At(0s, Join({.id = "w"}));
    At(1s, Flow({.workflow = MakeWorkflow({{"a"}, {.name = "b", .after = {"a"}}}),
                 .locks = {{.name = "ledger"}}}));
    const auto tokens = LocksOf(Child(0));
    Restart(2s);
    EXPECT_FALSE(IsFree(3s, "ledger"));
    At(4s, Join({.id = "w", .holding = {RefOf(Child(0))}}));
    EXPECT_EQ(engine().HandOf(WorkerId(Text("w"))).at(0).locks, tokens);
    At(5s, Success(Child(0)));
    EXPECT_EQ(LocksOf(Child(1)), tokens) << "by the same token";
    At(6s, Success(Child(1)));
    EXPECT_TRUE(IsFree(7s, "ledger"));
}

TEST_F(FlowLockTest, ARunThatIsCancelledLetsItsLocksGoAndOneThatIsRunAgainHasNewOnes) {
    At(0s, Join({.id = "w"}));
    At(1s, Flow({.workflow = MakeWorkflow({{"a"}}), .locks = {{.name = "ledger"}}}));
    const std::uint64_t first = LocksOf(Child(0)).at(0).token;
    At(2s, CancelOf("run"));
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    EXPECT_EQ(HolderRows(), 1u) << "a handler of it has yet to stop";
    At(3s, Success(Child(0)));
    EXPECT_EQ(HolderRows(), 0u);
    At(4s, RedriveOf("run"));
    EXPECT_GT(LocksOf(Child(0, 0, 1)).at(0).token, first);
}

TEST_F(FlowLockTest, ARunThatWaitsForItsLimitHoldsNoLock) {
    At(0s, Join({.id = "w", .capacity = 9}));
    const WorkflowPtr workflow = MakeWorkflow({{"a"}});
    const auto flow = [&](const std::string& id, const std::string& lock) {
        return Flow({.id = id,
                     .workflow = workflow,
                     .concurrency_max = 1,
                     .concurrency_key = "one",
                     .locks = {{.name = lock}}});
    };
    At(0s, Acquire("x"));
    const Text lock_id = LastAnswer().lock_id;
    At(1s, flow("first", "x"));
    EXPECT_EQ(CodeOf("first"), "lock");
    At(2s, flow("second", "y"));
    EXPECT_EQ(StatusOf("second"), Status::kRunning);
    At(3s, ReleaseLock{NextRequest(), "x", lock_id});
    EXPECT_EQ(StatusOf("first"), Status::kPending);
    EXPECT_TRUE(IsFree(4s, "x"));
    const Text client = LastAnswer().lock_id;
    At(4s, ReleaseLock{NextRequest(), "x", client});
    At(5s, Success(Child(0, 0, 0, "second")));
    EXPECT_EQ(StatusOf("first"), Status::kRunning);
    EXPECT_FALSE(IsFree(6s, "x"));
}

// The locks of a named task are known when the step begins.
TEST_F(FlowLockTest, AStepWhoseTaskDeclaresALockThatTheRunDoesNotHoldFails) {
    At(0s, Join({.id = "w", .capacity = 9}));
    At(0s, Named("other", {{.name = "y"}}));
    At(0s, Named("inner", {}, MakeWorkflow({{.name = "deep", .locks = {{.name = "z"}}}})));
    At(0s, Named("good", {{.name = "x"}}, MakeWorkflow({{.name = "g", .locks = {{.name = "x"}}}})));
    At(1s, Flow({.workflow = MakeWorkflow({{.name = "a", .named = "other"},
                                           {.name = "b", .named = "inner"},
                                           {.name = "c", .named = "good"}},
                                          OnFailure::kContinue),
                 .locks = {{.name = "x"}}}));
    EXPECT_THAT(MessageOf(Child(0)), HasSubstr("lock_not_held: it declares lock 'y'"));
    EXPECT_THAT(MessageOf(Child(0, 0, 0, Child(1))), HasSubstr("lock_not_held: it declares lock"));
    const std::string good = Child(0, 0, 0, Child(2));
    ASSERT_THAT(LocksOf(good), SizeIs(1));
    EXPECT_EQ(HolderRows(), 1u) << "the run in the run holds nothing of its own";
    At(2s, Success(good));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
    EXPECT_EQ(HolderRows(), 0u);
}

TEST_F(FlowLockTest, ATaskWithLocksCannotRunOnEachWorker) {
    At(0s, Join({.id = "w"}));
    At(0s, Named("locked", {{.name = "x"}}));
    At(1s,
       Flow({.workflow = MakeWorkflow({{.name = "a", .each_worker = true, .named = "locked"}})}));
    EXPECT_THAT(MessageOf(Child(0)), HasSubstr("step_refused: its task declares locks"));
    EXPECT_EQ(StatusOf("run"), Status::kFailed);
}

TEST_F(FlowLockTest, AHandlerThatAsksForTheLockOfItsRunIsToldAtOnce) {
    At(0s, Join({.id = "w"}));
    At(1s, Flow({.workflow = MakeWorkflow({{"a"}}), .locks = {{.name = "x"}}}));
    At(2s, AskLock{SessionOf("w"), RefOf(Child(0)), 1, "x", 1, 30s});
    ASSERT_THAT(lock_verdicts, SizeIs(1));
    EXPECT_EQ(lock_verdicts[0].token, 0u);
    EXPECT_THAT(lock_verdicts[0].why.str(), HasSubstr("its run holds the lock"));
}

TEST_F(FlowLockTest, AHandlerIsToldWhenAnOperatorTakesItsLockAway) {
    At(0s, Join({.id = "w", .capacity = 9}));
    At(1s, Once({.id = "x", .locks = {{.name = "a"}, {.name = "b"}}}));
    At(2s, AskLock{SessionOf("w"), RefOf("x"), 7, "c", 1, 30s});
    lock_verdicts.clear();
    At(3s, FreeLock{NextRequest(), "b", {}});
    At(4s, FreeLock{NextRequest(), "c", {}});
    ASSERT_THAT(lock_verdicts, SizeIs(2));
    EXPECT_EQ(lock_verdicts[0].name, "b");
    EXPECT_EQ(lock_verdicts[0].ask, 0u);
    EXPECT_EQ(lock_verdicts[0].token, 0u);
    EXPECT_EQ(lock_verdicts[1].name, "c");
    EXPECT_EQ(lock_verdicts[1].ask, 7u);
    EXPECT_EQ(lock_verdicts[1].why, "an operator took it away");
}

TEST_F(FlowLockTest, AllHandlersOfARunAreToldWhenAnOperatorTakesItsLockAway) {
    At(0s, Join({.id = "w", .capacity = 9}));
    At(1s,
       Flow({.workflow = MakeWorkflow({{.name = "a", .shards = 2}}), .locks = {{.name = "x"}}}));
    At(2s, FreeLock{NextRequest(), "x", {}});
    ASSERT_THAT(lock_verdicts, SizeIs(2));
    EXPECT_EQ(lock_verdicts[0].name, "x");
    EXPECT_TRUE(IsFree(3s, "x"));
    At(4s, Success(Child(0, 0)));
    At(4s, Success(Child(0, 1)));
    EXPECT_EQ(StatusOf("run"), Status::kSuccess);
}

// Two runs hold a lock each, and a handler in each asks for the other's.
TEST_F(FlowLockTest, ACircleThroughRunsIsExplained) {
    At(0s, Join({.id = "w", .capacity = 9}));
    const WorkflowPtr workflow = MakeWorkflow({{"a"}});
    At(1s, Flow({.id = "one", .workflow = workflow, .locks = {{.name = "x"}}}));
    At(1s, Flow({.id = "two", .workflow = workflow, .locks = {{.name = "y"}}}));
    const std::string one = Child(0, 0, 0, "one"), two = Child(0, 0, 0, "two");
    At(2s, AskLock{SessionOf("w"), RefOf(one), 1, "y", 1, 30s});
    EXPECT_EQ(CodeOf(one), "handler_lock");
    At(3s, AskLock{SessionOf("w"), RefOf(two), 1, "x", 1, 30s});
    EXPECT_EQ(CodeOf(one), "lock_circle");
    EXPECT_THAT(WhyWaits(one), HasSubstr(one + " → two → " + two + " → " + one));
}

TEST_F(FlowLockTest, APendingRunThatIsCancelledLeavesTheLine) {
    At(0s, Acquire("x"));
    const Text lock_id = LastAnswer().lock_id;
    At(1s, Flow({.workflow = MakeWorkflow({{"a"}}), .locks = {{.name = "x"}}}));
    At(2s, CancelOf("run"));
    EXPECT_EQ(StatusOf("run"), Status::kCancelled);
    At(3s, ReleaseLock{NextRequest(), "x", lock_id});
    EXPECT_TRUE(IsFree(4s, "x"));
    EXPECT_THAT(AssignedIds(), IsEmpty());
}

}  // namespace
}  // namespace takt::internal
