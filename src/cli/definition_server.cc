#include "cli/definition_server.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "api/definition_kind.h"
#include "base/json.h"
#include "cli/context.h"
#include "model/namespace.h"

namespace takt::internal::cli {
namespace {

using namespace std::chrono_literals;

// As the API takes them in one call.
constexpr std::size_t kCheckedAtOnce = 200;
constexpr std::size_t kCheckedBytes = 512 << 10;

// A namespace that was just made gets its leader within a term or so.
constexpr auto kPatience = 30s;
constexpr auto kPause = 200ms;

// Fields that a file may leave open, so that what an operator does by hand stays: a pause is no
// definition unless the file makes it one.
const std::map<std::string, std::string> kOpenFields = {{"task", "enabled"}, {"queue", "paused"}};

bool HasNone(const JsonView& object) {
    JsonView::Members members(object);
    while (members.Next()) {
        if (!members.value().is_null()) return false;
    }
    return true;
}

// Nobody said anything of it so far.
bool IsOwnMaking(const std::string& kind, const JsonView& item) {
    const auto is_null = [&](std::string_view name) {
        const auto member = MemberOf(item, name);
        return !member || member->is_null();
    };
    const auto is_true = [&](std::string_view name) {
        const auto member = MemberOf(item, name);
        return member && member->AsBool().value_or(false);
    };
    if (kind == "queue") {
        return !is_true("paused") && is_null("concurrency_max") && is_null("rate_limit");
    }
    if (kind != "namespace" || TextOf(item, "name") != kDefaultNamespace) return false;
    const auto quotas = MemberOf(item, "quotas");
    const auto settings = MemberOf(item, "settings");
    return quotas && settings && HasNone(*quotas) && HasNone(*settings);
}

StandingThing StandingOf(const std::string& kind, const JsonView& item) {
    const auto version = MemberOf(item, "version");
    return {.shown = std::string(item.raw()),
            .version = static_cast<std::uint32_t>(version ? version->AsInteger().value_or(0) : 0),
            .own_making = IsOwnMaking(kind, item)};
}

std::string CheckBodyOf(const std::vector<const WrittenDefinition*>& some, const PlanInput& input) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const WrittenDefinition* written : some) {
        json.BeginObject().Field("kind", std::string_view(written->key.kind));
        json.Field("name", std::string_view(written->key.name));
        json.Field("new", !input.standing.contains(written->key));
        json.Key("definition").Raw(written->json).EndObject();
    }
    json.EndArray().EndObject();
    return body;
}

void ReadFields(const JsonView& answer, PlanInput& to) {
    const auto kinds = MemberOf(answer, "kinds");
    if (!kinds) return;
    JsonView::Elements elements(*kinds);
    while (elements.Next()) {
        std::vector<std::string>& names = to.fields[TextOf(elements.value(), "kind")];
        names.clear();
        const auto fields = MemberOf(elements.value(), "fields");
        if (!fields) continue;
        JsonView::Elements each(*fields);
        std::string scratch;
        while (each.Next()) names.emplace_back(each.value().AsString(scratch));
    }
}

DefinedThing DefinedOf(const WrittenDefinition& written, const JsonView& shown) {
    DefinedThing thing{.key = written.key, .file = written.file, .line = written.document.line};
    const auto open = kOpenFields.find(written.key.kind);
    if (open != kOpenFields.end() && !MemberOf(JsonView(written.json), open->second)) {
        thing.open.insert(open->second);
    }
    thing.shown = WithoutMembers(shown, thing.open);
    return thing;
}

}  // namespace

Result<DefinitionServer> DefinitionServer::Open(const ClientOptions& given) {
    const auto options = InContext(given);
    if (!options) return std::unexpected(options.error());
    DefinitionServer server(*options);
    server.home_ = options->space;
    auto client = server.In(options->space);
    if (!client) return std::unexpected(client.error());
    // Nobody waits for a server that is not there.
    const auto me = (*client)->Get("/api/v1/me");
    if (!me) return std::unexpected(me.error());
    if (server.home_.empty()) {
        server.home_ = TextOf(JsonView(me->body), "namespace");
        if (server.home_ == "*" || server.home_.empty()) server.home_ = kDefaultNamespace;
    }
    auto read = server.Each({}, "/api/v1/namespaces", [&](const JsonView& item) {
        server.spaces_[TextOf(item, "name")] = item.raw();
    });
    if (!read) return std::unexpected(read.error());
    if (server.spaces_.contains(server.home_)) return server;
    return Fail(ErrorCode::kNotFound, "there is no namespace '" + server.home_ + "'");
}

