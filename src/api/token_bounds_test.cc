// Tokens that are bound to something: to what each role can be.
#include <gmock/gmock.h>

#include "api/test_scheduler.h"

namespace takt::internal {
namespace {

class TokenBoundsTest : public testing::Test {
  protected:
    TokenBoundsTest() { admin_ = MakeToken(R"("role": "admin")").Text("token"); }
    Answered MakeToken(const std::string& fields) {
        return scheduler_.Post("/api/v1/tokens", R"({"name": "t", )" + fields + "}", Admin());
    }
    HttpHeaderList Admin() const {
        if (admin_.empty()) return {};
        return {{"Authorization", "Bearer " + admin_}};
    }

    TestScheduler scheduler_;
    std::string admin_;
};

// Somebody mixes up the two, and believes the token to be bound.
TEST_F(TokenBoundsTest, ABoundThatWouldBindNothingIsRefused) {
    const std::pair<std::string, std::string> cases[] = {
        {R"("role": "worker", "services": ["svc"])", "services"},
        {R"("role": "executor", "queues": ["q"])", "queues"},
        {R"("role": "executor", "types": ["t"])", "types"},
        {R"("role": "viewer", "worker_ids": ["w"])", "role"},
    };
    for (const auto& [fields, field] : cases) {
        const Answered refused = MakeToken(fields);
        EXPECT_EQ(refused.status, 400) << fields;
        EXPECT_EQ(refused.Text("field"), field) << refused.body;
    }
    for (const char* good :
         {R"("role": "worker", "worker_ids": ["w"], "queues": ["q"], "types": ["send mail"])",
          R"("role": "executor", "worker_ids": ["e-1"], "services": ["billing service"])"}) {
        EXPECT_EQ(MakeToken(good).status, 201) << good;
    }
}

// A script worked out a list and found nothing, or has a name that nothing can have.
TEST_F(TokenBoundsTest, ABoundThatNothingCanMeetIsRefused) {
    const std::pair<std::string, std::string> cases[] = {
        {R"("role": "worker", "worker_ids": [])", "worker_ids"},
        {R"("role": "worker", "types": [])", "types"},
        {R"("role": "worker", "queues": ["a b"])", "queues"},
        {R"("role": "worker", "worker_ids": ["ok", "../x"])", "worker_ids"},
        {R"("role": "executor", "services": [])", "services"},
    };
    for (const auto& [fields, field] : cases) {
        const Answered refused = MakeToken(fields);
        EXPECT_EQ(refused.status, 400) << fields;
        EXPECT_EQ(refused.Text("field"), field) << refused.body;
    }
}

}  // namespace
}  // namespace takt::internal
