// Results of earlier steps, over the session of a worker that speaks the protocol by hand.
#include "links/step_results.h"

#include <gmock/gmock.h>

#include "links/stream_link_fixture.h"
#include "model/workflow_testing.h"

namespace takt::internal::testing_support {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StepResultsTest : public StreamLinkTest {
  protected:
    void Run(const std::string& id) {
        const NewTaskPtr task = new Task;
        task->id = TaskId(Text(id));
        task->name = Text(id);
        task->queue = Text("default");
        auto options = std::make_unique<TaskOptions>();
        options->workflow =
            MakeWorkflow({{.name = "map", .shards = 2}, {.name = "reduce", .after = {"map"}}});
        task->options = std::move(options);
        ASSERT_TRUE(stack_->Ask(Submit{.task = task}));
    }
    // The next attempt that the worker is given.
    static worker::v1::Attempt Given(RawWorker& worker) {
        for (;;) {
            const auto frame = worker.Next();
            if (frame.assigns_size() > 0) return frame.assigns(0).attempt();
        }
    }
    static void Succeed(RawWorker& worker, const worker::v1::Attempt& attempt,
                        const std::string& data) {
        worker::v1::WorkerFrame frame = ResultOf(attempt);
        frame.mutable_results(0)->set_data(data);
        EXPECT_TRUE(worker.Send(frame));
    }
    static worker::v1::Fetched Fetch(RawWorker& worker, const worker::v1::Attempt& attempt,
                                     const std::string& step, std::uint32_t first = 0) {
        worker::v1::WorkerFrame frame;
        worker::v1::Fetch& fetch = *frame.add_fetches();
        *fetch.mutable_attempt() = attempt;
        fetch.set_ask(1);
        fetch.set_step(step);
        fetch.set_first(first);
        EXPECT_TRUE(worker.Send(frame));
        for (;;) {
            const auto answer = worker.Next();
            if (answer.fetched_size() > 0) return answer.fetched(0);
        }
    }
};

TEST_F(StepResultsTest, AnAttemptReadsTheStepsOfItsOwnRunWhileItGoesOn) {
    const auto worker = Attached(RawWorker::Hello("w"));
    Run("run");
    Succeed(*worker, Given(*worker), "1");
    const auto second = Given(*worker);
    EXPECT_THAT(Fetch(*worker, second, "map").why(), HasSubstr("is not over"));
    Succeed(*worker, second, "two");
    const auto reduce = Given(*worker);

    const auto fetched = Fetch(*worker, reduce, "map");
    EXPECT_EQ(fetched.why(), "");
    EXPECT_TRUE(fetched.list());
    EXPECT_EQ(fetched.total(), 2u);
    EXPECT_THAT(fetched.parts(), ElementsAre("1", "\"two\""));
    EXPECT_THAT(Fetch(*worker, reduce, "map", 1).parts(), ElementsAre("\"two\""));
    EXPECT_THAT(Fetch(*worker, reduce, "map", 3).why(), HasSubstr("has 2 parts"));
    EXPECT_THAT(Fetch(*worker, reduce, "nothing").why(), HasSubstr("no step 'nothing'"));

    Succeed(*worker, reduce, "3");
    ASSERT_TRUE(stack_->watcher.AwaitEvent(EventType::kTaskCompleted, ExecutionId(Text("run"))));
    EXPECT_THAT(Fetch(*worker, reduce, "map").why(), HasSubstr("the attempt is over"));
}

// The token of one attempt opens nothing of another's: not of a stranger, not of another run.
TEST_F(StepResultsTest, NobodyReadsWhatIsNotItsOwn) {
    const auto worker = Attached(RawWorker::Hello("w", 9));
    Run("run");
    const auto own = Given(*worker);
    worker::v1::WorkerFrame hello = RawWorker::Hello("other");
    hello.mutable_hello()->add_types("something else");
    const auto other = Attached(hello);
    EXPECT_THAT(Fetch(*other, own, "map").why(), HasSubstr("never this worker's"));
    worker::v1::Attempt forged = own;
    forged.set_token(std::string(32, 'a'));
    EXPECT_THAT(Fetch(*worker, forged, "map").why(), HasSubstr("never this worker's"));
    forged = own;
    forged.set_execution_id("somebody-elses");
    EXPECT_THAT(Fetch(*worker, forged, "map").why(), HasSubstr("never this one"));
    const ExecutionId plain = stack_->Submit({});
    for (auto given = Given(*worker);; given = Given(*worker)) {
        if (given.execution_id() != plain.text().str()) continue;
        EXPECT_THAT(Fetch(*worker, given, "map").why(), HasSubstr("no part of a run"));
        break;
    }
}

}  // namespace
}  // namespace takt::internal::testing_support