Result<Client*> DefinitionServer::In(const std::string& space) {
    if (const auto found = clients_.find(space); found != clients_.end()) return &found->second;
    ClientOptions options = options_;
    options.space = space;
    auto client = Client::Open(options);
    if (!client) return std::unexpected(client.error());
    return &clients_.emplace(space, std::move(*client)).first->second;
}

Result<ClientAnswer> DefinitionServer::Call(const std::string& space, HttpMethod method,
                                            const std::string& path, const std::string& body,
                                            const HttpHeaderList& more) {
    const auto client = In(space);
    if (!client) return std::unexpected(client.error());
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
        auto answer = (*client)->Call(method, path, body, more);
        const bool again = !answer && answer.error().code == ErrorCode::kUnavailable;
        if (!again || std::chrono::steady_clock::now() > deadline) return answer;
        std::this_thread::sleep_for(kPause);
    }
}

Result<void> DefinitionServer::Each(const std::string& space, const std::string& path,
                                    const std::function<void(const JsonView& item)>& take) {
    std::string cursor;
    const std::string limit = path.ends_with("/tasks") ? "1000" : "";
    do {
        const auto page =
            Call(space, HttpMethod::kGet, WithQuery(path, {{"limit", limit}, {"cursor", cursor}}));
        if (!page) return std::unexpected(page.error());
        const JsonView answer(page->body);
        if (const auto items = MemberOf(answer, "items")) {
            JsonView::Elements elements(*items);
            while (elements.Next()) take(elements.value());
        }
        cursor = TextOf(answer, "next_cursor");
    } while (!cursor.empty());
    return {};
}

std::vector<std::string> DefinitionServer::spaces() const {
    std::vector<std::string> names;
    for (const auto& [name, row] : spaces_) names.push_back(name);
    return names;
}

std::map<ThingKey, StandingThing> DefinitionServer::StandingSpaces() const {
    std::map<ThingKey, StandingThing> standing;
    for (const auto& [name, row] : spaces_) {
        // One that is being deleted is neither there nor gone; who defines it waits.
        standing[{"namespace", {}, name}] = StandingOf("namespace", JsonView(row));
    }
    return standing;
}

Result<std::map<ThingKey, StandingThing>> DefinitionServer::StandingIn(const std::string& space) {
    std::map<ThingKey, StandingThing> standing;
    const std::pair<const char*, const char*> lists[] = {{"task", "/api/v1/tasks"},
                                                         {"queue", "/api/v1/queues"},
                                                         {"alert_rule", "/api/v1/alert-rules"}};
    for (const auto& [kind, path] : lists) {
        const char* identity = std::string_view(kind) == "task" ? "id" : "name";
        auto read = Each(space, path, [&, kind](const JsonView& item) {
            standing[{kind, space, TextOf(item, identity)}] = StandingOf(kind, item);
        });
        if (!read) return std::unexpected(read.error());
    }
    return standing;
}

Result<void> DefinitionServer::ReadOwners(const std::string& space,
                                          std::map<ThingKey, std::string>& to) {
    return Each(space, "/api/v1/definitions/owned", [&](const JsonView& item) {
        const std::string kind = TextOf(item, "kind");
        to[{kind, kind == "namespace" ? "" : space, TextOf(item, "name")}] = TextOf(item, "owner");
    });
}

Result<void> DefinitionServer::ReadStanding(PlanInput& to, const std::vector<std::string>& spaces) {
    to.standing = StandingSpaces();
    for (const std::string& space : spaces) {
        if (TextOf(JsonView(spaces_.at(space)), "state") != "active") continue;
        auto standing = StandingIn(space);
        if (!standing) return std::unexpected(standing.error());
        to.standing.merge(*standing);
        if (auto read = ReadOwners(space, to.owners); !read) return read;
    }
    return LearnRules(to);
}

