// Commits: atomic, fenced, durable, applied once, visible at once.
#include "store/conformance/suite.h"

namespace takt::internal::conformance {

// A user polls for the task right after it was accepted.
TEST_P(StoreConformance, AReadAfterACommitSeesWhatItWrote) {
    for (int i = 0; i < 20; ++i) {
        const Execution row = make_.OneOff("e-" + std::to_string(i));
        Insert(row);
        const std::optional<Execution> found = Find(row.id);
        ASSERT_TRUE(found);
        EXPECT_EQ(Show(*found), Show(row));
        EXPECT_EQ(ListIds({.limit = 1}), std::vector{"e-" + std::to_string(i)});
    }
}

// A leader that was paused wakes up after its term and writes what it had decided. The store, not
// the clock of either node, must turn it away.
TEST_P(StoreConformance, CommitOfAnOlderTermIsRefused) {
    const Result<Term> first = Acquire("node-a", GetParam().ttl_min);
    ASSERT_TRUE(first);
    const Execution row = make_.OneOff("e-1");
    ASSERT_TRUE(Commit(*first, 1, {ExecutionChange{Place::kNone, Place::kLive, row}}));
    LetTtlRunOut();
    const Result<Term> second = Acquire("node-b");
    ASSERT_TRUE(second) << second.error().detail;
    const Execution running = Running(Scheduled(row, "w-1"));
    ASSERT_TRUE(Commit(*second, 1, {ExecutionChange{Place::kLive, Place::kLive, running}}));

    const Result<void> late = Commit(
        *first, 2,
        {ExecutionChange{Place::kLive, Place::kHistory, Finished(row)}, SettingPut{"late", "yes"}});

    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_EQ(Show(*Find(row.id)), Show(running));
    EXPECT_TRUE(LoadAll().settings.empty());
}

// The last batch of the old leader was on the wire when the new leader was elected. That it was
// sent first, or sent before without an answer, gives it no right.
TEST_P(StoreConformance, ABatchRepeatedAfterANewTermIsRefused) {
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);
    ASSERT_TRUE(Commit(*first, 1, {SettingPut{"strategy", "random"}}));
    const Result<Term> second = Acquire("node-a");
    ASSERT_TRUE(second);
    ASSERT_TRUE(Commit(*second, 1, {SettingPut{"strategy", "sticky"}}));

    const Result<void> late = Commit(*first, 1, {SettingPut{"strategy", "random"}});

    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_EQ(LoadAll().settings.at(0).value.view(), "sticky");
}

// Somebody makes up a term: the right epoch, but not the nonce.
TEST_P(StoreConformance, CommitWithAnotherNonceIsRefused) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term);
    Term forged = *term;
    ++forged.nonce;

    const Result<void> done = Commit(forged, 1, {SettingPut{"key", "value"}});

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kFenced);
    EXPECT_TRUE(LoadAll().settings.empty());
}

// The answer to a commit was lost, and the node sends the very same batch again.
TEST_P(StoreConformance, ARepeatedBatchChangesNothingAndSucceeds) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term);
    const Execution row = make_.OneOff("e-1");
    const std::vector<Change> insert = {ExecutionChange{Place::kNone, Place::kLive, row}};
    ASSERT_TRUE(Commit(*term, 1, insert));
    EXPECT_TRUE(Commit(*term, 1, insert));

    const Execution done = Finished(Scheduled(row, "w-1"));
    const std::vector<Change> finish = {ExecutionChange{Place::kLive, Place::kHistory, done}};
    ASSERT_TRUE(Commit(*term, 2, finish));
    EXPECT_TRUE(Commit(*term, 2, finish));
    EXPECT_TRUE(Commit(*term, 1, insert)) << "a late copy of an even earlier batch";

    EXPECT_EQ(Show(*Find(row.id)), Show(done));
    EXPECT_EQ(ListIds({}).size(), 1u);
    EXPECT_TRUE(LoadAll().executions.empty());
}

