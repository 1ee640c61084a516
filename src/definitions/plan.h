// Plan: what has to be done so that what stands becomes what files define.
//
// Pure: what is defined, what stands and who owns what go in, steps come out, in an order in which
// each finds what it needs. Who carries them out is the command line's apply.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "definitions/json_text.h"

namespace takt::internal {

// A thing that can be defined.
struct ThingKey {
    std::string kind;   // "task", "queue", "alert_rule", "namespace"
    std::string space;  // The namespace that it is in; empty for a namespace itself.
    std::string name;

    friend auto operator<=>(const ThingKey&, const ThingKey&) = default;
};

// A thing as files want it.
struct DefinedThing {
    ThingKey key;
    std::string shown;           // JSON, as answers of the API have it.
    std::set<std::string> open;  // Fields that the file says nothing of and that stay as they are.
    std::string file;
    int line = 0;
};

// A thing as it is.
struct StandingThing {
    std::string shown;
    std::uint32_t version = 0;  // 0: it has none.
    bool own_making = false;    // There without anybody having made it: a queue without limits.
};

struct PlanInput {
    std::vector<DefinedThing> defined;
    std::map<ThingKey, StandingThing> standing;
    std::map<ThingKey, std::string> owners;
    std::map<std::string, std::vector<std::string>> fields;  // By kind: those that are compared.
};

struct PlanRules {
    std::string owner;
    bool adopt = false;                 // Take over what is somebody else's.
    bool prune = false;                 // Delete what is the owner's and no longer defined.
    bool prune_namespaces = false;      // Namespaces as well, with everything in them.
    std::set<std::string> spaces = {};  // Namespaces that are named beside those of the files.
};

enum class PlanAction : std::uint8_t { kCreate, kChange, kAdopt, kDelete };
std::string_view Name(PlanAction action);

struct PlanStep {
    PlanAction action{};
    ThingKey key;
    std::string shown;   // As it is to be; empty for a deletion.
    std::string before;  // As it is; empty if there is no such thing.
    std::uint32_t version = 0;
    std::vector<FieldChange> changes = {};
    std::string file = {};
    int line = 0;
    std::string taken_from = {};  // Its owner until now; empty: it has none.
    bool foreign = false;         // It stands, and is not the owner's: only --adopt changes it.
};

struct Plan {
    std::vector<PlanStep> steps;
    std::size_t unchanged = 0;
    std::size_t unowned = 0;          // Of those that are unchanged: not the owner's.
    std::vector<ThingKey> claims;     // Ours before the first step.
    std::vector<ThingKey> releases;   // No longer ours after the last.
    std::vector<ThingKey> left_over;  // Ours and no longer defined, and kept.
    std::vector<ThingKey> elsewhere;  // Ours, in namespaces that nobody named, and kept.

    bool empty() const { return steps.empty(); }
};

Plan MakePlan(const PlanInput& input, const PlanRules& rules);

}  // namespace takt::internal
