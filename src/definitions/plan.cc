#include "definitions/plan.h"

#include <algorithm>
#include <array>

namespace takt::internal {
namespace {

// Things that others need are made first and deleted last.
constexpr std::array<std::string_view, 4> kOrder = {"namespace", "queue", "task", "alert_rule"};

std::size_t RankOf(const ThingKey& key) {
    return static_cast<std::size_t>(std::ranges::find(kOrder, key.kind) - kOrder.begin());
}

bool IsNamespace(const ThingKey& key) {
    return key.kind == "namespace";
}

// By rank, from 0 to kOrder.size(); those of one rank as they were.
template <typename Thing, typename Rank>
std::vector<Thing> InOrder(std::vector<Thing> things, Rank rank) {
    std::vector<Thing> sorted;
    for (std::size_t at = 0; at <= kOrder.size(); ++at) {
        for (Thing& thing : things) {
            if (rank(thing) == at) sorted.push_back(thing);
        }
    }
    return sorted;
}

std::vector<FieldChange> ChangesOf(const DefinedThing& thing, const std::string& before,
                                   const std::vector<std::string>& fields) {
    std::vector<FieldChange> changes;
    const JsonView after(thing.shown);
    for (const std::string& field : fields) {
        if (thing.open.contains(field)) continue;
        AddChanges(field, before.empty() ? std::nullopt : MemberOf(JsonView(before), field),
                   MemberOf(after, field), changes);
    }
    return changes;
}

// Tasks whose steps run other tasks come after those.
class TaskOrder {
  public:
    explicit TaskOrder(const std::vector<DefinedThing>& things) {
        for (const DefinedThing& thing : things) things_.emplace(thing.key, &thing);
    }

    std::vector<const DefinedThing*> Sorted(const std::vector<DefinedThing>& things) {
        for (const DefinedThing& thing : things) Visit(thing);
        return InOrder(std::move(sorted_), [](const auto* thing) { return RankOf(thing->key); });
    }

  private:
    void Visit(const DefinedThing& thing) {
        // Tasks that run each other have no right order, and keep that of the file.
        if (!seen_.insert(thing.key).second) return;
        if (const auto steps = MemberOf(JsonView(thing.shown), "steps");
            steps && steps->kind() == JsonView::Kind::kArray) {
            JsonView::Elements elements(*steps);
            while (elements.Next()) {
                const ThingKey needed{"task", thing.key.space, TextOf(elements.value(), "task")};
                const auto found = things_.find(needed);
                if (found != things_.end()) Visit(*found->second);
            }
        }
        sorted_.push_back(&thing);
    }

    std::map<ThingKey, const DefinedThing*> things_;
    std::set<ThingKey> seen_;
    std::vector<const DefinedThing*> sorted_;
};

class Planner {
  public:
    Planner(const PlanInput& input, const PlanRules& rules)
        : input_(input), rules_(rules), named_(rules.spaces) {}

    Plan Make() {
        for (const DefinedThing* thing : TaskOrder(input_.defined).Sorted(input_.defined)) {
            defined_.insert(thing->key);
            named_.insert(IsNamespace(thing->key) ? thing->key.name : thing->key.space);
            Define(*thing);
        }
        std::vector<ThingKey> gone;
        for (const auto& [key, owner] : input_.owners) {
            if (owner != rules_.owner || defined_.contains(key)) continue;
            gone.push_back(key);
            // Its tasks go before it.
            if (IsNamespace(key) && MayDelete(key)) named_.insert(key.name);
        }
        gone = InOrder(std::move(gone),
                       [](const ThingKey& key) { return kOrder.size() - RankOf(key); });
        for (const ThingKey& key : gone) Undefine(key);
        // Owners of what was in a namespace go with it.
        std::erase_if(plan_.releases, [&](const ThingKey& key) {
            return std::ranges::any_of(plan_.steps, [&](const PlanStep& step) {
                return step.action == PlanAction::kDelete && IsNamespace(step.key) &&
                       step.key.name == key.space;
            });
        });
        return std::move(plan_);
    }

  private:
    std::string OwnerOf(const ThingKey& key) const {
        const auto found = input_.owners.find(key);
        return found == input_.owners.end() ? std::string() : found->second;
    }

    void Define(const DefinedThing& thing) {
        const auto found = input_.standing.find(thing.key);
        const bool stands = found != input_.standing.end();
        const std::string owner = OwnerOf(thing.key);
        const bool ours = owner == rules_.owner;
        const bool free = owner.empty() && (!stands || found->second.own_making);
        PlanStep step{.key = thing.key,
                      .shown = thing.shown,
                      .before = stands ? found->second.shown : std::string(),
                      .version = stands ? found->second.version : 0,
                      .file = thing.file,
                      .line = thing.line,
                      .taken_from = ours ? std::string() : owner,
                      .foreign = !ours && !free};
        step.changes = ChangesOf(thing, step.before, input_.fields.at(thing.key.kind));
        // Every queue is there; that it has limits is somebody's making.
        const bool made = stands && !(free && thing.key.kind == "queue");
        step.action = made ? PlanAction::kChange : PlanAction::kCreate;
        if (stands && step.changes.empty()) {
            ++plan_.unchanged;
            if (ours) return;
            if (!rules_.adopt && !free) {
                ++plan_.unowned;
                return;
            }
            step.action = PlanAction::kAdopt;
        }
        if (!ours) plan_.claims.push_back(thing.key);
        // That a thing which nobody made is ours now is no news.
        if (step.action == PlanAction::kAdopt && free) return;
        plan_.steps.push_back(std::move(step));
    }

    bool MayDelete(const ThingKey& key) const {
        return rules_.prune && (!IsNamespace(key) || rules_.prune_namespaces);
    }

    void Undefine(const ThingKey& key) {
        const auto found = input_.standing.find(key);
        const bool stands = found != input_.standing.end();
        // The same files may be applied to one namespace after the other: that these say nothing of
        // a namespace does not mean that nothing is defined in it.
        if (!IsNamespace(key) && !named_.contains(key.space)) {
            if (stands && !found->second.own_making) plan_.elsewhere.push_back(key);
            return;
        }
        if (stands && !MayDelete(key)) return plan_.left_over.push_back(key);
        // One that is gone already, or that is as if nobody had made it, is only forgotten.
        if (stands && !found->second.own_making) {
            plan_.steps.push_back({.action = PlanAction::kDelete,
                                   .key = key,
                                   .before = found->second.shown,
                                   .version = found->second.version});
        }
        if (rules_.prune) plan_.releases.push_back(key);
    }

    const PlanInput& input_;
    const PlanRules& rules_;
    std::set<ThingKey> defined_;
    std::set<std::string> named_;  // Namespaces.
    Plan plan_;
};

}  // namespace

std::string_view Name(PlanAction action) {
    switch (action) {
        case PlanAction::kCreate:
            return "create";
        case PlanAction::kChange:
            return "change";
        case PlanAction::kAdopt:
            return "adopt";
        default:
            return "delete";
    }
}

Plan MakePlan(const PlanInput& input, const PlanRules& rules) {
    return Planner(input, rules).Make();
}

}  // namespace takt::internal
