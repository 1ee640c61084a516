// The log is brought into the database while commits go on.
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "store/embedded/sqlite.h"
#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

constexpr int kFrames = 16;  // Begin a checkpoint.

class CheckpointerTest : public EmbeddedStoreTest {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        Open({.checkpoint_frames = kFrames});
    }
    void TearDown() override {
        LetGo();
        EmbeddedStoreTest::TearDown();
    }

    static void LetGo() {
        vfs_hold_database = false;
        vfs_hold_database.notify_all();
    }

    // A row of some pages.
    std::future<Result<void>> Begin() {
        Execution row = make_.OneOff("e-" + std::to_string(++sent_));
        row.payload = Text(std::string(20'000, 'x'));
        const auto batch = std::make_shared<const Batch>(
            Batch{term_, sent_, row.serial, {ExecutionChange{Place::kNone, Place::kLive, row}}});
        return BeginAsk<void>([&](Done<void> done) { store_->Commit(batch, std::move(done)); });
    }
    Result<void> CommitOne() { return Begin().get(); }

    std::size_t Stored() {
        const auto page = Await<LoadPage>(
            [&](Done<LoadPage> done) { store_->Load(kDefaultPartition, "", std::move(done)); });
        return page ? page->executions.size() : 0;
    }

    // How often the log has started over since the file was made: SQLite counts it in its header.
    std::uint32_t Generation() const {
        std::ifstream log(directory_.path() + "/takt.db-wal", std::ios::binary);
        log.seekg(12);
        std::uint32_t count = 0;
        for (int i = 0; i < 4; ++i) count = count << 8 | static_cast<unsigned char>(log.get());
        return count;
    }
    std::uintmax_t LogPages() const {
        return std::filesystem::file_size(directory_.path() + "/takt.db-wal") / 8192;
    }

    RowMaker make_;
    std::uint64_t sent_ = 0;
};

// A disk takes its time to sync what a checkpoint wrote: nobody's commit waits for that.
TEST_F(CheckpointerTest, CommitsAreAnsweredWhileTheDatabaseIsSynced) {
    // An empty log: the tables of a new database are a checkpoint of their own, which could be past
    // its sync already.
    store_.reset();
    vfs_hold_database = true;
    Open({.checkpoint_frames = kFrames});
    // Far fewer than make the writer wait for the checkpointer; one that could do nothing is tried
    // again after some commits.
    for (int i = 0; vfs_held == 0 && i < 18; ++i) ASSERT_TRUE(CommitOne());
    vfs_held.wait(0);

    std::future<Result<void>> beside = Begin();

    ASSERT_EQ(beside.wait_for(std::chrono::seconds(10)), std::future_status::ready)
        << "a commit waits for the sync of the database";
    EXPECT_TRUE(beside.get());
}

// A disk never gets done: the log must not grow for ever, so that in the end commits wait.
TEST_F(CheckpointerTest, CommitsWaitWhenTheDatabaseIsFarBehind) {
    vfs_hold_database = true;
    std::future<Result<void>> waiting;
    for (int i = 0; i < 1'000; ++i) {
        waiting = Begin();
        if (waiting.wait_for(std::chrono::milliseconds(500)) != std::future_status::ready) break;
    }

    EXPECT_EQ(waiting.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    EXPECT_LT(LogPages(), 24 * kFrames);
    LetGo();
    EXPECT_TRUE(waiting.get());
}

// A scheduler that is never idle: its log starts over all the same.
TEST_F(CheckpointerTest, TheLogStartsOverUnderLoad) {
    const std::uint32_t before = Generation();
    for (int i = 0; i < 100; ++i) {
        std::vector<std::future<Result<void>>> answers;
        for (int one = 0; one < 4; ++one) answers.push_back(Begin());
        for (auto& answer : answers) ASSERT_TRUE(answer.get());
    }

    EXPECT_GT(Generation(), before);
    EXPECT_LT(LogPages(), 24 * kFrames);
    EXPECT_EQ(Stored(), sent_);
}

// An operator's tool reads for long. The log grows meanwhile, and starts over when the tool is done.
TEST_F(CheckpointerTest, AReaderKeepsTheLogFromStartingOverForAsLongAsItReads) {
    ASSERT_TRUE(CommitOne());
    {
        Connection tool(directory_.path() + "/takt.db", SQLITE_OPEN_READWRITE, "");
        tool.Run("BEGIN");
        tool.QueryInt("SELECT count(*) FROM live");
        const std::uint32_t before = Generation();
        for (int i = 0; i < 100; ++i) ASSERT_TRUE(CommitOne());
        EXPECT_EQ(Generation(), before);
        EXPECT_GT(LogPages(), 8 * kFrames);
    }
    const std::uint32_t before = Generation();
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(CommitOne());

    EXPECT_GT(Generation(), before);
    EXPECT_EQ(Stored(), sent_);
}

// The checkpointer finds that the disk is broken, while the log is well. What was answered is in the
// log; nothing more may be taken, since nobody knows what the disk has thrown away.
TEST_F(CheckpointerTest, ADiskThatBreaksUnderACheckpointStopsTheWriter) {
    vfs_log_is_well = true;
    vfs_sync_code = SQLITE_IOERR_FSYNC;
    Result<void> refused;
    std::size_t accepted = 0;
    for (int i = 0; i < 1'000 && refused; ++i) {
        refused = CommitOne();
        if (refused) ++accepted;
    }

    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().detail.contains("check the disk, then restart Takt"))
        << refused.error().detail;
    vfs_sync_code = 0;
    EXPECT_FALSE(CommitOne()) << "a disk that seems well again is not trusted";
    store_.reset();
    EXPECT_GT(std::filesystem::file_size(directory_.path() + "/takt.db-wal"), 0u)
        << "only the log has all that was answered";
    Open();
    EXPECT_EQ(Stored(), accepted);
}

// The database cannot grow, while its log still can: nothing is lost, and when there is room again it
// goes on without a restart.
TEST_F(CheckpointerTest, ACheckpointWithoutRoomIsMadeLater) {
    vfs_log_is_well = true;
    vfs_write_code = SQLITE_FULL;
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(CommitOne());
    const std::uint32_t before = Generation();

    vfs_write_code = 0;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(CommitOne());

    EXPECT_GT(Generation(), before);
    EXPECT_EQ(Stored(), sent_);
}

}  // namespace
}  // namespace takt::internal::embedded