// The database crashes between applying a batch and answering; the node repeats it afterwards.
TEST_P(StoreConformance, ABatchRepeatedAcrossACrashIsAppliedOnce) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term);
    const Execution row = make_.OneOff("e-1");
    const std::vector<Change> insert = {ExecutionChange{Place::kNone, Place::kLive, row}};
    ASSERT_TRUE(Commit(*term, 1, insert));

    Crash();
    const Result<void> again = Commit(*term, 1, insert);

    // A store may end a term in a crash, but may not take the batch for a new one.
    if (!again) EXPECT_EQ(again.error().code, ErrorCode::kFenced) << again.error().detail;
    EXPECT_EQ(Show(*Find(row.id)), Show(row));
    EXPECT_EQ(ListIds({}).size(), 1u);
}

// With several commits under way the first is not applied: the second must not overtake it.
TEST_P(StoreConformance, ABatchWhoseForerunnerIsMissingIsNotApplied) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term);

    const Result<void> early = Commit(*term, 2, {SettingPut{"second", "2"}});

    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(LoadAll().settings.empty());
    EXPECT_TRUE(Commit(*term, 1, {SettingPut{"first", "1"}}));
    EXPECT_TRUE(Commit(*term, 2, {SettingPut{"second", "2"}}));
    EXPECT_EQ(LoadAll().settings.size(), 2u);
}

// Commits are pipelined: the node does not wait for one before it sends the next.
TEST_P(StoreConformance, PipelinedCommitsAreAppliedInOrder) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term);
    const std::size_t depth = store().limits().pipeline_max;
    ASSERT_GE(depth, 1u);
    std::vector<std::future<Result<void>>> answers;
    for (std::size_t round = 0; round < 5; ++round) {
        answers.clear();
        for (std::size_t i = 0; i < depth; ++i) {
            const std::uint64_t sequence = round * depth + i + 1;
            answers.push_back(BeginAsk<void>([&](Done<void> done) {
                store().Commit(
                    std::make_shared<const Batch>(Batch{
                        *term, sequence, 0, {SettingPut{"last", Text(std::to_string(sequence))}}}),
                    std::move(done));
            }));
        }
        for (auto& answer : answers) {
            ASSERT_EQ(answer.wait_for(kAnswerMax), std::future_status::ready);
            const Result<void> done = answer.get();
            EXPECT_TRUE(done) << done.error().detail;
        }
    }
    EXPECT_EQ(LoadAll().settings.at(0).value.view(), std::to_string(5 * depth));
}

// The power fails right after a submit was answered.
TEST_P(StoreConformance, WhatWasCommittedSurvivesACrash) {
    const Execution live = make_.OneOff("live");
    const Execution done = Finished(Scheduled(make_.OneOff("done"), "w-1"));
    const TaskRow task = make_.Recurring("t-1");
    const Worker worker = make_.MakeWorker("w-1");
    const Event event = make_.MakeEvent(EventType::kTaskSubmitted);
    const LogChunk chunk{done.id, 1, 1, make_.now(), "a line\n"};
    Put({ExecutionChange{Place::kNone, Place::kLive, live},
         ExecutionChange{Place::kNone, Place::kHistory, done}, TaskPut{task}, WorkerPut{worker},
         SettingPut{"strategy", "sticky"}, EventAppend{event}, LogAppend{chunk}});

    Crash();

    const Loaded all = LoadAll();
    ASSERT_EQ(all.executions.size(), 1u);
    EXPECT_EQ(Show(all.executions[0]), Show(live));
    EXPECT_EQ(Show(*Find(done.id)), Show(done));
    ASSERT_EQ(all.tasks.size(), 1u);
    EXPECT_EQ(Show(all.tasks[0]), Show(task));
    ASSERT_EQ(all.workers.size(), 1u);
    EXPECT_EQ(Show(all.workers[0]), Show(worker));
    ASSERT_EQ(all.settings.size(), 1u);
    EXPECT_EQ(all.settings[0].value.view(), "sticky");
    EXPECT_EQ(all.last_serial, make_.last_serial());
    const auto events = Await<std::vector<Event>>([&](Done<std::vector<Event>> d) {
        store().ReadEvents(kDefaultPartition, 0, 10, std::move(d));
    });
    ASSERT_TRUE(events && events->size() == 1);
    EXPECT_EQ(Show(events->at(0)), Show(event));
    const auto log = Await<std::vector<LogChunk>>([&](Done<std::vector<LogChunk>> d) {
        store().ReadLog(kDefaultPartition, done.id, 0, 10, std::move(d));
    });
    ASSERT_TRUE(log && log->size() == 1);
    EXPECT_EQ(Show(log->at(0)), Show(chunk));
}

