#include "engine/circles.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "engine/recurring.h"
#include "engine/run.h"

namespace takt::internal {
namespace {

// Executions that are looked at in one go, some milliseconds. Any beyond are taken to go on, so that
// nothing is failed for want of a look.
constexpr std::size_t kLookedAtMax = 20'000;
// Of a circle that are named.
constexpr std::size_t kNamedMax = 8;

bool HasBegun(const Live& live) {
    return IsRun(live) && live.row.status == Status::kRunning;
}

std::vector<const Live*> HoldersOfTurn(const Live& live) {
    std::vector<const Live*> holders;
    if (live.recurring->turns->has_permit()) return holders;
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

// Everything that some executions wait for, directly or through others. Each is taken to be caught,
// until it is shown that it can go on: what remains can not.
class Search {
  public:
    Search(const Holds& holds, const Locks& locks) : holds_(holds), locks_(locks) {}

    // A circle: an execution that waits, who holds what it waits for, a child of that, … and the
    // first one again. It begins with a step, the one that comes last in `waiting`. Empty if there is
    // none.
    std::vector<const Live*> Find(std::span<Live* const> waiting) {
        Collect(waiting);
        Settle();
        for (std::size_t from = waiting.size(); from-- > 0;) {
            const std::size_t at = NodeOf(*waiting[from]);
            if (!nodes_[at].caught) continue;
            std::vector<const Live*> circle = Walk(at);
            if (!circle.empty()) return circle;
        }
        return {};
    }

    std::size_t looked_at() const { return nodes_.size(); }

  private:
    struct Node {
        const Live* live = nullptr;
        std::vector<std::size_t> next;  // Holders of what it waits for; a run's children.
        bool caught = false;
        bool walked = false;
    };

    std::size_t NodeOf(const Live& live) {
        const auto [at, fresh] = places_.try_emplace(&live, nodes_.size());
        if (fresh) nodes_.push_back({.live = &live, .next = {}});
        return at->second;
    }

    // `waiting` become the first nodes.
    void Collect(std::span<Live* const> waiting) {
        for (const Live* live : waiting) NodeOf(*live);
        for (std::size_t i = 0; i < nodes_.size() && i < kLookedAtMax; ++i) {
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
        if (HasBegun(*node.live)) return CaughtChild(node).has_value();
        return std::ranges::all_of(node.next, [&](std::size_t at) { return nodes_[at].caught; });
    }

    // A child without which the run does not go on; nothing if it may do without all that are
    // caught.
    std::optional<std::size_t> CaughtChild(const Node& node) const {
        std::map<std::uint32_t, std::uint32_t> caught;  // Children by step.
        for (const std::size_t at : node.next) {
            if (nodes_[at].caught) ++caught[nodes_[at].live->step];
        }
        for (const std::size_t at : node.next) {
            const std::uint32_t step = nodes_[at].live->step;
            if (nodes_[at].caught && StepIsCaught(*node.live->flow, step, caught[step])) return at;
        }
        return std::nullopt;
    }

    // A step that needs only some of its children goes on while enough of the others may succeed.
    static bool StepIsCaught(const Run& run, std::uint32_t number, std::uint32_t caught) {
        const StepProgress& step = run.progress.steps[number];
        if (step.status != StepStatus::kRunning) return false;
        const std::uint32_t needed = run.step(number).min_success;
        const std::uint32_t others = run.steps[number].unfinished - caught;
        // More of them are made only while there is room for them.
        const bool room = caught < UnfinishedMax(run.step(number));
        const std::uint32_t to_come = room ? step.total - step.cursor : 0;
        return needed == 0 || step.success + others + to_come < needed;
    }

    // Goes from one that is caught to the next until it comes to one where it has been: it must, for
    // each waits for another.
    std::vector<const Live*> Walk(std::size_t from) {
        std::vector<std::size_t> path;
        std::size_t at = from;
        while (!std::exchange(nodes_[at].walked, true)) {
            path.push_back(at);
            const Node& node = nodes_[at];
            at = HasBegun(*node.live) ? CaughtChild(node).value() : node.next.front();
        }
        const auto first = std::ranges::find(path, at);
        path.erase(path.begin(), first);  // All, if it met an earlier walk.
        const auto order = [&](std::size_t place) {
            const Live& live = *nodes_[place].live;
            return ParentOf(live) && !HasBegun(live) ? std::ptrdiff_t(place) : -1;
        };
        // Of those that began to wait, which are the first nodes, the latest; else any.
        std::vector<const Live*> circle;
        if (path.empty()) return circle;
        std::ranges::rotate(path, std::ranges::max_element(path, {}, order));
        if (order(path.front()) < 0) return circle;
        for (const std::size_t place : path) circle.push_back(nodes_[place].live);
        circle.push_back(circle.front());
        return circle;
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

Circle FindCircle(std::span<Live* const> waiting, const Holds& holds, const Locks& locks) {
    Search search(holds, locks);
    const std::vector<const Live*> way = search.Find(waiting);
    Circle circle{.why = {}, .looked_at = search.looked_at()};
    if (way.empty()) return circle;
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
