#include "sim/lead_simulation.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace takt::internal::sim {
namespace {

constexpr Duration kDeadline{800};  // After which a sender gives up.
constexpr Micros kLook = 20ms;      // How often everybody is looked at.

}  // namespace

// One scheduler's connection to the database.
class LeadStore final : public CallStore<LeadStore> {
  public:
    LeadStore(LeadDatabase& database, ProcessPtr process, const bool& cut)
        : database_(database), process_(std::move(process)), cut_(cut) {}

    StoreLimits limits() const override {
        return {.changes_max = 100, .bytes_max = 1 << 20, .pipeline_max = 1};
    }
    std::string Describe() const override { return "simulated"; }
    void Commit(BatchPtr batch, Done<void> done) override {
        ++database_.commits;
        const auto work = [batch](MemoryDatabase& rows) { return rows.Commit(*batch); };
        Call(TermCall{}, work, std::move(done));
    }
    void DropPartition(Partition, std::uint64_t, Done<void>) override {}

    template <typename Part, typename T, typename Work>
    void Call(Part, Work work, Done<T> done) {
        World& world = database_.world;
        ++database_.requests;
        constexpr bool kWrites = std::is_same_v<Part, TermCall> || std::is_same_v<Part, LeaseCall>;
        auto waiting = std::make_shared<Done<T>>(std::move(done));
        const auto answer = [&world, waiting, process = process_](Micros delay, Result<T> result) {
            world.After(delay, process, [waiting, result = std::move(result)]() mutable {
                if (*waiting) std::exchange(*waiting, {})(std::move(result));
            });
        };
        answer(kDeadline,
               Fail(kWrites ? ErrorCode::kUnknown : ErrorCode::kUnavailable, "no answer"));
        const bool late = kWrites && world.Chance(database_.request_late);
        Steady arrival = world.now() + world.Between(50us, database_.latency_max);
        if (late) arrival += kDeadline + world.Between(0us, 3s);
        if (!late) arrival = last_arrival_ = std::max(arrival, last_arrival_);
        world.After(arrival - world.now(), nullptr,
                    [&world, &database = database_, &cut = cut_, process = process_, answer,
                     work = std::move(work)]() mutable {
                        // A message that is sent by a process that dies may arrive or not.
                        if (!process->alive ? world.Chance(0.5) : cut) return;
                        Result<T> result = work(database.rows);
                        if (!process->alive || world.Chance(database.reply_lost)) return;
                        answer(world.Between(50us, database.latency_max), std::move(result));
                    });
    }

  private:
    LeadDatabase& database_;
    const ProcessPtr process_;
    const bool& cut_;
    Steady last_arrival_{};
};

struct LeadNode::Seat {
    std::unique_ptr<Leadership> leadership;
    std::uint64_t sequence = 0;
    bool committing = false;
    NodeId heir;
};

LeadNode::LeadNode(LeadDatabase& database, const LeadOptions& options, std::string name)
    : database_(database), name_(std::move(name)) {
    runtime_ = std::make_unique<SimRuntime>(database.world, process_, wall_offset_);
    store_ = std::make_unique<LeadStore>(database, process_, cut_);
    presence_ = std::make_unique<Presence>(
        *runtime_, *store_,
        PresenceConfig{.row = {.node = NodeId(Text(name_)), .started_at = runtime_->Now().wall},
                       .ttl = LeadSimulation::kTtl,
                       .renew_interval = Duration(800),
                       .margin = options.margin,
                       .shares = options.shares},
        SeedOf(database.world.Below(UINT64_MAX)));
    for (Partition p = 0; p < options.partitions; ++p) {
        Seat& seat = *(seats_[p] = std::make_unique<Seat>());
        seat.leadership = std::make_unique<Leadership>(
            *runtime_, *store_, *presence_, p, Text("n" + std::to_string(p)),
            Leadership::Events{.on_elected =
                                   [this, &seat](const Term&) {
                                       ++elections_;
                                       seat.sequence = 0;
                                       seat.committing = false;
                                       seat.heir = {};
                                   },
                               .on_deposed = [this](const std::string&) { ++depositions_; },
                               .on_change = {},
                               .on_hand_over = [this, p](const NodeId& to) { HandOver(p, to); }});
        seat.leadership->Start();
    }
    presence_->Start();
}

LeadNode::~LeadNode() {
    Crash();
}

void LeadNode::Crash() {
    if (!running()) return;
    database_.world.Note(name_, "crashes");
    process_->alive = false;
    seats_.clear();
    presence_.reset();
    store_.reset();
}

void LeadNode::Stop() {
    if (!running()) return;
    database_.world.Note(name_, "stops");
    presence_->Leave([this, process = process_] {
        database_.world.After(Micros(0), nullptr, [this, process] {
            if (process->alive) Crash();
        });
    });
}

void LeadNode::Freeze(Micros time) {
    database_.world.Note(name_, "is frozen for ms", "", std::uint64_t(time.count() / 1000));
    process_->frozen_until = std::max(process_->frozen_until, database_.world.now() + time);
}

bool LeadNode::Trusts(Partition partition) const {
    return running() && seats_.at(partition)->leadership->trusted();
}

std::size_t LeadNode::leads() const {
    std::size_t count = 0;
    for (const auto& [partition, seat] : seats_) count += seat->leadership->trusted();
    return count;
}

