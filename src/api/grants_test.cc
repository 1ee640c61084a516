// People who signed in and have several roles, one in each of several namespaces: what is the cluster's
// is not judged by the first of them.
#include <gtest/gtest.h>

#include "api/sessions.h"
#include "api/test_realm.h"

namespace takt::internal {
namespace {

constexpr const char* kTokens = "/api/v1/tokens";

class Grants : public ::testing::Test {
  protected:
    // The headers that a browser of somebody in these groups sends.
    HttpHeaderList In(std::vector<std::string> groups) const {
        const Person ada{.subject = "1", .name = "ada", .groups = std::move(groups)};
        return {{"Cookie",
                 std::string(kSessionCookie) + "=" + sessions_->Make(ada, ReadClocks().wall)}};
    }
    Answered MakeTokenFor(std::string_view space, const HttpHeaderList& who) {
        std::string body = R"({"name": "w", "role": "worker")";
        if (!space.empty()) body += R"(, "namespace": ")" + std::string(space) + '"';
        return scheduler_.Post(kTokens, body + "}", who);
    }
    std::vector<std::string> TokensSeenBy(const HttpHeaderList& who) {
        const Answered list = scheduler_.Get(kTokens, who);
        EXPECT_EQ(list.status, 200) << list.body;
        std::vector<std::string> spaces;
        for (const auto& item : list.json.at("items").as_array()) {
            spaces.emplace_back(item.at("namespace").as_string());
        }
        std::ranges::sort(spaces);
        return spaces;
    }

    const std::shared_ptr<const Sessions> sessions_ = std::make_shared<const Sessions>(
        Sessions::Options{.key = std::string(32, 'k'),
                          .roles = {{"look", {AccessRole::kViewer}},
                                    {"mail-look", {AccessRole::kViewer, "mail"}},
                                    {"billing", {AccessRole::kAdmin, "billing"}},
                                    {"home", {AccessRole::kAdmin, "default"}},
                                    {"root", {AccessRole::kAdmin}}}});
    TestScheduler scheduler_{{.config = {.access = {.sessions = sessions_}}}};
};

// Where people sign in no token is the last key: also the only one may go.
TEST_F(Grants, TheLastTokenMayBeRevokedWherePeopleSignIn) {
    const HttpHeaderList who = In({"root"});
    const Answered made = scheduler_.Post(kTokens, R"({"name": "ci", "role": "admin"})", who);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(scheduler_.Delete(std::string(kTokens) + "/" + made.Text("id"), who).status, 204);
    EXPECT_TRUE(TokensSeenBy(who).empty());
}

// A viewer of everything, or of something that the configuration names earlier, who administers one
// namespace manages the tokens of that one.
TEST_F(Grants, AnAdministratorOfOneManagesItsTokensWhateverElseTheyMay) {
    TestRealm billing(scheduler_, "billing", 1);
    ASSERT_EQ(MakeTokenFor("default", In({"root"})).status, 201);
    for (const char* other : {"look", "mail-look"}) {
        const HttpHeaderList who = In({other, "billing"});
        const Answered made = MakeTokenFor("", who);
        ASSERT_EQ(made.status, 201) << made.body;
        EXPECT_EQ(made.Text("namespace"), "billing");
        EXPECT_EQ(MakeTokenFor("default", who).status, 403);
        EXPECT_EQ(MakeTokenFor("*", who).status, 403);
        EXPECT_EQ(TokensSeenBy(who), std::vector<std::string>{"billing"});
        EXPECT_EQ(scheduler_.Delete(std::string(kTokens) + "/" + made.Text("id"), who).status, 204);
    }
    EXPECT_EQ(scheduler_.Get(kTokens, In({"look", "mail-look"})).status, 403);
}

TEST_F(Grants, AnAdministratorOfTwoManagesTheTokensOfBothAndSaysWhich) {
    TestRealm billing(scheduler_, "billing", 1);
    const HttpHeaderList who = In({"billing", "home"});
    const Answered which = MakeTokenFor("", who);
    EXPECT_EQ(which.status, 400);
    EXPECT_EQ(which.Text("field"), "namespace");
    EXPECT_NE(which.body.find("ada is an admin of billing, default"), which.body.npos)
        << which.body;
    ASSERT_EQ(MakeTokenFor("billing", who).status, 201);
    const Answered made = MakeTokenFor("default", who);
    ASSERT_EQ(made.status, 201);
    EXPECT_EQ(TokensSeenBy(who), (std::vector<std::string>{"billing", "default"}));
    EXPECT_EQ(
        scheduler_.Delete(std::string(kTokens) + "/" + made.Text("id"), In({"billing"})).status,
        404);
    EXPECT_EQ(scheduler_.Delete(std::string(kTokens) + "/" + made.Text("id"), who).status, 204);
}

// Namespaces are made by an administrator of all of them, also if an earlier group is less.
TEST_F(Grants, NamespacesAreForAnAdministratorOfAll) {
    const auto make = [&](const char* name, std::vector<std::string> groups) {
        return scheduler_
            .Post("/api/v1/namespaces", R"({"name": ")" + std::string(name) + R"("})",
                  In(std::move(groups)))
            .status;
    };
    EXPECT_EQ(make("one", {"look", "billing"}), 403);
    EXPECT_EQ(make("one", {"billing", "home"}), 403);
    EXPECT_EQ(make("one", {"mail-look", "billing", "root"}), 201);
    const auto seen = [&](std::vector<std::string> groups) {
        return scheduler_.Get("/api/v1/namespaces", In(std::move(groups)))
            .json.at("items")
            .as_array()
            .size();
    };
    EXPECT_EQ(seen({"billing"}), 0u) << "the directory has `one` and default only";
    EXPECT_EQ(seen({"billing", "look"}), 2u);
}

// Outside of the cluster's own addresses a role counts in its namespace only.
TEST_F(Grants, ARoleElsewhereIsNoneHere) {
    TestRealm billing(scheduler_, "billing", 1);
    const HttpHeaderList who = In({"look", "billing"});
    const std::string task = R"({"name": "n", "type": "t"})";
    EXPECT_EQ(scheduler_.Post("/api/v1/namespaces/billing/tasks", task, who).status, 201);
    EXPECT_EQ(scheduler_.Post("/api/v1/namespaces/mail/tasks", task, who).status, 403);
    EXPECT_EQ(scheduler_.Post("/api/v1/tasks", task, who).status, 403) << "that is default";
    EXPECT_EQ(scheduler_.Get("/api/v1/tasks", who).status, 200);
}

}  // namespace
}  // namespace takt::internal
