#include "archive/store_lock.h"

#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "store/lead.h"
#include "store/unfinished_copy.h"

namespace takt::internal {
namespace {

// A crash keeps schedulers out no longer than this.
constexpr Duration kAnnounced{15'000};
constexpr std::chrono::seconds kRenewEvery{4};

constexpr std::chrono::milliseconds kLookEvery{500};

// Where nobody can be reached; no scheduler has an address without a port.
constexpr std::string_view kNowhere = "http://127.0.0.1";

// Of any version; those that fill a store have names that begin so too.
constexpr std::string_view kCommandNode = "store-";
static_assert(kFillingNode.starts_with(kCommandNode));

bool IsCommand(const LeaderRow& leader) {
    return leader.node.view().starts_with(kCommandNode) && leader.address.view() == kNowhere;
}

Error LedBy(const Store& store, const LeaderRow& leader, Duration waited) {
    if (IsCommand(leader)) {
        return {ErrorCode::kConflict,
                "another takt store command holds " + store.Describe() +
                    " and has not ended within " + FormatDuration(waited) +
                    ": let it end, or stop it, and try again",
                {}};
    }
    return {ErrorCode::kConflict,
            "scheduler " + std::string(leader.node.view()) + " at " + leader.address.str() +
                " leads " + store.Describe() + ": stop all schedulers that use this store first",
            {}};
}

Result<std::vector<LeaderRow>> ReadLeaders(Store& store) {
    return AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
}

}  // namespace

StoreLock::StoreLock(Store& store, For what, Duration patience)
    : store_(store), patience_(patience) {
    Random random(NewRandomSeed());
    const std::string kind(what == For::kFilling ? kFillingNode : kCommandNode);
    // The name is no namespace's: schedulers that see it leave nothing to it.
    node_ = {.node = NodeId(Text(kind + SerialText(random.Next() >> 1))),
             .address = Text(kNowhere),
             .namespaces = {Text("-")}};
}

Result<std::unique_ptr<StoreLock>> StoreLock::Take(Store& store,
                                                   const std::vector<PartitionHead>& heads,
                                                   For what, Duration patience) {
    std::unique_ptr<StoreLock> lock(new StoreLock(store, what, patience));
    lock->renewal_ = std::thread([&lock = *lock] { lock.Renew(); });
    if (auto taken = lock->TakeMore(heads); !taken) return std::unexpected(taken.error());
    return lock;
}

Result<void> StoreLock::TakeMore(const std::vector<PartitionHead>& heads) {
    for (const PartitionHead& head : heads) {
        if (terms_.contains(head.partition)) continue;
        if (auto led = LeadPatiently(head); !led) return led;
    }
    return {};
}

Result<void> StoreLock::LeadPatiently(const PartitionHead& head) {
    const Steady begun = SteadyClock::now();
    for (bool told = false;;) {
        auto led = Lead(head);
        // The row that was read may not be the one that stood; the store has then put it right.
        if (!led && led.error().code == ErrorCode::kConflict) led = Lead(head);
        if (led || led.error().code != ErrorCode::kConflict) return led;
        const auto rows = ReadLeaders(store_);
        if (!rows) return std::unexpected(rows.error());
        const auto leader = LeaderOf(*rows, head.partition);
        const bool over = SteadyClock::now() - begun >= patience_;
        if (leader && (over || !IsCommand(*leader))) {
            return std::unexpected(LedBy(store_, *leader, patience_));
        }
        if (over) return led;  // It ends and begins again, under whatever name.
        if (leader && !std::exchange(told, true)) {
            Log(LogLevel::kWarning, "store",
                "another takt store command holds it, or was killed: waiting for its lease to end",
                {{"store", store_.Describe()}, {"at_most", FormatDuration(patience_)}});
        }
        std::this_thread::sleep_for(kLookEvery);
    }
}

Result<void> StoreLock::LeadAnew(const PartitionHead& head) {
    const auto rows = ReadLeaders(store_);
    if (!rows) return std::unexpected(rows.error());
    // Of this lock, also if the answer to the last call was lost.
    const auto row = RowOf(*rows, head.partition);
    if (!row || row->node != node_.node) return std::unexpected(Lost());
    return Lead(head);
}

Error StoreLock::Lost() const {
    return {
        ErrorCode::kConflict,
        "somebody else has led " + store_.Describe() +
            " meanwhile: this command was held up for longer than its lease, and what it has "
            "read and written may be of several moments; stop all schedulers that use this store "
            "and begin anew, a copy with an empty target",
        {}};
}

Result<void> StoreLock::Confirm() const {
    const auto rows = ReadLeaders(store_);
    if (!rows) return std::unexpected(rows.error());
    for (const LeaderRow& row : *rows) {
        const auto term = terms_.find(row.partition);
        if (term == terms_.end() || !row.Is(term->second)) {
            return std::unexpected(Lost());
        }
    }
    return {};
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

Result<LockedStore> LockWhole(Store& store) {
    LockedStore locked;
    while (true) {
        // Read again when it is held: until then somebody could write, or make a namespace.
        auto heads = ReadHeads(store);
        if (!heads) return std::unexpected(heads.error());
        if (locked.lock && locked.lock->Holds(*heads)) {
            locked.heads = std::move(*heads);
            return locked;
        }
        if (!locked.lock) {
            auto lock = StoreLock::Take(store, *heads);
            if (!lock) return std::unexpected(lock.error());
            locked.lock = std::move(*lock);
        } else if (auto taken = locked.lock->TakeMore(*heads); !taken) {
            return std::unexpected(taken.error());
        }
    }
}

}  // namespace takt::internal
