#include "archive/store_lock.h"

#include <utility>

#include "base/random.h"
#include "store/lead.h"
#include "store/unfinished_copy.h"

namespace takt::internal {
namespace {

// A crash keeps schedulers out no longer than this.
constexpr Duration kAnnounced{15'000};
constexpr std::chrono::seconds kRenewEvery{4};

Error LedBy(Store& store, Partition partition, Error error) {
    const auto rows =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    const auto leader = rows ? LeaderOf(*rows, partition) : std::nullopt;
    if (!leader) return error;
    if (leader->node.view().starts_with(kFillingNode)) {
        // Whether it lives cannot be seen; its announcement ends by itself, in some stores late.
        error.detail = "an earlier 'takt store restore' or 'takt store copy' holds " +
                       store.Describe() +
                       ": if it was cut off its lease ends within 20 s; wait and try again";
        return error;
    }
    error.detail = "scheduler " + std::string(leader->node.view()) + " at " +
                   leader->address.str() + " leads " + store.Describe() +
                   ": stop all schedulers that use this store first";
    return error;
}

}  // namespace

StoreLock::StoreLock(Store& store, For what) : store_(store) {
    Random random(NewRandomSeed());
    const std::string kind(what == For::kFilling ? kFillingNode : "store-");
    // The name is no namespace's: schedulers that see it leave nothing to it.
    node_ = {.node = NodeId(Text(kind + SerialText(random.Next() >> 1))),
             .address = "http://127.0.0.1",
             .namespaces = {Text("-")}};
}

Result<std::unique_ptr<StoreLock>> StoreLock::Take(Store& store,
                                                   const std::vector<PartitionHead>& heads,
                                                   For what) {
    std::unique_ptr<StoreLock> lock(new StoreLock(store, what));
    lock->renewal_ = std::thread([&lock = *lock] { lock.Renew(); });
    if (auto taken = lock->TakeMore(heads); !taken) return std::unexpected(taken.error());
    return lock;
}

Result<void> StoreLock::TakeMore(const std::vector<PartitionHead>& heads) {
    for (const PartitionHead& head : heads) {
        if (terms_.contains(head.partition)) continue;
        auto led = Lead(head);
        // The row that was read may not be the one that stood; the store has then put it right.
        if (!led && led.error().code == ErrorCode::kConflict) led = Lead(head);
        if (led) continue;
        if (led.error().code != ErrorCode::kConflict) return led;
        return std::unexpected(LedBy(store_, head.partition, led.error()));
    }
    return {};
}

Result<void> StoreLock::LeadAnew(const PartitionHead& head) {
    terms_.erase(head.partition);
    return TakeMore({head});
}

Result<void> StoreLock::Lead(const PartitionHead& head) {
    auto term = TakeLead(
        store_,
        {.node = node_, .ttl = kAnnounced, .partition = head.partition, .epoch_floor = head.epoch});
    if (!term) return std::unexpected(term.error());
    terms_[head.partition] = *term;
    return {};
}

void StoreLock::Renew() {
    std::unique_lock held(mutex_);
    while (!stopped_.wait_for(held, kRenewEvery, [&] { return stop_; })) {
        // A renewal that fails is tried again; if all do, commits are fenced and say so.
        static_cast<void>(AskStore<void>(
            [&](auto done) { store_.Announce(node_, kAnnounced, std::move(done)); }));
    }
}

StoreLock::~StoreLock() {
    {
        const std::lock_guard held(mutex_);
        stop_ = true;
    }
    stopped_.notify_all();
    if (renewal_.joinable()) renewal_.join();
    for (const auto& [partition, term] : terms_) {
        // Without it the next scheduler waits for the end of the announcement.
        static_cast<void>(
            AskStore<void>([&](auto done) { store_.Resign(term, {}, std::move(done)); }));
    }
    static_cast<void>(
        AskStore<void>([&](auto done) { store_.Announce(node_, Duration(0), std::move(done)); }));
}

}  // namespace takt::internal
