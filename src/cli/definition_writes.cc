// The steps of a plan as calls, and who owns what they make.
#include <algorithm>

#include "base/json.h"
#include "cli/definition_server.h"
#include "model/namespace.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kOwnedAtOnce = 20;  // As the API takes them in one call.

constexpr const char* kQueueWithout =
    R"({"paused":false,"concurrency_max":null,"rate_limit":null})";

std::string CollectionOf(const std::string& kind) {
    if (kind == "alert_rule") return "alert-rules";
    return kind + "s";
}

// {"workers":null,…}
std::string Nulls(const JsonView& object) {
    std::string text = "{";
    JsonView::Members members(object);
    while (members.Next()) {
        if (text.size() > 1) text += ',';
        AppendJsonString(text, members.key());
        text += ":null";
    }
    return text + "}";
}

std::string NamespaceWithout(const std::string& before) {
    const JsonView object(before);
    const auto part = [&](std::string_view name) {
        const auto found = MemberOf(object, name);
        return found ? Nulls(*found) : std::string("{}");
    };
    return R"({"quotas":)" + part("quotas") + R"(,"settings":)" + part("settings") + "}";
}

Error ChangedMeanwhile(const ThingKey& key) {
    return {ErrorCode::kConflict,
            key.kind + " '" + key.name +
                "' was changed by somebody else meanwhile; run it again to "
                "see what is to be done now",
            {}};
}

}  // namespace

Result<void> DefinitionServer::Own(const PlanRules& rules, const std::vector<ThingKey>& keys,
                                   bool claim) {
    // A namespace is owned where all of them are written down.
    std::map<std::string, std::vector<const ThingKey*>> by_space;
    for (const ThingKey& key : keys) {
        by_space[key.space.empty() ? std::string(kDefaultNamespace) : key.space].push_back(&key);
    }
    for (const auto& [space, all] : by_space) {
        for (std::size_t at = 0; at < all.size(); at += kOwnedAtOnce) {
            std::string body;
            JsonWriter json(body);
            json.BeginObject().Field("owner", std::string_view(rules.owner));
            json.Field("adopt", rules.adopt).Key(claim ? "claim" : "release").BeginArray();
            for (std::size_t i = at; i < std::min(all.size(), at + kOwnedAtOnce); ++i) {
                json.BeginObject().Field("kind", std::string_view(all[i]->kind));
                json.Field("name", std::string_view(all[i]->name)).EndObject();
            }
            json.EndArray().EndObject();
            const auto answer = Call(space, HttpMethod::kPost, "/api/v1/definitions/owned", body);
            if (!answer) return std::unexpected(answer.error());
        }
    }
    return {};
}

// Tasks have versions; of anything else we look once more, right before.
Result<void> DefinitionServer::IsStillSo(const PlanStep& step, const PlanInput& input) {
    if (step.key.kind == "task") return {};
    const auto now =
        Call(step.key.space, HttpMethod::kGet, PathOf(CollectionOf(step.key.kind), step.key.name));
    const bool absent = !now && now.error().code == ErrorCode::kNotFound;
    if (!now && !absent) return std::unexpected(now.error());
    // A queue that is not there has no limits, and one without limits may come and go.
    const std::string standing = absent ? std::string() : now->body;
    const std::string before =
        step.before.empty() && step.key.kind == "queue" ? kQueueWithout : step.before;
    const std::string after =
        standing.empty() && step.key.kind == "queue" ? kQueueWithout : standing;
    if (before.empty() != after.empty()) return std::unexpected(ChangedMeanwhile(step.key));
    if (before.empty()) return {};
    std::vector<FieldChange> changes;
    for (const std::string& field : input.fields.at(step.key.kind)) {
        AddChanges(field, MemberOf(JsonView(before), field), MemberOf(JsonView(after), field),
                   changes);
    }
    if (changes.empty()) return {};
    return std::unexpected(ChangedMeanwhile(step.key));
}

Result<void> DefinitionServer::Put(const PlanStep& step) {
    const ThingKey& key = step.key;
    HttpHeaderList headers;
    HttpMethod method = HttpMethod::kPut;
    std::string path = PathOf(CollectionOf(key.kind), key.name);
    std::string body = step.shown;
    if (key.kind == "task" && step.before.empty()) {
        headers.emplace_back("If-None-Match", "*");
    } else if (key.kind == "task") {
        headers.emplace_back("If-Match", "\"" + std::to_string(step.version) + "\"");
    } else if (key.kind == "namespace" && step.before.empty()) {
        method = HttpMethod::kPost;
        path = "/api/v1/namespaces";
    } else if (key.kind == "namespace") {
        method = HttpMethod::kPatch;
        body = WithoutMembers(JsonView(step.shown), {"name"});
    }
    const auto answer = Call(key.space, method, path, body, headers);
    if (answer) {
        if (key.kind == "namespace") spaces_[key.name] = answer->body;
        return {};
    }
    return std::unexpected(answer.error());
}

Result<void> DefinitionServer::Delete(const PlanStep& step) {
    const ThingKey& key = step.key;
    const std::string path = PathOf(CollectionOf(key.kind), key.name);
    const auto done = [&]() -> Result<ClientAnswer> {
        if (key.kind == "queue") return Call(key.space, HttpMethod::kPut, path, kQueueWithout);
        if (key.kind == "namespace" && key.name == kDefaultNamespace) {
            return Call({}, HttpMethod::kPatch, path, NamespaceWithout(step.before));
        }
        if (key.kind == "namespace") {
            return Call({}, HttpMethod::kDelete, WithQuery(path, {{"confirm", key.name}}));
        }
        HttpHeaderList headers;
        if (step.version > 0) {
            headers.emplace_back("If-Match", "\"" + std::to_string(step.version) + "\"");
        }
        return Call(key.space, HttpMethod::kDelete, path, {}, headers);
    }();
    if (done || done.error().code == ErrorCode::kNotFound) return {};
    return std::unexpected(done.error());
}

Result<void> DefinitionServer::Carry(const PlanStep& step, const PlanInput& input) {
    if (step.action == PlanAction::kAdopt) return {};
    if (auto same = IsStillSo(step, input); !same) return same;
    return step.action == PlanAction::kDelete ? Delete(step) : Put(step);
}

}  // namespace takt::internal::cli
