// A scheduler speaks of itself to probes, and to people who look why nothing goes on.
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

// Redis is at its maxmemory. Whoever looks must read that before what follows from it; a balancer
// goes on sending, since results make room.
TEST(ReadinessApi, AFullStoreIsTheFirstThingThatIsSaid) {
    TestScheduler scheduler;
    scheduler.store().Fill();

    EXPECT_EQ(scheduler.Post("/api/v1/tasks", R"({"name": "n"})").status, 503);
    const Answered status = scheduler.Get("/api/v1/scheduler/status");
    EXPECT_EQ(status.json.at("store").at("trouble").as_string(), "it is at its maxmemory");
    const Answered ready = scheduler.Get("/readyz");
    EXPECT_EQ(ready.status, 200);
    EXPECT_EQ(ready.Text("trouble"),
              "the store is full and no new task is taken: it is at its maxmemory");

    scheduler.StopNode();
    const Answered refused = scheduler.Get("/readyz");
    EXPECT_EQ(refused.status, 503);
    EXPECT_TRUE(refused.Text("detail").starts_with("the store is full")) << refused.body;

    scheduler.store().Fill(false);
    EXPECT_FALSE(scheduler.Get("/readyz").Text("detail").contains("full"));
}

// The only scheduler has drivers that one team needs, and nobody has thought of `default`: waiting for
// an election would be waiting for ever.
TEST(ReadinessApi, ASchedulerWhereNoneMayLeadSaysSo) {
    TestSchedulerOptions options{.await_lead = false};
    MemoryStore store(options.database, [](auto work) { work(); });
    std::promise<void> announced;
    store.Announce({.node = NodeId("node-b"), .namespaces = {internal::Text("images")}}, 60s,
                   [&](const Result<void>&) { announced.set_value(); });
    announced.get_future().wait();
    options.node_config.leadership.namespaces = {internal::Text("billing")};
    TestScheduler scheduler(std::move(options));

    const std::string why =
        "no scheduler that is there may lead 'default' (scheduler.namespaces; no namespace is "
        "known "
        "here as 'billing', 'images')";
    const Answered ready = scheduler.Get("/readyz");
    EXPECT_EQ(ready.status, 503);
    EXPECT_EQ(ready.Text("code"), "no_leader");
    EXPECT_EQ(ready.Text("detail"), why);
    EXPECT_EQ(scheduler.Get("/api/v1/scheduler/status").Text("why_no_leader"), why);
}

}  // namespace
}  // namespace takt::internal
