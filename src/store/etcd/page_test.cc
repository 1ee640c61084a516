// Pages: what shares a key, and what gets one of its own.
#include "store/etcd/page.h"

#include <algorithm>
#include <future>

#include "store/etcd/limits.h"
#include "store/etcd/page_fixture.h"

namespace takt::internal::etcd {
namespace {

TEST(EtcdPage, ReadsWhatItWrote) {
    const PageRows page{900, {{500, SerialText(500), "a"}, {700, "chosen", "b"}}};
    const Result<PageRows> read = DecodePage(400, EncodePage(400, page));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->last, 900u);
    ASSERT_EQ(read->rows.size(), 2u);
    EXPECT_EQ(read->rows[0].id, SerialText(500));
    EXPECT_EQ(FindRow(read->rows, 700)->id, "chosen");
    EXPECT_EQ(FindRow(read->rows, 700)->value, "b");
    EXPECT_EQ(FindRow(read->rows, 600), nullptr);
    EXPECT_FALSE(DecodePage(400, "not a page"));
    EXPECT_FALSE(DecodePage(400, EncodePage(400, {600, page.rows}))) << "beyond its end";
    EXPECT_FALSE(DecodePage(400, EncodePage(400, {900, {page.rows[1], page.rows[0]}})));
}

TEST_F(EtcdPageTest, ExecutionsThatComeTogetherShareTheirKeys) {
    std::vector<Execution> rows = Insert(100);
    const std::size_t pages = KeysUnder("0/pages/live/");
    EXPECT_LE(pages, 10u);
    EXPECT_EQ(KeysUnder("0/live/"), 0u);

    const Execution last = rows.back();
    rows.pop_back();
    Finish(rows);
    EXPECT_EQ(KeysUnder("0/pages/live/"), 1u);
    EXPECT_EQ(KeysUnder("0/pages/history/"), pages);
    EXPECT_EQ(KeysUnder("0/history/"), 0u);
    EXPECT_EQ(Found(last.id), Show(last));
    EXPECT_EQ(Found(rows[50].id), Show(conformance::Finished(rows[50])));
}

// A batch of a hundred, of which one waits for a year: nothing of the others stays with it.
TEST_F(EtcdPageTest, OneThatWaitsKeepsNothingOfTheOthers) {
    std::vector<Execution> rows = Insert(100);
    Execution waits = rows[40];
    rows.erase(rows.begin() + 40);
    Finish(rows);
    PurgeAll();
    EXPECT_EQ(KeysUnder("0/pages/history/"), 0u);
    EXPECT_EQ(KeysUnder("0/packs/"), 0u);
    EXPECT_EQ(KeysUnder("0/pages/live/"), 1u);
    const auto value =
        server_->Ctl({"get", "--prefix", "--print-value-only", "/takt/0/pages/live/"});
    EXPECT_LT(value->size(), 700u) << "it alone";

    waits = Update(conformance::Retrying(conformance::Scheduled(waits, "w-1")));
    EXPECT_EQ(Found(waits.id), Show(waits));
    Finish({waits});
    PurgeAll();
    EXPECT_EQ(KeysUnder("0/pages/"), 0u);
    EXPECT_EQ(Found(waits.id), "none");
}

// Its page would be written whole with each step of the others.
TEST_F(EtcdPageTest, OneThatGrowsGetsAKeyOfItsOwn) {
    const std::vector<Execution> rows = Insert(10);
    Execution large = conformance::Running(conformance::Scheduled(rows[3], "w-1"));
    large.progress = Noise(1500);
    Update(large);
    EXPECT_EQ(KeysUnder("0/live/"), 1u);
    EXPECT_EQ(Found(large.id), Show(large));
    EXPECT_EQ(Loaded().size(), 10u);
    Finish({large});
    EXPECT_EQ(KeysUnder("0/live/"), 0u);
    EXPECT_EQ(KeysUnder("0/history/"), 1u);
    EXPECT_EQ(Found(large.id), Show(conformance::Finished(large)));
}

// All of a page grow until there is no room: the later ones move out, and each is in one place.
TEST_F(EtcdPageTest, OnesThatFindNoRoomInTheirPageMoveOut) {
    std::vector<Execution> rows = Insert(12);
    for (Execution& row : rows) {
        row = conformance::Running(conformance::Scheduled(row, "w-1"));
        row.progress = Noise(400);
        Update(row);
    }
    EXPECT_GT(KeysUnder("0/live/"), 0u);
    EXPECT_LT(KeysUnder("0/live/"), rows.size());
    EXPECT_EQ(Loaded().size(), rows.size());
    for (const Execution& row : rows) EXPECT_EQ(Found(row.id), Show(row));
    Finish(rows);
    EXPECT_EQ(Loaded().size(), 0u);
    EXPECT_EQ(List({})->size(), rows.size());
    PurgeAll();
    EXPECT_EQ(KeysUnder("0/pages/") + KeysUnder("0/history/") + KeysUnder("0/packs/"), 0u);
}

// It is inserted and changed by batches that go together. What is known of it then is that its page
// has it, also when the page is remembered no more.
TEST_F(EtcdPageTest, OneThatIsRedrivenSoonIsInOnePlace) {
    Execution row = make_.OneOff("t");
    row.id = ExecutionId(Text(SerialText(row.serial)));
    Execution scheduled = conformance::Scheduled(row, "w-1");
    std::vector<std::vector<Change>> all = {
        {SettingPut{"a", "1"}},  // The next two wait for it.
        {ExecutionChange{Place::kNone, Place::kLive, row}},
        {ExecutionChange{Place::kLive, Place::kLive, scheduled}}};
    std::vector<std::promise<Result<void>>> answers(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto batch = std::make_shared<const Batch>(
            Batch{term_, ++sequence_, make_.last_serial(), std::move(all[i])});
        store_->Commit(batch,
                       [&answers, i](Result<void> done) { answers[i].set_value(std::move(done)); });
    }
    for (auto& answer : answers) ASSERT_TRUE(answer.get_future().get());

    Finish({scheduled});
    EXPECT_EQ(KeysUnder("0/pages/history/"), 1u);
    const Execution again = conformance::Redriven(conformance::Finished(scheduled));
    Put({ExecutionChange{Place::kHistory, Place::kLive, again}});
    EXPECT_EQ(KeysUnder("0/pages/"), 0u);
    EXPECT_EQ(KeysUnder("0/live/"), 1u);
    const auto listed = List({});
    ASSERT_TRUE(listed);
    ASSERT_EQ(listed->size(), 1u);
    EXPECT_EQ(Show(listed->front()), Show(again));
}

// One that arrives late, after the next leader took over, gets no page in the middle of another.
TEST_F(EtcdPageTest, OneThatIsLateGetsAKeyOfItsOwn) {
    std::vector<Change> changes;
    std::vector<Execution> rows;
    for (int i = 0; i < 6; ++i) {
        Execution row = make_.OneOff("e-" + std::to_string(i));
        row.id = ExecutionId(Text(SerialText(row.serial)));
        rows.push_back(row);
        if (i == 3) continue;
        changes.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
    }
    Put(std::move(changes));
    ASSERT_EQ(KeysUnder("0/pages/live/"), 1u);
    Lead();

    Put({ExecutionChange{Place::kNone, Place::kLive, rows[3]}});
    EXPECT_EQ(KeysUnder("0/pages/live/"), 1u);
    EXPECT_EQ(KeysUnder("0/live/"), 1u);
    rows[4] = Update(conformance::Scheduled(rows[4], "w-1"));
    const std::vector<Execution> loaded = Loaded();
    ASSERT_EQ(loaded.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(Show(loaded[i]), Show(rows[i]));
}

// Each change of the largest batch touches another page, of rows that have grown and that nothing
// compresses, and one row carries the largest result: all of it is one request.
TEST_F(EtcdPageTest, TheLargestBatchTouchesManyPages) {
    std::vector<Change> changes;
    for (std::size_t i = 0; i + 1 < kChangesMax; ++i) {
        std::vector<Execution> rows = Insert(12);
        for (std::size_t j = 0; j < 7; ++j) {
            rows[j].progress = Noise(600);
            Update(rows[j]);
        }
        changes.push_back(
            ExecutionChange{Place::kLive, Place::kLive, conformance::Scheduled(rows[7], "w-1")});
    }
    EXPECT_GE(KeysUnder("0/pages/live/"), kChangesMax - 1);
    Execution large = conformance::Retrying(Insert(1)[0]);
    boost::intrusive_ptr<Outcome> outcome(new Outcome(*large.outcome));
    outcome->data = Noise(1 << 20);
    large.outcome = outcome;
    changes.push_back(ExecutionChange{Place::kLive, Place::kLive, large});
    Put(std::move(changes));
    EXPECT_EQ(Found(large.id), Show(large));
}

// Batches wait together, and what is written for all of them is more than one request: the
// later ones wait for the next, and each is applied once.
class EtcdManyPagesTest : public EtcdPageTest {
  protected:
    static constexpr std::size_t kBatches = 6;

    void UpdateTogether(const std::vector<Execution>& rows) {
        ASSERT_EQ(rows.size(), kBatches * kChangesMax);
        std::vector<std::promise<Result<void>>> answers(kBatches);
        for (std::size_t i = 0; i < kBatches; ++i) {
            std::vector<Change> changes;
            for (std::size_t j = 0; j < kChangesMax; ++j) {
                changes.push_back(
                    ExecutionChange{Place::kLive, Place::kLive, rows[i * kChangesMax + j]});
            }
            const auto batch = std::make_shared<const Batch>(
                Batch{term_, ++sequence_, make_.last_serial(), std::move(changes)});
            store_->Commit(
                batch, [&answers, i](Result<void> done) { answers[i].set_value(std::move(done)); });
        }
        for (auto& answer : answers) {
            const Result<void> done = answer.get_future().get();
            ASSERT_TRUE(done) << done.error().detail;
        }
        const auto scheduled = List({.statuses = {Status::kScheduled}, .limit = 1000});
        ASSERT_TRUE(scheduled);
        EXPECT_EQ(scheduled->size(), rows.size());
    }
};

TEST_F(EtcdManyPagesTest, BatchesWhosePagesDoNotFitTogetherGoOneAfterTheOther) {
    std::vector<Execution> rows;
    while (rows.size() < kBatches * kChangesMax) {
        rows.push_back(conformance::Scheduled(Insert(4, 450)[2], "w-1"));
    }
    UpdateTogether(rows);
}

// Pages of three, of which two have grown as far as they may. The third moves out, and the two are
// written beside it.
TEST_F(EtcdManyPagesTest, BatchesWhoseRowsMoveOutOfTheirPagesGoOneAfterTheOther) {
    const auto grown = [this](Execution row, std::size_t size) {
        row.progress = Noise(size);
        return ExecutionChange{Place::kLive, Place::kLive, std::move(row)};
    };
    // From the third batch on three of them are a page.
    for (int i = 0; i < 2; ++i) Insert(kChangesMax, 240);
    std::vector<Execution> rows;
    while (rows.size() < kBatches * kChangesMax) {
        std::vector<Execution> all = Insert(kChangesMax, 240);
        std::vector<Change> changes;
        for (std::size_t i = 0; i + 2 < all.size(); i += 3) {
            changes.push_back(grown(all[i], 550));
            changes.push_back(grown(all[i + 1], 550));
            rows.push_back(conformance::Scheduled(all[i + 2], "w-1"));
            rows.back().progress = Noise(450);
        }
        Put(std::move(changes));
    }
    ASSERT_EQ(KeysUnder("0/live/"), 0u) << KeysUnder("0/pages/live/") << " pages";
    UpdateTogether(rows);
    EXPECT_EQ(KeysUnder("0/live/"), rows.size());
}

}  // namespace
}  // namespace takt::internal::etcd
