// Runs of workflows and their children: how they are listed, and how they are purged together.
#include <algorithm>

#include "store/conformance/suite.h"

namespace takt::internal::conformance {
namespace {

using Ids = std::vector<std::string>;

constexpr Duration kMinute{60'000};

ExecutionChange NewLive(const Execution& row) {
    return {Place::kNone, Place::kLive, row};
}
ExecutionChange NewFinished(const Execution& row) {
    return {Place::kNone, Place::kHistory, row};
}
ExecutionChange ToHistory(const Execution& row) {
    return {Place::kLive, Place::kHistory, row};
}

std::size_t CountLog(Store& store, const ExecutionId& id) {
    using Rows = std::vector<LogChunk>;
    const auto rows = Await<Rows>(
        [&](Done<Rows> d) { store.ReadLog(kDefaultPartition, id, 0, 10, std::move(d)); });
    EXPECT_TRUE(rows) << rows.error().detail;
    return rows.value_or(Rows{}).size();
}

}  // namespace

// A step is made, runs and ends; a new leader must know where in its run it belongs.
TEST_P(StoreConformance, AChildKeepsItsPlaceInItsRun) {
    Execution run = make_.Fire("t-1", "run");
    run.progress = std::string("\0\xff progress", 11);
    const Execution child = make_.Child(run, "child");
    Put({NewLive(run), NewLive(child)});
    EXPECT_EQ(Show(*Find(run.id)), Show(run));
    EXPECT_EQ(Show(*Find(child.id)), Show(child));
    EXPECT_EQ(Show(LoadAll().executions.at(1)), Show(child));

    const Execution running = Running(Scheduled(child, "w-1"));
    run.progress = "half";
    run.status = Status::kRunning;  // Without a worker: its children do the work.
    run.started_at = make_.now();
    Put({ExecutionChange{Place::kLive, Place::kLive, running},
         ExecutionChange{Place::kLive, Place::kLive, run}});
    EXPECT_EQ(Show(*Find(child.id)), Show(running));
    EXPECT_EQ(Show(*Find(run.id)), Show(run));
    EXPECT_EQ(Show(LoadAll().executions.at(0)), Show(run));
    const std::vector<Execution> brief = List({.brief = true});
    ASSERT_EQ(brief.size(), 1u);
    EXPECT_EQ(brief[0].status, Status::kRunning);
    EXPECT_EQ(brief[0].outcome, nullptr);

    const Execution done = Finished(running);
    run = Finished(run);
    run.progress = "";
    Put({ToHistory(done), ToHistory(run)});
    EXPECT_EQ(Show(*Find(child.id)), Show(done));
    EXPECT_EQ(Show(*Find(run.id)), Show(run));
    EXPECT_EQ(Show(List({.parent = run.id}).at(0)), Show(done));
}

// The list of executions shows runs; their children are shown below the run that is opened.
TEST_P(StoreConformance, ChildrenAreListedBelowTheirRunAndNowhereElse) {
    const Execution run = make_.Fire("t-1", "run");
    const Execution a = make_.Child(run, "a");
    const Execution b = Finished(Scheduled(make_.Child(run, "b"), "w-1"), Status::kFailed);
    const Execution c = Finished(make_.Child(run, "c"));
    const Execution ended = Finished(make_.Fire("t-1", "ended"));
    const Execution d = Finished(Scheduled(make_.Child(ended, "d"), "w-1"));
    const Execution plain = make_.OneOff("plain");
    Put({NewLive(run), NewLive(a), NewFinished(b), NewFinished(c), NewFinished(ended),
         NewFinished(d), NewLive(plain)});

    EXPECT_EQ(ListIds({}), (Ids{"plain", "ended", "run"}));
    EXPECT_EQ(ListIds({.children = true}), (Ids{"plain", "d", "ended", "c", "b", "a", "run"}));
    EXPECT_EQ(ListIds({.task = TaskId("t-1")}), (Ids{"ended", "run"}));
    EXPECT_EQ(ListIds({.children = true, .task = TaskId("t-1")}),
              (Ids{"d", "ended", "c", "b", "a", "run"}));
    EXPECT_EQ(ListIds({.statuses = {Status::kSuccess}}), Ids{"ended"});
    EXPECT_EQ(ListIds({.worker = WorkerId("w-1")}), Ids{});
    EXPECT_EQ(ListIds({.children = true, .worker = WorkerId("w-1")}), (Ids{"d", "b"}));

    EXPECT_EQ(ListIds({.parent = run.id}), (Ids{"c", "b", "a"}));
    EXPECT_EQ(ListIds({.parent = ended.id}), Ids{"d"});
    EXPECT_EQ(ListIds({.parent = plain.id}), Ids{});
    EXPECT_EQ(ListIds({.parent = run.id, .limit = 2}), (Ids{"c", "b"}));
    EXPECT_EQ(ListIds({.parent = run.id, .before = b.serial}), Ids{"a"});
    EXPECT_EQ(ListIds({.parent = run.id, .statuses = {Status::kFailed, Status::kPending}}),
              (Ids{"b", "a"}));
    EXPECT_EQ(ListIds({.parent = run.id, .worker = WorkerId("w-1")}), Ids{"b"});
    EXPECT_EQ(ListIds({.parent = run.id, .task = TaskId("t-1"), .brief = true}),
              (Ids{"c", "b", "a"}));
}

// A one-off task has the id of its run: its executions are listed by it, though no index names it.
TEST_P(StoreConformance, ChildrenOfAOneOffTasksRunAreListedByTheTask) {
    const Execution run = make_.OneOff("once");
    const Execution a = make_.Child(run, "a");
    const Execution b = Finished(Scheduled(make_.Child(run, "b"), "w-1"));
    const Execution other = make_.OneOff("other");
    const Execution c = make_.Child(other, "c");
    Put({NewLive(run), NewLive(a), NewFinished(b), NewLive(other), NewLive(c)});

    EXPECT_EQ(Show(*Find(a.id)), Show(a));
    EXPECT_EQ(Show(*Find(b.id)), Show(b));
    EXPECT_EQ(Show(LoadAll().executions.at(1)), Show(a));
    EXPECT_EQ(ListIds({.task = TaskId("once")}), Ids{"once"});
    EXPECT_EQ(ListIds({.parent = run.id, .task = TaskId("once")}), (Ids{"b", "a"}));
    EXPECT_EQ(ListIds({.parent = run.id, .task = TaskId("other")}), Ids{});
    EXPECT_EQ(ListIds({.children = true,
                       .task = TaskId("once"),
                       .statuses = {Status::kSuccess},
                       .brief = true}),
              Ids{"b"});
}

// A child may carry how far its run is: that is changed with its state, and gone when it has ended.
TEST_P(StoreConformance, AChildCarriesTheProgressOfItsRun) {
    const Execution run = make_.OneOff("run");
    Execution child = make_.Child(run, "child");
    child.progress = std::string("\0\xff how far", 10);
    Put({NewLive(run), NewLive(child)});
    EXPECT_EQ(Show(LoadAll().executions.at(1)), Show(child));

    child = Scheduled(child, "w-1");
    Put({ExecutionChange{Place::kLive, Place::kLive, child}});
    EXPECT_EQ(Show(LoadAll().executions.at(1)), Show(child));

    child.progress = "";
    Put({ExecutionChange{Place::kLive, Place::kLive, child}});
    EXPECT_EQ(Show(LoadAll().executions.at(1)), Show(child));
    EXPECT_EQ(Show(List({.parent = run.id}).at(0)), Show(child));

    const Execution done = Finished(child);
    Put({ToHistory(done)});
    EXPECT_EQ(Show(*Find(child.id)), Show(done));
}

// Children end, and are run again with their run: each is there once, wherever its row is.
TEST_P(StoreConformance, AChildIsListedOnceWhereverItIs) {
    const Execution run = make_.Fire("t-1", "run");
    const Execution a = make_.Child(run, "a");
    const Execution b = make_.Child(run, "b");
    Put({NewLive(run), NewLive(a), NewLive(b)});
    EXPECT_EQ(ListIds({.parent = run.id}), (Ids{"b", "a"}));

    Put({ToHistory(Finished(a, Status::kFailed))});
    EXPECT_EQ(ListIds({.parent = run.id}), (Ids{"b", "a"}));
    EXPECT_EQ(ListIds({.parent = run.id, .statuses = {Status::kFailed}}), Ids{"a"});

    Put({ExecutionChange{Place::kHistory, Place::kLive, Redriven(a)}});
    EXPECT_EQ(ListIds({.parent = run.id}), (Ids{"b", "a"}));
    EXPECT_EQ(ListIds({.parent = run.id, .statuses = {Status::kFailed}}), Ids{});
    EXPECT_EQ(LoadAll().executions.size(), 3u);
}

// Retention ends for a run: it goes with all that belongs to it, and is seen until it is gone.
TEST_P(StoreConformance, PurgeTakesTheChildrenOfARunFirstAndTheRunLast) {
    constexpr std::uint32_t kAtATime = 2;
    Execution run = make_.Fire("t-1", "run");
    std::vector<Change> changes;
    Ids children;
    for (int i = 0; i < 5; ++i) {
        const Execution child = Finished(make_.Child(run, "child-" + std::to_string(i)));
        changes.push_back(NewFinished(child));
        changes.push_back(LogAppend{LogChunk{child.id, 1, 1, make_.now(), "line\n"}});
        children.push_back(child.id.text().str());
        make_.Pass(kMinute);
    }
    const Execution between = Finished(make_.OneOff("between"));
    make_.Pass(kMinute);
    run = Finished(run);
    run.finished_at = make_.now();
    make_.Pass(kMinute);
    const Execution later = Finished(make_.OneOff("later"));
    changes.insert(changes.end(), {NewFinished(between), NewFinished(run), NewFinished(later)});
    Put(std::move(changes));

    const auto left = [&] { return ListIds({.children = true}).size(); };
    std::size_t before = left();
    for (int purges = 0; Find(run.id); ++purges) {
        ASSERT_LT(purges, 10) << "it never ends";
        Put({Purge{.finished_before = later.finished_at, .count_max = kAtATime}});
        EXPECT_LE(before - left(), kAtATime) << "no more than it may";
        EXPECT_LT(left(), before) << "each purge gets on";
        before = left();
        if (!Find(run.id)) EXPECT_TRUE(ListIds({.parent = run.id}).empty()) << "the run is last";
    }

    EXPECT_EQ(ListIds({.children = true}), Ids{"later"});
    for (const std::string& id : children) {
        EXPECT_FALSE(Find(ExecutionId(Text(id))));
        EXPECT_EQ(CountLog(store(), ExecutionId(Text(id))), 0u);
    }
    // Their ids are free again, and nothing of the family comes back with them.
    Insert(make_.OneOff("child-0"));
    Insert(make_.OneOff("run"));
    EXPECT_EQ(ListIds({.parent = run.id}), Ids{});
}

// A run has been going for a week, and most of its children ended days ago. They are part of it and
// stay; what else is old goes, however many of them are older.
TEST_P(StoreConformance, ChildrenOfALiveRunStayAndHoldNothingUp) {
    const Execution run = make_.Fire("t-1", "run");
    std::vector<Change> changes = {NewLive(run)};
    Ids children;
    for (int i = 0; i < 20; ++i) {
        const Execution child = Finished(make_.Child(run, "child-" + std::to_string(i)));
        changes.push_back(NewFinished(child));
        children.insert(children.begin(), child.id.text().str());
    }
    make_.Pass(kMinute);
    const Execution old = Finished(make_.OneOff("old"));
    changes.push_back(NewFinished(old));
    Put(std::move(changes));
    make_.Pass(kMinute);

    Put({Purge{.finished_before = make_.now(), .count_max = 3}});
    EXPECT_FALSE(Find(old.id)) << "behind twenty that are older";
    EXPECT_EQ(ListIds({.parent = run.id}), children);
    Put({Purge{.finished_before = make_.now(), .count_max = 100}});
    EXPECT_EQ(ListIds({.parent = run.id}), children);

    Execution ended = Finished(run);
    ended.finished_at = make_.now();
    make_.Pass(kMinute);
    Put({ToHistory(ended)});
    Put({Purge{.finished_before = make_.now(), .count_max = 100}});
    EXPECT_EQ(ListIds({.children = true}), Ids{});
}

// A failed run is run again shortly before its retention ends.
TEST_P(StoreConformance, ARunThatIsRunAgainKeepsItsChildren) {
    const Execution run = make_.Fire("t-1", "run");
    const Execution child = Finished(make_.Child(run, "child"), Status::kFailed);
    Put({NewFinished(child), NewFinished(Finished(run, Status::kFailed))});
    make_.Pass(kMinute);

    Put({ExecutionChange{Place::kHistory, Place::kLive, Redriven(run)},
         Purge{.finished_before = make_.now(), .count_max = 100}});
    EXPECT_EQ(ListIds({.parent = run.id}), Ids{"child"});
    Put({Purge{.finished_before = make_.now(), .count_max = 100}});
    EXPECT_EQ(ListIds({.parent = run.id}), Ids{"child"});

    Execution ended = Finished(run);
    ended.finished_at = make_.now();
    make_.Pass(kMinute);
    Put({ToHistory(ended)});
    Put({Purge{.finished_before = make_.now(), .count_max = 100}});
    EXPECT_EQ(ListIds({.children = true}), Ids{});
}

// A step of a workflow is a workflow itself.
TEST_P(StoreConformance, PurgeTakesTheChildrenOfChildrenToo) {
    const Execution outer = Finished(make_.Fire("t-1", "outer"));
    const Execution inner = Finished(make_.Child(outer, "inner"));
    std::vector<Change> changes = {NewFinished(outer), NewFinished(inner)};
    for (int i = 0; i < 3; ++i) {
        changes.push_back(NewFinished(Finished(make_.Child(inner, "leaf-" + std::to_string(i)))));
    }
    Put(std::move(changes));
    make_.Pass(kMinute);

    std::size_t before = 5;
    for (int purges = 0; before > 0; ++purges) {
        ASSERT_LT(purges, 10) << "it never ends";
        Put({Purge{.finished_before = make_.now(), .count_max = 2}});
        const Ids left = ListIds({.children = true});
        EXPECT_LE(before - left.size(), 2u);
        EXPECT_LT(left.size(), before);
        before = left.size();
        const auto has = [&](std::string_view id) { return std::ranges::count(left, id) > 0; };
        if (has("leaf-0") || has("leaf-1") || has("leaf-2")) EXPECT_TRUE(has("inner"));
        if (has("inner")) EXPECT_TRUE(has("outer"));
    }
}

}  // namespace takt::internal::conformance
