// Followers that see that nobody fires what is due: which of them tells, and who tells the end.
#include "alerts/follower_watch.h"

#include <gtest/gtest.h>

#include <map>

#include "node/driven.h"
#include "store/store_wrapper.h"

namespace takt::internal {
namespace {

// Shows what the test says, and takes nothing.
class ShownStore final : public StoreWrapper {
  public:
    std::vector<NodeRow> nodes;
    std::optional<LeaderRow> leader;
    std::vector<SettingPut> settings;
    std::vector<TaskRow> tasks;

    ShownStore() : StoreWrapper(nullptr) {}
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        done(leader ? std::vector{*leader} : std::vector<LeaderRow>{});
    }
    void Nodes(Done<std::vector<NodeRow>> done) override { done(nodes); }
    void ListTasks(const TaskFilter&, Done<std::vector<TaskRow>> done) override {
        ++tasks_read;
        done(tasks);
    }
    void ListSettings(Partition, const Text&, Done<std::vector<SettingPut>> done) override {
        ++settings_read;
        done(settings);
    }

    int tasks_read = 0;
    int settings_read = 0;
};

class FollowersTest : public ::testing::Test {
  protected:
    void Start(const std::string& node) {
        watches[node] =
            std::make_unique<FollowerWatch>(runtime, PartitionReader(store, kDefaultPartition),
                                            delivery, FollowerWatchConfig{.node = NodeId(node)});
    }
    void SetRole(const std::string& node, Role role) { watches.at(node)->OnRole(role); }
    void ShowNodes(std::initializer_list<const char*> names) {
        store.nodes.clear();
        for (const char* name : names) store.nodes.push_back({.node = NodeId(name)});
    }
    void ShowTask(std::string_view id, Duration due_in) {
        NewTaskPtr task(new Task);
        task->id = TaskId(Text(id));
        task->name = Text(id);
        store.tasks.push_back({std::move(task), {.next_at = runtime.Now().wall + due_in}});
    }
    // The leader's row of the only alert that was told.
    void ShowAlertOfALeader(AlertState state) {
        ASSERT_EQ(heard.size(), 1u);
        Alert alert = heard[0].alert;
        alert.state = state;
        store.settings = {{Text(std::string(kAlertPrefix) + alert.id), Text(EncodeAlert(alert))}};
    }
    // The nodes that told it, one after the other.
    std::string Tellers(AlertState state) const {
        std::string who;
        for (const Notice& notice : heard) {
            if (notice.alert.state == state) who += notice.observer + " ";
        }
        return who;
    }

