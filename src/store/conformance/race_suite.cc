// Things that happen at once: two schedulers with a handle each, a crash in the middle of a pipeline,
// readers beside a writer, and the largest batches that a store says it takes.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <set>

#include "store/conformance/suite.h"
#include "store/lead.h"
#include "store/list_page.h"

namespace takt::internal::conformance {
namespace {

Text Numbered(std::uint64_t number) {
    return Text(std::to_string(number));
}

// A batch whose parts tell that it is whole: an execution of its own, and its number in two settings.
BatchPtr Whole(const Term& term, std::uint64_t sequence, const Execution& row) {
    return std::make_shared<const Batch>(Batch{
        term,
        sequence,
        row.serial,
        {SettingPut{"first", Numbered(sequence)}, ExecutionChange{Place::kNone, Place::kLive, row},
         SettingPut{"second", Numbered(sequence)}}});
}

// How many of such batches were applied. Fails if one of them is not whole, or one before it missing.
std::uint64_t CountWhole(const LoadPage& page) {
    std::map<std::string, std::string> settings;
    for (const SettingPut& setting : page.settings) {
        settings[setting.key.str()] = setting.value.str();
    }
    EXPECT_EQ(settings["first"], settings["second"]) << "half of a batch";
    EXPECT_EQ(std::to_string(page.executions.size()),
              settings["first"].empty() ? "0" : settings["first"])
        << "the rows are no prefix of what was sent";
    for (std::size_t i = 0; i < page.executions.size(); ++i) {
        EXPECT_EQ(page.executions[i].id.view(), "e-" + std::to_string(i + 1));
    }
    return page.executions.size();
}

// Settings and executions, of all pages, as a handle of another process sees them.
LoadPage LoadBy(Store& store) {
    LoadPage all;
    do {
        auto page = Await<LoadPage>(
            [&](auto done) { store.Load(kDefaultPartition, all.next, std::move(done)); });
        EXPECT_TRUE(page) << page.error().detail;
        if (!page) break;
        std::ranges::move(page->settings, std::back_inserter(all.settings));
        std::ranges::move(page->executions, std::back_inserter(all.executions));
        all.next = page->next;
    } while (!all.next.empty());
    return all;
}

// Keeps the pipeline of a store full: each batch is sent when one before it is answered, until one is
// refused, or there are no more, or it is stopped.
class FullPipeline {
  public:
    // `make` gives the batch of a number, from 1 on.
    FullPipeline(Store& store, std::uint64_t batches_max,
                 std::function<BatchPtr(std::uint64_t)> make)
        : store_(store), batches_max_(batches_max), make_(std::move(make)) {}

