// Pages that cannot be read: what is shown of them, and what goes on beside them.
#include "store/etcd/page.h"
#include "store/etcd/page_fixture.h"

namespace takt::internal::etcd {
namespace {

// A page was damaged on disk. It is shown as one execution, which the leader ends; all else goes on.
TEST_F(EtcdPageTest, APageThatCannotBeReadIsShownAndStopsNothing) {
    const std::vector<Execution> rows = Insert(4);
    make_.Pass(Duration(1'000));
    const std::vector<Execution> others = Insert(4);
    ASSERT_TRUE(server_->Ctl(
        {"put", Keys("/takt").Page(kDefaultPartition, PageSide::kLive, rows[0].serial), "broken"}));
    Lead();

    ASSERT_EQ(Loaded().size(), 5u);
    Execution shown = Loaded().front();
    EXPECT_EQ(shown.serial, rows[0].serial);
    ASSERT_TRUE(shown.outcome);
    EXPECT_EQ(shown.outcome->reason, Reason::kUndecodable);
    ASSERT_EQ(List({})->size(), 5u);
    shown.finished_at = make_.now();
    Put({ExecutionChange{Place::kLive, Place::kHistory, shown}});
    Update(conformance::Scheduled(others[1], "w-1"));
    EXPECT_EQ(Loaded().size(), 4u);
    EXPECT_EQ(List({})->size(), 5u);
}

// The same, and the first of its page has a key of its own, since it grew, or has ended. It goes on
// as it is, beside what is shown of the page, and is in one place.
TEST_F(EtcdPageTest, TheFirstOfAPageThatCannotBeReadGoesOnWhereverItIs) {
    const std::vector<Execution> rows = Insert(4);
    make_.Pass(Duration(1'000));
    const std::vector<Execution> others = Insert(4);
    Execution large = conformance::Running(conformance::Scheduled(rows[0], "w-1"));
    large.progress = Noise(1500);
    Update(large);
    Finish({others[0]});
    const std::string ended = Found(others[0].id);
    for (const Execution& first : {rows[0], others[0]}) {
        ASSERT_TRUE(server_->Ctl(
            {"put", Keys("/takt").Page(kDefaultPartition, PageSide::kLive, first.serial),
             "broken"}));
    }
    Lead();

    std::vector<Execution> loaded = Loaded();
    ASSERT_EQ(loaded.size(), 3u);
    EXPECT_EQ(Found(large.id), Show(large));
    EXPECT_EQ(Found(others[0].id), ended);
    std::vector<Change> changes;
    for (Execution& row : loaded) {
        if (!row.outcome || row.outcome->reason != Reason::kUndecodable) continue;
        EXPECT_EQ(Found(row.id), Show(row));
        row.finished_at = make_.now();
        changes.push_back(ExecutionChange{Place::kLive, Place::kHistory, row});
    }
    ASSERT_EQ(changes.size(), 2u);
    Put(std::move(changes));
    EXPECT_EQ(Found(others[0].id), ended);
    large = conformance::Retrying(std::move(large));
    large.progress = {};
    Update(large);
    Lead();
    ASSERT_EQ(Loaded().size(), 1u);
    EXPECT_EQ(Show(Loaded().front()), Show(large));
    Finish({large});
    Lead();
    EXPECT_EQ(Loaded().size(), 0u);
    EXPECT_EQ(List({})->size(), 4u);
    PurgeAll();
    EXPECT_EQ(List({})->size(), 0u);
    EXPECT_EQ(KeysUnder("0/pages/") + KeysUnder("0/live/") + KeysUnder("0/history/"), 0u);
}

// The row that is shown of it, beside one of the same serial, holds up no leader that loads one row
// at a time.
TEST_F(EtcdPageTest, APageThatCannotBeReadIsLoadedInPagesOfAnySize) {
    const std::vector<Execution> rows = Insert(4);
    Execution large = conformance::Scheduled(rows[0], "w-1");
    large.progress = Noise(1500);
    Update(large);
    ASSERT_TRUE(server_->Ctl(
        {"put", Keys("/takt").Page(kDefaultPartition, PageSide::kLive, rows[0].serial), "broken"}));
    Result<EtcdOptions> options = ParseEtcdUrl(server_->url());
    ASSERT_TRUE(options);
    options->load_page_rows = 1;
    store_ = std::move(*OpenEtcd(*options));

    EXPECT_EQ(Loaded().size(), 2u);
}

// The same, and one of its page that had finished is run again by the batch that ends it.
TEST_F(EtcdPageTest, APageThatCannotBeReadEndsAlsoWithAnotherOfIt) {
    const std::vector<Execution> rows = Insert(4);
    Finish({rows[2]});
    ASSERT_TRUE(server_->Ctl(
        {"put", Keys("/takt").Page(kDefaultPartition, PageSide::kLive, rows[0].serial), "broken"}));
    Lead();
    ASSERT_EQ(Loaded().size(), 1u);
    Execution shown = Loaded().front();
    shown.finished_at = make_.now();
    Put({ExecutionChange{Place::kHistory, Place::kLive,
                         conformance::Redriven(conformance::Finished(rows[2]))},
         ExecutionChange{Place::kLive, Place::kHistory, shown}});
    ASSERT_EQ(Loaded().size(), 1u);
    EXPECT_EQ(Loaded().front().id, rows[2].id);
    EXPECT_EQ(List({})->size(), 2u);
}

}  // namespace
}  // namespace takt::internal::etcd