void LeadNode::Commit(Partition partition) {
    if (!running() || frozen() || !Trusts(partition)) return;
    Seat& seat = *seats_.at(partition);
    if (std::exchange(seat.committing, true)) return;
    const Term term = *seat.leadership->term();
    store_->Commit(std::make_shared<Batch>(Batch{term, seat.sequence + 1, 0, {}}),
                   [this, &seat, term](const Result<void>& result) {
                       if (!running() || seat.leadership->term() != term) return;
                       seat.committing = false;
                       seat.sequence += result.has_value();
                       if (!result && result.error().code == ErrorCode::kFenced) {
                           seat.leadership->Fenced("a commit was refused");
                       } else if (!seat.heir.empty()) {
                           seat.leadership->HandOver(std::exchange(seat.heir, {}));
                       }
                   });
}

// As a node does it: after the commit that is under way.
void LeadNode::HandOver(Partition partition, const NodeId& to) {
    Seat& seat = *seats_.at(partition);
    if (seat.committing) {
        seat.heir = to;
    } else {
        seat.leadership->HandOver(to);
    }
}

// --- The simulation -----------------------------------------------------------------------------

LeadSimulation::LeadSimulation(const LeadOptions& options)
    : options_(options), world_(options.seed, false), database_(world_) {
    for (std::size_t i = 0; i < options.nodes; ++i) Add();
}

LeadSimulation::~LeadSimulation() {
    for (const auto& node : nodes_) node->Crash();
}

LeadNode& LeadSimulation::Add() {
    // A name of its own for each process, as they have by default.
    nodes_.push_back(
        std::make_unique<LeadNode>(database_, options_, "node-" + std::to_string(++started_)));
    return *nodes_.back();
}

void LeadSimulation::Run(Micros time) {
    const Steady until = world_.now() + time;
    while (failure_.empty() && world_.now() < until) {
        const Steady look = std::min(until, world_.now() + kLook);
        while (world_.RunOne(look)) {
        }
        for (const auto& node : nodes_) {
            for (Partition p = 0; p < options_.partitions; ++p) node->Commit(p);
        }
        Check();
    }
}

void LeadSimulation::Check() {
    for (Partition p = 0; p < options_.partitions; ++p) {
        std::vector<std::string> who;
        for (const auto& node : nodes_) {
            if (node->Trusts(p)) who.push_back(node->name());
        }
        if (who.size() > 1) {
            failure_ = who[0] + " and " + who[1] + " both trust to lead " + std::to_string(p);
        }
        const Steady before = led_at_.try_emplace(p, world_.now()).first->second;
        longest_gap_ = std::max(longest_gap_, world_.now() - before);
        if (!who.empty()) led_at_[p] = world_.now();
    }
}

void LeadSimulation::RunFaults(Micros time) {
    const Steady until = world_.now() + time;
    while (failure_.empty() && world_.now() < until) {
        Run(world_.Between(100ms, 2s));
        Fault();
    }
    database_.latency_max = 2ms;
    database_.reply_lost = database_.request_late = 0;
    std::erase_if(nodes_, [](const auto& node) { return !node->running(); });
    for (const auto& node : nodes_) node->Cut(false);
    // A frozen one hears when it wakes up, not before, what came meanwhile.
    const auto frozen = [](const auto& node) { return node->frozen(); };
    while (failure_.empty() && std::ranges::any_of(nodes_, frozen)) Run(kLook);
    while (nodes_.size() < options_.nodes) Add();
}

void LeadSimulation::Fault() {
    LeadNode& node = *nodes_[world_.Below(nodes_.size())];
    switch (world_.Below(8)) {
        case 0:
            node.Crash();
            break;
        case 1:
            node.Stop();
            break;
        case 2:
            node.Freeze(world_.Between(100ms, 9s));
            break;
        case 3:
            node.Cut(world_.Chance(0.5));
            break;
        case 4:
            database_.latency_max = world_.Chance(0.5) ? Micros(2ms) : world_.Between(50ms, 700ms);
            break;
        case 5:
            database_.reply_lost = world_.Chance(0.5) ? 0 : 0.3;
            break;
        case 6:
            database_.request_late = world_.Chance(0.5) ? 0 : 0.2;
            break;
        default:
            if (nodes_.size() < 2 * options_.nodes) Add();
            break;
    }
}

bool LeadSimulation::AllLed() const {
    for (Partition p = 0; p < options_.partitions; ++p) {
        if (std::ranges::none_of(nodes_, [p](const auto& node) { return node->Trusts(p); })) {
            return false;
        }
    }
    return true;
}

Micros LeadSimulation::RunUntilLed(Micros bound) {
    const Steady begin = world_.now();
    while (failure_.empty() && !AllLed() && world_.now() - begin < bound) Run(kLook);
    return world_.now() - begin;
}

std::size_t LeadSimulation::Unevenness() const {
    std::size_t most = 0;
    std::size_t least = options_.partitions;
    for (const auto& node : nodes_) {
        if (!node->running()) continue;
        most = std::max(most, node->leads());
        least = std::min(least, node->leads());
    }
    return most - least;
}

Micros LeadSimulation::LongestGap() {
    return std::exchange(longest_gap_, Micros(0));
}

}  // namespace takt::internal::sim