    void Start() {
        for (std::size_t i = 0; i < store_.limits().pipeline_max; ++i) Send();
    }
    // How many are acknowledged, when there are that many or nothing comes any more.
    std::uint64_t AwaitAcknowledged(std::uint64_t count) {
        std::unique_lock lock(mutex_);
        answered_.wait_for(lock, kAnswerMax, [&] { return acknowledged_ >= count; });
        return acknowledged_;
    }
    // Nothing more is given to the store.
    void Stop() {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    // Whether all that was sent is answered.
    bool AwaitEnd() {
        std::unique_lock lock(mutex_);
        return answered_.wait_for(
            lock, kAnswerMax, [&] { return under_way_ == 0 && (over_ || sent_ == batches_max_); });
    }
    std::uint64_t sent() const { return sent_; }
    std::uint64_t acknowledged() const { return acknowledged_; }
    const std::optional<Error>& refusal() const { return refusal_; }  // The first.

  private:
    void Send() {
        // Held until it is sent: they go in the order of their numbers.
        const std::lock_guard lock(mutex_);
        if (over_ || sent_ == batches_max_) return;
        ++under_way_;
        store_.Commit(make_(++sent_), [this](const Result<void>& result) {
            Note(result);
            Send();
        });
    }
    void Note(const Result<void>& result) {
        const std::lock_guard lock(mutex_);
        --under_way_;
        if (result) {
            ++acknowledged_;
        } else {
            over_ = true;
            if (!refusal_) refusal_ = result.error();
        }
        answered_.notify_all();
    }

    Store& store_;
    const std::uint64_t batches_max_;
    const std::function<BatchPtr(std::uint64_t)> make_;
    std::mutex mutex_;
    std::condition_variable answered_;
    std::uint64_t sent_ = 0;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t under_way_ = 0;
    bool over_ = false;
    std::optional<Error> refusal_;
};

}  // namespace

// The scheduler's own handle and that of another one, in another process, of the same database.
TEST_P(StoreConformance, TwoHandlesAreOneDatabase) {
    auto other = database().Open();
    if (!GetParam().handles_many) {
        ASSERT_FALSE(other) << "a second process writes to the same files";
        return;
    }
    ASSERT_TRUE(other) << other.error().detail;
    for (int i = 0; i < 20; ++i) {
        const Execution row = make_.OneOff("e-" + std::to_string(i));
        Insert(row);
        using Rows = std::vector<std::optional<Execution>>;
        const auto found = Await<Rows>([&](Done<Rows> done) {
            (*other)->FindExecutions(kDefaultPartition, {row.id}, std::move(done));
        });
        ASSERT_TRUE(found) << found.error().detail;
        ASSERT_TRUE(found->at(0)) << "a read that begins after the commit does not see it";
        EXPECT_EQ(Show(*found->at(0)), Show(row));
    }

    // The first is withdrawn; the other leads, and the first finds that out when it writes.
    const Term lost = term();
    ASSERT_TRUE(Announce("node-a", Duration(0)));
    const Result<Term> taken = TakeLead(**other, {.node = {.node = NodeId("node-b")}});
    ASSERT_TRUE(taken) << taken.error().detail;
    const Result<void> late = Commit(lost, NextSequence(), {SettingPut{"late", "yes"}});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kFenced);
    EXPECT_TRUE(LoadBy(**other).settings.empty());
}

// A leader is taken for dead while its pipeline is full. The new one has its own connection, and what
// it loads must be all that there will ever be of the old term: a prefix of what that one sent.
TEST_P(StoreConformance, WhatANewLeaderLoadsIsAllThatTheOldOneWrote) {
    if (!GetParam().handles_many) return;  // TwoHandlesAreOneDatabase shows that there is no other.
    auto other = database().Open();
    ASSERT_TRUE(other) << other.error().detail;
    const Term old = term();
    // It writes until it is told that its term is over, which the fastest store does sooner.
    FullPipeline pipeline(store(), 20'000, [&](std::uint64_t i) {
        return Whole(old, i, make_.OneOff("e-" + std::to_string(i)));
    });
    pipeline.Start();
    ASSERT_TRUE(Announce("node-a", Duration(0)));
    const Result<Term> taken = TakeLead(**other, {.node = {.node = NodeId("node-b")}});
    ASSERT_TRUE(taken) << taken.error().detail;

    const std::uint64_t applied = CountWhole(LoadBy(**other));

    ASSERT_TRUE(pipeline.AwaitEnd()) << "a commit was never answered, or the old term goes on";
    EXPECT_LE(pipeline.acknowledged(), applied) << "was acknowledged and is not there";
    EXPECT_EQ(CountWhole(LoadAll()), applied) << "something was applied after the new term began";
    ASSERT_TRUE(pipeline.refusal()) << "the old leader was never told";
    EXPECT_EQ(pipeline.refusal()->code, ErrorCode::kFenced) << pipeline.refusal()->detail;
}