// A batch in which one change cannot be: none of the others may be seen, now or after a crash.
// Inserting an id twice is our own bug; a store that does not notice (it need not look) must still
// not end up with half a batch.
TEST_P(StoreConformance, ABatchIsAppliedWholeOrNotAtAll) {
    const Execution row = make_.OneOff("e-1");
    Insert(row);
    Execution twin = make_.OneOff("e-1");
    const Execution other = make_.OneOff("e-2");

    const std::uint64_t sequence = NextSequence();
    const Result<void> done =
        Commit(term(), sequence,
               {SettingPut{"first", "1"}, ExecutionChange{Place::kNone, Place::kLive, other},
                ExecutionChange{Place::kNone, Place::kLive, twin}, SettingPut{"last", "2"}});
    // The sequence is a part of the batch, too: one that was refused has not used it up.
    if (!done) {
        const Result<void> next = Commit(term(), sequence, {SettingPut{"next", "3"}});
        EXPECT_TRUE(next) << next.error().detail;
    }
    Crash();

    std::vector<std::string> settings;
    for (const SettingPut& setting : LoadAll().settings) settings.push_back(setting.key.str());
    EXPECT_EQ(settings, done ? (std::vector<std::string>{"first", "last"})
                             : std::vector<std::string>{"next"});
    EXPECT_EQ(Find(other.id).has_value(), done.has_value());
    EXPECT_TRUE(Find(row.id));
}

// The serials of a new leader must be above all that were handed out before, also if the rows that
// had them are gone.
TEST_P(StoreConformance, LoadReturnsTheHighestSerialEverHandedOut) {
    EXPECT_EQ(LoadAll().last_serial, 0u);
    const Result<Term> first = Acquire("node-a");
    ASSERT_TRUE(first);
    ASSERT_TRUE(Commit(*first, 1, {}, 1000));
    ASSERT_TRUE(Commit(*first, 2, {}, 500)) << "a lower value must not lower it";
    EXPECT_EQ(LoadAll().last_serial, 1000u);

    const Result<Term> second = Acquire("node-a");
    ASSERT_TRUE(second);
    EXPECT_EQ(LoadAll().last_serial, 1000u);
    ASSERT_TRUE(Commit(*second, 1, {}, 2000));
    ASSERT_TRUE(Resign(*second));

    EXPECT_EQ(LoadAll().last_serial, 2000u);
}

// A store is closed while requests wait for it: each gets its answer.
TEST_P(StoreConformance, ClosingAnswersEveryOperation) {
    term();
    constexpr int kReads = 200;
    std::vector<std::future<Result<std::vector<Execution>>>> answers;
    for (int i = 0; i < kReads; ++i) {
        answers.push_back(BeginAsk<std::vector<Execution>>(
            [&](auto done) { store().ListExecutions({}, std::move(done)); }));
    }

    Reopen();

    for (auto& answer : answers) {
        ASSERT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
        const auto rows = answer.get();
        if (!rows) EXPECT_EQ(rows.error().code, ErrorCode::kCancelled) << rows.error().detail;
    }
}

}  // namespace takt::internal::conformance
