#include "archive/store_look.h"

#include <algorithm>
#include <deque>
#include <future>
#include <optional>
#include <unordered_map>
#include <utility>

#include "archive/row_reader.h"
#include "archive/row_writer.h"
#include "model/lock.h"
#include "model/namespace.h"
#include "model/run_progress.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

constexpr std::uint64_t kCheckProgressEvery = 1'000;
constexpr std::size_t kFoundAtOnce = 500;
constexpr std::size_t kFindsUnderWay = 4;
// A partition's number within a serial.
constexpr int kPartitionShift = 14;

using FoundRows = std::vector<std::optional<Execution>>;

// A run's parts are found by its id alone.
struct RunSeen {
    std::uint64_t children = 0;  // Seen in lists and loads, and made before the look.
    bool live_child = false;
    bool seen = false;  // The run itself.
    bool live = false;
};

class PartitionCheck {
  public:
    PartitionCheck(Store& store, const PartitionHead& head, StoreFaults& out)
        : store_(store), head_(head), out_(out) {}

    Result<void> Row(const Change& change) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            return CheckExecution(*execution);
        }
        if (const auto* record = std::get_if<RecordPut>(&change)) records_.push_back(*record);
        if (const auto* chunk = std::get_if<LogAppend>(&change)) CheckChunk(chunk->row);
        if (const auto* event = std::get_if<EventAppend>(&change)) {
            CheckSerial(event->row.serial, "event " + SerialText(event->row.serial));
        }
        if (const auto* setting = std::get_if<SettingPut>(&change)) CheckSetting(*setting);
        return {};
    }

    Result<void> Finish() {
        if (auto found = AskFound(); !found) return found;
        while (!finds_.empty()) {
            if (auto found = CheckFound(); !found) return found;
        }
        if (auto runs = CheckRuns(); !runs) return runs;
        for (const RecordPut& record : records_) CheckRecord(record);
        return CheckLastSerial();
    }

  private:
    // It is written with each row: one that was read after all of these is below none.
    Result<void> CheckLastSerial() {
        if (highest_ <= head_.last_serial) return {};
        const auto page = AskStore<LoadPage>(
            [&](auto done) { store_.Load(head_.partition, "", std::move(done)); });
        if (!page) return std::unexpected(page.error());
        if (highest_ > page->last_serial) {
            Add({.text = "the last serial that was noted is below that of a row",
                 .remedy = "note the row's",
                 .last_serial = highest_});
        }
        return {};
    }

    void Add(StoreFault fault) {
        fault.partition = head_.partition;
        ++out_.count;
        if (out_.faults.size() < kFaultsMax) out_.faults.push_back(std::move(fault));
    }

    void CheckSerial(Serial serial, const std::string& whose) {
        if (((serial >> kPartitionShift) & 255) != head_.partition) {
            Add({.text = whose + " has a serial of another partition"});
            return;
        }
        highest_ = std::max(highest_, serial);
    }

    Result<void> CheckExecution(const ExecutionChange& change) {
        const Execution& row = change.row;
        const std::string whose = "execution " + std::string(row.id.view());
        const bool live = change.after == Place::kLive;
        CheckSerial(row.serial, whose);
        if (row.outcome && row.outcome->reason == Reason::kUndecodable) {
            Add({.text = whose + " cannot be read: its record is damaged"});
        } else if (live && IsTerminal(row.status)) {
            Execution ended = row;
            if (ended.finished_at == Time{}) ended.finished_at = ended.created_at;
            Add({.text = whose + " is " + std::string(Name(row.status)) +
                         " and still among those that live",
                 .remedy = "move it to the history",
                 .mend = ExecutionChange{Place::kLive, Place::kHistory, std::move(ended)}});
        } else if (!live && row.finished_at == Time{}) {
            Add({.text = whose + " is in the history without a time at which it finished"});
        }
        if (live) live_.insert_or_assign(row.id.text(), row.serial);
        if (row.task->workflow()) {
            RunSeen& run = runs_[row.id.text()];
            run.seen = true;
            run.live = live;
        }
        if (!row.parent.empty()) {
            RunSeen& run = runs_[row.parent.text()];
            run.children += IsCounted(row);
            run.live_child = run.live_child || live;
        }
        asked_.emplace_back(row.id, row.serial);
        return asked_.size() < kFoundAtOnce ? Result<void>() : AskFound();
    }

    // Parts that were made since the look began may be in one list and not yet in another.
    bool IsCounted(const Execution& part) const { return part.serial <= head_.last_serial; }

    // A row that a list shows must be found by its id, and be the same. Several questions are under way
    // while others are read.
    Result<void> AskFound() {
        std::vector<ExecutionId> ids;
        for (const auto& [id, serial] : asked_) ids.push_back(id);
        auto answer = BeginAsk<FoundRows>([&](auto done) {
            store_.FindExecutions(head_.partition, std::move(ids), std::move(done));
        });
        finds_.emplace_back(std::exchange(asked_, {}), std::move(answer));
        return finds_.size() < kFindsUnderWay ? Result<void>() : CheckFound();
    }

    Result<void> CheckFound() {
        auto [asked, answer] = std::move(finds_.front());
        finds_.pop_front();
        const auto rows = answer.get();
        if (!rows) return std::unexpected(rows.error());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto& row = (*rows)[i];
            const std::string whose = "execution " + std::string(asked[i].first.view());
            if (!row) {
                Add({.text = whose + " is in lists and is not found by its id"});
            } else if (row->serial != asked[i].second) {
                Add({.text = whose + " is there twice, or the index of ids is wrong"});
            }
        }
        return {};
    }

    Result<void> CheckRuns() {
        for (const auto& [id, run] : runs_) {
            const std::string whose = "run " + id.str();
            if (!run.seen) {
                // The children of a task that was changed or of a run that a purge is taking.
                const auto found = Find(ExecutionId(id));
                if (!found) return std::unexpected(found.error());
                if (!*found) Add({.text = whose + " is gone, and parts of it are there"});
                continue;
            }
            if (run.live_child && !run.live) {
                Add({.text = whose + " has ended, and a part of it has not"});
            }
            if (auto listed = CheckListed(id, run); !listed) return listed;
        }
        return {};
    }

    Result<void> CheckListed(const Text& id, const RunSeen& run) {
        ExecutionFilter filter{
            .partition = head_.partition, .parent = ExecutionId(id), .limit = 1'000, .brief = true};
        std::uint64_t listed = 0;
        while (true) {
            const auto rows = AskStore<std::vector<Execution>>(
                [&](auto done) { store_.ListExecutions(filter, std::move(done)); });
            if (!rows) return std::unexpected(rows.error());
            for (const Execution& row : *rows) listed += IsCounted(row);
            if (rows->empty() || rows->size() < filter.limit) break;
            filter.before = rows->back().serial;
        }
        if (listed == run.children) return {};
        const std::string whose = "run " + id.str() + " has ";
        // A part that ends while history and load are read is in neither: only the same number again is
        // no such part.
        const std::string more =
            listed > run.children ? std::to_string(listed - run.children) : std::string();
        Add({.text = whose + std::to_string(run.children) + " parts, and the index by run lists " +
                     std::to_string(listed),
             .sign = whose + "another number of parts " + more});
        return {};
    }

    Result<bool> Find(const ExecutionId& id) {
        const auto rows = AskStore<FoundRows>(
            [&](auto done) { store_.FindExecutions(head_.partition, {id}, std::move(done)); });
        if (!rows) return std::unexpected(rows.error());
        return rows->front().has_value();
    }

    void CheckRecord(const RecordPut& record) {
        RecordPut gone = record;
        gone.value = {};
        if (record.kind == RecordKind::kRun) {
            if (!live_.contains(record.key)) {
                Add({.text = "the progress of run " + record.key.str() +
                             " is kept, and the run does not live",
                     .remedy = "delete it",
                     .mend = std::move(gone)});
            }
            return;
        }
        const auto holding = DecodeLockHolding(record.key, record.value);
        if (!holding) {
            Add({.text = "the holding " + record.key.str() + " of a lock cannot be read",
                 .remedy = "delete it: the lock is free then",
                 .mend = std::move(gone)});
        } else if (!holding->execution.empty() && !live_.contains(holding->execution.text())) {
            Add({.text = "a lock is held by execution " + std::string(holding->execution.view()) +
                         ", which does not live",
                 .remedy = "release it",
                 .mend = std::move(gone)});
        }
    }

    void CheckChunk(const LogChunk& chunk) {
        Serial& last = last_chunk_[chunk.execution.text()];
        if (chunk.index <= last) {
            Add({.text = "the log of execution " + std::string(chunk.execution.view()) +
                         " is out of order"});
        }
        last = chunk.index;
        // The log of one execution comes in one piece.
        if (last_chunk_.size() > 1) last_chunk_ = {{chunk.execution.text(), last}};
    }

    void CheckSetting(const SettingPut& setting) {
        if (setting.key == kUnfinishedCopyKey) {
            Add({.text = "a copy into this store was cut off: make it again"});
            return;
        }
        if (head_.partition != kDefaultPartition ||
            !setting.key.view().starts_with(kNamespacePrefix)) {
            return;
        }
        const std::string_view name = setting.key.view().substr(kNamespacePrefix.size());
        if (const auto row = DecodeNamespace(name, setting.value); !row) {
            Add({.text = "the entry of namespace " + std::string(name) +
                         " cannot be read: " + row.error().detail});
        }
    }

    Store& store_;
    const PartitionHead head_;
    StoreFaults& out_;
    Serial highest_ = 0;
    std::vector<std::pair<ExecutionId, Serial>> asked_;
    std::deque<std::pair<decltype(asked_), std::future<Result<FoundRows>>>> finds_;
    std::unordered_map<Text, Serial, TextHash, TextEqual> live_;
    std::unordered_map<Text, RunSeen, TextHash, TextEqual> runs_;
    std::unordered_map<Text, Serial, TextHash, TextEqual> last_chunk_;
    std::vector<RecordPut> records_;
};

