// Executions that share a limit and go to different workers: the more urgent goes first.
#include "engine/flow_fixture.h"

namespace takt::internal {
namespace {

using ::testing::ElementsAre;

class SharedOrderTest : public FlowHistory {
  protected:
    // A worker for each kind of task; both have room.
    void SetUp() override {
        config.worker_lease = config.timeout = 24h;
        At(0s, Join({.id = "a", .types = {Text("x")}}));
        At(0s, Join({.id = "b", .types = {Text("y")}}));
    }
    static OnceSpec Keyed(std::string id, std::string type, std::uint8_t priority,
                          std::string queue = "default") {
        return {.id = std::move(id),
                .type = std::move(type),
                .queue = std::move(queue),
                .priority = priority,
                .concurrency_key = "db",
                .concurrency_max = 1};
    }
};

// The worker that ends something is asked for its next first; the permit is not its own.
TEST_F(SharedOrderTest, APermitThatIsFreeGoesToTheMostUrgentWhateverWorkerHadIt) {
    At(1s, Once(Keyed("first", "x", 5)));
    At(1s, Once(Keyed("idle talk", "x", 1)));
    At(1s, Once(Keyed("alarm", "y", 9)));
    At(2s, Success("first"));
    EXPECT_THAT(AssignedIds(), ElementsAre("first", "alarm"));
    At(3s, Success("alarm"));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "alarm", "idle talk"));
}

TEST_F(SharedOrderTest, APermitThatIsFreeGoesToTheMostUrgentInWhateverQueue) {
    At(1s, Once(Keyed("first", "x", 5, "slow")));
    At(1s, Once(Keyed("idle talk", "x", 1, "slow")));
    At(1s, Once(Keyed("alarm", "y", 9, "fast")));
    At(2s, Success("first"));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "alarm"));
}

// It is repeated at once, and there is room for it; somebody else has waited for its permit.
TEST_F(SharedOrderTest, ARetryDoesNotTakeItsPermitBackFromOneThatIsMoreUrgent) {
    OnceSpec first = Keyed("first", "x", 5);
    first.retry = RetryPolicy{.retries_max = 3, .delay = 0s, .jitter = 0};
    At(1s, Once(first));
    At(1s, Once(Keyed("alarm", "y", 9)));
    At(2s, Failure("first"));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "alarm"));
}

TEST_F(SharedOrderTest, ThePlaceOfAQueueGoesToTheMostUrgentWhateverWorkerHadIt) {
    At(1s, Limit("default", {.working_max = 1}));
    At(1s, Once({.id = "first", .type = "x"}));
    At(1s, Once({.id = "idle talk", .type = "x", .priority = 1}));
    At(1s, Once({.id = "alarm", .type = "y", .priority = 9}));
    At(2s, Success("first"));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "alarm"));
}

// A limit opens for one that waits in a queue with one place, which another one needs more.
TEST_F(SharedOrderTest, APermitDoesNotTakeThePlaceOfAQueueFromOneThatIsMoreUrgent) {
    At(1s, Limit("slow", {.working_max = 1}));
    At(1s, Once(Keyed("first", "x", 5, "slow")));
    At(1s, Once(Keyed("second", "x", 1, "slow")));
    At(1s, Once({.id = "alarm", .type = "y", .queue = "slow", .priority = 9}));
    At(2s, CancelOf("first"));
    At(2s, ReportOf(RefOf("first"), "a", false));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "alarm"));
}

// A run needs no worker: it begins before what some worker has room for, if it is more urgent.
TEST_F(SharedOrderTest, APermitThatIsFreeGoesToARunThatIsMoreUrgent) {
    At(1s, Once(Keyed("first", "x", 5)));
    At(1s, Once(Keyed("idle talk", "x", 1)));
    At(1s, Flow({.workflow = MakeWorkflow({{.name = "one"}}),
                 .concurrency_max = 1,
                 .concurrency_key = "db"}));
    At(2s, Success("first"));

    EXPECT_EQ(StatusOf("run"), Status::kRunning);
    EXPECT_EQ(StatusOf("idle talk"), Status::kPending);
}

}  // namespace
}  // namespace takt::internal
