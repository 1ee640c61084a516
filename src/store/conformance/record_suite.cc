// Tasks, workers, settings, logs, events, their removal, and texts that want to be code.
#include <algorithm>

#include "store/conformance/suite.h"

namespace takt::internal::conformance {
namespace {

using Ids = std::vector<std::string>;

template <typename T>
using Many = std::vector<T>;

// Written as bytes: a quote of each kind, a NUL, a backslash, four-byte UTF-8, patterns, a path.
const std::string kHostile = std::string("'; DROP TABLE live; --\" ` \\ ", 28) +
                             std::string("\0\x01\n\t", 4) +
                             "\xF0\x9F\x98\x80 %_*? {0} $(x) ../\xC3\xA4\xEF\xBF\xBD";

}  // namespace

// A recurring task is created, fires, is changed and deleted.
TEST_P(StoreConformance, TasksAreKeptUntilTheyAreDeleted) {
    const auto find = [&](std::string_view id) {
        return Await<TaskRow>([&](Done<TaskRow> d) {
            store().FindTask(kDefaultPartition, TaskId(Text(id)), std::move(d));
        });
    };
    TaskRow row = make_.Recurring("t-1");
    Put({TaskPut{row}});
    ASSERT_TRUE(find("t-1"));
    EXPECT_EQ(Show(*find("t-1")), Show(row));

    row.state.fires = 5;
    row.state.paused = false;
    row.state.paused_at = {};
    Put({TaskPut{row}});
    EXPECT_EQ(Show(*find("t-1")), Show(row));
    EXPECT_EQ(LoadAll().tasks.size(), 1u);

    Put({TaskDelete{TaskId("t-1")}, TaskDelete{TaskId("never-was")}});
    const Result<TaskRow> gone = find("t-1");
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(LoadAll().tasks.empty());
}

// The console lists tasks by page and searches them by name.
TEST_P(StoreConformance, TasksAreListedByIdAndFoundByPartOfTheirName) {
    const auto list = [&](const TaskFilter& filter) {
        const auto rows = Await<Many<TaskRow>>(
            [&](Done<Many<TaskRow>> d) { store().ListTasks(filter, std::move(d)); });
        EXPECT_TRUE(rows) << rows.error().detail;
        Ids ids;
        for (const TaskRow& row : *rows) ids.push_back(row.task->id.text().str());
        return ids;
    };
    Put({TaskPut{make_.Recurring("c", "daily report")}, TaskPut{make_.Recurring("a", "100% done")},
         TaskPut{make_.Recurring("b", "snake_case")},
         TaskPut{make_.Recurring("d", "tägliche 报告")},
         TaskPut{make_.Recurring("B", Text(kHostile))}});

    EXPECT_EQ(list({}), (Ids{"B", "a", "b", "c", "d"}));
    EXPECT_EQ(list({.limit = 2}), (Ids{"B", "a"}));
    EXPECT_EQ(list({.after = "a", .limit = 2}), (Ids{"b", "c"}));
    EXPECT_EQ(list({.after = "d"}), (Ids{}));
    EXPECT_EQ(list({.name_contains = "report"}), (Ids{"c"}));
    EXPECT_EQ(list({.name_contains = "报"}), (Ids{"d"}));
    EXPECT_EQ(list({.name_contains = "%", .after = "B"}), (Ids{"a"}));
    EXPECT_EQ(list({.name_contains = "_", .after = "B"}), (Ids{"b"}));
    EXPECT_EQ(list({.name_contains = "0% d"}), (Ids{"a"}));
    EXPECT_EQ(list({.name_contains = "d_"}), (Ids{}));
    EXPECT_EQ(list({.name_contains = Text(kHostile)}), (Ids{"B"}));
    EXPECT_EQ(list({.name_contains = Text(std::string_view("\0\x01", 2))}), (Ids{"B"}));
}

// Workers come and go; the next leader knows whom to expect.
TEST_P(StoreConformance, WorkersAreKeptUntilTheyAreDeleted) {
    const auto list = [&] {
        const auto rows = Await<Many<Worker>>(
            [&](Done<Many<Worker>> d) { store().ListWorkers(kDefaultPartition, std::move(d)); });
        EXPECT_TRUE(rows) << rows.error().detail;
        return *rows;
    };
    Worker row = make_.MakeWorker("w-1");
    Put({WorkerPut{row}, WorkerPut{make_.MakeWorker("w-2")}});
    ASSERT_EQ(list().size(), 2u);
    EXPECT_EQ(Show(list().at(0)), Show(row));

    row.status = WorkerStatus::kOffline;
    row.labels.clear();
    Put({WorkerPut{row}, WorkerDelete{WorkerId("w-2")}, WorkerDelete{WorkerId("never-was")}});

    ASSERT_EQ(list().size(), 1u);
    EXPECT_EQ(Show(list().at(0)), Show(row));
    ASSERT_EQ(LoadAll().workers.size(), 1u);
    EXPECT_EQ(Show(LoadAll().workers[0]), Show(row));
}

// The strategy is changed, queues are paused, and some of it is taken back.
TEST_P(StoreConformance, SettingsArePutListedByPrefixAndDeletedByAnEmptyValue) {
    const auto list = [&](const Text& prefix) {
        const auto rows = Await<Many<SettingPut>>([&](Done<Many<SettingPut>> d) {
            store().ListSettings(kDefaultPartition, prefix, std::move(d));
        });
        EXPECT_TRUE(rows) << rows.error().detail;
        Ids texts;
        for (const SettingPut& row : *rows) texts.push_back(row.key.str() + "=" + row.value.str());
        std::ranges::sort(texts);
        return texts;
    };
    Put({SettingPut{"queue/a", "paused"}, SettingPut{"queue/b", "paused"},
         SettingPut{"queue%", "odd"}, SettingPut{"strategy", "random"},
         SettingPut{"que\xFF", "bytes"}});
    EXPECT_EQ(list("queue/"), (Ids{"queue/a=paused", "queue/b=paused"}));
    EXPECT_EQ(list("queue%"), (Ids{"queue%=odd"}));
    EXPECT_EQ(list("que\xFF"), (Ids{"que\xFF=bytes"}));
    EXPECT_EQ(list("").size(), 5u);

    Put({SettingPut{"strategy", "sticky"}, SettingPut{"queue/a", ""}, SettingPut{"absent", ""}});

    EXPECT_EQ(list("queue/"), (Ids{"queue/b=paused"}));
    EXPECT_EQ(list("strategy"), (Ids{"strategy=sticky"}));
    EXPECT_EQ(LoadAll().settings.size(), 4u);
}

// Somebody follows the log of a running execution.
TEST_P(StoreConformance, LogChunksAreReadInOrderAfterAnIndex) {
    const ExecutionId id("e-1");
    const auto read = [&](const ExecutionId& of, Serial after, std::size_t limit) {
        const auto rows = Await<Many<LogChunk>>([&](Done<Many<LogChunk>> d) {
            store().ReadLog(kDefaultPartition, of, after, limit, std::move(d));
        });
        EXPECT_TRUE(rows) << rows.error().detail;
        Ids texts;
        for (const LogChunk& row : *rows) texts.push_back(Show(row));
        return texts;
    };
    std::vector<Change> changes;
    Ids chunks;
    // Indexes are serials in life: large, with gaps, and alike in their lower 32 bits.
    const auto index = [](std::uint32_t i) { return (Serial{i} << 32) + 7; };
    for (std::uint32_t i = 1; i <= 12; ++i) {
        const LogChunk chunk{id, index(i), i / 5 + 1, make_.now() + Duration(i),
                             Text("line " + std::to_string(i) + "\n")};
        changes.push_back(LogAppend{chunk});
        chunks.push_back(Show(chunk));
    }
    changes.push_back(LogAppend{LogChunk{ExecutionId("e-10"), 1, 1, make_.now(), "another's\n"}});
    Put(std::move(changes));

    EXPECT_EQ(read(id, 0, 100), chunks);
    EXPECT_EQ(read(id, 0, 2), Ids(chunks.begin(), chunks.begin() + 2));
    EXPECT_EQ(read(id, index(9), 100), Ids(chunks.begin() + 9, chunks.end()));
    EXPECT_EQ(read(id, index(12), 100), Ids{});
    EXPECT_EQ(read(ExecutionId("e"), 0, 100), Ids{});
    EXPECT_EQ(read(ExecutionId("e-10"), 0, 100).size(), 1u);
}

// A browser reconnects to the stream of events and names the last one it has seen.
TEST_P(StoreConformance, EventsAreReadInOrderAfterASerial) {
    const auto read = [&](Serial after, std::size_t limit) {
        const auto rows = Await<Many<Event>>([&](Done<Many<Event>> d) {
            store().ReadEvents(kDefaultPartition, after, limit, std::move(d));
        });
        EXPECT_TRUE(rows) << rows.error().detail;
        Ids texts;
        for (const Event& row : *rows) texts.push_back(Show(row));
        return texts;
    };
    std::vector<Change> changes;
    std::vector<Serial> serials;
    Ids events;
    for (int i = 0; i < kEventTypeCount; ++i) {
        const Event event = make_.MakeEvent(static_cast<EventType>(i));
        changes.push_back(EventAppend{event});
        serials.push_back(event.serial);
        events.push_back(Show(event));
    }
    Put(std::move(changes));

    EXPECT_EQ(read(0, 100), events);
    EXPECT_EQ(read(0, 3), Ids(events.begin(), events.begin() + 3));
    EXPECT_EQ(read(serials[9], 100), Ids(events.begin() + 10, events.end()));
    EXPECT_EQ(read(serials.back(), 100), Ids{});
}

// Retention: history older than it goes, oldest first, so much at a time; the rest stays.
TEST_P(StoreConformance, PurgeDeletesTheOldestAndNoMoreThanItMay) {
    std::vector<Change> changes;
    std::vector<Execution> rows;
    for (int i = 0; i < 6; ++i) {
        const Execution row = Finished(make_.OneOff("e-" + std::to_string(i)));
        rows.push_back(row);
        changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
        changes.push_back(LogAppend{LogChunk{row.id, 1, 1, make_.now(), "line\n"}});
        changes.push_back(LogAppend{LogChunk{row.id, 2, 1, make_.now(), "line\n"}});
        changes.push_back(EventAppend{make_.MakeEvent(EventType::kTaskCompleted)});
        make_.Pass(Duration(60'000));
    }
    const Execution live = make_.OneOff("live");
    changes.push_back(ExecutionChange{Place::kNone, Place::kLive, live});
    Put(std::move(changes));
    const auto log = [&](int i) {
        const ExecutionId id(Text("e-" + std::to_string(i)));
        return Await<Many<LogChunk>>([&](Done<Many<LogChunk>> d) {
                   store().ReadLog(kDefaultPartition, id, 0, 10, std::move(d));
               })
            ->size();
    };
    const auto events = [&] {
        return Await<Many<Event>>([&](Done<Many<Event>> d) {
                   store().ReadEvents(kDefaultPartition, 0, 100, std::move(d));
               })
            ->size();
    };

    Put({Purge{.finished_before = {}, .events_before = {}, .count_max = 100}});
    EXPECT_EQ(ListIds({}).size(), 7u) << "no time given, nothing purged";
    EXPECT_EQ(events(), 6u);

    Put({Purge{rows[4].finished_at, rows[4].created_at, 3}});
    EXPECT_EQ(ListIds({}), (Ids{"live", "e-5", "e-4", "e-3"}));
    EXPECT_EQ(events(), 3u);
    EXPECT_EQ(log(2), 0u);
    EXPECT_EQ(log(3), 2u);
    EXPECT_FALSE(Find(rows[0].id));

    Put({Purge{rows[4].finished_at, rows[4].created_at, 3}});
    EXPECT_EQ(ListIds({}), (Ids{"live", "e-5", "e-4"})) << "the bound itself stays";
    EXPECT_EQ(events(), 2u);

    // A purged id is free again.
    Execution again = make_.OneOff("e-0");
    Insert(again);
    EXPECT_EQ(Show(*Find(again.id)), Show(again));
}

// A leader whose clock was an hour ahead ended more than a purge looks at, and then led no more. What
// others end by the right clock is purged in its time, not when that hour is over; then the rest is.
TEST_P(StoreConformance, WhatEndedUnderAClockThatWasAheadHoldsNothingUp) {
    const Time begin = make_.now();
    const auto end = [&](std::string_view name, std::size_t count, Duration ahead) {
        make_.Pass(Duration(60'000));
        std::vector<Change> begun, ended;
        for (std::size_t i = 0; i < count; ++i) {
            const Execution row = make_.OneOff(std::string(name) + "-" + std::to_string(i));
            Execution done = Finished(row);
            done.finished_at += ahead;
            begun.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
            ended.push_back(ExecutionChange{Place::kLive, Place::kHistory, done});
        }
        Put(std::move(begun));
        Put(std::move(ended));
        make_.Pass(Duration(60'000));
    };
    const auto purge = [&](Time before) {
        Put({Purge{.finished_before = before,
                   .count_max = static_cast<std::uint32_t>(store().limits().purge_max)}});
    };
    const Duration hour{3'600'000};
    end("first", 10, Duration(0));
    ResignIn(kDefaultPartition);
    end("ahead", 1'600, hour);
    const Time back = make_.now();
    ResignIn(kDefaultPartition);

    end("right", 20, Duration(0));
    purge(make_.now());
    EXPECT_EQ(ListIds({.created_from = back}), Ids{});
    end("later", 20, Duration(0));
    EXPECT_EQ(ListIds({.created_from = back}).size(), 20u);
    purge(make_.now());
    EXPECT_EQ(ListIds({.created_from = back}), Ids{}) << "of the same term";
    ResignIn(kDefaultPartition);
    end("next", 20, Duration(0));
    purge(make_.now());
    EXPECT_EQ(ListIds({.created_from = back}), Ids{}) << "of the term after it";
    EXPECT_FALSE(Find(ExecutionId("first-0"))) << "what ended before all of them";
    EXPECT_EQ(ListIds({.created_to = back, .limit = 1'000}).size(), 1'000u);
    EXPECT_TRUE(Find(ExecutionId("ahead-0")));
    EXPECT_TRUE(Find(ExecutionId("ahead-1599")));

    end("last", 20, Duration(0));
    for (int i = 0; i < 4; ++i) purge(begin + 2 * hour);
    EXPECT_EQ(ListIds({}), Ids{});
}

// Names, payloads, keys and results are bytes that users chose.
TEST_P(StoreConformance, HostileTextsComeBackAsTheyWere) {
    Execution row = make_.Fire("t-1", "e-1");
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId("t-1");
    task->name = Text(kHostile);
    task->type = Text(kHostile);
    task->queue = Text(kHostile);
    task->payload = Text(kHostile);
    row.task = task;
    row.payload = Text(kHostile);
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->message = Text(kHostile);
    outcome->data = Text(kHostile);
    row.outcome = outcome;
    const SettingPut setting{Text(kHostile), Text(kHostile)};
    const LogChunk chunk{row.id, 1, 1, make_.now(), Text(kHostile + "\n")};
    Put({ExecutionChange{Place::kNone, Place::kLive, row}, setting, LogAppend{chunk}});

    EXPECT_EQ(Show(*Find(row.id)), Show(row));
    EXPECT_EQ(Show(LoadAll().executions.at(0)), Show(row));
    EXPECT_EQ(ListIds({.type = Text(kHostile), .queue = Text(kHostile)}), Ids{"e-1"});
    ASSERT_EQ(LoadAll().settings.size(), 1u);
    EXPECT_EQ(LoadAll().settings[0].key.view(), kHostile);
    EXPECT_EQ(LoadAll().settings[0].value.view(), kHostile);
    const auto log = Await<Many<LogChunk>>([&](Done<Many<LogChunk>> d) {
        store().ReadLog(kDefaultPartition, row.id, 0, 10, std::move(d));
    });
    ASSERT_EQ(log->size(), 1u);
    EXPECT_EQ(Show(log->at(0)), Show(chunk));

    const Execution done = Finished(row);
    Put({ExecutionChange{Place::kLive, Place::kHistory, done}});
    EXPECT_EQ(Show(*Find(row.id)), Show(done));
    EXPECT_EQ(ListIds({.type = Text(kHostile), .queue = Text(kHostile)}), Ids{"e-1"});
}

// The largest payload that the scheduler accepts.
TEST_P(StoreConformance, APayloadOfAMegabyteComesBackWhole) {
    std::string payload(1 << 20, '\0');
    for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<char>(i * 31 + i / 251);
    Execution row = make_.Fire("t-1", "e-1");
    row.payload = Text(payload);

    Insert(row);
    EXPECT_TRUE(Find(row.id)->payload.view() == payload);
    EXPECT_TRUE(LoadAll().executions.at(0).payload.view() == payload);

    Put({ExecutionChange{Place::kLive, Place::kLive, Running(Scheduled(row, "w-1"))}});
    EXPECT_TRUE(Find(row.id)->payload.view() == payload);

    Put({ExecutionChange{Place::kLive, Place::kHistory, Finished(row)}});
    EXPECT_TRUE(List({}).at(0).payload.view() == payload);
}

}  // namespace takt::internal::conformance
