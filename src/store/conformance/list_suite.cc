// Lists of executions: every filter, and pages that neither lose nor repeat a row while rows move.
#include <set>

#include "store/conformance/suite.h"
#include "store/list_page.h"

namespace takt::internal::conformance {
namespace {

using Ids = std::vector<std::string>;

// The same execution with another type and queue.
Execution Of(Execution row, Text type, Text queue) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = row.task->id;
    task->name = row.task->name;
    task->type = std::move(type);
    task->queue = std::move(queue);
    row.task = task;
    return row;
}

}  // namespace

// A list of the newest alone is there at once, also where nothing lives and it ended long ago.
TEST_P(StoreConformance, AShortListEndsHoweverLongAgoTheLastExecutionWas) {
    Put({ExecutionChange{Place::kNone, Place::kHistory, Finished(make_.OneOff("old"))}});
    make_.Pass(std::chrono::hours(24 * 365));
    const Execution gone = make_.OneOff("gone");
    Put({ExecutionChange{Place::kNone, Place::kLive, gone}});
    Put({ExecutionChange{Place::kLive, Place::kHistory, Finished(gone, Status::kFailed)}});
    for (const std::size_t limit : {1, 2, 3}) {
        EXPECT_EQ(ListIds({.statuses = {Status::kSuccess}, .limit = limit}), (Ids{"old"}));
        EXPECT_EQ(ListIds({.statuses = {Status::kPending}, .limit = limit}), (Ids{}));
        EXPECT_EQ(ListIds({.children = true, .limit = limit}).front(), "gone");
    }
}

