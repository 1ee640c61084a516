// Alerts under a wall clock that is set back.
#include "alerts/evaluation_fixture.h"

namespace takt::internal {
namespace {

// Somebody sets the clock back by an hour while an alert is pending: it has waited as long as it has.
TEST_F(Evaluation, AClockSetBackCostsAPendingAlertNoTime) {
    const auto half = Value("task_failure_rate", 0.5);
    Hold(4min, half);
    ASSERT_EQ(history.back().state, AlertState::kPending);
    now -= 1h + kLookInterval;  // From the last look on.
    Look(half);
    const auto moved = evaluator.TakeUnkept();
    ASSERT_EQ(moved.size(), 1u) << "the next leader learns of it";
    EXPECT_EQ(moved[0]->pending_at, kBegin - 1h);
    now = kBegin - 1h + 5min - 1ms;
    EXPECT_TRUE(Look(half).empty());
    now += 1ms;
    const auto fired = Look(half);
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_EQ(fired[0].state, AlertState::kFiring);
    EXPECT_EQ(fired[0].firing_at - fired[0].pending_at, 5min);
}

// An alert that fires keeps the times that people were told, and takes no longer to end.
TEST_F(Evaluation, AClockSetBackLeavesTheTimesOfWhatFires) {
    const auto half = Value("task_failure_rate", 0.5);
    Hold(5min + kLookInterval, half);
    const Alert fired = history.back();
    ASSERT_EQ(fired.state, AlertState::kFiring);
    const auto none = Value("task_failure_rate", 0);
    const Time well = now;
    Hold(1min, none);
    now -= 1h + kLookInterval;
    EXPECT_TRUE(Look(none).empty());
    ASSERT_EQ(evaluator.active().size(), 1u);
    EXPECT_EQ(evaluator.active().begin()->second.alert.pending_at, fired.pending_at);
    now = well - 1h + 150s - 1ms;
    EXPECT_TRUE(Look(none).empty());
    now += 1ms;
    const auto over = Look(none);
    ASSERT_EQ(over.size(), 1u) << "half of the five minutes since it was well";
    EXPECT_EQ(over[0].state, AlertState::kResolved);
    EXPECT_EQ(over[0].pending_at, fired.pending_at);
}

}  // namespace
}  // namespace takt::internal
