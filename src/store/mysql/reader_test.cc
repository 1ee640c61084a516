// Pages of Load: some megabytes each, whatever is in them.
#include "store/mysql/reader.h"

#include "store/mysql/store_fixture.h"

namespace takt::internal::mysql {
namespace {

// A page is filled by a few queries: the first looks how large rows are.
TEST(PageSize, FollowsTheSizeOfTheRows) {
    PageSize small(10'000);
    EXPECT_LE(small.next(), 500u);
    for (int i = 0; i < 100; ++i) small.Add(200);
    EXPECT_EQ(small.next(), 9'900u) << "all the rest of a page";

    PageSize large(10'000);
    large.Add(1 << 20);
    EXPECT_EQ(large.next(), 4u) << "few, but not one by one";
    for (int i = 0; i < 3; ++i) large.Add(1 << 20);
    EXPECT_TRUE(large.full());
    EXPECT_EQ(large.next(), 0u);

    PageSize tests(3);
    EXPECT_EQ(tests.next(), 3u);
    tests.Add(1 << 20);
    EXPECT_EQ(tests.next(), 2u);
}

class MysqlReaderTest : public MysqlStoreTest {};

// The server has closed what was silent for its wait_timeout, or an operator has killed all sessions.
// Who reads next need not know: readers do not ask first whether their connection is there.
TEST_F(MysqlReaderTest, AReadOnAConnectionThatTheServerHasClosedIsAnswered) {
    MysqlOptions options = database_.options();
    options.readers = 3;
    const auto store = Open(options);
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    CommitOneOff(*store, *term, "e-1");
    const std::string ours =
        fmt::format("FROM information_schema.processlist WHERE db = '{}'", options.database);
    const auto read_all = [&] {
        std::vector<std::future<Result<std::vector<Execution>>>> answers;
        for (int i = 0; i < 12; ++i) {
            answers.push_back(BeginAsk<std::vector<Execution>>(
                [&](auto done) { store->ListExecutions({}, std::move(done)); }));
        }
        for (auto& answer : answers) {
            const auto rows = answer.get();
            ASSERT_TRUE(rows) << rows.error().detail;
            EXPECT_EQ(rows->size(), 1u);
        }
    };
    const auto gone = fmt::format("SELECT COUNT(*) = 0 {}", ours);
    read_all();

    Connection root = Root();
    root.Run("SET GLOBAL wait_timeout = 1");  // Of the connections that come after it.
    std::string kills;
    Rows sessions = root.Query("SELECT id " + ours);
    while (sessions.Next()) kills += fmt::format("KILL {};", sessions.Int(0));
    root.Run(kills);
    Until(gone);
    read_all();

    Until(gone);
    root.Run("SET GLOBAL wait_timeout = DEFAULT");
    read_all();
}

// A leader takes over a thousand executions with large payloads: no page may be as large as all of
// them.
TEST_F(MysqlReaderTest, PagesOfLoadAreBoundedByTheirBytes) {
    const auto store = Open();
    const Result<Term> term = Acquire(*store, "node-a");
    ASSERT_TRUE(term);
    std::uint64_t sequence = 0;
    for (int n = 0; n < 6; ++n) {
        std::vector<Change> changes;
        for (int i = 0; i < 50; ++i) {
            Execution row = make_.OneOff("e-" + std::to_string(n * 50 + i));
            row.payload = Text(std::string(64 << 10, 'x'));
            changes.push_back(InsertLive(row));
        }
        ASSERT_TRUE(Commit(*store, MakeBatch(*term, ++sequence, std::move(changes))));
    }

    std::size_t found = 0;
    std::size_t pages = 0;
    std::string cursor;
    do {
        const auto page =
            Await<LoadPage>([&](Done<LoadPage> done) { store->Load(0, cursor, std::move(done)); });
        ASSERT_TRUE(page) << page.error().detail;
        EXPECT_LE(page->executions.size(), 110u);
        found += page->executions.size();
        cursor = page->next;
    } while (!cursor.empty() && ++pages < 100);

    EXPECT_EQ(found, 300u);
}

// An operator optimizes the tables, or a migration alters them, while a backup reads another namespace.
// The rows of that moment cannot be read any more: the backup must say so, not be one without them.
TEST_F(MysqlReaderTest, ATableThatIsMadeAnewUnderASnapshotIsNotTakenForAnEmptyOne) {
    const auto store = Open();
    conformance::RowMaker make(7);
    const Result<Term> term =
        TakeLead(*store, {.node = {.node = NodeId("node-a")}, .partition = 7});
    ASSERT_TRUE(term);
    const Execution row = make.OneOff("e-1");
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {InsertLive(row)})));
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 2, {FinishLive(row)})));
    MysqlOptions options = database_.options();
    options.pinned = true;
    options.readers = 1;
    const auto snapshot = Open(options);
    const auto list = [&](Store& from) {
        using Many = std::vector<Execution>;
        return Await<Many>(
            [&](Done<Many> done) { from.ListExecutions({.partition = 7}, std::move(done)); });
    };
    ASSERT_TRUE(List(*snapshot)) << "its moment is now";
    database_.Root().Run("ALTER TABLE takt_7_history FORCE");

    const auto rows = list(*snapshot);

    ASSERT_FALSE(rows) << rows->size() << " rows";
    EXPECT_EQ(rows.error().code, ErrorCode::kUnavailable);
    const auto now = list(*store);
    ASSERT_TRUE(now) << now.error().detail;
    EXPECT_EQ(now->size(), 1u);
}

