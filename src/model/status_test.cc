#include "model/status.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <string>

namespace takt::internal {
namespace {

std::array<Status, kStatusCount> AllStatuses() {
    std::array<Status, kStatusCount> all;
    for (int i = 0; i < kStatusCount; ++i) all[std::size_t(i)] = static_cast<Status>(i);
    return all;
}

// The console filters by the name that the API answered with.
TEST(StatusTest, EveryStatusHasANameThatReadsBack) {
    std::set<std::string_view> names;
    for (const Status status : AllStatuses()) {
        EXPECT_EQ(ParseStatus(Name(status)), status);
        names.insert(Name(status));
    }
    EXPECT_EQ(names.size(), std::size_t{kStatusCount});
}

// Somebody moves from another scheduler and keeps the scripts.
TEST(StatusTest, SpellingsOfOtherSchedulersAreUnderstood) {
    EXPECT_EQ(ParseStatus("completed"), Status::kSuccess);
    EXPECT_EQ(ParseStatus("succeeded"), Status::kSuccess);
    EXPECT_EQ(ParseStatus("canceled"), Status::kCancelled);
}

// A typing error in a filter must not list everything.
TEST(StatusTest, OtherWordsAreNoStatus) {
    for (const char* word : {"", "Pending", "pending ", "done", "complete"}) {
        EXPECT_FALSE(ParseStatus(word)) << word;
    }
}

// Promise 2: an execution ends once. Only an operator may bring it back, and only what did not
// succeed.
TEST(StatusTest, NothingLeavesATerminalStateButARedrive) {
    std::set<Status> redriven;
    for (const Transition& transition : Transitions()) {
        if (!IsTerminal(transition.from)) continue;
        EXPECT_EQ(transition.to, Status::kPending) << transition.why;
        EXPECT_EQ(transition.why, "re-driven by an operator");
        redriven.insert(transition.from);
    }
    EXPECT_EQ(redriven, (std::set{Status::kFailed, Status::kCancelled}));
}

// Promise 2 again: wherever an execution stands, there is a way to its end.
TEST(StatusTest, EveryOtherStateReachesATerminalOne) {
    for (const Status start : AllStatuses()) {
        if (IsTerminal(start)) continue;
        std::set<Status> reached = {start};
        // Each round adds a state or is the last, so as many rounds as states are enough.
        for (int round = 0; round < kStatusCount; ++round) {
            for (const Transition& transition : Transitions()) {
                if (reached.contains(transition.from)) reached.insert(transition.to);
            }
        }
        EXPECT_TRUE(reached.contains(Status::kSuccess)) << Name(start);
        EXPECT_TRUE(reached.contains(Status::kFailed)) << Name(start);
        EXPECT_TRUE(reached.contains(Status::kCancelled)) << Name(start);
    }
}

// Queues and hands are counted by these three: one that is two of them would be counted twice.
TEST(StatusTest, EveryStatusIsExactlyOneOfWaitingWorkingAndTerminal) {
    for (const Status status : AllStatuses()) {
        EXPECT_EQ(IsWaiting(status) + IsWorking(status) + IsTerminal(status), 1) << Name(status);
    }
}

// The engine asserts with CanFollow, the documentation is drawn from Transitions.
TEST(StatusTest, CanFollowSaysWhatTheTableSays) {
    for (const Status from : AllStatuses()) {
        for (const Status to : AllStatuses()) {
            bool listed = false;
            for (const Transition& transition : Transitions()) {
                listed = listed || (transition.from == from && transition.to == to);
            }
            EXPECT_EQ(CanFollow(from, to), listed) << Name(from) << " to " << Name(to);
        }
    }
}

// A reader of the diagram must find each arrow once, with its reason.
TEST(StatusTest, EachTransitionIsListedOnceAndSaysWhy) {
    std::set<std::pair<Status, Status>> seen;
    for (const Transition& transition : Transitions()) {
        EXPECT_TRUE(seen.emplace(transition.from, transition.to).second);
        EXPECT_FALSE(transition.why.empty());
        EXPECT_NE(transition.from, transition.to);
    }
}

// Somebody reads the page to know what an alert on a state can mean.
TEST(StatusTest, ThePageOfStatesHasExactlyTheTransitionsOfTheTable) {
    std::ifstream page(TAKT_DOCS "/states.md");
    ASSERT_TRUE(page) << TAKT_DOCS;
    std::set<std::string> written;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("| ") && !line.starts_with("| from")) written.insert(line);
    }
    std::set<std::string> expected;
    for (const Transition& t : Transitions()) {
        expected.insert("| " + std::string(Name(t.from)) + " | " + std::string(Name(t.to)) + " | " +
                        std::string(t.why) + " |");
    }
    EXPECT_EQ(written, expected);
}

}  // namespace
}  // namespace takt::internal
