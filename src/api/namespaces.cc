// Namespaces: list, create, get, change, delete. The directory is settings of `default`, changed by its
// leader; see model/namespace.h.
#include <algorithm>
#include <bitset>

#include "api/audit.h"
#include "api/call_flow.h"
#include "api/json_read.h"
#include "api/namespace_json.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"

namespace takt::internal {
namespace {

// Somebody else may change the directory at the same time; with each try one of them succeeds.
constexpr int kTries = 10;

// Why a call cannot be answered as asked.
struct Refusal {
    Problem problem;
};

Refusal NoSuch(const std::string& name) {
    return {{404, "no_namespace", "there is no namespace '" + name + "'", "name"}};
}

// `default` is there whether or not anybody ever changed it.
NamespaceRow Standard() {
    return {.name = std::string(kDefaultNamespace), .number = 0};
}

Directory WithDefault(Directory directory) {
    directory.rows.try_emplace(std::string(kDefaultNamespace), Standard());
    return directory;
}

auto AskDirectory(const Call& call) {
    using Settings = Result<std::vector<SettingPut>>;
    return Answered<Settings>(call, [&](auto done) {
        call.services().store.ListSettings(kDefaultPartition, Text(kDirectoryPrefix),
                                           std::move(done));
    });
}

std::optional<LeaderRow> LeaderOf(const Call& call, const NamespaceRow& row) {
    const auto& realms = call.services().gate->realms;
    const auto found = realms.find(row.name);
    if (found == realms.end() || found->second->partition != row.number) return std::nullopt;
    return found->second->node.status().leader;
}

void SendNamespace(Call call, int status, const NamespaceRow& row) {
    std::string body;
    JsonWriter json(body);
    WriteNamespace(json, {row, LeaderOf(call, row)});
    call.Json(status, std::move(body));
}

bool MaySee(const Call& call, const std::string& name) {
    return call.who().May(Permission::kViewer, name);
}

Flow<> ListNamespaces(Call call) {
    const auto settings = co_await AskDirectory(call);
    if (!settings) co_return call.RefuseAnswer(settings.error());
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("items").BeginArray();
    for (const auto& [name, row] : WithDefault(ReadDirectory(*settings)).rows) {
        if (MaySee(call, name)) WriteNamespace(json, {row, LeaderOf(call, row)});
    }
    json.EndArray().Key("next_cursor").Null().EndObject();
    call.Json(200, std::move(body));
}

Flow<> GetNamespace(Call call) {
    const std::string name(call.request().Parameter("name"));
    const auto settings = co_await AskDirectory(call);
    if (!settings) co_return call.RefuseAnswer(settings.error());
    const Directory directory = WithDefault(ReadDirectory(*settings));
    const auto found = directory.rows.find(name);
    if (found == directory.rows.end() || !MaySee(call, name)) {
        co_return call.Refuse(NoSuch(name).problem);
    }
    SendNamespace(std::move(call), 200, found->second);
}

// --- Changes ------------------------------------------------------------------------------------

// Decides about a namespace from what the directory says now: the row as it is to be, or a refusal.
using Decided = std::variant<NamespaceRow, Refusal>;
using Decide = std::function<Decided(const Directory& directory)>;

SwapSettings SwapTo(const NamespaceRow& row, std::uint64_t version) {
    SwapSettings swap{.guard = Text(kDirectoryVersionKey),
                      .expected = version == 0 ? Text() : Text(std::to_string(version)),
                      .next = Text(std::to_string(version + 1))};
    swap.puts.push_back(SettingOf(row));
    return swap;
}

AuditChange DirectoryChangeOf(const Directory& directory, const NamespaceRow& row) {
    const auto shown = [](const NamespaceRow& row) {
        std::string body;
        JsonWriter json(body);
        WriteNamespace(json, {row, std::nullopt});
        return JsonDocument(std::move(body));
    };
    AuditChange change{.target = {"namespace", row.name}};
    const auto found = directory.rows.find(row.name);
    if (found != directory.rows.end()) change.before = shown(found->second);
    change.after = shown(row);
    return change;
}

Flow<> ChangeDirectory(Call call, int status, Decide decide) {
    for (int tries = 0; tries < kTries; ++tries) {
        const auto settings = co_await AskDirectory(call);
        if (!settings) co_return call.RefuseAnswer(settings.error());
        const Directory directory = ReadDirectory(*settings);
        auto decided = decide(WithDefault(directory));
        if (const auto* refusal = std::get_if<Refusal>(&decided)) {
            co_return call.Refuse(refusal->problem);
        }
        const NamespaceRow row = std::get<NamespaceRow>(std::move(decided));
        SwapSettings swap = SwapTo(row, directory.version);
        swap.by = ActOf(call, DirectoryChangeOf(directory, row));
        const auto answer = co_await Asked(call, std::move(swap));
        if (answer) {
            // The caller may use it here as soon as it is answered.
            if (const auto& refresh = call.services().gate->refresh_realms) {
                co_await Answered<bool>(call, [&](auto done) { refresh(std::move(done)); });
            }
            co_return SendNamespace(std::move(call), status, row);
        }
        if (answer.error().code != ErrorCode::kConflict)
            co_return call.RefuseAnswer(answer.error());
    }
    call.RefuseAnswer({ErrorCode::kUnavailable, "the directory is being changed; try again", ""});
}

// Namespaces are the cluster's, for an administrator of all of it.
bool RefusedOne(Call& call) {
    const Principal& who = call.who();
    if (who.May(Permission::kAdmin, kEverySpace)) return false;
    call.Refuse({403, "forbidden",
                 who.name + " is an admin of the namespace " + who.space +
                     "; namespaces are made and changed by one of all of them"});
    return true;
}

NamespaceDraft DraftOf(const Call& call, NamespaceRow row) {
    return {std::move(row), &call.services().config.task_limits.retry_default};
}

std::optional<Partition> FreeNumber(const Directory& directory) {
    std::bitset<kNamespaceNumberMax + 1> used;
    for (const auto& [name, row] : directory.rows) used.set(row.number);
    for (unsigned number = 1; number <= kNamespaceNumberMax; ++number) {
        if (!used.test(number)) return static_cast<Partition>(number);
    }
    return std::nullopt;
}

Decided DecideNew(NamespaceRow row, const Directory& directory) {
    if (directory.rows.contains(row.name)) {
        return Refusal{
            {409, "conflict", "there is a namespace '" + row.name + "' already", "name"}};
    }
    const auto number = FreeNumber(directory);
    if (!number) {
        return Refusal{{409, "namespaces_full",
                        "there are " + std::to_string(kNamespaceNumberMax) +
                            " namespaces, and no more can be; delete one first"}};
    }
    row.number = *number;
    // Versions only rise, so that it is nobody else's.
    row.id = directory.version + 1;
    row.epoch_floor = directory.epoch_floor;
    return row;
}

void CreateNamespace(Call call) {
    if (RefusedOne(call)) return;
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return call.RefuseRequest(object.error());
    const auto made = ReadNewNamespace(*object, DraftOf(call, {.created_at = ReadClocks().wall}));
    if (!made) return call.RefuseRequest(made.error());
    Launch(ChangeDirectory(std::move(call), 201, [row = *made](const Directory& directory) mutable {
        return DecideNew(row, directory);
    }));
}

void ChangeNamespace(Call call) {
    if (RefusedOne(call)) return;
    std::string name(call.request().Parameter("name"));
    const auto body = std::make_shared<const std::string>(call.request().body);
    const auto object = ReadObject(*body, call.route().body_bytes_max);
    if (!object) return call.RefuseRequest(object.error());
    const NamespaceDraft draft = DraftOf(call, {});
    if (auto read = ReadNamespaceChange(*object, draft); !read) {
        return call.RefuseRequest(read.error());
    }
    Launch(ChangeDirectory(std::move(call), 200,
                           [name, body, object = *object,
                            standard = draft.retry_default](const Directory& directory) -> Decided {
                               const auto found = directory.rows.find(name);
                               if (found == directory.rows.end()) return NoSuch(name);
                               auto row = ReadNamespaceChange(object, {found->second, standard});
                               if (!row) return Refusal{ProblemOfRequest(row.error())};
                               return std::move(*row);
                           }));
}

void DeleteNamespace(Call call) {
    if (RefusedOne(call)) return;
    std::string name(call.request().Parameter("name"));
    if (name == kDefaultNamespace) {
        return call.Refuse({409, "conflict", "the namespace default cannot be deleted", "name"});
    }
    if (call.request().Query("confirm").value_or("") != name) {
        return call.Refuse({400, "invalid",
                            "all of its tasks, executions and logs would be gone for good: say so "
                            "with ?confirm=" +
                                name,
                            "confirm"});
    }
    Launch(ChangeDirectory(std::move(call), 202, [name](const Directory& directory) -> Decided {
        const auto found = directory.rows.find(name);
        if (found == directory.rows.end()) return NoSuch(name);
        NamespaceRow row = found->second;
        if (row.state == NamespaceState::kActive) {
            row.state = NamespaceState::kDeleting;
        }
        return row;
    }));
}

}  // namespace

void AddNamespaceRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.cluster = true;
        route.tag = "namespaces";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/namespaces",
         .permission = Permission::kViewer,
         .handler = Flowing(ListNamespaces),
         .summary = "List namespaces: who leads each, what it may use",
         .gives = "NamespaceList"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/namespaces",
         .permission = Permission::kAdmin,
         .where = Where::kLeader,
         .handler = CreateNamespace,
         .summary = "Make a namespace",
         .takes = "NamespaceRequest",
         .gives = "Namespace",
         .success = 201});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/namespaces/{name}",
         .permission = Permission::kViewer,
         .handler = Flowing(GetNamespace),
         .summary = "Get a namespace",
         .gives = "Namespace"});
    add({.method = HttpMethod::kPatch,
         .path = "/api/v1/namespaces/{name}",
         .permission = Permission::kAdmin,
         .where = Where::kLeader,
         .handler = ChangeNamespace,
         .summary = "Change quotas and settings; what is left out stays, null takes one away",
         .takes = "NamespaceChange",
         .gives = "Namespace"});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/namespaces/{name}",
         .permission = Permission::kAdmin,
         .where = Where::kLeader,
         .handler = DeleteNamespace,
         .summary = "Delete a namespace with everything in it; it is gone when that has ended",
         .query = {{"confirm", "Its name again."}},
         .gives = "Namespace",
         .success = 202});
}

}  // namespace takt::internal
