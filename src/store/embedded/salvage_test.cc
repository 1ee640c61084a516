// A disk has damaged pages of takt.db, or its end is gone, and nobody has a backup: what can be read is
// kept.
#include "store/embedded/salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "store/embedded/page_file.h"
#include "store/embedded/schema.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

constexpr std::size_t kPage = 8192;
constexpr int kRows = 2'000;
// First bytes of pages, as SQLite's file format has them.
constexpr char kTableLeaf = 0x0D;
constexpr char kIndexLeaf = 0x0A;
constexpr char kTableInterior = 0x05;
constexpr char kIndexInterior = 0x02;

class SalvageTest : public EmbeddedStoreTest {
  protected:
    void SetUp() override {
        EmbeddedStoreTest::SetUp();
        RowMaker make;
        std::vector<Change> rows;
        for (int i = 0; i < kRows; ++i) {
            rows.push_back(
                ExecutionChange{Place::kNone, Place::kHistory, Finished(make.OneOff(Id(i)))});
        }
        rows.push_back(SettingPut{"kept", "yes"});
        ASSERT_TRUE(Commit(1, std::move(rows)));
        store_.reset();
        file_ = directory_.path() + "/takt.db";
    }

    static std::string Id(int number) { return "row-" + std::to_string(10'000 + number); }

    std::string Bytes() const {
        std::ifstream in(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    // Overwrites the page of that kind on which the text stands, and says where that was.
    std::size_t Overwrite(char kind, const std::string& text) {
        std::string bytes = Bytes();
        for (std::size_t at = 0; at < bytes.size(); at += kPage) {
            if (bytes[at] != kind || !bytes.substr(at, kPage).contains(text)) continue;
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\xA5');
            std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
            return at;
        }
        ADD_FAILURE() << "no such page has " << text;
        return 0;
    }

    // Two of them fill a page, so that a few thousand have trees of three levels.
    static Execution Large(Execution row) {
        row.payload = Text(std::string(3'500, 'x'));
        return row;
    }

    void CutOff(double part) {
        const auto pages = static_cast<double>(Bytes().size() / kPage);
        std::filesystem::resize_file(file_, static_cast<std::size_t>(pages * part) * kPage);
    }

    // The ids that begin so, with five digits, in pages of tables that are left.
    std::set<std::string> Left(const std::string& prefix) const {
        const std::string bytes = Bytes();
        std::set<std::string> left;
        for (auto at = bytes.find(prefix); at != bytes.npos; at = bytes.find(prefix, at + 1)) {
            if (bytes[at / kPage * kPage] != kTableLeaf) continue;
            left.insert(bytes.substr(at, prefix.size() + 5));
        }
        return left;
    }

    // The first page of that kind that has the text.
    static std::size_t PageOf(const std::string& bytes, char kind, const std::string& text) {
        std::size_t at = kPage;
        while (at < bytes.size() &&
               (bytes[at] != kind || !bytes.substr(at, kPage).contains(text))) {
            at += kPage;
        }
        return at;
    }

    void BlankPages(char kind) {
        std::string bytes = Bytes();
        for (std::size_t at = kPage; at < bytes.size(); at += kPage) {
            if (bytes[at] != kind) continue;
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\0');
        }
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    }

    // The process is killed after these changes, and its log is left; then the end of the file is gone,
    // and so are the pages by which its tables are searched.
    void KillAndCutOff(std::vector<Change> changes) {
        Open();
        ASSERT_TRUE(Commit(1, std::move(changes)));
        const std::string log = file_ + "-wal";
        std::filesystem::copy_file(log, file_ + ".log");
        const std::string bytes = Bytes();
        store_.reset();
        std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
        BlankPages(kTableInterior);
        CutOff(0.9);
        std::filesystem::rename(file_ + ".log", log);
    }

    // Rows of each kind, on so many pages that a log of a few rows does not make up for a tenth.
    void FillForCut() {
        Open();
        std::vector<Change> rows;
        make_.Pass(Duration(60'000));
        for (int i = 0; i < 1'500; ++i) {
            const std::string number = std::to_string(10'000 + i);
            ended_.push_back(Large(Finished(make_.OneOff("ended-" + number))));
            waiting_.push_back(Large(make_.OneOff("waiting-" + number)));
            rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, ended_.back()});
            rows.push_back(ExecutionChange{Place::kNone, Place::kLive, waiting_.back()});
            if (i < 300) rows.push_back(TaskPut{make_.Recurring("task-" + number)});
        }
        ASSERT_TRUE(Commit(1, std::move(rows)));
        store_.reset();
    }
    std::vector<Change> ChangesBeforeTheKill() {
        Execution again = ended_[20];
        again.status = Status::kPending;
        return {ExecutionChange{Place::kLive, Place::kHistory, Finished(waiting_[10])},
                ExecutionChange{Place::kHistory, Place::kLive, again},
                TaskDelete{TaskId("task-10020")}};
    }
    bool HasTask(const std::string& id) {
        return Await<TaskRow>([&](Done<TaskRow> done) {
                   store_->FindTask(kDefaultPartition, TaskId(id), std::move(done));
               })
            .has_value();
    }

    std::vector<std::optional<Execution>> FindAll(const std::set<std::string>& ids) {
        using Rows = std::vector<std::optional<Execution>>;
        std::vector<ExecutionId> wanted;
        for (const std::string& id : ids) wanted.emplace_back(id);
        return *Await<Rows>([&](Done<Rows> done) {
            store_->FindExecutions(kDefaultPartition, wanted, std::move(done));
        });
    }

    Result<std::vector<std::string>> Damage() { return DamageOfEmbedded(Options()); }
    EmbeddedOptions Options() const { return {.directory = directory_.path()}; }

    bool Has(int number) { return Find(Id(number)).has_value(); }

    std::optional<Execution> Find(const std::string& id, Partition partition = kDefaultPartition) {
        using Rows = std::vector<std::optional<Execution>>;
        const auto rows = Await<Rows>([&](Done<Rows> done) {
            store_->FindExecutions(partition, {ExecutionId(id)}, std::move(done));
        });
        return rows ? rows->front() : std::nullopt;
    }

    std::string file_;
    RowMaker make_;
    std::vector<Execution> ended_;
    std::vector<Execution> waiting_;
};

const SalvagedTable& TableOf(const Salvaged& salvaged, const std::string& name,
                             Partition partition = kDefaultPartition) {
    return *std::ranges::find_if(salvaged.tables, [&](const SalvagedTable& table) {
        return table.name == name && table.partition == partition;
    });
}

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

// A file that is cut off does not take its log in, and its own pages are those of before.
TEST_F(SalvageTest, WhatTheLogHasEndedOrDeletedDoesNotComeBack) {
    FillForCut();
    KillAndCutOff(ChangesBeforeTheKill());

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(salvaged->live_left_out, "");
    EXPECT_GE(TableOf(*salvaged, "tasks").gaps, 1u);
    EXPECT_TRUE(std::filesystem::exists(salvaged->kept + "-wal")) << "there was no log left";
    EXPECT_FALSE(std::filesystem::exists(file_ + ".with-log"));
    Open();
    EXPECT_EQ(Find("waiting-10010")->status, Status::kSuccess);
    EXPECT_EQ(Find("waiting-10011")->status, Status::kPending);
    EXPECT_EQ(Find("ended-10020")->status, Status::kPending);
    EXPECT_EQ(Find("ended-10021")->status, Status::kSuccess);
    EXPECT_FALSE(HasTask("task-10020"));
    EXPECT_TRUE(HasTask("task-10021"));
}

// Without the log in the pages nothing tells whether a row still lives.
TEST_F(SalvageTest, NothingIsTakenThatMayHaveEndedIfTheLogCannotBeBroughtIn) {
    FillForCut();
    KillAndCutOff(ChangesBeforeTheKill());
    vfs_unreadable_at = static_cast<long long>(Overwrite(kTableLeaf, Id(1'000)));
    EmbeddedOptions options = Options();
    options.vfs = FaultVfs();

    const auto salvaged = SalvageEmbedded(options);
    vfs_unreadable_at = -1;

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_THAT(salvaged->live_left_out, testing::HasSubstr("log of the last commits"));
    Open();
    EXPECT_FALSE(Find("waiting-10010"));
    EXPECT_FALSE(HasTask("task-10020"));
    EXPECT_TRUE(Find("ended-10021"));
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

// The old page of a row that has ended stands before the one that says so.
TEST_F(SalvageTest, WhatHasEndedOnALaterPageDoesNotComeBack) {
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    const Execution waits = make.OneOff("waits");
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kLive, waits}}));
    store_.reset();
    std::string bytes = Bytes();
    const std::size_t live = PageOf(bytes, kTableLeaf, "waits");
    const std::string old = bytes.substr(live, kPage);
    Open();
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kLive, Place::kHistory, Finished(waits)}}));
    store_.reset();
    bytes = Bytes();
    ASSERT_GT(PageOf(bytes, kTableLeaf, "waits"), live);
    // The page of an index has it; the table itself, and the way to the history, are gone.
    bytes.replace(PageOf(bytes, kIndexLeaf, ""), kPage, old);
    bytes.replace(live, kPage, std::string(kPage, '\xA5'));
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    BlankPages(kTableInterior);

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "live").rows, 0u);
    EXPECT_EQ(TableOf(*salvaged, "history").rows, kRows + 1u);
}

// The other way round: what was ended lives again, and must not stand in both tables when it ends.
TEST_F(SalvageTest, WhatLivesAgainIsNotPutIntoTheHistoryToo) {
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    const Execution again = make.OneOff("again");
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kHistory, Finished(again)}}));
    store_.reset();
    std::string bytes = Bytes();
    const std::string old = bytes.substr(PageOf(bytes, kTableLeaf, "again"), kPage);
    Open();
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kHistory, Place::kLive, again}}));
    store_.reset();
    bytes = Bytes();
    bytes.replace(PageOf(bytes, kIndexLeaf, ""), kPage, old);
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    BlankPages(kTableInterior);

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "live").rows, 1u);
    EXPECT_EQ(TableOf(*salvaged, "history").rows, std::uint64_t(kRows));
}

