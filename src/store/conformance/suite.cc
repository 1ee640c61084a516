#include "store/conformance/suite.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/failpoint.h"

namespace takt::internal::conformance {

void StoreConformance::SetUp() {
    ASSERT_TRUE(StartFailPoints());
    auto database = GetParam().create();
    ASSERT_TRUE(database) << GetParam().name << " cannot run: " << database.error().detail;
    database_ = std::move(*database);
    auto store = database_->Open();
    ASSERT_TRUE(store) << GetParam().name << " cannot open: " << store.error().detail;
    store_ = std::move(*store);
}

void StoreConformance::Reopen() {
    store_.reset();
    auto store = database_->Open();
    ASSERT_TRUE(store) << store.error().detail;
    store_ = std::move(*store);
}

void StoreConformance::Crash() {
    auto store = database_->Crash(std::move(store_));
    ASSERT_TRUE(store) << store.error().detail;
    store_ = std::move(*store);
}

void StoreConformance::LetTtlRunOut() {
    const Duration time = GetParam().ttl_min * 2;
    if (database_->Advance(time)) return;
    // Nothing but the database's own clock tells when a ttl is over, so there is no signal to wait
    // for.
    std::this_thread::sleep_for(time);
}

Result<void> StoreConformance::Announce(std::string_view node, Duration ttl) {
    const NodeRow row{.node = NodeId(Text(node)),
                      .address = Text("http://" + std::string(node)),
                      .version = "0.1.0",
                      .started_at = make_.now()};
    return Await<void>([&](Done<void> done) { store_->Announce(row, ttl, std::move(done)); });
}

std::vector<LeaderRow> StoreConformance::Leaders() {
    using Rows = std::vector<LeaderRow>;
    const auto rows = Await<Rows>([&](Done<Rows> done) { store_->Leaders(std::move(done)); });
    EXPECT_TRUE(rows) << rows.error().detail;
    return rows ? *rows : Rows{};
}

std::optional<LeaderRow> StoreConformance::LastTerm(Partition partition) {
    for (LeaderRow& row : Leaders()) {
        if (row.partition == partition) return std::move(row);
    }
    return std::nullopt;
}

std::optional<LeaderRow> StoreConformance::Leader(Partition partition) {
    std::optional<LeaderRow> row = LastTerm(partition);
    return row && row->leads() ? std::move(row) : std::nullopt;
}

Result<Term> StoreConformance::Acquire(const Candidate& candidate) {
    return Await<Term>([&](Done<Term> done) { store_->Acquire(candidate, std::move(done)); });
}

Result<Term> StoreConformance::Acquire(std::string_view node, Duration ttl, std::uint64_t floor,
                                       Partition partition) {
    // For long at first: a busy machine may take longer than the shortest ttl between the two.
    const Result<void> announced = Announce(node, std::max(ttl, kLong));
    if (!announced) return std::unexpected(announced.error());
    const Result<Term> term = Acquire({.partition = partition,
                                       .node = NodeId(Text(node)),
                                       .address = Text("http://" + std::string(node)),
                                       .epoch_floor = floor,
                                       .replaced = LastTerm(partition)});
    if (!term || ttl >= kLong) return term;
    const Result<void> shortened = Announce(node, ttl);
    if (!shortened) return std::unexpected(shortened.error());
    return term;
}

Result<void> StoreConformance::Resign(const Term& term, std::string_view successor) {
    return Await<void>(
        [&](Done<void> done) { store_->Resign(term, NodeId(Text(successor)), std::move(done)); });
}

Result<void> StoreConformance::Commit(const Term& term, std::uint64_t sequence,
                                      std::vector<Change> changes, Serial last_serial) {
    const auto batch =
        std::make_shared<const Batch>(Batch{term, sequence, last_serial, std::move(changes)});
    return Await<void>([&](Done<void> done) { store_->Commit(batch, std::move(done)); });
}

StoreConformance::Led& StoreConformance::led(Partition partition) {
    const auto found = led_.find(partition);
    if (found != led_.end()) return found->second;
    const Result<Term> term = Acquire("node-a", kLong, 0, partition);
    EXPECT_TRUE(term) << term.error().detail;
    return led_.emplace(partition, Led{term.value_or(Term{})}).first->second;
}

void StoreConformance::ResignIn(Partition partition) {
    const Result<void> done = Resign(led(partition).term);
    ASSERT_TRUE(done) << done.error().detail;
    led_.erase(partition);
}

void StoreConformance::PutIn(Partition partition, const RowMaker& make,
                             std::vector<Change> changes) {
    const std::size_t changes_max = store_->limits().changes_max;
    for (std::size_t begin = 0; begin < changes.size(); begin += changes_max) {
        const std::size_t end = std::min(changes.size(), begin + changes_max);
        const std::vector<Change> part(changes.begin() + static_cast<std::ptrdiff_t>(begin),
                                       changes.begin() + static_cast<std::ptrdiff_t>(end));
        Led& now = led(partition);
        const Result<void> done = Commit(now.term, ++now.sequence, part, make.last_serial());
        ASSERT_TRUE(done) << done.error().detail;
    }
}

void StoreConformance::Insert(const Execution& row) {
    Put({ExecutionChange{Place::kNone, Place::kLive, row}});
}

std::optional<Execution> StoreConformance::Find(const ExecutionId& id, Partition partition) {
    using Rows = std::vector<std::optional<Execution>>;
    const auto found = Await<Rows>(
        [&](Done<Rows> done) { store_->FindExecutions(partition, {id}, std::move(done)); });
    EXPECT_TRUE(found) << found.error().detail;
    if (!found) return std::nullopt;
    EXPECT_EQ(found->size(), 1u);
    return found->at(0);
}

std::vector<Execution> StoreConformance::List(const ExecutionFilter& filter) {
    using Rows = std::vector<Execution>;
    auto found =
        Await<Rows>([&](Done<Rows> done) { store_->ListExecutions(filter, std::move(done)); });
    EXPECT_TRUE(found) << found.error().detail;
    return found ? std::move(*found) : Rows{};
}

std::vector<std::string> StoreConformance::ListIds(const ExecutionFilter& filter) {
    std::vector<std::string> ids;
    for (const Execution& row : List(filter)) ids.push_back(row.id.text().str());
    return ids;
}

Loaded StoreConformance::LoadAll(Partition partition) {
    Loaded all;
    std::string cursor;
    do {
        auto page = Await<LoadPage>(
            [&](Done<LoadPage> done) { store_->Load(partition, cursor, std::move(done)); });
        EXPECT_TRUE(page) << page.error().detail;
        if (!page) break;
        if (!page->settings.empty() || !page->workers.empty() || !page->tasks.empty()) {
            EXPECT_TRUE(all.records.empty()) << "settings, workers and tasks come first";
            EXPECT_TRUE(all.executions.empty()) << "settings, workers and tasks come first";
        }
        if (!page->records.empty()) EXPECT_TRUE(all.executions.empty()) << "records come before";
        if (all.pages > 0) EXPECT_EQ(page->last_serial, all.last_serial);
        all.last_serial = page->last_serial;
        std::ranges::move(page->settings, std::back_inserter(all.settings));
        std::ranges::move(page->workers, std::back_inserter(all.workers));
        std::ranges::move(page->tasks, std::back_inserter(all.tasks));
        std::ranges::move(page->records, std::back_inserter(all.records));
        std::ranges::move(page->executions, std::back_inserter(all.executions));
        cursor = page->next;
        // No test writes more; a cursor that does not advance must not hang the suite.
        EXPECT_LT(++all.pages, 1000u);
    } while (!cursor.empty() && all.pages < 1000);
    return all;
}

}  // namespace takt::internal::conformance
