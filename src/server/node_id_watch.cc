#include "server/node_id_watch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

// How often the announcements are looked at: others may replace them every second.
constexpr Duration kTurn{1'000};
constexpr Duration kClaimTurn{200};
// A store that does not answer must not keep the scheduler from saying so.
constexpr Duration kReadPatience{1'000};
// Of two that start in the same moment, both find the id free and both write their announcement; the
// later one stays. Whoever writes within this time after looking, and looks again this long after
// writing, sees that: the other one has written by then, or finds this one's.
constexpr Duration kSettle{300};
// Between two log lines about it.
constexpr Duration kSayAgain{30'000};

std::string WhoElse(const NodeRow& other, const NodeRow& mine) {
    std::string why = "another scheduler uses the node id '" + other.node.text().str() + "' (" +
                      other.address.str() + ", started " + FormatTime(other.started_at) +
                      "): give each its own server.node_id (--node-id), or none, and it makes one";
    if (other.address != mine.address) return why;
    return why + "; and its own server.advertise (--advertise), which others reach it at";
}

// Another address's announcement of the same id. One at this address is most likely that of the process
// before, which need not be waited for.
const NodeRow* OtherOf(const std::vector<NodeRow>& nodes, const NodeRow& mine) {
    const auto found = std::ranges::find(nodes, mine.node, &NodeRow::node);
    return found == nodes.end() || found->address == mine.address ? nullptr : &*found;
}

// Another process's, also if both say that they are at one address: that of what stands before them.
const NodeRow* OtherProcessOf(const std::vector<NodeRow>& nodes, const NodeRow& mine) {
    const auto found = std::ranges::find_if(nodes, [&](const NodeRow& row) {
        return row.node == mine.node &&
               (row.address != mine.address || row.started_at != mine.started_at);
    });
    return found == nodes.end() ? nullptr : &*found;
}

bool IsFree(const std::vector<NodeRow>& nodes, const NodeRow& mine) {
    return std::ranges::find(nodes, mine.node, &NodeRow::node) == nodes.end();
}

}  // namespace

Result<void> CheckNodeId(Store& store, const NodeRow& mine) {
    const auto nodes = AskStoreFor<std::vector<NodeRow>>(
        kReadPatience, [&](auto done) { store.Nodes(std::move(done)); });
    const NodeRow* other = nodes ? OtherOf(*nodes, mine) : nullptr;
    if (!other) return {};
    return Fail(ErrorCode::kConflict, WhoElse(*other, mine), "server.node_id");
}

Result<void> ClaimNodeId(Store& store, const NodeRow& mine, Duration ttl) {
    const Steady until = SteadyClock::now() + ttl + kReadPatience;
    bool said = false;
    for (;;) {
        const Steady looked = SteadyClock::now();
        const auto nodes = AskStoreFor<std::vector<NodeRow>>(
            kReadPatience, [&](auto done) { store.Nodes(std::move(done)); });
        if (!nodes) return {};
        if (const NodeRow* other = OtherOf(*nodes, mine)) {
            if (SteadyClock::now() >= until) {
                return Fail(ErrorCode::kConflict, WhoElse(*other, mine), "server.node_id");
            }
            if (!std::exchange(said, true)) {
                Log(LogLevel::kWarning, "server",
                    "another scheduler is announced under this node id; waiting whether it is "
                    "alive",
                    {{"node", mine.node}, {"address", other->address.view()}, {"ttl", ttl}});
            }
            std::this_thread::sleep_for(kClaimTurn);
            continue;
        }
        if (!IsFree(*nodes, mine)) return {};
        const auto announced = AskStoreFor<void>(kReadPatience, [&](auto done) {
            store.Announce(mine, 2 * std::max(ttl, kSettle), std::move(done));
        });
        if (!announced) return {};
        // A write that came late may have replaced the announcement of one that has started since,
        // which is renewed within a ttl.
        const bool late = SteadyClock::now() - looked > kSettle;
        std::this_thread::sleep_for(late ? std::max(ttl, kSettle) : kSettle);
    }
}

NodeIdWatch::NodeIdWatch(Runtime& runtime, Store& store, NodeRow mine, Duration ttl)
    : runtime_(runtime), store_(store), mine_(std::move(mine)), ttl_(ttl), home_(runtime) {}

NodeIdWatch::~NodeIdWatch() {
    runtime_.Cancel(timer_);
}

void NodeIdWatch::Start() {
    home_.Post([this] { LookLater(); });
}

void NodeIdWatch::LookLater() {
    timer_ = runtime_.After(kTurn, [this] {
        store_.Nodes(home_.Here([this](const Result<std::vector<NodeRow>>& nodes) {
            if (nodes) Look(*nodes);
            LookLater();
        }));
    });
}

void NodeIdWatch::Look(const std::vector<NodeRow>& nodes) {
    const Steady now = runtime_.Now().steady;
    const NodeRow* other = OtherProcessOf(nodes, mine_);
    if (!other) {
        other_since_ = {};
        seen_own_ =
            seen_own_ || std::ranges::find(nodes, mine_.node, &NodeRow::node) != nodes.end();
        return;
    }
    if (other_since_ == Steady{}) other_since_ = now;
    const bool alive = seen_own_ || now - other_since_ > ttl_;
    if (!alive || (said_at_ != Steady{} && now - said_at_ < kSayAgain)) return;
    said_at_ = now;
    Log(LogLevel::kError, "server", WhoElse(*other, mine_),
        {{"this_one", mine_.address.view()}, {"other", other->address.view()}});
}

}  // namespace takt::internal