// The database dies with commits under way. What is there afterwards is a prefix of what was sent, with
// all that was acknowledged, and the leader that repeats the rest ends up with each of them once.
TEST_P(StoreConformance, ACrashInTheMiddleOfAPipelineLeavesAPrefix) {
    constexpr std::uint64_t kBatches = 300;  // More than are written until the crash.
    const Term now = term();
    std::vector<BatchPtr> batches;
    for (std::uint64_t i = 1; i <= kBatches; ++i) {
        batches.push_back(Whole(now, i, make_.OneOff("e-" + std::to_string(i))));
    }
    FullPipeline pipeline(store(), kBatches, [&](std::uint64_t i) { return batches[i - 1]; });
    pipeline.Start();
    const std::uint64_t acknowledged = pipeline.AwaitAcknowledged(kBatches / 10);
    // The handle of some backends goes with the crash: nothing more is given to it.
    pipeline.Stop();
    EXPECT_GE(acknowledged, kBatches / 10);

    Crash();

    ASSERT_TRUE(pipeline.AwaitEnd()) << "a commit was never answered";
    const std::uint64_t applied = CountWhole(LoadAll());
    EXPECT_GE(applied, acknowledged) << "acknowledged, and lost in the crash";
    EXPECT_LE(applied, pipeline.sent());
    for (std::uint64_t i = acknowledged; i < pipeline.sent(); ++i) {
        const Result<void> again =
            Await<void>([&](Done<void> done) { store().Commit(batches[i], std::move(done)); });
        // A store may end a term in a crash; then what it has is what it had.
        if (!again) {
            EXPECT_EQ(again.error().code, ErrorCode::kFenced) << again.error().detail;
            EXPECT_EQ(CountWhole(LoadAll()), applied);
            return;
        }
    }
    EXPECT_EQ(CountWhole(LoadAll()), pipeline.sent());
}

