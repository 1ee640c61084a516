// Changes that are stored while the lead goes to another scheduler: the answer would show what became
// of them, and this one does not know it any more.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <string>
#include <thread>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

struct AskedChange {
    std::string name;
    HttpMethod method{};
    std::string target;
    std::string body;
    std::function<bool(const Engine&)> decided;
};

class AfterChange : public testing::TestWithParam<AskedChange> {};

// It is done. Whoever hears that nothing was says it again, and undoes what somebody else has made of
// it since, or tells an alarm that a drain did not work.
TEST_P(AfterChange, AChangeThatIsStoredIsNotCalledUndone) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w-1");
    ASSERT_EQ(scheduler.Post("/api/v1/locks/ledger/acquire", "{}").status, 200);
    std::promise<void> goes_on;
    scheduler.store().Call(
        NodesCall{},
        [&](auto&) {
            goes_on.get_future().wait();
            return Result<void>();
        },
        Done<void>([](const Result<void>&) {}));
    auto changed = std::async(
        [&] { return scheduler.Send(GetParam().method, GetParam().target, GetParam().body); });
    const auto looked = [&](auto look) {
        std::promise<bool> seen;
        scheduler.node().Look([&](const Engine* engine) { seen.set_value(look(engine)); });
        return seen.get_future().get();
    };
    while (!looked([](const Engine* engine) { return !engine || GetParam().decided(*engine); })) {
        std::this_thread::yield();
    }
    // On the node's thread.
    looked([&](const Engine*) {
        scheduler.node().HandOver(NodeId("node-b"));
        return true;
    });
    goes_on.set_value();

    const Answered answered = changed.get();
    EXPECT_EQ(answered.status, 503);
    EXPECT_EQ(answered.Text("code"), "unknown");
}

INSTANTIATE_TEST_SUITE_P(
    All, AfterChange,
    testing::Values(
        AskedChange{"Drain", HttpMethod::kPost, "/api/v1/workers/w-1/drain", "",
                    [](const Engine& engine) {
                        return engine.FindWorker(WorkerId("w-1"))->row.status ==
                               WorkerStatus::kDraining;
                    }},
        AskedChange{"Capacity", HttpMethod::kPut, "/api/v1/workers/w-1/capacity",
                    R"({"capacity": 3})",
                    [](const Engine& engine) {
                        return engine.FindWorker(WorkerId("w-1"))->row.capacity_set == 3;
                    }},
        AskedChange{
            "Pause", HttpMethod::kPost, "/api/v1/queues/mail/pause", "",
            [](const Engine& engine) { return engine.FindQueue(Text("mail")).has_value(); }},
        AskedChange{
            "Limits", HttpMethod::kPut, "/api/v1/queues/mail", R"({"concurrency_max": 3})",
            [](const Engine& engine) { return engine.FindQueue(Text("mail")).has_value(); }},
        AskedChange{"Size", HttpMethod::kPut, "/api/v1/locks/gpu", R"({"permits": 3})",
                    [](const Engine& engine) { return engine.FindLock(Text("gpu")).has_value(); }},
        // Somebody else has it by now, from whom it must not be taken as well.
        AskedChange{"TakenAway", HttpMethod::kDelete, "/api/v1/locks/ledger", "",
                    [](const Engine& engine) {
                        const auto lock = engine.FindLock(Text("ledger"));
                        return !lock || lock->holders.empty();
                    }},
        AskedChange{"Strategy", HttpMethod::kPut, "/api/v1/scheduler/strategy",
                    R"({"strategy": "random"})",
                    [](const Engine& engine) { return engine.strategy() == Strategy::kRandom; }}),
    [](const auto& shown) { return shown.param.name; });

}  // namespace
}  // namespace takt::internal
