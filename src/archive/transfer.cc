#include "archive/transfer.h"

#include <optional>
#include <utility>

#include "archive/row_writer.h"
#include "archive/store_lock.h"
#include "base/failpoint.h"
#include "base/random.h"
#include "takt/version.h"

namespace takt::internal {
namespace {

constexpr std::uint64_t kProgressEvery = 1'000;
// One question, beside those for the rows.
constexpr std::uint64_t kConfirmEvery = 20'000;

bool IsUndecodable(const Change& change) {
    const auto* execution = std::get_if<ExecutionChange>(&change);
    return execution && execution->row.outcome &&
           execution->row.outcome->reason == Reason::kUndecodable;
}

// Passes rows on and counts them.
class CountingTarget final : public RowTarget {
  public:
    CountingTarget(RowTarget& next, const TransferProgress& progress)
        : next_(next), progress_(progress) {}

    Result<void> Begin(const PartitionHead& head) override {
        ++counted_.partitions;
        return next_.Begin(head);
    }
    Result<void> Add(Change change) override {
        counted_.rows.Count(change);
        counted_.undecodable += IsUndecodable(change);
        if (++added_ % kProgressEvery == 0 && progress_) progress_(counted_.rows);
        return next_.Add(std::move(change));
    }
    Result<void> End() override { return next_.End(); }
    Result<void> Finish() override { return next_.Finish(); }

    const Transferred& counted() const { return counted_; }

  private:
    RowTarget& next_;
    const TransferProgress& progress_;
    Transferred counted_;
    std::uint64_t added_ = 0;
};

// A store that is being filled: locked, and marked before anything else is done to it.
class Filling {
  public:
    Filling(Store& store, std::string source) : store_(store), source_(std::move(source)) {}

    Result<void> Begin(const std::vector<PartitionHead>& heads) {
        PartitionHead first{.partition = kDefaultPartition};
        for (const PartitionHead& head : heads) {
            if (head.partition == kDefaultPartition) first = head;
        }
        auto lock = StoreLock::Take(store_, {first}, StoreLock::For::kFilling);
        if (!lock) return std::unexpected(lock.error());
        lock_ = std::move(*lock);
        TAKT_FAIL_POINT("archive.fill.led");
        writer_.emplace(store_, *lock_, source_);
        if (auto marked = writer_->MarkStore(); !marked) return marked;
        TAKT_FAIL_POINT("archive.fill.marked");
        return lock_->TakeMore(heads);
    }

    // REQUIRES: Begin succeeded.
    RowWriter& writer() { return *writer_; }

  private:
    Store& store_;
    const std::string source_;
    std::unique_ptr<StoreLock> lock_;
    std::optional<RowWriter> writer_;
};

using Confirmation = std::function<Result<void>()>;

// `confirm` is asked before a partition is called whole, and now and then: a source that is led by
// somebody else is given up early.
Result<void> PassPartitions(Store& from, const std::vector<PartitionHead>& heads, RowTarget& target,
                            const Confirmation& confirm) {
    std::uint64_t read = 0;
    const auto pass = [&](Change change) -> Result<void> {
        if (++read % kConfirmEvery == 0) {
            if (auto confirmed = confirm(); !confirmed) return confirmed;
        }
        return target.Add(std::move(change));
    };
    for (const PartitionHead& head : heads) {
        auto passed = target.Begin(head);
        if (passed) passed = ReadRows(from, head.partition, pass);
        if (passed) passed = confirm();
        if (passed) passed = target.End();
        if (!passed) return passed;
    }
    return {};
}

// A source whose serials moved on is another one.
std::string NameOf(const std::vector<PartitionHead>& heads) {
    std::string name = "store";
    for (const PartitionHead& head : heads) {
        name += " " + std::to_string(head.partition) + ":" + std::to_string(head.last_serial);
    }
    return name;
}

std::string NewArchiveId() {
    Random random(NewRandomSeed());
    return SerialText(random.Next() >> 1);
}

// Before a file or a copy is whole, `last` is asked; see PassPartitions for `confirm`.
struct Confirmations {
    Confirmation confirm;
    Confirmation last;
};

Result<Transferred> WriteArchive(Store& from, const std::vector<PartitionHead>& heads,
                                 const std::string& path, const Confirmations& confirmations,
                                 const TransferProgress& progress) {
    const auto writer = ArchiveWriter::Create(path, {.id = NewArchiveId(),
                                                     .version = takt::kVersion,
                                                     .store = from.Describe(),
                                                     .at = ReadClocks().wall});
    if (!writer) return std::unexpected(writer.error());
    CountingTarget counting(**writer, progress);
    auto passed = PassPartitions(from, heads, counting, confirmations.confirm);
    if (passed) passed = confirmations.last();
    if (passed) passed = counting.Finish();
    if (!passed) return std::unexpected(passed.error());
    Transferred done = counting.counted();
    done.file_bytes = (*writer)->bytes();
    return done;
}

Result<void> NothingToConfirm() {
    return {};
}

}  // namespace

Result<Transferred> CopyStore(Store& from, Store& to, const TransferProgress& progress) {
    const auto source = LockWhole(from);
    if (!source) return std::unexpected(source.error());
    Filling filling(to, NameOf(source->heads));
    if (auto begun = filling.Begin(source->heads); !begun) return std::unexpected(begun.error());
    RowWriter& writer = filling.writer();
    CountingTarget counting(writer, progress);
    // Of the target nothing is asked: its terms fence each write, the last ones too.
    auto passed =
        PassPartitions(from, source->heads, counting, [&] { return source->lock->Confirm(); });
    if (passed) passed = source->lock->Confirm();
    if (passed) passed = counting.Finish();
    if (!passed) return std::unexpected(passed.error());
    Transferred done = counting.counted();
    done.resumed = writer.resumed();
    return done;
}

Result<Transferred> BackUp(Store& from, const std::string& path, const TransferProgress& progress) {
    const auto source = LockWhole(from);
    if (!source) return std::unexpected(source.error());
    const auto confirm = [&] { return source->lock->Confirm(); };
    return WriteArchive(from, source->heads, path, {confirm, confirm}, progress);
}

Result<Transferred> BackUp(StoreSnapshot& from, const std::string& path,
                           const TransferProgress& progress) {
    const auto heads = ReadHeads(from.store());
    if (!heads) return std::unexpected(heads.error());
    return WriteArchive(from.store(), *heads, path,
                        {NothingToConfirm, [&] { return from.Confirm(); }}, progress);
}

Result<CheckedArchive> CheckBackup(const std::string& path) {
    const auto head = ReadArchiveHead(path);
    if (!head) return std::unexpected(head.error());
    auto heads = CheckArchive(path);
    if (!heads) return std::unexpected(heads.error());
    return CheckedArchive{.path = path, .id = head->id, .heads = std::move(*heads)};
}

Result<Transferred> Restore(const CheckedArchive& archive, Store& to,
                            const TransferProgress& progress) {
    Filling filling(to, "archive " + archive.id);
    if (auto begun = filling.Begin(archive.heads); !begun) return std::unexpected(begun.error());
    RowWriter& writer = filling.writer();
    CountingTarget counting(writer, progress);
    if (auto read = ReadArchive(archive.path, counting); !read) {
        return std::unexpected(read.error());
    }
    Transferred done = counting.counted();
    done.resumed = writer.resumed();
    return done;
}

}  // namespace takt::internal
