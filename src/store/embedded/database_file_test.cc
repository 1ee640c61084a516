// Files that are not what they should be: refused with a sentence, and left as they are.
#include "store/embedded/database_file.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/log.h"
#include "store/conformance/suite.h"
#include "store/embedded/fault_vfs.h"
#include "store/embedded/salvage.h"
#include "store/embedded/schema.h"
#include "store/embedded/store.h"
#include "store/embedded/temporary_directory.h"
#include "store/lead.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;
using conformance::Await;
using testing::HasSubstr;

std::string Slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Writes executions until the file has a few hundred pages, and closes it in order.
void Fill(const std::string& directory) {
    auto store = OpenEmbedded({.directory = directory});
    ASSERT_TRUE(store) << store.error().detail;
    const auto term = TakeLead(**store, {.node = {.node = NodeId("a")}});
    conformance::RowMaker make;
    Batch batch{*term, 1, 0, {}};
    for (int i = 0; i < 2000; ++i) {
        batch.changes.push_back(
            ExecutionChange{Place::kNone, Place::kHistory,
                            conformance::Finished(make.OneOff("e-" + std::to_string(i)))});
    }
    const auto value = std::make_shared<const Batch>(std::move(batch));
    ASSERT_TRUE(Await<void>([&](Done<void> done) { (*store)->Commit(value, std::move(done)); }));
}

struct Damage {
    const char* name;
    std::function<void(const std::string& path)> apply;
    const char* says;
};

// Damages the bytes and leaves their number.
std::function<void(const std::string& path)> Edited(std::function<void(std::string&)> change) {
    return [change = std::move(change)](const std::string& path) {
        std::string bytes = Slurp(path);
        change(bytes);
        Write(path, bytes);
    };
}

void PrintTo(const Damage& damage, std::ostream* out) {
    *out << damage.name;
}

class DamagedFileTest : public testing::TestWithParam<Damage> {};

// A disk, a copy or a person has damaged the file. The operator gets a sentence, the file stays.
TEST_P(DamagedFileTest, IsRefusedAndLeftAlone) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/takt.db";
    Fill(directory.path());
    GetParam().apply(path);
    const std::string before = Slurp(path);

    const auto store = OpenEmbedded({.directory = directory.path()});

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(store.error().detail, HasSubstr(path));
    EXPECT_THAT(store.error().detail, HasSubstr(GetParam().says));
    EXPECT_TRUE(Slurp(path) == before) << "the file was changed";
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedFileTest,
    testing::Values(
        Damage{"text", [](const std::string& path) { Write(path, std::string(9000, 'x')); },
               "not a database of Takt"},
        Damage{"empty", [](const std::string& path) { Write(path, ""); }, "cut off"},
        Damage{"empty_beside_wal",
               [](const std::string& path) {
                   Write(path, "");
                   Write(path + "-wal", std::string(5000, 'w'));
               },
               "cut off"},
        Damage{"missing_beside_wal",
               [](const std::string& path) {
                   fs::remove(path);
                   Write(path + "-wal", std::string(5000, 'w'));
               },
               "missing"},
        Damage{"cut_in_header", [](const std::string& path) { fs::resize_file(path, 50); },
               "cut off"},
        Damage{"cut_in_half",
               [](const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); },
               "Restore it from a backup"},
        Damage{"cut_by_a_page",
               [](const std::string& path) { fs::resize_file(path, fs::file_size(path) - 8192); },
               "Restore it from a backup"},
        Damage{"magic_flipped", Edited([](std::string& bytes) { bytes[3] ^= 0x40; }),
               "header is damaged"},
        Damage{"page_size_flipped", Edited([](std::string& bytes) { bytes[16] ^= 0x13; }),
               "Restore it from a backup"},
        Damage{"schema_zeroed", Edited([](std::string& bytes) {
                   std::fill(bytes.begin() + 100, bytes.begin() + 8192, '\0');
               }),
               "Restore it from a backup"},
        Damage{"page_overwritten", Edited([](std::string& bytes) {
                   const std::size_t page = bytes.size() / 8192 / 2;
                   std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page * 8192), 8192,
                               '\xA5');
               }),
               "damaged"},
        Damage{"of_another_program",
               [](const std::string& path) {
                   fs::remove(path);
                   Connection other(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
                   other.Run("CREATE TABLE mine (x)");
               },
               "not one of Takt"},
        Damage{"of_a_newer_version",
               [](const std::string& path) {
                   Connection newer(path, SQLITE_OPEN_READWRITE, "");
                   newer.QueryText("PRAGMA journal_mode = DELETE");
                   newer.Run("PRAGMA user_version = 99");
               },
               "newer Takt (schema 99, this one knows 3)"}),
    testing::PrintToStringParamName());

