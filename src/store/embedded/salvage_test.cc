// A disk has damaged pages of takt.db, or its end is gone, and nobody has a backup: what can be read is
// kept.
#include "store/embedded/salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/embedded/salvage_fixture.h"

namespace takt::internal::embedded {
namespace {

TEST_F(SalvageTest, RowsOfPagesThatCanBeReadAreKept) {
    EXPECT_TRUE(Damage()->empty());
    // The first, the last, and two with a few whole pages between them.
    for (const int number : {0, 1'000, 1'100, kRows - 1}) Overwrite(kTableLeaf, Id(number));
    const std::string damaged = Bytes();
    EXPECT_FALSE(OpenEmbedded(Options()));
    EXPECT_FALSE(Damage()->empty());

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_GE(TableOf(*salvaged, "history").gaps, 1u);
    EXPECT_GT(TableOf(*salvaged, "history").rows, kRows - 4u * 60);
    EXPECT_EQ(TableOf(*salvaged, "settings").gaps, 0u);
    file_ = salvaged->kept;
    EXPECT_TRUE(Bytes() == damaged) << "the damaged file was changed";
    EXPECT_TRUE(Damage()->empty());
    Open();
    EXPECT_GE(Settings(), 1u);
    for (const int number : {0, 1'000, 1'100, kRows - 1}) EXPECT_FALSE(Has(number)) << number;
    for (const int number : {100, 900, 1'050, 1'200, kRows - 100})
        EXPECT_TRUE(Has(number)) << number;
}

TEST_F(SalvageTest, DamagedIndexesCostNothing) {
    Overwrite(kIndexLeaf, Id(500));
    EXPECT_FALSE(Damage()->empty());

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "history").rows, std::uint64_t(kRows));
    EXPECT_EQ(salvaged->gaps(), 0u);
    Open();
    EXPECT_TRUE(Has(500));
}

// The end of the file is gone, and with it the pages by which its tables are searched.
TEST_F(SalvageTest, WhatIsLeftOfAFileThatIsCutOffIsKept) {
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    std::vector<Change> rows;
    constexpr int kEach = 1'500;
    for (int i = 0; i < kEach; ++i) {
        const std::string number = std::to_string(10'000 + i);
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory,
                                       Large(Finished(make.OneOff("ended-" + number)))});
        rows.push_back(
            ExecutionChange{Place::kNone, Place::kLive, Large(make.OneOff("waiting-" + number))});
    }
    ASSERT_TRUE(Commit(1, std::move(rows)));
    store_.reset();
    CutOff(0.8);
    const auto ended_left = Left("ended-");
    const auto waiting_left = Left("waiting-");
    ASSERT_GT(ended_left.size(), kEach * 2u / 3);
    ASSERT_GT(waiting_left.size(), kEach * 2u / 3);
    EXPECT_FALSE(OpenEmbedded(Options()));
    EXPECT_THAT(Damage()->front(), testing::HasSubstr("cut off"));

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_TRUE(Damage()->empty());
    EXPECT_EQ(TableOf(*salvaged, "history").rows, kRows + ended_left.size());
    EXPECT_EQ(TableOf(*salvaged, "live").rows, waiting_left.size());
    EXPECT_GE(TableOf(*salvaged, "live").gaps, 1u);
    // Of those whose pages are gone, the index pages that are left name some.
    ASSERT_TRUE(salvaged->executions_lost.contains(kDefaultPartition));
    EXPECT_LE(salvaged->executions_lost.at(kDefaultPartition),
              2u * kEach - ended_left.size() - waiting_left.size());
    Open();
    for (const auto& row : FindAll(ended_left)) {
        ASSERT_TRUE(row);
        ASSERT_EQ(row->payload.view().size(), 3'500u) << row->id.view();
    }
    for (const auto& row : FindAll(waiting_left)) {
        ASSERT_TRUE(row);
        ASSERT_EQ(row->status, Status::kPending) << row->id.view();
    }
}