// A namespace is deleted while a backup of the moment before reads another one.
TEST_F(MysqlReaderTest, ATableThatIsDroppedUnderASnapshotIsNotTakenForAnEmptyOne) {
    const auto store = Open();
    const auto drop = [&](Partition partition) {
        conformance::RowMaker make(partition);
        const Result<Term> term =
            TakeLead(*store, {.node = {.node = NodeId("node-a")}, .partition = partition});
        ASSERT_TRUE(term);
        ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {InsertLive(make.OneOff("e-1"))})));
        if (partition == 7) return;
        ASSERT_TRUE(
            Await<void>([&](Done<void> done) { store->Resign(*term, {}, std::move(done)); }));
        ASSERT_TRUE(Await<void>([&](Done<void> done) {
            store->DropPartition(partition, term->epoch, std::move(done));
        }));
    };
    drop(9);
    drop(7);
    MysqlOptions options = database_.options();
    options.pinned = true;
    options.readers = 1;
    const auto snapshot = Open(options);
    const auto list = [&](Partition partition) {
        using Many = std::vector<Execution>;
        return Await<Many>([&](Done<Many> done) {
            snapshot->ListExecutions({.partition = partition}, std::move(done));
        });
    };
    ASSERT_TRUE(List(*snapshot)) << "its moment is now";
    const auto row = RowOf(
        *Await<std::vector<LeaderRow>>([&](auto done) { store->Leaders(std::move(done)); }), 7);
    ASSERT_TRUE(Await<void>(
        [&](Done<void> done) { store->Resign({7, row->epoch, row->nonce}, {}, std::move(done)); }));
    ASSERT_TRUE(Await<void>(
        [&](Done<void> done) { store->DropPartition(7, row->epoch, std::move(done)); }));

    const auto gone = list(7);

    ASSERT_FALSE(gone) << gone->size() << " rows";
    EXPECT_EQ(gone.error().code, ErrorCode::kUnavailable);
    const auto before = list(9);
    ASSERT_TRUE(before) << before.error().detail;
    EXPECT_TRUE(before->empty()) << "that was gone before";
}

// A namespace was made after the moment that a backup is of.
TEST_F(MysqlReaderTest, ATableThatIsYoungerThanASnapshotHasNothingInItForThat) {
    const auto store = Open();
    MysqlOptions options = database_.options();
    options.pinned = true;
    options.readers = 1;
    const auto snapshot = Open(options);
    ASSERT_TRUE(List(*snapshot));
    conformance::RowMaker make(7);
    const Result<Term> term =
        TakeLead(*store, {.node = {.node = NodeId("node-a")}, .partition = 7});
    ASSERT_TRUE(term);
    ASSERT_TRUE(Commit(*store, MakeBatch(*term, 1, {InsertLive(make.OneOff("e-1"))})));
    using Many = std::vector<Execution>;

    const auto rows = Await<Many>(
        [&](Done<Many> done) { snapshot->ListExecutions({.partition = 7}, std::move(done)); });

    ASSERT_TRUE(rows) << rows.error().detail;
    EXPECT_TRUE(rows->empty());
}

// A list over years of history by a type that nobody uses. The server must not go on with it when
// nobody waits any more, nor do it twice, and the caller learn what to do.
TEST_F(MysqlReaderTest, ASlowListIsEndedOnTheServerAndNotRepeated) {
    MysqlOptions options = database_.options();
    options.timeout = std::chrono::seconds(2);
    options.readers = 1;
    const auto store = Open(options);
    ASSERT_TRUE(List(*store));
    Connection other = database_.Root();
    other.Run("LOCK TABLES takt_history WRITE");  // Stands for a scan that takes long.
    const Steady begin = SteadyClock::now();

    const auto rows = List(*store);

    const auto time = SteadyClock::now() - begin;
    Rows left = Root().Query(fmt::format(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{}' AND info LIKE "
        "'%takt_history%' AND user <> 'root'",
        database_.name()));
    other.Run("UNLOCK TABLES");
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(rows.error().detail.find("narrow"), std::string::npos) << rows.error().detail;
    EXPECT_LT(time, std::chrono::seconds(3)) << "once, and within the timeout";
    ASSERT_TRUE(left.Next());
    EXPECT_EQ(left.Int(0), 0) << "nothing is left behind on the server";
    EXPECT_TRUE(List(*store)) << "the next one is answered";
}

// The server hangs. A read waits for its answer once, not twice.
TEST_F(MysqlReaderTest, AReadThatIsNotAnsweredIsNotAskedAgain) {
    MysqlOptions options = database_.options();
    options.timeout = std::chrono::seconds(2);
    options.readers = 1;  // Which is connected.
    const auto store = Open(options);
    ASSERT_TRUE(List(*store));
    TestServer().process().Pause();
    const Steady begin = SteadyClock::now();
    const auto rows = List(*store);
    const auto time = SteadyClock::now() - begin;
    TestServer().process().Continue();

    ASSERT_FALSE(rows);
    EXPECT_NE(rows.error().detail.find("did not answer"), std::string::npos) << rows.error().detail;
    EXPECT_LT(time, std::chrono::milliseconds(3'800));
}

}  // namespace
}  // namespace takt::internal::mysql
