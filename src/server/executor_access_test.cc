// Who may register, beat and remove executors.
#include <map>

#include "server/executors_fixture.h"

namespace takt::internal {
namespace {

class ExecutorAccessTest : public ExecutorsTest {};

// Tokens are on: registering needs an executor's, changing an operator's; a callback brings its
// own.
TEST_F(ExecutorAccessTest, EachRouteNeedsTheRoleThatTheTableNames) {
    std::map<std::string, HttpHeaderList> by{{"", {}}};
    for (const std::string role : {"admin", "viewer", "operator", "executor", "worker"}) {
        by[role] = Bearer("\"" + role + "\"", by[by.contains("admin") ? "admin" : ""]);
    }
    const auto status = [&](HttpMethod method, const std::string& path, const std::string& role,
                            const std::string& body) {
        return Send(method, path, body, by[role]).status;
    };
    const std::string one = "/api/v1/executors/r-1";
    for (const auto& [role, expected] : std::map<std::string, int>{
             {"", 401}, {"viewer", 403}, {"operator", 403}, {"worker", 403}, {"executor", 200}}) {
        EXPECT_EQ(status(HttpMethod::kPost, "/api/v1/executors/register", role, Registration("")),
                  expected)
            << role;
    }
    for (const auto& [role, expected] : std::map<std::string, int>{
             {"", 401}, {"viewer", 403}, {"executor", 403}, {"worker", 403}, {"operator", 200}}) {
        EXPECT_EQ(status(HttpMethod::kPut, one + "/status", role, R"({"status":"maintenance"})"),
                  expected)
            << role;
    }
    for (const auto& [role, expected] :
         std::map<std::string, int>{{"", 401}, {"executor", 403}, {"viewer", 200}}) {
        EXPECT_EQ(status(HttpMethod::kGet, one, role, ""), expected) << role;
        EXPECT_EQ(status(HttpMethod::kGet, "/api/v1/executors", role, ""), expected) << role;
    }
    EXPECT_EQ(status(HttpMethod::kPost, one + "/heartbeat", "operator", ""), 403);
    EXPECT_EQ(status(HttpMethod::kPost, one + "/heartbeat", "executor", ""), 200);
    EXPECT_EQ(status(HttpMethod::kDelete, one, "executor", ""), 403);
    EXPECT_EQ(status(HttpMethod::kDelete, one, "operator", ""), 204);
}

// A service has the token of another one: the name is what is wrong, not the instance.
TEST_F(ExecutorAccessTest, ATokenOfAnotherServiceIsToldTheService) {
    const HttpHeaderList admin = Bearer(R"("admin")", {});
    const HttpHeaderList bound = Bearer(R"("executor","services":["bills"])", admin);
    const HttpAnswer no =
        Send(HttpMethod::kPost, "/api/v1/executors/register", Registration(""), bound);
    EXPECT_EQ(Field(no, "detail"), "the token is not for the service 'reports'");
    EXPECT_EQ(Field(no, "field"), "name");
    // The scheduler has forgotten an executor: it registers again if it hears that.
    EXPECT_EQ(Send(HttpMethod::kPost, "/api/v1/executors/b-1/heartbeat", "", bound).status, 404);
}

// An executor goes by the id and the address of another service's, by mistake or not: what is that
// one's would be its own from then on.
TEST_F(ExecutorAccessTest, ATokenOfAnotherServiceTakesNoExecutorFromIt) {
    const auto enter = [&](const std::string& service, const HttpHeaderList& by) {
        return Send(
            HttpMethod::kPost, "/api/v1/executors/register",
            R"({"name":")" + service + R"(","instance_id":"r-1","base_url":"http://127.0.0.1:9"})",
            by);
    };
    const HttpHeaderList admin = Bearer(R"("admin")", {});
    const HttpHeaderList reports = Bearer(R"("executor","services":["reports"])", admin);
    const HttpHeaderList bills = Bearer(R"("executor","services":["bills"])", admin);
    ASSERT_EQ(enter("reports", reports).status, 200);

    const HttpAnswer no = enter("bills", bills);
    EXPECT_EQ(no.status, 403);
    EXPECT_EQ(Field(no, "code"), "not_yours");
    EXPECT_EQ(Field(no, "field"), "instance_id");
    EXPECT_EQ(enter("reports", reports).status, 200);
    EXPECT_EQ(Field(Send(HttpMethod::kGet, "/api/v1/executors/r-1", "", admin), "name"), "reports");
}

}  // namespace
}  // namespace takt::internal
