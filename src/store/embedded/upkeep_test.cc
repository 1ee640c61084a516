// The embedded store over the years: purges, backups, large payloads.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "store/embedded/sqlite.h"
#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

// The page of an index, below its root, that holds its first entries.
std::uint32_t FirstLeaf(const std::string& file, const std::string& index) {
    Connection connection(file, SQLITE_OPEN_READONLY, "");
    auto page = static_cast<std::uint32_t>(
        connection.QueryInt("SELECT rootpage FROM sqlite_schema WHERE name = '" + index + "'"));
    std::ifstream bytes(file, std::ios::binary);
    std::array<unsigned char, 8192> content{};
    const auto read = [&] {
        bytes.seekg(std::streamoff(page - 1) * 8192);
        bytes.read(reinterpret_cast<char*>(content.data()), content.size());
    };
    constexpr unsigned char kInterior = 2;
    for (read(); content[0] == kInterior; read()) {
        const std::size_t cell = content[12] << 8 | content[13];
        page = 0;
        for (std::size_t i = 0; i < 4; ++i) page = page << 8 | content[cell + i];
    }
    return page;
}

// A disk loses one page of an index that only the purge reads. Tasks must go on being run, also
// after a restart, and the operator be told.
TEST_F(EmbeddedStoreTest, ADamagedPageThatOnlyThePurgeReadsStopsNothingElse) {
    RowMaker make;
    std::vector<Change> rows;
    for (int i = 0; i < 3000; ++i) {
        rows.push_back(ExecutionChange{Place::kNone, Place::kHistory,
                                       Finished(make.OneOff("e-" + std::to_string(i)))});
    }
    ASSERT_TRUE(Commit(1, std::move(rows)));
    const Purge purge{make.now() + Duration(3'600'000), {}, 1000};
    store_.reset();
    const std::string file = directory_.path() + "/takt.db";
    const std::uint32_t leaf = FirstLeaf(file, "history_finished");
    Open();
    // By another process: closing a file drops the locks that SQLite has on it in this one.
    ASSERT_EQ(std::system(("dd if=/dev/zero of='" + file + "' bs=8192 count=1 conv=notrunc seek=" +
                           std::to_string(leaf - 1) + " 2>/dev/null")
                              .c_str()),
              0);
    const LogCapture capture;

    const Result<void> first = Commit(1, {SettingPut{"a", "1"}, purge});
    const Result<void> second = Commit(2, {SettingPut{"b", "2"}, purge});

    EXPECT_TRUE(first) << first.error().detail;
    EXPECT_TRUE(second) << second.error().detail;
    EXPECT_EQ(Settings(), 2u);
    const std::vector<std::string> lines = capture.lines();
    EXPECT_EQ(
        std::ranges::count_if(
            lines, [](const std::string& line) { return line.contains("cannot be deleted"); }),
        1)
        << "it is told, and not tried again at once";

    store_.reset();
    Open({.full_check_bytes_max = 0});  // As a large file is.
    EXPECT_TRUE(Commit(1, {SettingPut{"c", "3"}, purge}));
    EXPECT_EQ(Settings(), 3u);
}

// The same disk loses a page without which nobody finds any row of the history.
TEST_F(EmbeddedStoreTest, ADamagedTopPageOfATableIsSeenInALargeFileToo) {
    store_.reset();
    const std::string file = directory_.path() + "/takt.db";
    std::int64_t top = 0;
    {
        Connection connection(file, SQLITE_OPEN_READONLY, "");
        top = connection.QueryInt("SELECT rootpage FROM sqlite_schema WHERE name = 'history'");
    }
    {
        std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
        bytes.seekp(std::streamoff(top - 1) * 8192);
        bytes << std::string(8192, '\0');
    }
    const auto store = OpenEmbedded({.directory = directory_.path(), .full_check_bytes_max = 0});

    ASSERT_FALSE(store);
    EXPECT_TRUE(store.error().detail.contains("the top page of history")) << store.error().detail;
}

// The documented way to save the store, while a scheduler writes as fast as it can.
TEST_F(EmbeddedStoreTest, TheDocumentedBackupEndsUnderLoadAndIsWhole) {
    std::ifstream page(std::string(TAKT_SOURCE_DIR) + "/docs/operating.md");
    const std::string text{std::istreambuf_iterator<char>(page), {}};
    const std::size_t begin = text.find("VACUUM INTO '");
    ASSERT_NE(begin, std::string::npos) << "docs/operating.md tells how to save the store";
    std::string command = text.substr(begin, text.find('\'', begin + 13) + 1 - begin);
    const std::string copy = directory_.path() + "/saved/takt.db";
    command.replace(13, command.size() - 14, copy);
    std::filesystem::create_directory(directory_.path() + "/saved");
    RowMaker make;
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> committed = 0;
    std::thread load([&] {
        for (std::uint64_t sequence = 1; !stop; ++sequence) {
            const Execution row = make.OneOff("e-" + std::to_string(sequence));
            ASSERT_TRUE(
                Commit(sequence, {ExecutionChange{Place::kNone, Place::kHistory, Finished(row)}}));
            committed = sequence;
        }
    });
    while (committed < 500) std::this_thread::yield();

    const std::uint64_t before = committed;
    {
        Connection tool(directory_.path() + "/takt.db", SQLITE_OPEN_READWRITE, "");
        tool.Run(command);
    }
    stop = true;
    load.join();

    store_.reset();
    const auto saved = OpenEmbedded({.directory = directory_.path() + "/saved"});
    ASSERT_TRUE(saved) << saved.error().detail;
    Connection check(copy, SQLITE_OPEN_READWRITE, "");
    EXPECT_EQ(check.QueryText("PRAGMA integrity_check"), "ok");
    EXPECT_GE(check.QueryInt("SELECT count(*) FROM history"), static_cast<std::int64_t>(before));
}

// A scheduler starts with thousands of large payloads waiting: no page of them may be as large as
// all.
TEST_F(EmbeddedStoreTest, PagesOfLoadAreBoundedByTheirBytes) {
    RowMaker make;
    std::vector<Change> rows;
    for (int i = 0; i < 24; ++i) {
        Execution row = make.OneOff("e-" + std::to_string(i));
        row.payload = Text(std::string(512 << 10, 'x'));
        rows.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
    }
    ASSERT_TRUE(Commit(1, std::move(rows)));

    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, "", std::move(done)); });
    ASSERT_TRUE(page);
    EXPECT_LE(page->executions.size(), 16u);
    const auto rest =
        Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, page->next, std::move(done)); });
    ASSERT_TRUE(rest);
    EXPECT_EQ(page->executions.size() + rest->executions.size(), 24u);
    EXPECT_TRUE(rest->next.empty());
}

}  // namespace
}  // namespace takt::internal::embedded
