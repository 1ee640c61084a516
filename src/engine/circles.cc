#include "engine/circles.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <ranges>
#include <utility>

#include "engine/recurring.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// Executions that are looked at. Who waits behind more than these is not told of a circle: a look must
// not stall everybody, and the runs of such a circle still have their timeouts.
constexpr std::size_t kLookedAtMax = 20'000;
// Of a circle that are named.
constexpr std::size_t kNamedMax = 8;

bool HasBegun(const Live& live) {
    return IsRun(live) && live.row.status == Status::kRunning;
}

std::vector<const Live*> HoldersOfTurn(const Live& live) {
    std::vector<const Live*> holders;
    for (const Live* run : live.recurring->runs) {
        if (run->has_turn) holders.push_back(run);
    }
    return holders;
}

// For a sentence; empty if it waits for nothing that an execution holds.
std::string WhatItWaitsFor(const Live& live, const Locks& locks) {
    const Task& task = *live.row.task;
    if (live.waits == Waits::kTurn) return "a turn of task '" + task.id.text().str() + "'";
    if (live.waits == Waits::kLock) {
        const auto waiting = locks.WaitingOf(live);
        return waiting ? "lock '" + waiting->lock->name.str() + "'" : "a lock";
    }
    const Text& key = task.opt().concurrency_key;
    if (!key.empty()) return "concurrency key '" + key.str() + "'";
    return "the concurrency limit of '" + task.name.str() + "'";
}

// Everything that an execution waits for, directly or through others. Each is taken to be caught, until
// it is shown that it can go on: what remains can not.
class Search {
  public:
    Search(const Holds& holds, const Locks& locks) : holds_(holds), locks_(locks) {}

    // The way from an execution that waits back to it, or to a run that it is in: it, who holds what it
    // waits for, a child of that, … Empty if there is none, or if one of them can go on.
    std::vector<const Live*> WayBack(const Live& from) {
        if (!Collect(from)) return {};
        Settle();
        std::vector<const Live*> way;
        if (nodes_[0].caught && Walk(0, way)) return way;
        return {};
    }

    std::size_t looked_at() const { return nodes_.size(); }

  private:
    struct Node {
        const Live* live = nullptr;
        std::vector<std::size_t>
            next;  // Who holds what it waits for; its children, if it has begun.
        bool caught = false;
        bool walked = false;
    };

    std::size_t NodeOf(const Live& live) {
        const auto [at, fresh] = places_.try_emplace(&live, nodes_.size());
        if (fresh) nodes_.push_back({.live = &live, .next = {}});
        return at->second;
    }

    bool Collect(const Live& from) {
        NodeOf(from);
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (nodes_.size() > kLookedAtMax) return false;
            const Live& live = *nodes_[i].live;
            std::vector<std::size_t> next;
            if (HasBegun(live)) {
                if (!live.flow->ending()) {
                    for (const Live* child : live.flow->children) next.push_back(NodeOf(*child));
                }
            } else {
                for (const Live* holder : BlockersOf(live, holds_, locks_)) {
                    next.push_back(NodeOf(*holder));
                }
            }
            nodes_[i].caught = !next.empty();
            nodes_[i].next = std::move(next);
        }
        return true;
    }

    void Settle() {
        for (bool changed = true; changed;) {
            changed = false;
            // From the last: who can go on was mostly found after those who wait for it.
            for (Node& node : nodes_ | std::views::reverse) {
                if (!node.caught || IsCaught(node)) continue;
                node.caught = false;
                changed = true;
            }
        }
    }

    bool IsCaught(const Node& node) const {
        if (HasBegun(*node.live)) return RunIsCaught(node);
        return std::ranges::all_of(node.next, [&](std::size_t at) { return nodes_[at].caught; });
    }

    // A step that needs only some of its children goes on while enough of the others may succeed.
    bool RunIsCaught(const Node& node) const {
        const Run& run = *node.live->flow;
        std::map<std::uint32_t, std::uint32_t> caught;  // Children by step.
        for (const std::size_t at : node.next) {
            if (nodes_[at].caught) ++caught[nodes_[at].live->step];
        }
        return std::ranges::any_of(caught, [&](const auto& entry) {
            const auto& [number, count] = entry;
            const StepProgress& step = run.progress.steps[number];
            if (step.status != StepStatus::kRunning) return false;
            const std::uint32_t needed = run.step(number).min_success;
            const std::uint32_t others = run.steps[number].unfinished - count;
            // More of them are made only while there is room for them.
            const bool room = count < UnfinishedMax(run.step(number));
            const std::uint32_t to_come = room ? step.total - step.cursor : 0;
            return needed == 0 || step.success + others + to_come < needed;
        });
    }

    bool ComesBack(const Live& live) const {
        const Live& from = *nodes_[0].live;
        for (const Run* run = ParentOf(from); run; run = run->parent) {
            if (run->live == &live) return true;
        }
        return &from == &live;
    }

    bool Walk(std::size_t from, std::vector<const Live*>& way) {
        // Without calls of itself: a way may be long.
        std::vector<std::pair<std::size_t, std::size_t>> path{{from, 0}};
        nodes_[from].walked = true;
        while (!path.empty()) {
            auto& [at, turn] = path.back();
            if (turn == nodes_[at].next.size()) {
                path.pop_back();
                continue;
            }
            const std::size_t next = nodes_[at].next[turn++];
            if (ComesBack(*nodes_[next].live)) {
                for (const auto& [place, unused] : path) way.push_back(nodes_[place].live);
                way.push_back(nodes_[next].live);
                return true;
            }
            if (!nodes_[next].caught || std::exchange(nodes_[next].walked, true)) continue;
            path.emplace_back(next, 0);
        }
        return false;
    }

    const Holds& holds_;
    const Locks& locks_;
    std::vector<Node> nodes_;  // In the order in which they were found.
    boost::unordered_flat_map<const Live*, std::size_t> places_;
};

}  // namespace