// A namespace that was made when the file was large already: the top pages of its tables are gone, and
// pages with its rows are not. Its logs are of a table that has no row ids.
TEST_F(SalvageTest, RowsOfANamespaceWhoseTablesAreGoneAreKept) {
    constexpr Partition kOther = 7;
    Open();
    const auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}, .partition = kOther});
    ASSERT_TRUE(term) << term.error().detail;
    term_ = *term;
    RowMaker make(kOther);
    std::vector<std::string> ids;
    std::vector<Change> rows;
    for (int i = 0; i < 1'500; ++i) {
        ids.push_back("other-" + std::to_string(10'000 + i));
        const Execution row = Large(Finished(make.OneOff(ids.back())));
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
        // Longer than what of a row stands in its own page.
        rows.push_back(LogAppend{{.execution = row.id,
                                  .index = row.serial,
                                  .attempt = 1,
                                  .at = make.now(),
                                  .lines = Text(std::string(5'000, 'l') + "\n")}});
    }
    ASSERT_TRUE(Commit(1, std::move(rows)));
    store_.reset();
    // The top pages: those of a table that only lead to others.
    std::string bytes = Bytes();
    for (std::size_t at = kPage; at < bytes.size(); at += kPage) {
        if (bytes[at] != 0x05 && bytes[at] != 0x02) continue;
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\0');
    }
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "history", kOther).rows, ids.size());
    EXPECT_EQ(TableOf(*salvaged, "history").rows, std::uint64_t(kRows));
    // Pages that lead to others of such a table have a few rows too.
    EXPECT_GT(TableOf(*salvaged, "logs", kOther).rows, ids.size() * 8 / 10);
    EXPECT_TRUE(salvaged->executions_lost.empty());
    Open();
    EXPECT_TRUE(Find(ids.front(), kOther));
    EXPECT_TRUE(Find(ids.back(), kOther));
}

// A page of the list of tables is damaged, and the trees of those that stood there are found by nobody.
TEST_F(SalvageTest, RowsOfTablesWhoseNamesAreLostAreKept) {
    constexpr Partition kSpaces = 12;
    Open();
    for (Partition partition = 1; partition <= kSpaces; ++partition) {
        const auto term =
            TakeLead(*store_, {.node = {.node = NodeId("node")}, .partition = partition});
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
        RowMaker make(partition);
        ASSERT_TRUE(Commit(
            1, {ExecutionChange{Place::kNone, Place::kHistory, Finished(make.OneOff("ended"))},
                ExecutionChange{Place::kNone, Place::kLive, make.OneOff("waits")},
                TaskPut{make.Recurring("nightly")}}));
    }
    store_.reset();
    Overwrite(kTableLeaf, "CREATE TABLE p7_live");

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_TRUE(Damage()->empty());
    EXPECT_EQ(TableOf(*salvaged, "history").rows, std::uint64_t(kRows));
    EXPECT_GE(TableOf(*salvaged, "live", 7).gaps, 1u);
    Open();
    for (Partition partition = 1; partition <= kSpaces; ++partition) {
        EXPECT_TRUE(Find("ended", partition)) << int{partition};
        EXPECT_TRUE(Find("waits", partition)) << int{partition};
        const auto task = Await<TaskRow>([&](Done<TaskRow> done) {
            store_->FindTask(partition, TaskId("nightly"), std::move(done));
        });
        EXPECT_TRUE(task) << int{partition};
    }
}

// The disk does not give wrong bytes but none.
TEST_F(SalvageTest, APageThatTheDiskDoesNotGiveCostsItsRowsAlone) {
    vfs_unreadable_at = static_cast<long long>(Overwrite(kTableLeaf, Id(1'000)));
    EmbeddedOptions options = Options();
    options.vfs = FaultVfs();
    EXPECT_THAT(DamageOfEmbedded(options)->front(), testing::HasSubstr("unable to get the page"));

    const auto salvaged = SalvageEmbedded(options);
    vfs_unreadable_at = -1;

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "history").gaps, 1u);
    EXPECT_GT(TableOf(*salvaged, "history").rows, kRows - 60u);
    EXPECT_EQ(salvaged->executions_lost.at(kDefaultPartition),
              kRows - TableOf(*salvaged, "history").rows);
    Open();
    EXPECT_FALSE(Has(1'000));
    EXPECT_TRUE(Has(1'100));
}

// An operator mends as root what a service of its own user must open afterwards.
TEST_F(SalvageTest, TheNewFileHasTheOwnerAndTheRightsOfTheOld) {
    Overwrite(kTableLeaf, Id(500));
    ASSERT_EQ(chmod(file_.c_str(), 0640), 0);
    const bool root = geteuid() == 0;
    if (root) ASSERT_EQ(chown(file_.c_str(), 12'345, 12'346), 0);

    ASSERT_TRUE(SalvageEmbedded(Options()));

    struct stat found{};
    ASSERT_EQ(stat(file_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0640u);
    EXPECT_EQ(found.st_uid, root ? 12'345 : geteuid());
    EXPECT_EQ(found.st_gid, root ? 12'346 : getegid());
}

// A second damage must not replace what was kept of the first.
TEST_F(SalvageTest, NothingThatWasKeptIsReplaced) {
    Overwrite(kTableLeaf, Id(500));
    const auto first = SalvageEmbedded(Options());
    ASSERT_TRUE(first) << first.error().detail;
    const auto second = SalvageEmbedded(Options());
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_NE(first->kept, second->kept);
    EXPECT_TRUE(std::filesystem::exists(first->kept));
}

TEST_F(SalvageTest, AFileWithoutItsListOfTablesIsLeftAsItIs) {
    std::string bytes = Bytes();
    std::fill(bytes.begin() + 100, bytes.begin() + kPage, '\0');
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_FALSE(salvaged);
    EXPECT_THAT(salvaged.error().detail, testing::HasSubstr("Restore it from a backup"));
    EXPECT_TRUE(Bytes() == bytes);
    EXPECT_FALSE(std::filesystem::exists(file_ + ".repaired"));
}

TEST_F(SalvageTest, ADirectoryInUseIsLeftAlone) {
    Open();
    EXPECT_EQ(Damage().error().code, ErrorCode::kConflict);
    EXPECT_EQ(SalvageEmbedded(Options()).error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace takt::internal::embedded