// Rules that are as the program brings them are nobody's making, and are there in a namespace as soon
// as it is made.
Result<void> DefinitionServer::LearnRules(PlanInput& to) {
    const auto answer =
        Call(home_, HttpMethod::kPost, "/api/v1/definitions/check", R"({"items":[]})");
    if (!answer) return std::unexpected(answer.error());
    const JsonView body(answer->body);
    ReadFields(body, to);
    builtin_rules_.clear();
    const auto rules = MemberOf(body, "builtin_rules");
    if (!rules) return {};
    JsonView::Elements elements(*rules);
    while (elements.Next()) {
        builtin_rules_[TextOf(elements.value(), "name")] = elements.value().raw();
    }
    for (auto& [key, thing] : to.standing) {
        if (key.kind == "alert_rule") thing.own_making = IsBuiltin(key, thing, to);
    }
    return {};
}

bool DefinitionServer::IsBuiltin(const ThingKey& key, const StandingThing& thing,
                                 const PlanInput& input) const {
    const auto found = builtin_rules_.find(key.name);
    if (found == builtin_rules_.end()) return false;
    std::vector<FieldChange> changes;
    for (const std::string& field : input.fields.at(key.kind)) {
        AddChanges(field, MemberOf(JsonView(found->second), field),
                   MemberOf(JsonView(thing.shown), field), changes);
    }
    return changes.empty();
}

Result<std::vector<PlacedMistake>> DefinitionServer::CheckSome(
    const std::string& space, const std::vector<const WrittenDefinition*>& some, PlanInput& to) {
    const auto answer =
        Call(space, HttpMethod::kPost, "/api/v1/definitions/check", CheckBodyOf(some, to));
    if (!answer) return std::unexpected(answer.error());
    const JsonView body(answer->body);
    ReadFields(body, to);
    std::vector<PlacedMistake> mistakes;
    const auto items = MemberOf(body, "items");
    if (!items) return mistakes;
    JsonView::Elements elements(*items);
    for (std::size_t at = 0; elements.Next() && at < some.size(); ++at) {
        const WrittenDefinition& written = *some[at];
        const auto shown = MemberOf(elements.value(), "shown");
        if (shown && !shown->is_null()) to.defined.push_back(DefinedOf(written, *shown));
        const auto told = MemberOf(elements.value(), "mistakes");
        if (!told) continue;
        JsonView::Elements each(*told);
        while (each.Next()) {
            mistakes.push_back(
                written.Mistake(TextOf(each.value(), "field"), TextOf(each.value(), "detail")));
        }
    }
    return mistakes;
}

Result<std::vector<PlacedMistake>> DefinitionServer::Check(
    const std::vector<WrittenDefinition>& written, PlanInput& to) {
    std::set<std::string> made;
    for (const WrittenDefinition& one : written) {
        if (one.key.kind == "namespace") made.insert(one.key.name);
    }
    std::vector<PlacedMistake> mistakes;
    std::map<std::string, std::vector<const WrittenDefinition*>> by_space;
    for (const WrittenDefinition& one : written) {
        const std::string& space = one.key.space;
        if (space.empty() || spaces_.contains(space)) {
            by_space[space.empty() ? home_ : space].push_back(&one);
        } else if (made.contains(space)) {
            // A namespace that is not there yet: its rules are those of all.
            by_space[home_].push_back(&one);
        } else {
            mistakes.push_back(one.Mistake(
                "namespace", "there is no namespace '" + space + "', and no file defines it"));
        }
    }
    for (const std::string& space : made) {
        if (spaces_.contains(space)) continue;
        for (const auto& [name, rule] : builtin_rules_) {
            to.standing[{"alert_rule", space, name}] = {.shown = rule, .own_making = true};
        }
    }
    for (auto& [space, all] : by_space) {
        while (!all.empty()) {
            std::size_t count = 0;
            for (std::size_t bytes = 0; count < all.size() && count < kCheckedAtOnce; ++count) {
                bytes += all[count]->json.size();
                if (count > 0 && bytes > kCheckedBytes) break;
            }
            auto found =
                CheckSome(space, {all.begin(), all.begin() + static_cast<long>(count)}, to);
            if (!found) return found;
            std::ranges::move(*found, std::back_inserter(mistakes));
            all.erase(all.begin(), all.begin() + static_cast<long>(count));
        }
    }
    return mistakes;
}

}  // namespace takt::internal::cli