std::vector<const Live*> BlockersOf(const Live& live, const Holds& holds, const Locks& locks) {
    if (!IsWaiting(live.row.status)) return {};
    std::vector<const Live*> blockers;
    if (live.waits == Waits::kTurn) blockers = HoldersOfTurn(live);
    if (live.waits == Waits::kLimit) {
        const Hold* limit = holds.FindLimit(*live.row.task);
        // An attempt that holds a permit ends some time, and gives it back.
        const bool by_runs = limit && !limit->has_permit() && limit->runs.size() == limit->taken;
        if (by_runs) blockers.assign(limit->runs.begin(), limit->runs.end());
    }
    if (live.waits == Waits::kLock) blockers = locks.BlockersOf(live);
    if (std::ranges::find(blockers, nullptr) != blockers.end()) return {};
    return blockers;
}

bool MayCloseCircle(const Live& live) {
    const auto holds = [](const Live& one) {
        return one.has_turn || one.has_permit || one.has_locks;
    };
    if (holds(live)) return true;
    for (const Run* run = ParentOf(live); run; run = run->parent) {
        if (holds(*run->live)) return true;
    }
    return false;
}

Circle FindCircle(Live& live, const Holds& holds, const Locks& locks) {
    Search search(holds, locks);
    std::vector<const Live*> way = search.WayBack(live);
    Circle circle{.why = {}, .looked_at = search.looked_at()};
    if (way.empty()) return circle;
    const auto fails = [](const Live* one) { return !HasBegun(*one) && ParentOf(*one); };
    const auto victim = std::ranges::find_if(way, fails);
    if (victim == way.end()) return circle;
    if (way.back() == way.front() && victim != way.begin()) {
        // The way ends where it began, so that it can begin anywhere.
        way.pop_back();
        std::ranges::rotate(way, victim);
        way.push_back(way.front());
    } else {
        way.erase(way.begin(), victim);
    }
    circle.step = const_cast<Live*>(way.front());
    circle.why = "it can never start: it";
    std::size_t named = 0;
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        if (HasBegun(*way[i])) continue;
        if (++named > kNamedMax) {
            circle.why += ", and so on";
            break;
        }
        const bool holder = named > 1 && !HasBegun(*way[i - 1]);
        if (holder) {
            circle.why += ", and itself";
        } else if (named > 1) {
            circle.why += ", of which '" + way[i]->row.id.text().str() + "'";
        }
        circle.why += " waits for " + WhatItWaitsFor(*way[i], locks) + ", which '" +
                      way[i + 1]->row.id.text().str() + "' holds";
    }
    return circle;
}

}  // namespace takt::internal