// Ids are unique within a namespace alone, and a line of a log names no namespace.
TEST_F(SalvageTest, LogsOfOneNamespaceAreNotPutIntoAnother) {
    constexpr Partition kOther = 7;
    const auto log = [](const Execution& row, char line) {
        return LogAppend{{.execution = row.id,
                          .index = row.serial,
                          .attempt = 1,
                          .at = row.created_at,
                          .lines = Text(std::string(5'000, line) + "\n")}};
    };
    Open();
    RowMaker make;
    make.Pass(Duration(60'000));
    const Execution first = Finished(make.OneOff("same"));
    ASSERT_TRUE(
        Commit(1, {ExecutionChange{Place::kNone, Place::kHistory, first}, log(first, 'a')}));
    const auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}, .partition = kOther});
    ASSERT_TRUE(term) << term.error().detail;
    term_ = *term;
    RowMaker other(kOther);
    std::vector<Change> rows;
    for (int i = 0; i < 300; ++i) {
        const Execution row = Finished(other.OneOff(i == 0 ? "same" : Id(10'000 + i)));
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
        if (i > 0) rows.push_back(log(row, 'b'));
    }
    ASSERT_TRUE(Commit(1, std::move(rows)));
    store_.reset();
    BlankPages(kIndexInterior);

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_GT(TableOf(*salvaged, "logs", kOther).rows, 200u);
    Connection file(file_, SQLITE_OPEN_READWRITE, "");
    EXPECT_EQ(file.QueryInt("SELECT count(*) FROM logs WHERE execution = 'same'"), 1);
    EXPECT_EQ(file.QueryInt("SELECT count(*) FROM p7_logs WHERE execution = 'same'"), 0);
}

// A page may claim anything: here a row of version 2 in a file of version 1.
TEST_F(SalvageTest, RowsWiderThanTheirTableAreLeftOut) {
    std::filesystem::remove(file_);
    std::int64_t root = 0;
    {
        std::ofstream(file_).flush();
        Connection file(file_, SQLITE_OPEN_READWRITE, "");
        file.Run("PRAGMA page_size = 8192");
        file.Run(Migrations().front());
        std::string columns = "c0 INTEGER PRIMARY KEY";
        for (int i = 1; i < 35; ++i) columns += ", c" + std::to_string(i);
        file.Run("CREATE TABLE stranger (" + columns + ")");
        file.Run("INSERT INTO stranger (c0, c1, c15) VALUES (1073741824, 'wide', 'success')");
        file.Run("PRAGMA user_version = 1");
        root = file.QueryInt("SELECT rootpage FROM sqlite_schema WHERE name = 'history'");
    }
    std::string bytes = Bytes();
    std::fill_n(bytes.begin() + (root - 1) * std::int64_t(kPage), kPage, '\xA5');
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "history").rows, 0u);
    EXPECT_EQ(TableOf(*salvaged, "stranger").rows, 1u);
}

TEST_F(SalvageTest, RowsOfMoreColumnsThanAnyTableHasAreNotRead) {
    const std::string path = directory_.path() + "/wide.db";
    {
        std::ofstream(path).flush();
        Connection file(path, SQLITE_OPEN_READWRITE, "");
        for (const int columns : {100, 101}) {
            std::string names;
            for (int i = 0; i < columns; ++i) names += (i ? ", c" : "c") + std::to_string(i);
            file.Run("CREATE TABLE of" + std::to_string(columns) + " (" + names + ")");
            file.Run("INSERT INTO of" + std::to_string(columns) + " (c99) VALUES (1)");
        }
    }
    auto file = PageFile::Open(path);
    ASSERT_TRUE(file) << file.error().detail;
    std::vector<std::size_t> widths;
    file->ForEachRow([&](const FoundRow& row) { widths.push_back(row.values.size()); });
    EXPECT_EQ(widths, std::vector<std::size_t>{100});
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
