#include "definitions/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "definitions/plan_text.h"
#include "definitions/task_circles.h"

namespace takt::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ThingKey Key(const std::string& kind, const std::string& name) {
    return {kind, kind == "namespace" ? "" : "default", name};
}

// Things that are there and things that files say, one after the other, as a person tells them.
class PlanTest : public testing::Test {
  protected:
    PlanTest() {
        input_.fields = {{"task", {"id", "cron_expression", "enabled", "steps", "parameters"}},
                         {"queue", {"paused", "concurrency_max"}},
                         {"alert_rule", {"threshold"}},
                         {"namespace", {"quotas"}}};
    }

    void Define(const ThingKey& key, const std::string& shown, std::set<std::string> open = {}) {
        input_.defined.push_back({key, shown, std::move(open), "a.yaml", 1});
    }
    void Stand(const ThingKey& key, const std::string& shown, const std::string& owner,
               bool own_making = false) {
        input_.standing[key] = {shown, 3, own_making};
        if (!owner.empty()) input_.owners[key] = owner;
    }
    Plan Make() const { return MakePlan(input_, rules_); }
    std::vector<std::string> Heads() const {
        std::vector<std::string> heads;
        for (const PlanStep& step : Make().steps) {
            heads.push_back(std::string(Name(step.action)) + " " + ThingText(step.key));
        }
        return heads;
    }

    PlanInput input_;
    PlanRules rules_{.owner = "us", .spaces = {"default"}};
};

TEST_F(PlanTest, WhatIsAsDefinedIsLeftAlone) {
    Define(Key("task", "a"), R"({"id":"a","parameters":{"x":1,"y":[1.50]}})");
    Stand(Key("task", "a"), R"({"id":"a","parameters":{"y": [1.50], "x": 1},"fires":7})", "us");
    const Plan plan = Make();
    EXPECT_THAT(plan.steps, IsEmpty());
    EXPECT_THAT(plan.claims, IsEmpty());
    EXPECT_EQ(plan.unchanged, 1u);
}

TEST_F(PlanTest, EachFieldThatDiffersIsNamedAsDeepAsItCanBe) {
    Define(Key("task", "a"), R"({"id":"a","parameters":{"x":2,"y":[1,3]},"enabled":true})");
    Stand(Key("task", "a"), R"({"id":"a","parameters":{"x":1,"y":[1,2],"z":0}})", "us");
    const Plan plan = Make();
    ASSERT_EQ(plan.steps.size(), 1u);
    std::vector<std::string> changes;
    for (const FieldChange& change : plan.steps[0].changes) {
        changes.push_back(change.field + " " + change.before + ">" + change.after);
    }
    EXPECT_THAT(changes, ElementsAre("enabled >true", "parameters.x 1>2", "parameters.y[1] 2>3",
                                     "parameters.z 0>"));
    EXPECT_EQ(plan.steps[0].version, 3u);
}

TEST_F(PlanTest, AFieldThatTheFileLeavesOpenStaysAsItIs) {
    Define(Key("task", "a"), R"({"id":"a"})", {"enabled"});
    Stand(Key("task", "a"), R"({"id":"a","enabled":false})", "us");
    EXPECT_THAT(Heads(), IsEmpty());
}

TEST_F(PlanTest, WhatOthersNeedComesFirstAndGoesLast) {
    rules_.prune = rules_.prune_namespaces = true;
    Define(Key("alert_rule", "r"), R"({"threshold":1})");
    Define(Key("task", "flow"), R"({"id":"flow","steps":[{"name":"s","task":"part"}]})");
    Define(Key("task", "part"), R"({"id":"part"})");
    Define(Key("queue", "q"), R"({"concurrency_max":2})");
    Define(Key("namespace", "n"), R"({"quotas":{}})");
    Stand(Key("namespace", "old"), "{}", "us");
    Stand(Key("task", "gone"), "{}", "us");
    Stand(Key("alert_rule", "quiet"), "{}", "us");
    EXPECT_THAT(Heads(),
                ElementsAre("create namespace n", "create queue q", "create task part",
                            "create task flow", "create alert_rule r", "delete alert_rule quiet",
                            "delete task gone", "delete namespace old"));
}