// An operator narrows the list of executions down, one filter at a time and all together.
TEST_P(StoreConformance, EveryFilterNarrowsTheList) {
    const Execution a = make_.OneOff("a");
    const Execution b = Scheduled(Of(make_.OneOff("b"), "report", "slow"), "w-1");
    make_.Pass(Duration(60'000));
    const Execution c = Running(Scheduled(make_.Fire("t-1", "c"), "w-2"));
    const Execution d = Finished(Scheduled(make_.Fire("t-1", "d"), "w-1"));
    make_.Pass(Duration(60'000));
    const Execution e =
        Finished(Scheduled(Of(make_.OneOff("e"), "report", "slow"), "w-2"), Status::kFailed);
    const Execution f = Finished(make_.Fire("t-2", "f"), Status::kCancelled);
    Put({ExecutionChange{Place::kNone, Place::kLive, a},
         ExecutionChange{Place::kNone, Place::kLive, b},
         ExecutionChange{Place::kNone, Place::kLive, c},
         ExecutionChange{Place::kNone, Place::kHistory, d},
         ExecutionChange{Place::kNone, Place::kHistory, e},
         ExecutionChange{Place::kNone, Place::kHistory, f}});

    EXPECT_EQ(ListIds({}), (Ids{"f", "e", "d", "c", "b", "a"}));
    EXPECT_EQ(ListIds({.limit = 4}), (Ids{"f", "e", "d", "c"}));
    EXPECT_EQ(ListIds({.before = d.serial}), (Ids{"c", "b", "a"}));
    EXPECT_EQ(ListIds({.before = d.serial, .limit = 1}), (Ids{"c"}));
    EXPECT_EQ(ListIds({.task = TaskId("t-1")}), (Ids{"d", "c"}));
    EXPECT_EQ(ListIds({.task = TaskId("a")}), (Ids{"a"})) << "a one-off task is its execution";
    EXPECT_EQ(ListIds({.task = TaskId("e")}), (Ids{"e"}));
    EXPECT_EQ(ListIds({.task = TaskId("c")}), (Ids{})) << "the id of a fire is not its task's";
    EXPECT_EQ(ListIds({.statuses = {Status::kPending}}), (Ids{"a"}));
    EXPECT_EQ(ListIds({.statuses = {Status::kSuccess}}), (Ids{"d"}));
    EXPECT_EQ(ListIds({.statuses = {Status::kFailed, Status::kCancelled, Status::kRunning}}),
              (Ids{"f", "e", "c"}));
    EXPECT_EQ(ListIds({.statuses = {Status::kSkipped}}), (Ids{}));
    EXPECT_EQ(ListIds({.worker = WorkerId("w-1")}), (Ids{"d", "b"}));
    EXPECT_EQ(ListIds({.type = Text("report")}), (Ids{"f", "e", "d", "c", "b"}));
    EXPECT_EQ(ListIds({.type = Text("mail")}), (Ids{"a"}));
    EXPECT_EQ(ListIds({.queue = Text("slow")}), (Ids{"e", "b"}));
    EXPECT_EQ(ListIds({.created_from = d.created_at}), (Ids{"f", "e", "d", "c"}));
    EXPECT_EQ(ListIds({.created_to = d.created_at}), (Ids{"b", "a"}));
    EXPECT_EQ(ListIds({.created_from = d.created_at, .created_to = e.created_at}), (Ids{"d", "c"}));
    EXPECT_EQ(ListIds({.task = TaskId("t-1"), .statuses = {Status::kRunning, Status::kFailed}}),
              (Ids{"c"}));
    EXPECT_EQ(ListIds({.task = TaskId("t-1"),
                       .statuses = {Status::kSuccess},
                       .worker = WorkerId("w-1"),
                       .type = Text("report"),
                       .queue = Text("nightly"),
                       .created_from = d.created_at,
                       .created_to = e.created_at,
                       .before = e.serial,
                       .limit = 10}),
              (Ids{"d"}));
    EXPECT_EQ(ListIds({.task = TaskId("t-1"), .worker = WorkerId("w-1"), .before = d.serial}),
              (Ids{}));
    EXPECT_EQ(Show(List({.task = TaskId("a")}).at(0)), Show(a));
    EXPECT_EQ(Show(List({.task = TaskId("t-1")}).at(0)), Show(d));
}

// Filters take what users typed; nothing in it is a pattern or a statement.
TEST_P(StoreConformance, FiltersAreTakenLiterally) {
    Insert(make_.OneOff("a"));

    for (const char* text : {"%", "_", "ma%", "' OR '1'='1", "m*", "", "MAIL"}) {
        EXPECT_EQ(ListIds({.type = Text(text)}), (Ids{})) << text;
        EXPECT_EQ(ListIds({.queue = Text(text)}), (Ids{})) << text;
    }
}

// A console shows a thousand executions whose payloads and results it does not show.
TEST_P(StoreConformance, ABriefListLeavesOutWhatMayBeLarge) {
    const Execution waiting = make_.OneOff("waiting");
    const Execution retrying = Retrying(Scheduled(make_.OneOff("retrying"), "w-1"));
    const Execution fire = Running(Scheduled(make_.Fire("t-1", "fire"), "w-1"));
    const Execution done = Finished(make_.Fire("t-1", "done"));
    Execution failed = Finished(make_.OneOff("failed"), Status::kFailed);
    boost::intrusive_ptr<Outcome> outcome(new Outcome(*failed.outcome));
    outcome->reason = Reason::kHandlerFailed;
    outcome->code = -7;
    // A character of two bytes lies across the end.
    outcome->message = std::string(kBriefMessageBytes - 1, 'm') + "\xc3\xa4 and much more";
    outcome->data = std::string(100'000, 'd');
    failed.outcome = outcome;
    Put({ExecutionChange{Place::kNone, Place::kLive, waiting},
         ExecutionChange{Place::kNone, Place::kLive, retrying},
         ExecutionChange{Place::kNone, Place::kLive, fire},
         ExecutionChange{Place::kNone, Place::kHistory, done},
         ExecutionChange{Place::kNone, Place::kHistory, failed}});

    const std::vector<Execution> list = List({.brief = true});

    ASSERT_EQ(list.size(), 5u);
    EXPECT_TRUE(Show(list[0]) == Show(Brief(failed)));
    EXPECT_EQ(Show(list[1]), Show(Brief(done)));
    EXPECT_EQ(Show(list[2]), Show(Brief(fire)));
    EXPECT_EQ(Show(list[3]), Show(Brief(retrying)));
    EXPECT_EQ(Show(list[4]), Show(Brief(waiting)));
    for (const Execution& row : list) {
        EXPECT_TRUE(row.input().empty());
        if (row.outcome) EXPECT_TRUE(row.outcome->data.empty() && row.outcome->past.empty());
    }
    ASSERT_TRUE(list[0].outcome);
    EXPECT_EQ(list[0].outcome->message, std::string(kBriefMessageBytes - 1, 'm'));
    EXPECT_EQ(list[0].outcome->code, -7);
    EXPECT_EQ(
        Show(List({.task = TaskId("t-1"), .statuses = {Status::kRunning}, .brief = true}).at(0)),
        Show(Brief(fire)));
}

// Somebody asks for a thousand rows of a megabyte each. The scheduler must survive that, and the
// caller learn that there are more.
TEST_P(StoreConformance, APageOfLargeRowsEndsEarlyAndTheNextGoesOn) {
    // Three pages: one in the middle begins and ends where its bytes say.
    constexpr std::size_t kRows = 20;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < kRows; ++i) {
        Execution row = make_.OneOff("e-" + std::to_string(i));
        row.payload = Text(std::string(1 << 20, static_cast<char>('a' + i)));
        const bool done = i % 3 == 0;
        Put({ExecutionChange{Place::kNone, done ? Place::kHistory : Place::kLive,
                             done ? Finished(row) : row}});
        expected.insert(expected.begin(), row.id.text().str());
    }

    std::vector<std::string> seen;
    ExecutionFilter filter{.limit = 1000};
    for (bool more = true; more && seen.size() < kRows;) {
        const std::vector<Execution> page = List(filter);
        ASSERT_FALSE(page.empty());
        EXPECT_LE(page.size(), 8u);
        for (const Execution& row : page) seen.push_back(row.id.text().str());
        filter.before = page.back().serial;
        more = MoreMayFollow(filter, page);
    }

    EXPECT_EQ(seen, expected);
    EXPECT_EQ(ListIds({.limit = 1000, .brief = true}), expected) << "small rows are all of them";
}

// Somebody pages through the list while executions finish and new ones arrive.
TEST_P(StoreConformance, PagingNeitherLosesNorRepeatsARowWhileRowsMove) {
    constexpr int kRows = 60;
    std::vector<Execution> rows;
    std::vector<Change> changes;
    for (int i = 0; i < kRows; ++i) {
        rows.push_back(make_.Fire("t-1", "e-" + std::to_string(i)));
        const bool done = i % 2 == 0;
        changes.push_back(ExecutionChange{Place::kNone, done ? Place::kHistory : Place::kLive,
                                          done ? Finished(rows.back()) : rows.back()});
    }
    Put(std::move(changes));

    std::vector<std::string> seen;
    Serial before = 0;
    for (int page = 0; page < kRows; ++page) {
        const std::vector<Execution> list =
            List({.task = TaskId("t-1"), .before = before, .limit = 7});
        if (list.empty()) break;
        for (const Execution& row : list) seen.push_back(row.id.text().str());
        before = list.back().serial;
        // Between two pages a live row finishes, a dead one is re-driven, a new one arrives.
        const Execution& finishing = rows[static_cast<std::size_t>(page * 4 + 1)];
        const Execution& redriven = rows[static_cast<std::size_t>(page * 4 + 2)];
        Put({ExecutionChange{Place::kLive, Place::kHistory, Finished(finishing)},
             ExecutionChange{Place::kHistory, Place::kLive, Redriven(redriven)},
             ExecutionChange{Place::kNone, Place::kLive,
                             make_.Fire("t-1", "new-" + std::to_string(page))}});
    }

    std::vector<std::string> expected;
    for (int i = kRows - 1; i >= 0; --i) expected.push_back("e-" + std::to_string(i));
    EXPECT_EQ(seen, expected);
}

// A row moves from live to history while a reader is between the two: it must be seen once.
TEST_P(StoreConformance, ARowThatMovesDuringAReadIsSeenOnce) {
    const Execution row = make_.OneOff("e-1");
    Insert(row);
    const Term now = term();
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&, i] {
            while (!stop) {
                const bool once = i == 0 ? Find(row.id).has_value() : ListIds({}).size() == 1;
                if (!once) ++wrong;
            }
        });
    }
    // As many as it takes to catch a store that reads live and history apart (found by trying).
    for (int i = 0; i < 400; ++i) {
        const Result<void> done =
            Commit(now, NextSequence(),
                   {i % 2 == 0 ? ExecutionChange{Place::kLive, Place::kHistory, Finished(row)}
                               : ExecutionChange{Place::kHistory, Place::kLive, row}});
        EXPECT_TRUE(done) << done.error().detail;
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();

    EXPECT_EQ(wrong, 0);
}

}  // namespace takt::internal::conformance