// The power failed while the very first start was making the file.
TEST(DatabaseFileTest, AHalfMadeDraftIsMadeAnew) {
    const TemporaryDirectory directory;
    Write(directory.path() + "/takt.db.new", "half");

    EXPECT_TRUE(OpenEmbedded({.directory = directory.path()}));
    EXPECT_FALSE(fs::exists(directory.path() + "/takt.db.new"));
}

// A store whose scheduler was killed, on a disk that fails: who opens it has its log to write.
class FailingDiskTest : public testing::Test {
  protected:
    void SetUp() override {
        const TemporaryDirectory running;
        Fill(running.path());
        const auto store = OpenEmbedded({.directory = running.path()});
        ASSERT_TRUE(TakeLead(**store, {.node = {.node = NodeId("b")}}));
        for (const char* file : {"/takt.db", "/takt.db-wal"}) {
            fs::copy_file(running.path() + file, directory_.path() + file);
        }
    }
    void TearDown() override {
        vfs_write_code = 0;
        vfs_unreadable_at = -1;
    }
    EmbeddedOptions Options() const { return {.directory = directory_.path(), .vfs = FaultVfs()}; }

    const TemporaryDirectory directory_;
};

TEST_F(FailingDiskTest, AFullOneIsToldAsFull) {
    vfs_write_code = SQLITE_FULL;
    const auto full = OpenEmbedded(Options());

    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kUnavailable) << full.error().detail;
    EXPECT_THAT(full.error().detail, HasSubstr("is full; free some space"));
    vfs_write_code = 0;
    EXPECT_TRUE(OpenEmbedded(Options()));
}

// The advice to start empty is for files that are beyond help, not for a loose cable.
TEST_F(FailingDiskTest, NobodyIsAdvisedToMoveAWholeFileAway) {
    vfs_write_code = SQLITE_IOERR_WRITE;
    const auto unwritten = OpenEmbedded(Options());
    vfs_write_code = 0;
    vfs_unreadable_at = 8192 * 3;
    const auto unread = OpenEmbedded(Options());
    vfs_unreadable_at = 0;
    const auto first_page = OpenEmbedded(Options());
    vfs_unreadable_at = -1;

    for (const auto* store : {&unwritten, &unread, &first_page}) {
        ASSERT_FALSE(*store);
        EXPECT_EQ(store->error().code, ErrorCode::kInvalid);
        EXPECT_THAT(store->error().detail, HasSubstr("look at the disk"));
        EXPECT_THAT(store->error().detail, testing::Not(HasSubstr("move it away")));
    }
    EXPECT_TRUE(OpenEmbedded(Options()));
}

// Another program has the file; the store itself is well.
TEST_F(FailingDiskTest, AFileThatIsLockedIsNotDamaged) {
    Connection other(directory_.path() + "/takt.db", SQLITE_OPEN_READWRITE, "");
    other.Run("PRAGMA locking_mode = EXCLUSIVE");
    other.Run("BEGIN IMMEDIATE");
    const auto damage = DamageOfEmbedded({.directory = directory_.path()});

    ASSERT_FALSE(damage);
    EXPECT_THAT(damage.error().detail, HasSubstr("locked"));
}

// The tables as version 1 had them. Frozen: this is what is on people's disks.
constexpr const char* kVersion1 = R"(
CREATE TABLE live (serial INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task_id TEXT,
    task_name TEXT NOT NULL, type TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL,
    task_version INTEGER NOT NULL, timeout_ms INTEGER NOT NULL, run_at_ms INTEGER NOT NULL,
    task_created_at_ms INTEGER NOT NULL, task_updated_at_ms INTEGER NOT NULL, origin TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL, scheduled_at_ms INTEGER NOT NULL, status TEXT NOT NULL,
    attempt INTEGER NOT NULL, failures INTEGER NOT NULL, losses INTEGER NOT NULL,
    epoch INTEGER NOT NULL, token BLOB, worker TEXT, ready_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER NOT NULL, outcome BLOB, options BLOB,
    task_payload BLOB, payload BLOB);