// Two tasks that run each other are refused by nobody here, and must not make the planner go round.
TEST_F(PlanTest, TasksThatRunEachOtherArePlannedOnce) {
    Define(Key("task", "a"), R"({"id":"a","steps":[{"name":"s","task":"b"}]})");
    Define(Key("task", "b"), R"({"id":"b","steps":[{"name":"s","task":"a"}]})");
    EXPECT_THAT(Heads(), ElementsAre("create task b", "create task a"));
}

TEST_F(PlanTest, WhatAnotherMadeIsMarkedAndNeverPruned) {
    rules_.prune = true;
    Define(Key("task", "a"), R"({"id":"a","cron_expression":"0 1 * * *"})");
    Define(Key("task", "b"), R"({"id":"b","cron_expression":"0 1 * * *"})");
    Stand(Key("task", "a"), R"({"id":"a"})", "them");
    Stand(Key("task", "b"), R"({"id":"b"})", "");
    Stand(Key("task", "theirs"), "{}", "them");
    Stand(Key("task", "by-hand"), "{}", "");
    const Plan plan = Make();
    ASSERT_EQ(plan.steps.size(), 2u);
    EXPECT_TRUE(plan.steps[0].foreign);
    EXPECT_EQ(plan.steps[0].taken_from, "them");
    EXPECT_TRUE(plan.steps[1].foreign);
}

TEST_F(PlanTest, EqualThingsOfOthersAreTakenOverOnlyIfAsked) {
    Define(Key("task", "a"), R"({"id":"a"})");
    Stand(Key("task", "a"), R"({"id":"a"})", "");
    Plan plan = Make();
    EXPECT_TRUE(plan.empty());
    EXPECT_EQ(plan.unowned, 1u);
    EXPECT_THAT(plan.claims, IsEmpty());
    rules_.adopt = true;
    plan = Make();
    EXPECT_THAT(Heads(), ElementsAre("adopt task a"));
    EXPECT_THAT(plan.claims, ElementsAre(Key("task", "a")));
}

TEST_F(PlanTest, WithoutPruneWhatIsNoLongerDefinedIsKeptAndTold) {
    Stand(Key("task", "gone"), "{}", "us");
    const Plan plan = Make();
    EXPECT_TRUE(plan.empty());
    EXPECT_THAT(plan.left_over, ElementsAre(Key("task", "gone")));
    EXPECT_THAT(plan.releases, IsEmpty());
}

TEST_F(PlanTest, ANamespaceIsDeletedOnlyIfThatIsSaid) {
    rules_.prune = true;
    Stand(Key("namespace", "n"), "{}", "us");
    EXPECT_THAT(Heads(), IsEmpty());
    rules_.prune_namespaces = true;
    EXPECT_THAT(Heads(), ElementsAre("delete namespace n"));
}

// One directory is applied to staging and to production, one after the other: what is only in the
// other one is not gone from the files.
TEST_F(PlanTest, OnlyNamespacesThatSomebodyNamedArePruned) {
    rules_.prune = true;
    rules_.spaces.clear();
    const ThingKey gone{"task", "staging", "gone"};
    const ThingKey elsewhere{"task", "production", "kept"};
    Define({"task", "staging", "a"}, R"({"id":"a"})");
    Stand(gone, "{}", "us");
    Stand(elsewhere, "{}", "us");
    Stand(Key("task", "kept"), "{}", "us");
    const Plan plan = Make();
    EXPECT_THAT(Heads(), ElementsAre("create task a in staging", "delete task gone in staging"));
    EXPECT_THAT(plan.elsewhere, ElementsAre(Key("task", "kept"), elsewhere));
    EXPECT_THAT(plan.releases, ElementsAre(gone));
    rules_.spaces = {"production"};
    EXPECT_THAT(Make().elsewhere, ElementsAre(Key("task", "kept")));
    EXPECT_THAT(Heads(), ElementsAre("create task a in staging", "delete task kept in production",
                                     "delete task gone in staging"));
}

