// A worker's id is one process's, whichever way it is connected.
#include "engine/history.h"

namespace takt::internal {
namespace {

class WorkerIdTest : public History {
  protected:
    LinkKind LinkOf(const std::string& id) {
        return engine().FindWorker(WorkerId(Text(id)))->row.link;
    }
};

// Somebody starts a worker under the id of an executor that is at work. The executor registers only
// when it starts: displaced, it would never come back.
TEST_F(WorkerIdTest, AWorkerDoesNotTakeTheIdOfALiveExecutor) {
    At(0s, Join({.id = "i1", .link = LinkKind::kPush}));
    const SessionId executor = SessionOf("i1");
    At(0s, Once({.id = "x"}));
    ASSERT_EQ(StatusOf("x"), Status::kScheduled);

    At(1s, Join({.id = "i1", .instance = "2"}));
    ASSERT_EQ(closes.size(), 1u);
    EXPECT_NE(closes[0].session, executor);
    EXPECT_EQ(LinkOf("i1"), LinkKind::kPush);
    EXPECT_EQ(Row("x").attempt, 1u);

    At(2s, Goodbye{executor});
    At(3s, Join({.id = "i1", .instance = "2"}));
    EXPECT_EQ(LinkOf("i1"), LinkKind::kStream) << "the executor is gone: the id is free";
}

}  // namespace
}  // namespace takt::internal
