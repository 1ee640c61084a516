#include "definitions/plan_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"

namespace takt::internal {
namespace {

constexpr std::size_t kValueBytesMax = 160;  // Of a line; --json has all of it.

std::string Shortened(const std::string& json) {
    if (json.empty()) return "(none)";
    if (json.size() <= kValueBytesMax) return json;
    std::size_t end = kValueBytesMax;
    // Not in the middle of a character.
    while (end > 0 && (static_cast<unsigned char>(json[end]) & 0xC0) == 0x80) --end;
    return json.substr(0, end) + "…";
}

PlanMark MarkOf(PlanAction action) {
    switch (action) {
        case PlanAction::kCreate:
            return PlanMark::kCreate;
        case PlanAction::kDelete:
            return PlanMark::kDelete;
        case PlanAction::kChange:
            return PlanMark::kChange;
        default:
            return PlanMark::kNote;
    }
}

std::string_view SignOf(PlanAction action) {
    switch (action) {
        case PlanAction::kCreate:
            return "+";
        case PlanAction::kDelete:
            return "-";
        case PlanAction::kChange:
            return "~";
        default:
            return "=";
    }
}

std::string HeadOf(const PlanStep& step) {
    std::string line(SignOf(step.action));
    line += " " + std::string(Name(step.action)) + " " + ThingText(step.key);
    if (step.action == PlanAction::kDelete && step.key.kind == "queue") {
        line += " (takes its limits away)";
    }
    if (step.action == PlanAction::kDelete && step.key.kind == "namespace") {
        line += " (with everything in it)";
    }
    if (!step.taken_from.empty()) line += ", owned by " + step.taken_from;
    if (step.foreign && step.taken_from.empty()) line += ", not made by an apply";
    return line;
}

std::size_t CountOf(const Plan& plan, PlanAction action) {
    return static_cast<std::size_t>(std::ranges::count(plan.steps, action, &PlanStep::action));
}

std::string SumOf(const Plan& plan) {
    if (plan.empty()) return "no changes, " + std::to_string(plan.unchanged) + " as defined";
    std::string text;
    constexpr std::array kActions = {PlanAction::kCreate, PlanAction::kChange, PlanAction::kAdopt,
                                     PlanAction::kDelete};
    for (const PlanAction action : kActions) {
        const std::size_t count = CountOf(plan, action);
        if (count == 0) continue;
        text += std::to_string(count) + " to " + std::string(Name(action)) + ", ";
    }
    return text + std::to_string(plan.unchanged) + " as defined";
}

void WriteKey(JsonWriter& json, const ThingKey& key) {
    json.Field("kind", std::string_view(key.kind));
    if (!key.space.empty()) json.Field("namespace", std::string_view(key.space));
    json.Field("name", std::string_view(key.name));
}

void WriteValue(JsonWriter& json, std::string_view name, const std::string& value) {
    json.Key(name);
    value.empty() ? json.Null() : json.Raw(value);
}

void WriteStep(JsonWriter& json, const PlanStep& step) {
    json.BeginObject().Field("action", Name(step.action));
    WriteKey(json, step.key);
    if (!step.file.empty()) {
        json.Field("file", std::string_view(step.file)).Field("line", step.line);
    }
    if (!step.taken_from.empty()) json.Field("owned_by", std::string_view(step.taken_from));
    if (step.foreign) json.Field("needs_adopt", true);
    json.Key("changes").BeginArray();
    for (const FieldChange& change : step.changes) {
        json.BeginObject().Field("field", std::string_view(change.field));
        WriteValue(json, "before", change.before);
        WriteValue(json, "after", change.after);
        json.EndObject();
    }
    json.EndArray().EndObject();
}

}  // namespace

std::string ThingText(const ThingKey& key) {
    std::string text = key.kind + " " + key.name;
    if (!key.space.empty() && key.space != "default") text += " in " + key.space;
    return text;
}

std::string PlanText(const Plan& plan, PaintLine paint) {
    std::string text;
    for (const PlanStep& step : plan.steps) {
        text += paint(HeadOf(step), MarkOf(step.action)) + "\n";
        for (const FieldChange& change : step.changes) {
            // A thing that is new has no field without a value to be told of.
            text += "    " + change.field + ": ";
            if (step.action != PlanAction::kCreate) text += Shortened(change.before) + " → ";
            text += Shortened(change.after) + "\n";
        }
    }
    for (const ThingKey& key : plan.left_over) {
        const bool space = key.kind == "namespace";
        text += paint("! keep " + ThingText(key) + ": no longer defined; " +
                          (space ? "--prune --prune-namespaces deletes it with everything in it"
                                 : "--prune deletes it"),
                      PlanMark::kNote) +
                "\n";
    }
    if (plan.unowned > 0) {
        text +=
            paint("! " + std::to_string(plan.unowned) +
                      " of them as defined, but not made by this owner; --adopt takes them over",
                  PlanMark::kNote) +
            "\n";
    }
    return text + SumOf(plan) + "\n";
}

std::string PlanJson(const Plan& plan, const PlanRules& rules) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("owner", std::string_view(rules.owner));
    json.Key("steps").BeginArray();
    for (const PlanStep& step : plan.steps) WriteStep(json, step);
    json.EndArray().Key("left_over").BeginArray();
    for (const ThingKey& key : plan.left_over) {
        json.BeginObject();
        WriteKey(json, key);
        json.EndObject();
    }
    json.EndArray().Field("unchanged", plan.unchanged).Field("unowned", plan.unowned);
    json.EndObject();
    return text;
}

}  // namespace takt::internal