// The faults of indexes that the store keeps itself, and the partitions that have some.
Result<std::set<Partition>> CheckIndexesOf(Store& store, const std::vector<PartitionHead>& heads,
                                           StoreFaults& out) {
    std::set<Partition> wrong;
    auto* indexes = dynamic_cast<ChecksIndexes*>(&store);
    if (!indexes) return wrong;
    std::vector<Partition> partitions;
    for (const PartitionHead& head : heads) partitions.push_back(head.partition);
    auto faults = indexes->CheckIndexes(partitions);
    if (!faults) return std::unexpected(faults.error());
    for (IndexFault& fault : *faults) {
        wrong.insert(fault.partition);
        ++out.count;
        if (out.faults.size() == kIndexFaultsMax) continue;
        const bool add = fault.mend == IndexFault::Mend::kAdd;
        std::string sign = fault.index + (add ? " lacks " : " has ") + fault.entry;
        out.faults.push_back({.partition = fault.partition,
                              .text = fault.text,
                              .sign = std::move(sign),
                              .remedy = add ? "put it there" : "take it out",
                              .mend = {},
                              .index = std::move(fault)});
    }
    return wrong;
}

}  // namespace

Result<LookedOver> LookOver(Store& store, const TransferProgress& progress) {
    const auto heads = ReadHeads(store);
    if (!heads) return std::unexpected(heads.error());
    LookedOver look;
    StoreFaults& out = look.found;
    std::uint64_t checked = 0;
    const auto wrong = CheckIndexesOf(store, *heads, out);
    if (!wrong) return std::unexpected(wrong.error());
    for (const PartitionHead& head : *heads) {
        if (wrong->contains(head.partition)) continue;
        PartitionCheck check(store, head, out);
        auto read = ReadRows(store, head.partition, [&](Change change) {
            out.rows.Count(change);
            if (++checked % kCheckProgressEvery == 0 && progress) progress(out.rows);
            return check.Row(change);
        });
        if (read) read = check.Finish();
        if (!read) return std::unexpected(read.error());
        look.read.insert(head.partition);
    }
    return look;
}

}  // namespace takt::internal