CREATE INDEX live_task ON live (task_id) WHERE task_id IS NOT NULL;
CREATE TABLE history (serial INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, task_id TEXT,
    task_name TEXT NOT NULL, type TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL,
    task_version INTEGER NOT NULL, timeout_ms INTEGER NOT NULL, run_at_ms INTEGER NOT NULL,
    task_created_at_ms INTEGER NOT NULL, task_updated_at_ms INTEGER NOT NULL, origin TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL, scheduled_at_ms INTEGER NOT NULL, status TEXT NOT NULL,
    attempt INTEGER NOT NULL, failures INTEGER NOT NULL, losses INTEGER NOT NULL,
    epoch INTEGER NOT NULL, token BLOB, worker TEXT, ready_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER NOT NULL, finished_at_ms INTEGER NOT NULL, outcome BLOB, options BLOB,
    task_payload BLOB, payload BLOB);
CREATE INDEX history_task ON history (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX history_status ON history (status);
CREATE INDEX history_worker ON history (worker) WHERE worker IS NOT NULL;
CREATE INDEX history_finished ON history (finished_at_ms);
CREATE TABLE tasks (id TEXT PRIMARY KEY NOT NULL, partition INTEGER NOT NULL, name TEXT NOT NULL,
    record BLOB NOT NULL);
CREATE TABLE workers (partition INTEGER NOT NULL, id TEXT NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (partition, id));
CREATE TABLE settings (partition INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (partition, key));
CREATE TABLE events (serial INTEGER PRIMARY KEY, type TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE logs (execution TEXT NOT NULL, chunk INTEGER NOT NULL, attempt INTEGER NOT NULL,
    at_ms INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (execution, chunk)) WITHOUT ROWID;
CREATE TABLE terms (partition INTEGER PRIMARY KEY, node TEXT NOT NULL, epoch INTEGER NOT NULL,
    nonce INTEGER NOT NULL, sequence INTEGER NOT NULL, last_serial INTEGER NOT NULL);
INSERT INTO live VALUES (4611686018427387905, 'e-1', 't-1', 'report', 'report', 'nightly', 5, 3, 0,
    0, 100, 200, 'fire', 300, 400, 'running', 1, 0, 0, 12, x'00112233445566778899aabbccddeeff',
    'w-1', 400, 500, 0, NULL, NULL, '{"kind": "daily"}', NULL);
INSERT INTO settings VALUES (0, 'strategy', 'sticky');
INSERT INTO terms VALUES (0, 'node-a', 41, 7, 3, 4611686018427387905);
PRAGMA application_id = 0x54414B54;
PRAGMA user_version = 1;
)";

// An installation that is as old as the first release is updated and goes on where it was.
TEST(DatabaseFileTest, AFileOfVersion1IsTakenOver) {
    const TemporaryDirectory directory;
    {
        Connection old(directory.path() + "/takt.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                       "");
        old.Run(kVersion1);
    }
    auto store = OpenEmbedded({.directory = directory.path()});
    ASSERT_TRUE(store) << store.error().detail;

    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { (*store)->Load(0, "", std::move(done)); });
    const auto term = TakeLead(**store, {.node = {.node = NodeId("b")}});

    ASSERT_TRUE(page) << page.error().detail;
    ASSERT_EQ(page->executions.size(), 1u);
    EXPECT_EQ(page->executions[0].id.view(), "e-1");
    EXPECT_EQ(page->executions[0].task->id.view(), "t-1");
    EXPECT_EQ(page->executions[0].status, Status::kRunning);
    EXPECT_EQ(page->executions[0].token[1], 0x11);
    EXPECT_EQ(page->settings.at(0).value.view(), "sticky");
    EXPECT_EQ(page->last_serial, 4611686018427387905u);
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 42u);
    // It has all that later versions brought, and its rows are those of the default partition.
    conformance::RowMaker make;
    const auto batch = std::make_shared<const Batch>(Batch{
        *term,
        1,
        0,
        {ExecutionChange{Place::kNone, Place::kLive, make.Child(page->executions[0], "child")},
         RecordPut{RecordKind::kLock, "key", "value"}, AuditAppend{make.MakeAudit("who")}}});
    const auto done = Await<void>([&](Done<void> d) { (*store)->Commit(batch, std::move(d)); });
    ASSERT_TRUE(done) << done.error().detail;
    using Rows = std::vector<Execution>;
    const auto list = Await<Rows>([&](Done<Rows> d) {
        (*store)->ListExecutions({.parent = ExecutionId("e-1")}, std::move(d));
    });
    ASSERT_TRUE(list) << list.error().detail;
    EXPECT_EQ(list->size(), 1u);
}

