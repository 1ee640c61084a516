// takt namespaces: who leads each, what it may use; make, change, delete.
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/output.h"
#include "cli/parts.h"

namespace takt::internal::cli {
namespace {

struct NamespacesOptions {
    ClientOptions client;
    std::string name;
    std::vector<std::string> quotas;    // NAME=VALUE
    std::vector<std::string> settings;  // NAME=VALUE
    bool yes = false;
};

Table NamespaceTable(const boost::json::value& page) {
    Table table({"NAMESPACE", "NUMBER", "STATE", "LEADER", "ADDRESS", "CREATED"});
    for (const auto* space : ListMember(page, "items")) {
        const auto* leader = FindMember(*space, "leader");
        const bool led = leader && leader->is_object();
        table.Add({Member(*space, "name"), Member(*space, "number"), Member(*space, "state"),
                   led ? Member(*leader, "node_id") : "-", led ? Member(*leader, "address") : "-",
                   ShortTime(Member(*space, "created_at"))});
    }
    return table;
}

Result<int> ShowOne(const NamespacesOptions& options, const Result<ClientAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (PrintedAsJson(options.client, *answer)) return kOk;
    boost::json::object page;
    page["items"] = boost::json::array{answer->value};
    NamespaceTable(page).Print();
    for (const char* part : {"quotas", "settings"}) {
        const auto* object = FindMember(answer->value, part);
        if (!object || !object->is_object()) continue;
        for (const auto& [name, value] : object->as_object()) {
            if (value.is_null()) continue;
            std::string text;
            AppendJson(text, value);
            std::printf("%s.%s = %s\n", part, std::string(name).c_str(), text.c_str());
        }
    }
    return kOk;
}

Result<int> ListNamespaces(Client& client, const NamespacesOptions& options) {
    const auto page = client.Get("/api/v1/namespaces");
    if (!page) return std::unexpected(page.error());
    if (!PrintedAsJson(options.client, *page)) NamespaceTable(page->value).Print();
    return kOk;
}

// Numbers and JSON as they are, "none" as null, anything else as a text.
Result<void> AddPairs(const std::vector<std::string>& pairs, const char* flag,
                      boost::json::object& to) {
    for (const std::string& pair : pairs) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos || equals == 0) {
            return Fail(ErrorCode::kInvalid,
                        std::string(flag) + " wants NAME=VALUE, not '" + pair + "'");
        }
        const std::string value = pair.substr(equals + 1);
        boost::json::value& place = to[pair.substr(0, equals)];
        if (value == "none") {
            place = nullptr;
        } else if (auto json = ParseJson(value)) {
            place = std::move(*json);
        } else {
            place = value;
        }
    }
    return {};
}

Result<std::string> BodyOf(const NamespacesOptions& options, boost::json::object body) {
    boost::json::object quotas;
    boost::json::object settings;
    if (auto added = AddPairs(options.quotas, "--quota", quotas); !added) {
        return std::unexpected(added.error());
    }
    if (auto added = AddPairs(options.settings, "--setting", settings); !added) {
        return std::unexpected(added.error());
    }
    if (!quotas.empty()) body["quotas"] = std::move(quotas);
    if (!settings.empty()) body["settings"] = std::move(settings);
    std::string text;
    AppendJson(text, body);
    return text;
}

Result<int> Create(Client& client, const NamespacesOptions& options) {
    auto body = BodyOf(options, {{"name", options.name}});
    if (!body) return std::unexpected(body.error());
    return ShowOne(options, client.Post("/api/v1/namespaces", std::move(*body)));
}

Result<int> Change(Client& client, const NamespacesOptions& options) {
    if (options.quotas.empty() && options.settings.empty()) {
        return Fail(ErrorCode::kInvalid, "give --quota or --setting");
    }
    auto body = BodyOf(options, {});
    if (!body) return std::unexpected(body.error());
    return ShowOne(options, client.Call(HttpMethod::kPatch, PathOf("namespaces", options.name),
                                        std::move(*body)));
}

Result<int> Delete(Client& client, const NamespacesOptions& options) {
    if (!options.yes) {
        return Fail(ErrorCode::kInvalid,
                    "all tasks, executions and logs in '" + options.name +
                        "' would be gone for good; say --yes if that is meant");
    }
    const auto done = client.Call(HttpMethod::kDelete, WithQuery(PathOf("namespaces", options.name),
                                                                 {{"confirm", options.name}}));
    if (!done) return std::unexpected(done.error());
    if (!PrintedAsJson(options.client, *done)) {
        std::printf("%s is being deleted\n", options.name.c_str());
    }
    return kOk;
}

}  // namespace

void AddNamespaces(CLI::App& app, Context& context) {
    PartedCommand<NamespacesOptions> spaces(
        app, context, {"namespaces", "Namespaces; alone it lists them"}, ListNamespaces);
    NamespacesOptions& options = spaces.options();
    spaces.Add({"list", "Lists namespaces"}, ListNamespaces);
    CLI::App* create = spaces.Add({"create", "Makes one"}, Create);
    CLI::App* change = spaces.Add({"change", "Changes quotas and settings"}, Change);
    CLI::App* remove = spaces.Add({"delete", "Deletes one with everything in it"}, Delete);
    CLI::App* const named[] = {
        create, change, remove,
        spaces.Add({"get", "Shows one"}, [](Client& client, const NamespacesOptions& given) {
            return ShowOne(given, client.Get(PathOf("namespaces", given.name)));
        })};
    for (CLI::App* part : named) part->add_option("name", options.name, "Namespace")->required();
    for (CLI::App* part : {create, change}) {
        part->add_option("--quota", options.quotas, "workers=20; none takes it away");
        part->add_option("--setting", options.settings, "retention=3d; none takes it away");
    }
    remove->add_flag("--yes", options.yes, "That is meant");
    spaces.command().footer(
        "examples:\n"
        "  takt namespaces\n"
        "  takt namespaces create billing --quota submits_per_second=500 --setting retention=3d\n"
        "  takt namespaces change billing --quota workers=none\n"
        "  takt namespaces delete billing --yes\n"
        "  takt -n billing list\n");
}

}  // namespace takt::internal::cli