    DrivenRuntime runtime;
    ShownStore store;
    std::vector<Notice> heard;
    Delivery delivery{
        runtime, {{.name = "ops"}}, [this](const Channel&, const Notice& notice, auto done) {
            heard.push_back(notice);
            done({});
        }};
    std::map<std::string, std::unique_ptr<FollowerWatch>> watches;
};

// The leader dies, a follower tells what is late, wins the lead and fires the latest due time only:
// the one that was told is in nobody's list.
TEST_F(FollowersTest, AFollowerThatLeadsNextTellsTheEndOfWhatItTold) {
    ShowNodes({"node-b"});
    ShowTask("nightly", -2h);
    Start("node-b");
    runtime.Pass(20s);
    ASSERT_EQ(Tellers(AlertState::kFiring), "node-b ");

    SetRole("node-b", Role::kLoading);
    SetRole("node-b", Role::kLeader);
    store.tasks.clear();
    ShowTask("nightly", 24h);
    ShowTask("hourly", -1h);
    runtime.Pass(3min);

    EXPECT_EQ(Tellers(AlertState::kResolved), "node-b ");
    EXPECT_EQ(heard.back().alert.id, heard.front().alert.id);
    EXPECT_EQ(heard.size(), 2u) << "as a leader it begins nothing";
}

// It has taken the alert up: it tells that it is over, when its own look says so.
TEST_F(FollowersTest, TheEndOfWhatALeaderHasFiringIsTheLeadersToTell) {
    ShowNodes({"node-b"});
    ShowTask("nightly", -2h);
    Start("node-b");
    runtime.Pass(20s);
    ShowAlertOfALeader(AlertState::kFiring);
    SetRole("node-b", Role::kLeader);
    store.tasks.clear();
    runtime.Pass(3min);
    EXPECT_EQ(Tellers(AlertState::kResolved), "");
}

// A pending alert that does not come to fire is taken away again, and nobody is told.
TEST_F(FollowersTest, TheEndOfWhatIsOnlyPendingAtALeaderIsToldByWhoToldItsBeginning) {
    ShowNodes({"node-b"});
    ShowTask("nightly", -2h);
    Start("node-b");
    runtime.Pass(20s);
    ShowAlertOfALeader(AlertState::kPending);
    store.tasks.clear();
    runtime.Pass(3min);
    EXPECT_EQ(Tellers(AlertState::kResolved), "node-b ");
}

// A scheduler whose name comes first is started when all is nearly over.
TEST_F(FollowersTest, OneThatIsNotToTellAnyMoreTellsTheEndOfWhatItTold) {
    ShowNodes({"node-b"});
    ShowTask("nightly", -2h);
    Start("node-b");
    runtime.Pass(20s);
    ShowNodes({"node-a", "node-b"});
    store.tasks.clear();
    Start("node-a");
    runtime.Pass(3min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "node-b ");
    EXPECT_EQ(Tellers(AlertState::kResolved), "node-b ");
}

// Hundreds of namespaces in which nothing is due, each with a leader that is well.
class CalmTest : public FollowersTest {
  protected:
    void SetUp() override {
        ShowNodes({"node-a", "node-b"});
        store.leader = LeaderRow{.node = NodeId("node-a"), .epoch = 1, .nonce = 1};
        ShowTask("nightly", 20min);
        Start("node-b");
        runtime.Pass(9min);
    }
};

TEST_F(CalmTest, RowsThatCannotBeLateAreReadOnceInTenMinutes) {
    EXPECT_EQ(store.tasks_read, 1);
    runtime.Pass(9min);
    EXPECT_EQ(store.tasks_read, 2);
    EXPECT_EQ(store.settings_read, 0);
}

// It is announced, and neither fires nor tells.
TEST_F(CalmTest, WhatIsDueIsLookedAtInTime) {
    runtime.Pass(12min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "") << "the leader has its grace";
    runtime.Pass(1min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "node-b ");
}

// The leader took a task that is due, and died.
TEST_F(CalmTest, WhenNobodyLeadsTheRowsAreReadAgain) {
    ShowTask("hourly", -1h);
    ShowNodes({"node-b"});
    store.leader.reset();
    runtime.Pass(20s);
    EXPECT_EQ(Tellers(AlertState::kFiring), "node-b ");
}

TEST_F(CalmTest, UnderAnotherLeaderTheRowsAreReadAgain) {
    store.leader->epoch = 2;
    runtime.Pass(20s);
    EXPECT_EQ(store.tasks_read, 2);
}

// Three schedulers, a leader among them, on a store that stops taking writes.
class RefusingStoreTest : public FollowersTest {
  protected:
    void SetUp() override {
        ShowNodes({"node-a", "node-b", "node-c"});
        store.leader = LeaderRow{.node = NodeId("node-a"), .epoch = 1, .nonce = 1};
        for (const char* node : {"node-a", "node-b", "node-c"}) Start(node);
        runtime.Run();
        SetRole("node-a", Role::kLeader);
        runtime.Pass(1min);
        ShowTask("nightly", 0s);
        // Their last words run out at different times.
        ShowNodes({"node-c"});
        runtime.Pass(15s);
        ShowNodes({});
        store.leader.reset();
        SetRole("node-a", Role::kFollower);
    }
};

TEST_F(RefusingStoreTest, OneTells) {
    runtime.Pass(5min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "node-b ");
}

// The store comes back, and so do the rows.
TEST_F(RefusingStoreTest, WhoToldTellsTheEnd) {
    runtime.Pass(5min);
    ShowNodes({"node-a", "node-b", "node-c"});
    store.leader = LeaderRow{.node = NodeId("node-c"), .epoch = 1, .nonce = 1};
    SetRole("node-c", Role::kLeader);
    store.tasks.clear();
    runtime.Pass(3min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "node-b ");
    EXPECT_EQ(Tellers(AlertState::kResolved), "node-b ");
}

// The one that would tell died together with the store.
TEST_F(RefusingStoreTest, TheOthersDoNotWaitForEver) {
    SetRole("node-b", Role::kStopped);
    runtime.Pass(5min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "");
    runtime.Pass(TellerChoice::kKept);
    EXPECT_NE(Tellers(AlertState::kFiring), "");
}

// The leader was on the machine that failed.
TEST_F(RefusingStoreTest, NobodyWaitsForTheLastLeader) {
    SetRole("node-a", Role::kStopped);
    runtime.Pass(5min);
    EXPECT_EQ(Tellers(AlertState::kFiring), "node-b ");
}

// It has nobody else to leave it to.
TEST(TellerChoiceTest, TheLastLeaderTellsIfItIsAlone) {
    TellerChoice choice(NodeId("node-a"));
    const TellerChoice::Rows alone{{{.node = NodeId("node-a")}},
                                   LeaderRow{.node = NodeId("node-a"), .epoch = 1, .nonce = 1}};
    choice.See(alone, Steady(1h));
    EXPECT_TRUE(choice.See({}, Steady(1h) + 1min));
}

// A scheduler that was taken down long before the trouble is nobody to wait for.
TEST(TellerChoiceTest, OnlyThoseCountThatWereThereToTheEnd) {
    TellerChoice choice(NodeId("node-b"));
    choice.See({{{.node = NodeId("node-a")}, {.node = NodeId("node-b")}}, {}}, Steady(1h));
    choice.See({{{.node = NodeId("node-b")}}, {}}, Steady(1h) + 2min);
    EXPECT_TRUE(choice.See({}, Steady(1h) + 3min));
}

}  // namespace
}  // namespace takt::internal