// Others read while the leader writes: one answer never shows a part of a batch without the rest.
TEST_P(StoreConformance, AReaderSeesWholeBatches) {
    Execution one = make_.OneOff("e-1");
    Execution two = make_.OneOff("e-2");
    Put({SettingPut{"pair/first", "0"}, SettingPut{"pair/second", "0"},
         ExecutionChange{Place::kNone, Place::kLive, one},
         ExecutionChange{Place::kNone, Place::kLive, two}});
    const Term now = term();
    std::atomic<bool> stop = false;
    std::atomic<int> torn_settings = 0;
    std::atomic<int> torn_rows = 0;
    std::atomic<int> torn_lists = 0;
    std::vector<std::thread> readers;
    readers.emplace_back([&] {
        using Rows = std::vector<SettingPut>;
        while (!stop) {
            const auto rows = Await<Rows>([&](Done<Rows> done) {
                store().ListSettings(kDefaultPartition, "pair/", std::move(done));
            });
            if (!rows || rows->size() != 2 || rows->at(0).value != rows->at(1).value) {
                ++torn_settings;
            }
        }
    });
    readers.emplace_back([&] {
        using Rows = std::vector<std::optional<Execution>>;
        while (!stop) {
            const auto rows = Await<Rows>([&](Done<Rows> done) {
                store().FindExecutions(kDefaultPartition, {one.id, two.id}, std::move(done));
            });
            const bool whole =
                rows && rows->at(0) && rows->at(1) && rows->at(0)->attempt == rows->at(1)->attempt;
            if (!whole) ++torn_rows;
        }
    });
    readers.emplace_back([&] {
        while (!stop) {
            const std::vector<Execution> rows = List({});
            if (rows.size() != 2 || rows[0].attempt != rows[1].attempt) ++torn_lists;
        }
    });
    for (std::uint32_t i = 1; i <= 200; ++i) {
        one.attempt = two.attempt = i;
        const Result<void> done = Commit(now, NextSequence(),
                                         {SettingPut{"pair/first", Numbered(i)},
                                          ExecutionChange{Place::kLive, Place::kLive, one},
                                          ExecutionChange{Place::kLive, Place::kLive, two},
                                          SettingPut{"pair/second", Numbered(i)}});
        EXPECT_TRUE(done) << done.error().detail;
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();

    EXPECT_EQ(torn_settings, 0);
    EXPECT_EQ(torn_rows, 0);
    EXPECT_EQ(torn_lists, 0);
}

// A busy leader fills its batches to the brim: as many changes as the store says, and as many bytes.
TEST_P(StoreConformance, ABatchMayHaveAsMuchAsTheLimitsSay) {
    const StoreLimits limits = store().limits();
    std::vector<Change> made;
    std::vector<Change> ended;
    for (std::size_t i = 0; i < limits.changes_max; ++i) {
        const Execution row = make_.OneOff("e-" + std::to_string(i));
        made.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
        ended.push_back(ExecutionChange{Place::kLive, Place::kHistory, Finished(row)});
    }
    const auto commit = [&](std::vector<Change> changes) {
        const Result<void> done =
            Commit(term(), NextSequence(), std::move(changes), make_.last_serial());
        ASSERT_TRUE(done) << done.error().detail;
    };
    commit(std::move(made));
    EXPECT_EQ(LoadAll().executions.size(), limits.changes_max);
    commit(std::move(ended));
    EXPECT_TRUE(LoadAll().executions.empty());
    make_.Pass(Duration(3'600'000));
    for (std::size_t left = limits.changes_max; left > 0;) {
        commit({Purge{make_.now(), {}, std::uint32_t(limits.purge_max)}});
        left -= std::min(left, limits.purge_max);
    }
    EXPECT_TRUE(ListIds({}).empty());

    std::vector<Change> large;
    std::size_t bytes = 0;
    for (int i = 0; large.size() < limits.changes_max; ++i) {
        Execution row = make_.OneOff("large-" + std::to_string(i));
        row.payload = Text(std::string(100'000, static_cast<char>('a' + i % 26)));
        Change change = ExecutionChange{Place::kNone, Place::kLive, row};
        if (bytes + SizeOf(change) > limits.bytes_max) break;
        bytes += SizeOf(change);
        large.push_back(std::move(change));
    }
    const std::size_t many = large.size();
    ASSERT_GT(many, 0u);
    commit(std::move(large));
    EXPECT_EQ(LoadAll().executions.size(), many);
}

// Somebody pages through a long history while the leader cleans it away from its other end. Rows that
// are not old enough are in every list, in order, once.
TEST_P(StoreConformance, AListBesideAPurgeMissesNothingThatStays) {
    constexpr std::size_t kOld = 300;
    constexpr std::size_t kNew = 40;
    std::vector<Change> rows;
    for (std::size_t i = 0; i < kOld; ++i) {
        const Execution row = make_.OneOff("old-" + std::to_string(i));
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, Finished(row)});
    }
    Put(std::move(rows));
    make_.Pass(Duration(3'600'000));
    const Time old_before = make_.now();
    std::vector<std::string> expected;
    rows = {};
    for (std::size_t i = 0; i < kNew; ++i) {
        const Execution row = make_.OneOff("new-" + std::to_string(i));
        expected.insert(expected.begin(), row.id.text().str());
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, Finished(row)});
    }
    Put(std::move(rows));
    const Term now = term();

    std::atomic<bool> stop = false;
    std::promise<void> listed;  // Once, from one end to the other.
    std::string wrong;
    std::thread reader([&] {
        for (int lists = 0; !stop && wrong.empty(); ++lists) {
            std::vector<std::string> kept;
            std::set<std::string> seen;
            ExecutionFilter filter{.limit = 25};
            for (bool more = true; more;) {
                const std::vector<Execution> page = List(filter);
                if (page.empty()) break;
                for (const Execution& row : page) {
                    const std::string id = row.id.text().str();
                    if (!seen.insert(id).second) wrong = id + " came twice";
                    if (filter.before != 0 && row.serial >= filter.before) wrong = id + " is late";
                    if (id.starts_with("new-")) kept.push_back(id);
                }
                filter.before = page.back().serial;
                more = MoreMayFollow(filter, page);
            }
            if (kept != expected) {
                wrong = "a list has " + std::to_string(kept.size()) + " of those that stay";
            }
            if (lists == 0) listed.set_value();
        }
    });
    listed.get_future().wait();
    // More than there are old ones: a purge that only counts would go on with those that stay.
    for (std::size_t i = 0; i < kOld + kNew; i += 10) {
        const Result<void> done = Commit(now, NextSequence(), {Purge{old_before, {}, 10}});
        EXPECT_TRUE(done) << done.error().detail;
    }
    stop = true;
    reader.join();

    EXPECT_EQ(wrong, "");
    EXPECT_EQ(ListIds({.limit = 1000}), expected);
}

}  // namespace takt::internal::conformance
