#include "engine/run_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/json_view.h"
#include "model/results_reference.h"
#include "model/step_values.h"

namespace takt::internal {
namespace {

// A payload that is filled in may be no larger than one that a caller sends.
constexpr std::size_t kFilledBytesMax = 1u << 20;
constexpr JsonLimits kListLimits{.bytes_max = 64u << 20};
// Of a value in an object that is kept.
constexpr JsonLimits kMemberLimits{.depth_max = kListLimits.depth_max - 1};
// A run's own result; more goes by reference.
constexpr std::size_t kRunResultBytesMax = 1u << 20;

std::string_view JsonOf(const Text* part) {
    return part && !part->empty() ? part->view() : std::string_view("null");
}

// The item as JSON: one that is none stands in the list as a string.
void AppendPart(std::string& out, const Text* part) {
    const std::string_view json = JsonOf(part);
    if (CheckJson(json, kListLimits)) {
        out += json;
    } else {
        AppendJsonString(out, json);
    }
}

}  // namespace

bool HasResult(const WorkflowStep& step, const StepProgress& progress) {
    if (progress.status == StepStatus::kSuccess) return true;
    // Of those that ended otherwise, what succeeded stands in the list, null for the rest.
    return step.fans_out() && progress.success > 0;
}

void KeepResult(Run& run, const ChildPlace& place, const Text& data) {
    StepResults& results = run.steps[place.step].Values().results;
    if (results.too_large) return;
    results.parts.resize(run.progress.steps[place.step].total);
    if (place.index >= results.parts.size() || results.parts[place.index]) return;
    results.parts[place.index] = data;
    results.bytes += data.size();
    run.cached_bytes += data.size();
    if (run.step(place.step).fans_out() && results.bytes > kResultsBytesMax) {
        run.cached_bytes -= results.bytes;
        results = {.parts = {}, .bytes = 0, .too_large = true};
    }
}

// A child succeeded: its result is kept if a later step may want it and there is room.
void CacheResult(Run& run, const ChildPlace& place, const Text& data) {
    if (!run.workflow->wanted(place.step)) return;
    if (run.cached_bytes + data.size() <= kRunCacheBytes) KeepResult(run, place, data);
}

// Results that were gathered for a step and are more than a run may keep go again.
void DropResults(Run& run) {
    if (run.cached_bytes <= kRunCacheBytes || run.awaited > 0) return;
    for (RunStep& step : run.steps) {
        if (!step.values) continue;
        StepResults& results = step.values->results;
        results = {.parts = {}, .bytes = 0, .too_large = results.too_large};
    }
    run.cached_bytes = 0;
}

// The result of a step as others see it; nothing if it has none. REQUIRES: gathered.
std::optional<std::string> ResultOf(const Run& run, std::uint32_t number) {
    const StepProgress& progress = run.progress.steps[number];
    const WorkflowStep& step = run.step(number);
    if (!HasResult(step, progress)) return std::nullopt;
    const StepResults& results = run.steps[number].results();
    if (!step.fans_out()) return std::string(JsonOf(results.Find(0)));
    if (results.too_large) return ReferenceTo(run, number);
    std::string list = "[";
    for (std::uint32_t i = 0; i < progress.total; ++i) {
        if (i > 0) list += ',';
        AppendPart(list, results.Find(i));
    }
    return list + "]";
}

std::string ReferenceTo(const Run& run, std::uint32_t number) {
    std::string text;
    JsonWriter json(text);
    WriteResultsReference(json, run.step(number).task->name.view(),
                          run.progress.steps[number].total);
    return text;
}

namespace {

Result<std::string> FillStep(const Run& run, std::string_view json,
                             std::optional<std::string_view> item, bool compared = false) {
    std::map<std::uint32_t, std::optional<std::string>> known;
    ValueSources sources;
    sources.input = run.live->row.input();
    sources.item = item;
    sources.compared = compared;
    sources.result = [&](std::string_view name) -> std::optional<std::string_view> {
        const auto number = run.workflow->Find(name);
        if (!number) return std::nullopt;
        const auto [entry, first] = known.try_emplace(*number);
        if (first) entry->second = ResultOf(run, *number);
        if (!entry->second) return std::nullopt;
        return *entry->second;
    };
    return FillIn(json, sources);
}

}  // namespace

Result<bool> ConditionHolds(const Run& run, std::uint32_t number) {
    const auto& condition = run.step(number).condition;
    if (!condition) return true;
    const auto value = FillStep(run, condition->value, std::nullopt, true);
    if (!value && value.error().code == ErrorCode::kExhausted) {
        return Fail(ErrorCode::kInvalid, "its if cannot be decided: " + value.error().detail);
    }
    // Too deep to be anything that can be written there; a value that is not there is null.
    if (!value && value.error().code == ErrorCode::kInvalid) return false;
    const std::string_view json = value ? std::string_view(*value) : std::string_view("null");
    return CheckJson(json, kListLimits) && SameJson(json, condition->equals);
}

// Reads the list that the step's children are made of, one for each item.
Result<void> ListItems(Run& run, std::uint32_t number) {
    auto filled = FillStep(run, run.step(number).for_each, std::nullopt);
    if (!filled) return std::unexpected(filled.error());
    auto items = std::make_unique<StepItems>();
    items->json = std::move(*filled);
    const bool is_list = CheckJson(items->json, kListLimits).has_value() &&
                         JsonView(items->json).kind() == JsonView::Kind::kArray;
    if (!is_list) {
        const auto step = CheckJson(items->json, kListLimits) ? ReferredStep(items->json)
                                                              : std::optional<std::string>();
        return Fail(ErrorCode::kInvalid, step ? "what its for_each stands for is too large: the " +
                                                    GivenByReference(*step)
                                              : "what its for_each stands for is no list");
    }
    JsonView::Elements elements{JsonView(items->json)};
    while (elements.Next()) {
        items->items.push_back(elements.value().raw());
        if (items->items.size() <= kStepChildrenMax) continue;
        return Fail(ErrorCode::kInvalid,
                    "its list has more than " + std::to_string(kStepChildrenMax) + " items");
    }
    run.steps[number].Values().items = std::move(items);
    return {};
}

// The payload of a child. kNotFound if a value is not there, kInvalid if it is too large.
Result<Text> PayloadOf(Run& run, std::uint32_t number, std::uint32_t index) {
    RunStep& state = run.steps[number];
    if (state.values && state.values->payload) return *state.values->payload;
    const WorkflowStep& step = run.step(number);
    std::optional<std::string_view> item;
    if (state.items()) item = state.items()->items[index];
    const Text& written = step.task->payload;
    if (item && written.empty()) return Text(*item);
    // The shards of a task have what the task has.
    if (run.workflow->options().short_form) return run.live->row.input();
    if (!MayRefer(written)) return written;
    auto filled = FillStep(run, written, item);
    if (!filled) return std::unexpected(filled.error());
    if (filled->size() > kFilledBytesMax) {
        return Fail(ErrorCode::kInvalid, "its payload, filled in, has " +
                                             std::to_string(filled->size()) +
                                             " bytes; at most a mebibyte is handed on");
    }
    const Text payload = *filled == written.view() ? written : Text(*filled);
    // A step that begins before all of its sources are over sees what there is when a child is made.
    const bool settled = std::ranges::all_of(
        run.workflow->sources(number),
        [&](std::uint32_t source) { return IsOver(run.progress.steps[source].status); });
    if (step.fans_out() && !item && settled) state.Values().payload = payload;
    return payload;
}

// Of several last steps as many results are kept as the run's own has room for, in their order. Those
// of this step, the next of them, come to the `bytes` of those before it.
void KeepWhatFits(Run& run, std::uint32_t number, std::size_t& bytes) {
    const std::size_t own = run.steps[number].results().bytes;
    if (run.workflow->last() || own == 0) return;
    if (bytes + own < kRunResultBytesMax) {
        bytes += own;
        return;
    }
    run.cached_bytes -= own;
    run.steps[number].Values().results = {.parts = {}, .bytes = 0, .too_large = true};
}

// The result of the last step; if several are last, those of all of them by name. What is too large,
// or would be nested too deep, goes by reference.
Text ResultOfRun(const Run& run) {
    const auto result = [&](std::uint32_t number) -> std::string {
        const StepProgress& progress = run.progress.steps[number];
        std::size_t known = 0;
        for (const auto& part : run.steps[number].results().parts) known += part.has_value();
        if (progress.success > known) return ReferenceTo(run, number);
        std::string own = ResultOf(run, number).value_or("null");
        const bool kept = !run.step(number).fans_out() || CheckJson(own, kListLimits);
        return kept ? own : ReferenceTo(run, number);
    };
    if (const auto last = run.workflow->last()) {
        const Text* one = run.step(*last).fans_out() ? nullptr : run.steps[*last].results().Find(0);
        return one ? *one : Text(result(*last));
    }
    std::string all = "{";
    for (std::uint32_t number = 0; number < run.steps.size(); ++number) {
        if (!run.workflow->behind(number).empty()) continue;
        if (all.size() > 1) all += ',';
        AppendJsonString(all, run.step(number).task->name.view());
        const std::string own = result(number);
        const bool fits = all.size() + own.size() < kRunResultBytesMax;
        all += ':';
        if (fits && CheckJson(own, kMemberLimits)) {
            all += own;
        } else if (!fits || CheckJson(own)) {
            all += ReferenceTo(run, number);
        } else {
            AppendJsonString(all, own);
        }
    }
    return Text(all + "}");
}

}  // namespace takt::internal