// Finished executions of two namespaces, from before there was an index by task and status. A step that
// an error stops leaves the file to the version before.
TEST(DatabaseFileTest, AFileOfVersion2IsRaisedInAllItsNamespaces) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/takt.db";
    {
        Connection old(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
        old.Run(kVersion1);
        ASSERT_TRUE(Migrate(old, path, Migrations().first(2)));
        old.Run(PartitionSql(7));
        for (const char* table : {"p7_history", "p7_child_history"}) {
            old.Run(
                fmt::format("DROP INDEX {0}_task_status;CREATE INDEX {0}_task ON {0} (task_id) "
                            "WHERE task_id IS NOT NULL",
                            table));
        }
        old.Run(
            "UPDATE live SET status = 'failed', finished_at_ms = 600;"
            "INSERT INTO history SELECT * FROM live;INSERT INTO p7_history SELECT * FROM live;"
            "DELETE FROM live");
        // Dies in the middle of it, and leaves no index that only one of the two versions knows.
        std::vector<std::string> dying(Migrations().begin(), Migrations().end());
        dying.back() += "SELECT nonsense";
        EXPECT_THROW(std::ignore = Migrate(old, path, dying), SqliteError);
        EXPECT_EQ(old.QueryInt("SELECT count(*) FROM sqlite_schema WHERE name LIKE "
                               "'%task_status'"),
                  0);
    }
    const LogCapture log;
    auto store = OpenEmbedded({.directory = directory.path()});
    ASSERT_TRUE(store) << store.error().detail;

    EXPECT_THAT(log.lines(), testing::Contains(HasSubstr("raising the schema")));
    EXPECT_THAT(log.lines(), testing::Contains(HasSubstr("was raised")));
    using Rows = std::vector<Execution>;
    for (const Partition partition : {Partition{0}, Partition{7}}) {
        for (const std::vector<Status>& statuses :
             {std::vector<Status>{}, {Status::kFailed}, {Status::kSuccess}}) {
            const auto list = Await<Rows>([&](Done<Rows> d) {
                (*store)->ListExecutions(
                    {.partition = partition, .task = TaskId("t-1"), .statuses = statuses},
                    std::move(d));
            });
            ASSERT_TRUE(list) << list.error().detail;
            const bool other = statuses == std::vector<Status>{Status::kSuccess};
            EXPECT_EQ(list->size(), other ? 0u : 1u);
        }
    }
}

// The next release brings a second step; its update is interrupted once by an error.
TEST(DatabaseFileTest, AStepIsAppliedWholeOrNotAtAll) {
    const TemporaryDirectory directory;
    Connection connection(directory.path() + "/x.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                          "");
    const std::vector<std::string> broken = {
        "CREATE TABLE a (x); INSERT INTO a VALUES (1)",
        "ALTER TABLE a ADD COLUMN y DEFAULT 5; SELECT nonsense"};
    EXPECT_THROW(std::ignore = Migrate(connection, "x.db", broken), SqliteError);
    EXPECT_EQ(connection.QueryInt("PRAGMA user_version"), 1);
    EXPECT_THROW(connection.QueryInt("SELECT y FROM a"), SqliteError);

    const std::vector<std::string> right = {broken[0], "ALTER TABLE a ADD COLUMN y DEFAULT 5"};
    EXPECT_TRUE(Migrate(connection, "x.db", right));
    EXPECT_EQ(connection.QueryInt("SELECT y FROM a"), 5);
    EXPECT_EQ(connection.QueryInt("PRAGMA user_version"), 2);
    EXPECT_FALSE(Migrate(connection, "x.db", std::span(right).first(1))) << "it is newer now";
}

}  // namespace
}  // namespace takt::internal::embedded