// The files still have the namespace, and the last task in it is taken out of them.
TEST_F(PlanTest, ANamespaceThatIsDefinedIsNamed) {
    rules_.prune = true;
    Define(Key("namespace", "n"), R"({"quotas":{}})");
    Stand({"task", "n", "last"}, "{}", "us");
    EXPECT_THAT(Heads(), ElementsAre("create namespace n", "delete task last in n"));
}

// Somebody deleted by hand what the files no longer define either.
TEST_F(PlanTest, WhatIsGoneAlreadyIsOnlyForgotten) {
    rules_.prune = true;
    input_.owners[Key("task", "gone")] = "us";
    const Plan plan = Make();
    EXPECT_TRUE(plan.empty());
    EXPECT_THAT(plan.releases, ElementsAre(Key("task", "gone")));
}

TEST_F(PlanTest, OwnersGoWithTheirNamespace) {
    rules_.prune = rules_.prune_namespaces = true;
    const ThingKey task{"task", "n", "a"};
    Stand(task, "{}", "us");
    Stand(Key("namespace", "n"), "{}", "us");
    const Plan plan = Make();
    EXPECT_EQ(plan.steps.size(), 2u);
    EXPECT_THAT(plan.releases, ElementsAre(Key("namespace", "n")));
}

TEST_F(PlanTest, AQueueThatNobodyLimitedIsFree) {
    Define(Key("queue", "q"), R"({"concurrency_max":2})");
    Stand(Key("queue", "q"), R"({"paused":false,"concurrency_max":null})", "", true);
    const Plan plan = Make();
    ASSERT_EQ(plan.steps.size(), 1u);
    EXPECT_FALSE(plan.steps[0].foreign);
    EXPECT_EQ(plan.steps[0].action, PlanAction::kCreate);
    EXPECT_THAT(plan.claims, ElementsAre(Key("queue", "q")));
}

TEST_F(PlanTest, ItsTextAndItsJsonTellTheSame) {
    rules_.prune = true;
    Define(Key("task", "a"), R"({"id":"a","cron_expression":"0 2 * * *"})");
    Stand(Key("task", "a"), R"({"id":"a","cron_expression":"0 1 * * *"})", "us");
    Stand(Key("queue", "q"), R"({"concurrency_max":2})", "us");
    const auto plain = [](const std::string& line, PlanMark) { return line; };
    EXPECT_EQ(PlanText(Make(), plain),
              "~ change task a\n"
              "    cron_expression: \"0 1 * * *\" → \"0 2 * * *\"\n"
              "- delete queue q (takes its limits away)\n"
              "1 to change, 1 to delete, 0 as defined\n");
    EXPECT_THAT(PlanJson(Make(), rules_),
                HasSubstr(R"("changes":[{"field":"cron_expression","before":"0 1 * * *",)"
                          R"("after":"0 2 * * *"}])"));
}

// A dry run that says all is well, and an apply that is then refused, are worth nothing.
TEST_F(PlanTest, TasksThatRunEachOtherAreFoundBeforeAnythingIsWritten) {
    Define(Key("task", "a"), R"({"id":"a","steps":[{"name":"x"},{"name":"y","task":"b"}]})");
    Define(Key("task", "d"), R"({"id":"d","steps":[{"name":"x","task":"a"}]})");
    Stand(Key("task", "b"), R"({"id":"b","steps":[{"name":"z","task":"c"}]})", "us");
    Stand(Key("task", "c"), R"({"id":"c","steps":[{"name":"z","task":"a"}]})", "us");
    const auto circles = FindTaskCircles(input_);
    ASSERT_EQ(circles.size(), 1u);
    EXPECT_EQ(circles[0].key, Key("task", "a"));
    EXPECT_EQ(circles[0].mistake.field, "steps[1].task");
    EXPECT_EQ(circles[0].mistake.detail,
              "step 'y' runs 'b', whose steps run this task: a run of it would never end");
    // The files take the way back away.
    Define(Key("task", "c"), R"({"id":"c","type":"work"})");
    EXPECT_THAT(FindTaskCircles(input_), IsEmpty());
}

}  // namespace
}  // namespace takt::internal
