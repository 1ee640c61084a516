// Answers to callbacks: they tell only what is stored, and of the attempt itself.
#include <gtest/gtest.h>

#include <utility>

#include "links/push_commit_fixture.h"

namespace takt::internal {
namespace {

using Kind = CallbackAnswer::Verdict;

// It answers the call and calls back, too. A leader that dies before the commit would leave it with an
// acceptance of which nobody knows.
TEST_F(PushCommitTest, ACallbackThatSaysTheAnswerAgainIsNotAcceptedBeforeThatIsStored) {
    ASSERT_TRUE(order_);
    store_.holds = true;
    order_->second(HttpAnswer{.status = 200, .headers = {}, .body = kFailed});
    runtime_.Run();
    EXPECT_EQ(CallBack(), Kind::kUnavailable);
    store_.LetGo();
    runtime_.Run();
    EXPECT_EQ(CallBack(), Kind::kAccepted);
}

// Its term is over and the next has begun, and it has an answer to wait for still. That the executor is
// well is no news to it: the attempt stays where it is.
TEST_F(PushCommitTest, AnInstanceOfAnEarlierTermDoesNotComeBackByItsHealthCheck) {
    for (int i = 0; i < 3; ++i) {
        PassCheck();
        runtime_.Pass(2s);
    }
    ASSERT_EQ(orders_, 1);
    auto open = std::move(order_);
    node_->NoteEpoch(100);
    runtime_.Pass(3s);
    ASSERT_EQ(orders_, 2) << "the new leader says where its callback is to go";
    while (!checks_.empty()) PassCheck();
    runtime_.Pass(3s);
    EXPECT_EQ(orders_, 2) << "what the executor has was given to it once more";
}

// The attempt was given to others: that the one before it failed in the same way is not its own end.
TEST(JudgeCallback, AFailureOfTheAttemptBeforeIsNotThatOfOneThatWasLost) {
    const auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = Reason::kHandlerFailed;
    outcome->message = "no rows";
    outcome->past = {{.attempt = 1, .end = AttemptEnd::kFailed, .reason = Reason::kHandlerFailed},
                     {.attempt = 2, .end = AttemptEnd::kReturned}};
    Execution row;
    row.attempt = 2;
    row.outcome = outcome;
    row.status = Status::kPending;
    const CallbackReport report{
        .report = ReadCallback(R"({"status":"failed","error":"no rows"})")->report};
    EXPECT_EQ(JudgeCallback(row, report).verdict, Kind::kStale);

    outcome->past.pop_back();
    outcome->past.push_back(
        {.attempt = 2, .end = AttemptEnd::kFailed, .reason = Reason::kHandlerFailed});
    EXPECT_EQ(JudgeCallback(row, report).verdict, Kind::kAccepted);
}

}  // namespace
}  // namespace takt::internal
