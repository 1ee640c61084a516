// Layout: how a store keeps its rows, by number, and when a newer version may raise that number.
//
// A version knows one layout, and how to get there from some before it. Whoever begins to lead raises
// what is stored, step by step, under its term. It does not while a scheduler is announced that does
// not know the new layout: in a rolling upgrade the older ones go on leading until the last is gone.
// While rows are changed the stored text is "2>3": no older version leads from then on, and a newer
// one whose forerunner died in the middle does the step again. So a step must be repeatable.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace takt::internal {

// The layouts that a version can use: it raises `oldest` and above to `known`.
struct LayoutRange {
    unsigned oldest = 1;
    unsigned known = 1;
};

// A scheduler that is alive, and the layout that it knows.
struct AnnouncedLayout {
    std::string node;
    unsigned known = 0;
};

struct LayoutDecision {
    enum class Kind : std::uint8_t {
        kUse,     // It is the one that this version knows, or there is nothing yet.
        kRaise,   // From `from`, now.
        kWait,    // Not yet: `why` names the scheduler to wait for.
        kRefuse,  // Never: `why` is a sentence for the operator.
    };
    Kind kind = Kind::kUse;
    unsigned from = 0;
    std::string why;
};

// The value that is stored while `from` is raised to `to`.
inline std::string RaisingText(unsigned from, unsigned to) {
    return fmt::format("{}>{}", from, to);
}

// `stored` is empty where nothing is stored yet. `store` names it for people: "Redis".
inline LayoutDecision DecideLayout(std::string_view stored, const LayoutRange& ours,
                                   const std::vector<AnnouncedLayout>& nodes,
                                   std::string_view store) {
    using Kind = LayoutDecision::Kind;
    if (stored.empty()) return {};
    const std::size_t arrow = stored.find('>');
    const bool raising = arrow != std::string_view::npos;
    const auto from = ParseNumber<unsigned>(stored.substr(0, arrow));
    const auto to = raising ? ParseNumber<unsigned>(stored.substr(arrow + 1)) : from;
    if (from && to && *to <= ours.known) {
        if (!raising && *from == ours.known) return {};
        if (*from >= ours.oldest) {
            for (const AnnouncedLayout& node : nodes) {
                // Once it has begun no older one leads, whoever is there.
                if (raising || node.known >= ours.known) continue;
                return {Kind::kWait, *from,
                        fmt::format("the data in {} is of layout {} and is raised to {} when "
                                    "scheduler {}, which does not know that one, is stopped",
                                    store, *from, ours.known, node.node)};
            }
            return {Kind::kRaise, *from, {}};
        }
    }
    const bool older = from && to && *to <= ours.known;
    return {Kind::kRefuse, 0,
            fmt::format("the data in {} is of {} Takt (layout {}, this one knows {}); use that "
                        "version, or another place in the store",
                        store, older ? "an older" : "a newer", stored.substr(0, 20), ours.known)};
}

}  // namespace takt::internal
