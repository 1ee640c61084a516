// For the tests of this folder: a store with a row of every kind in two partitions, and all of a store
// as text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "archive/row_reader.h"
#include "model/lock.h"
#include "store/conformance/rows.h"
#include "store/lead.h"
#include "store/memory/store.h"

namespace takt::internal {

inline std::unique_ptr<Store> NewMemory() {
    return std::make_unique<MemoryStore>(std::make_shared<MemoryDatabase>());
}

struct ShowRow {
    std::string operator()(const ExecutionChange& change) const {
        return std::string(change.after == Place::kLive ? "live " : "history ") +
               conformance::Show(change.row);
    }
    std::string operator()(const SettingPut& row) const {
        return "setting " + row.key.str() + " " + row.value.str();
    }
    std::string operator()(const RecordPut& row) const {
        return "record " + std::to_string(static_cast<int>(row.kind)) + row.key.str() + " " +
               row.value.str();
    }
    template <typename Other>
    std::string operator()(const Other& change) const {
        if constexpr (requires { conformance::Show(change.row); }) {
            return conformance::Show(change.row);
        } else {
            return "no row";
        }
    }
};

// Every row, partition by partition, in an order that does not depend on the store.
inline std::vector<std::string> ShowStore(Store& store) {
    std::vector<std::string> rows;
    const auto heads = ReadHeads(store);
    EXPECT_TRUE(heads) << heads.error().detail;
    if (!heads) return rows;
    for (const PartitionHead& head : *heads) {
        const std::string before = std::to_string(head.partition) + " ";
        rows.push_back(before + "last " + std::to_string(head.last_serial));
        const auto read = ReadRows(store, head.partition, [&](Change change) -> Result<void> {
            rows.push_back(before + std::visit(ShowRow{}, change));
            return {};
        });
        EXPECT_TRUE(read) << read.error().detail;
    }
    std::ranges::sort(rows);
    return rows;
}

// Writes changes to a partition as a leader would.
class Filler {
  public:
    Filler(Store& store, Partition partition) : store_(store), maker(partition) {
        const auto term = TakeLead(store, {.node = {.node = NodeId("node"), .address = "http://x"},
                                           .partition = partition});
        EXPECT_TRUE(term) << term.error().detail;
        if (term) term_ = *term;
    }
    void Commit(std::vector<Change> changes, Serial last_serial) {
        auto batch = std::make_shared<Batch>();
        batch->term = term_;
        batch->sequence = ++sequence_;
        batch->last_serial = last_serial;
        batch->changes = std::move(changes);
        const auto done =
            AskStore<void>([&](auto answer) { store_.Commit(batch, std::move(answer)); });
        ASSERT_TRUE(done) << done.error().detail;
    }
    void Commit(std::vector<Change> changes) { Commit(std::move(changes), maker.last_serial()); }
    void Resign() {
        static_cast<void>(
            AskStore<void>([&](auto done) { store_.Resign(term_, {}, std::move(done)); }));
    }

  private:
    Store& store_;
    Term term_;
    std::uint64_t sequence_ = 0;

  public:
    conformance::RowMaker maker;
};

inline Change Insert(Execution row) {
    return ExecutionChange{Place::kNone, Place::kLive, std::move(row)};
}
inline Change InsertFinished(Execution row) {
    return ExecutionChange{Place::kNone, Place::kHistory, conformance::Finished(std::move(row))};
}
inline Change Chunk(std::string_view execution, Serial index) {
    return LogAppend{{.execution = ExecutionId(Text(execution)),
                      .index = index,
                      .attempt = 1,
                      .at = Time(Duration(5)),
                      .lines = "line " + std::to_string(index) + "\n"}};
}
inline Change Holding(const char* id, const Execution& holder) {
    const LockHolding holding{.id = id,
                              .locks = {{.name = "ledger", .permits = 1, .token = 7}},
                              .execution = holder.id,
                              .attempt = 1};
    return RecordPut{RecordKind::kLock, id, EncodeLockHolding(holding)};
}

// A row of every kind; more finished ones than a page has.
inline void FillPartition(Store& store, Partition partition, int finished) {
    Filler filler(store, partition);
    auto& maker = filler.maker;
    const Execution waits = maker.OneOff("waits");
    const Execution runs = conformance::Running(conformance::Scheduled(maker.OneOff("runs"), "w1"));
    filler.Commit({Insert(waits), Insert(runs), TaskPut{maker.Recurring("nightly")},
                   WorkerPut{maker.MakeWorker("w1")}, SettingPut{"strategy", "random"},
                   EventAppend{maker.MakeEvent(EventType::kTaskStarted)},
                   AuditAppend{maker.MakeAudit("{\"who\":\"root\"}")}, Holding("h1", runs)});
    filler.Commit({Insert(maker.Fire("nightly", "fire")), Chunk("runs", 1), Chunk("runs", 2)});
    for (int i = 0; i < finished; ++i) {
        const std::string id = "done" + std::to_string(i);
        std::vector<Change> changes{InsertFinished(maker.OneOff(id))};
        if (i % 100 == 0) changes.push_back(Chunk(id, 1));
        filler.Commit(std::move(changes));
        maker.Pass(Duration(1000));
    }
    filler.Resign();
}

}  // namespace takt::internal
