// PUT /api/v1/workers/{id}/capacity.
#include <gmock/gmock.h>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

using testing::HasSubstr;

constexpr std::string_view kAddress = "/api/v1/workers/w/capacity";

TEST(WorkerCapacityApi, IsSetSeenAuditedAndTakenBack) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    const Answered set = scheduler.Put(kAddress, R"({"capacity": 20})");
    ASSERT_EQ(set.status, 200) << set.body;
    EXPECT_EQ(set.json.at("capacity").as_int64(), 20);
    EXPECT_EQ(set.json.at("capacity_own").as_int64(), 100);
    EXPECT_EQ(set.json.at("capacity_set").as_int64(), 20);
    scheduler.sink().Await(EventType::kWorkerChanged, "");
    const Answered audit = scheduler.Get("/api/v1/audit");
    EXPECT_THAT(audit.body, HasSubstr("put_v1_workers_id_capacity"));
    EXPECT_THAT(audit.body, HasSubstr(R"("20")"));

    const Answered own = scheduler.Put(kAddress, R"({"capacity": null})");
    EXPECT_EQ(own.json.at("capacity").as_int64(), 100);
    EXPECT_TRUE(own.json.at("capacity_set").is_null());
    EXPECT_TRUE(scheduler.Get("/api/v1/workers/w").json.at("capacity_set").is_null());
}

TEST(WorkerCapacityApi, WhatIsNoneIsRefusedWithItsName) {
    TestScheduler scheduler;
    scheduler.AttachWorker("w");
    for (const std::string_view body : {R"({"capacity": 0})", R"({"capacity": 100001})",
                                        R"({"capacity": "20"})", R"({"capacity": 1.5})", "{}"}) {
        const Answered answer = scheduler.Put(kAddress, std::string(body));
        EXPECT_EQ(answer.status, 400) << body;
        EXPECT_EQ(answer.Text("field"), "capacity") << body << answer.body;
    }
    EXPECT_EQ(scheduler.Put("/api/v1/workers/x/capacity", R"({"capacity": 2})").status, 404);
    EXPECT_EQ(scheduler.Get("/api/v1/workers/w").json.at("capacity").as_int64(), 100);
}

}  // namespace
}  // namespace takt::internal
