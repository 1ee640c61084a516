#include "model/results_reference.h"

#include "base/json_view.h"

namespace takt::internal {
namespace {

using Kind = JsonView::Kind;

// The only member of a reference.
constexpr std::string_view kResults = "$results";

std::optional<std::string> Search(const JsonView& value) {
    if (value.kind() == Kind::kArray) {
        for (JsonView::Elements elements(value); elements.Next();) {
            if (auto step = Search(elements.value())) return step;
        }
    } else if (value.kind() == Kind::kObject) {
        if (auto step = ReferredStep(value.raw())) return step;
        for (JsonView::Members members(value); members.Next();) {
            if (auto step = Search(members.value())) return step;
        }
    }
    return std::nullopt;
}

}  // namespace

void WriteResultsReference(JsonWriter& json, std::string_view step, std::uint32_t count) {
    json.BeginObject().Key(kResults).BeginObject();
    json.Field("step", step).Field("count", count);
    json.EndObject().EndObject();
}

std::optional<std::string> ReferredStep(std::string_view json) {
    const JsonView value(json);
    if (value.kind() != Kind::kObject) return std::nullopt;
    JsonView::Members outer(value);
    if (!outer.Next() || outer.key() != kResults) return std::nullopt;
    const JsonView what = outer.value();
    if (what.kind() != Kind::kObject || outer.Next()) return std::nullopt;
    std::optional<std::string> step;
    bool counted = false;
    for (JsonView::Members inner(what); inner.Next();) {
        const JsonView one = inner.value();
        std::string scratch;
        if (inner.key() == "step" && one.is_string()) {
            step = std::string(one.AsString(scratch));
        } else if (inner.key() == "count" && one.AsInteger()) {
            counted = true;
        } else {
            return std::nullopt;
        }
    }
    return counted ? step : std::nullopt;
}

std::optional<std::string> FindReferred(std::string_view json) {
    if (json.find(kResults) == std::string_view::npos) return std::nullopt;
    return Search(JsonView(json));
}

std::string GivenByReference(std::string_view step) {
    return "results of step '" + std::string(step) +
           "' are too large, or nested too deep, and are given by reference";
}

}  // namespace takt::internal
