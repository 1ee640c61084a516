#include "sim/store_faults.h"

#include <utility>

namespace takt::internal::sim {
namespace {

constexpr Micros kQuick = 2ms;
// By so much a replica is behind, at most.
constexpr Micros kBehindMax = 3s;
// Until a dead primary is noticed and followed.
constexpr Micros kDownMax = 1500ms;

}  // namespace

void StoreFaults::Fault(const Later& later) {
    switch (world_.Below(5)) {
        case 0:
            world_.Note("store", "is slow");
            database_.latency_max = world_.Between(50ms, 900ms);
            return later(500ms, 5s, [this] { database_.latency_max = kQuick; });
        case 1:
            world_.Note("store", "loses answers");
            database_.reply_lost = 0.3;
            return later(500ms, 5s, [this] { database_.reply_lost = 0; });
        case 2:
            world_.Note("store", "is reached late and twice");
            database_.request_late = database_.request_again = 0.2;
            return later(500ms, 5s,
                         [this] { database_.request_late = database_.request_again = 0; });
        case 3:
            return Hang(later);
        default:
            world_.Note("store", "refuses a batch as impossible");
            database_.refuses_next = true;
    }
}

void StoreFaults::Heal() {
    database_.latency_max = kQuick;
    database_.reply_lost = database_.request_late = database_.request_again = 0;
    database_.hangs = database_.refuses_next = false;
    ++hangs_;
}

// --- It does not answer -------------------------------------------------------------------------

void StoreFaults::Hang(const Later& later) {
    world_.Note("store", "does not answer");
    database_.hangs = true;
    const std::uint64_t hang = ++hangs_;
    const Duration ttl = spaces_.front()->cluster.config.leadership.ttl;
    world_.After(ttl, nullptr, [this, hang] { CheckNobodyLeads(hang); });
    later(500ms, 10s, [this, hang] {
        if (hang != hangs_) return;
        world_.Note("store", "answers again");
        database_.hangs = false;
        ++hangs_;
    });
}

// A leader that could not say for as long as a lease lasts that it is there has given up its lead.
void StoreFaults::CheckNobodyLeads(std::uint64_t hang) {
    if (hang != hangs_) return;
    for (const auto& space : spaces_) {
        for (const auto& node : space->cluster.nodes) {
            // One that was frozen until now is about to notice.
            if (!node->leads() || world_.now() - node->process()->frozen_until < 1ms) continue;
            space->checker.Fail(node->host().name() +
                                " leads though the store has not answered for as long as a lease");
        }
    }
}

// --- It fails over ------------------------------------------------------------------------------

void StoreFaults::FailOver(const Later& later) {
    if (replica_) return;
    world_.Note("store", "has a replica that falls behind");
    replica_ = database_.MakeCopy();
    later(0us, kBehindMax, [this, later] {
        if (world_.Chance(0.5)) return Promote();
        world_.Note("store", "dies");
        database_.hangs = true;
        const std::uint64_t hang = ++hangs_;
        later(0us, kDownMax, [this, hang] {
            if (hang == hangs_) database_.hangs = false;
            Promote();
        });
    });
}

void StoreFaults::Promote() {
    world_.Note("store", "fails over to it");
    database_.PutBack(*std::exchange(replica_, nullptr));
    for (const auto& space : spaces_) space->client.OnFailover();
}

}  // namespace takt::internal::sim
