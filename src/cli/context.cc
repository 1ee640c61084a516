// takt context: clusters by name, and which of them commands talk to.
#include "cli/context.h"

#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <boost/json/object.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/id.h"
#include "base/json.h"
#include "base/json_view.h"
#include "base/nearest.h"
#include "cli/formats.h"
#include "cli/output.h"
#include "cli/private_file.h"
#include "definitions/yaml_text.h"

namespace takt::internal::cli {
namespace {

struct ContextOptions {
    std::string name;
    NamedServer given;
    bool token_from_input = false;
    bool json = false;
};

struct ContextField {
    const char* name;
    std::string NamedServer::* member;
};
constexpr ContextField kContextFields[] = {{"server", &NamedServer::server},
                                           {"namespace", &NamedServer::space},
                                           {"token", &NamedServer::token},
                                           {"token_file", &NamedServer::token_file},
                                           {"ca_file", &NamedServer::ca_file}};

std::unexpected<Error> WrongFile(const std::string& why) {
    return Fail(ErrorCode::kInvalid, ContextsPath() + ": " + why);
}

Result<NamedServer> ReadOne(const std::string& name, const YAML::Node& node) {
    NamedServer one;
    if (!node.IsMap()) return WrongFile("context '" + name + "' must have fields such as server");
    for (const auto& pair : node) {
        const auto key = pair.first.as<std::string>();
        const auto* field = std::ranges::find(kContextFields, key, &ContextField::name);
        if (field == std::end(kContextFields)) {
            return WrongFile("context '" + name + "' has an unknown field '" + key + "'");
        }
        one.*(field->member) = pair.second.as<std::string>();
    }
    return one;
}

Result<Contexts> ParseContexts(const std::string& text) {
    Contexts contexts;
    try {
        const YAML::Node root = YAML::Load(text);
        if (!root.IsNull() && !root.IsMap()) {
            return WrongFile("it must be a map of current and contexts");
        }
        for (const auto& pair : root) {
            const auto key = pair.first.as<std::string>();
            if (key == "current" || key == "contexts") continue;
            return WrongFile("there is no field '" + key + "'; it has current and contexts");
        }
        if (root["current"]) contexts.current = root["current"].as<std::string>();
        for (const auto& pair : root["contexts"]) {
            const auto name = pair.first.as<std::string>();
            auto one = ReadOne(name, pair.second);
            if (!one) return std::unexpected(one.error());
            contexts.by_name[name] = std::move(*one);
        }
    } catch (const YAML::Exception& error) {
        return WrongFile(error.what());
    }
    return contexts;
}

bool HasToken(const Contexts& contexts) {
    return std::ranges::any_of(contexts.by_name,
                               [](const auto& one) { return !one.second.token.empty(); });
}

boost::json::object JsonOf(const NamedServer& one, bool secrets) {
    boost::json::object fields;
    for (const ContextField& field : kContextFields) {
        const std::string& value = one.*(field.member);
        if (value.empty()) continue;
        const bool hidden = field.member == &NamedServer::token && !secrets;
        fields[field.name] = hidden ? "(hidden)" : value;
    }
    return fields;
}

Result<void> WriteContexts(const Contexts& contexts) {
    const std::string path = ContextsPath();
    if (path.empty()) return Fail(ErrorCode::kInvalid, "there is no HOME to keep contexts in");
    boost::json::object by_name;
    for (const auto& [name, one] : contexts.by_name) by_name[name] = JsonOf(one, true);
    boost::json::object root;
    if (!contexts.current.empty()) root["current"] = contexts.current;
    root["contexts"] = std::move(by_name);
    std::string json;
    AppendJson(json, root);
    return WritePrivateFile(path, YamlText(JsonView(json)));
}

Error NoContext(const Contexts& contexts, const std::string& name) {
    std::vector<std::string_view> names;
    for (const auto& [known, one] : contexts.by_name) names.push_back(known);
    const std::string nearest(NearestName(name, names));
    std::string why = "there is no context '" + name + "'";
    if (!nearest.empty()) {
        why += "; did you mean '" + nearest + "'?";
    } else if (names.empty()) {
        why += "; takt context set " + name + " --server URL makes it";
    }
    return {ErrorCode::kNotFound, std::move(why), {}};
}

std::string Trimmed(std::string text) {
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
    return text;
}

Result<std::string> ReadTokenFile(std::string path) {
    if (const char* home = std::getenv("HOME"); home && path.starts_with("~/")) {
        path = home + path.substr(1);
    }
    std::ifstream file(path);
    std::string token;
    if (!file || !std::getline(file, token)) {
        return Fail(ErrorCode::kInvalid, "cannot read the token in " + path);
    }
    return Trimmed(std::move(token));
}

// --- The command --------------------------------------------------------------------------------

Result<int> ListContexts(const ContextOptions& options) {
    const auto contexts = ReadContexts();
    if (!contexts) return std::unexpected(contexts.error());
    if (options.json) {
        boost::json::array items;
        for (const auto& [name, one] : contexts->by_name) {
            boost::json::object item = JsonOf(one, false);
            item["name"] = name;
            item["current"] = name == contexts->current;
            items.push_back(std::move(item));
        }
        std::string text;
        AppendJson(text, boost::json::object{{"items", std::move(items)}});
        std::printf("%s\n", text.c_str());
        return kOk;
    }
    Table table({"CURRENT", "NAME", "SERVER", "NAMESPACE", "TOKEN"});
    for (const auto& [name, one] : contexts->by_name) {
        table.Add({name == contexts->current ? "*" : "", name, Clean(one.server, 80),
                   one.space.empty() ? "-" : one.space,
                   !one.token.empty()        ? "here"
                   : !one.token_file.empty() ? Clean(one.token_file, 60)
                                             : "-"});
    }
    if (table.empty()) {
        std::fprintf(stderr,
                     "there are no contexts; takt context set NAME --server URL makes one\n");
    } else {
        table.Print();
    }
    return kOk;
}

Result<int> ShowCurrent(const ContextOptions& options) {
    const auto contexts = ReadContexts();
    if (!contexts) return std::unexpected(contexts.error());
    const char* named = std::getenv("TAKT_CONTEXT");
    const std::string name = named && *named ? named : contexts->current;
    if (name.empty()) return Fail(ErrorCode::kNotFound, "no context is in use");
    const auto found = contexts->by_name.find(name);
    if (found == contexts->by_name.end()) return std::unexpected(NoContext(*contexts, name));
    if (options.json) {
        boost::json::object shown = JsonOf(found->second, false);
        shown["name"] = name;
        std::string text;
        AppendJson(text, shown);
        std::printf("%s\n", text.c_str());
    } else {
        std::printf("%s\n", name.c_str());
    }
    return kOk;
}

Result<int> UseContext(const ContextOptions& options) {
    auto contexts = ReadContexts();
    if (!contexts) return std::unexpected(contexts.error());
    if (!contexts->by_name.contains(options.name)) {
        return std::unexpected(NoContext(*contexts, options.name));
    }
    contexts->current = options.name;
    if (auto written = WriteContexts(*contexts); !written) return std::unexpected(written.error());
    std::printf("%s is in use\n", options.name.c_str());
    return kOk;
}

// Changes what is given. True if a token was forgotten: it is a secret between its owner and the
// server that it was kept for, and another server must not be told it.
bool ChangeServer(NamedServer& one, const NamedServer& given) {
    const bool moved = !given.server.empty() && given.server != one.server;
    const bool given_token = !given.token.empty() || !given.token_file.empty();
    const bool had_token = !one.token.empty() || !one.token_file.empty();
    // One of the two ways to keep a token takes the place of the other.
    if (moved || given_token) {
        one.token.clear();
        one.token_file.clear();
    }
    for (const ContextField& field : kContextFields) {
        if (!(given.*(field.member)).empty()) one.*(field.member) = given.*(field.member);
    }
    return moved && had_token && !given_token;
}

Result<int> SetContext(const ContextOptions& options) {
    if (!IsValidId(options.name)) {
        return Fail(ErrorCode::kInvalid,
                    "a context's name has letters, digits, '-', '_', '.' and ':' only");
    }
    auto contexts = ReadContexts();
    if (!contexts) return std::unexpected(contexts.error());
    NamedServer given = options.given;
    if (options.token_from_input) {
        std::getline(std::cin, given.token);
        given.token = Trimmed(std::move(given.token));
        if (given.token.empty()) return Fail(ErrorCode::kInvalid, "standard input has no token");
    }
    if (!given.token.empty() && !given.token_file.empty()) {
        return Fail(ErrorCode::kInvalid, "give a token or a file with one, not both");
    }
    if (!given.token_file.empty()) {
        if (auto read = ReadTokenFile(given.token_file); !read) {
            return std::unexpected(read.error());
        }
    }
    NamedServer& one = contexts->by_name[options.name];
    const bool forgotten = ChangeServer(one, given);
    if (one.server.empty()) {
        return Fail(ErrorCode::kInvalid, "say where it is: --server https://takt.example:8080");
    }
    // As every command would, before it is kept.
    ClientOptions tried;
    tried.server = one.server;
    tried.ca_file = one.ca_file;
    tried.resolved = true;
    if (auto client = Client::Open(tried); !client) {
        return std::unexpected(client.error());
    }
    const bool first = contexts->current.empty();
    if (first) contexts->current = options.name;
    if (auto written = WriteContexts(*contexts); !written) return std::unexpected(written.error());
    std::printf("%s is kept in %s%s\n", options.name.c_str(), ContextsPath().c_str(),
                first ? ", and in use" : "");
    if (forgotten) {
        std::fputs(
            "its token is forgotten: it was for another server; --token-file or --token-stdin "
            "gives one for this\n",
            stderr);
    }
    return kOk;
}

Result<int> DeleteContext(const ContextOptions& options) {
    auto contexts = ReadContexts();
    if (!contexts) return std::unexpected(contexts.error());
    if (contexts->by_name.erase(options.name) == 0) {
        return std::unexpected(NoContext(*contexts, options.name));
    }
    if (contexts->current == options.name) contexts->current.clear();
    if (auto written = WriteContexts(*contexts); !written) return std::unexpected(written.error());
    std::printf("%s is gone%s\n", options.name.c_str(),
                contexts->current.empty() ? "; no context is in use" : "");
    return kOk;
}

}  // namespace

std::string ContextsPath() {
    if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config) {
        return std::string(config) + "/takt/contexts.yaml";
    }
    const char* home = std::getenv("HOME");
    return home && *home ? std::string(home) + "/.config/takt/contexts.yaml" : std::string();
}

Result<Contexts> ReadContexts() {
    const std::string path = ContextsPath();
    std::ifstream file(path);
    if (path.empty() || !file) return Contexts{};
    std::ostringstream text;
    text << file.rdbuf();
    auto contexts = ParseContexts(text.str());
    if (!contexts) return contexts;
    struct stat about{};
    if (HasToken(*contexts) && stat(path.c_str(), &about) == 0 && (about.st_mode & 077) != 0) {
        return WrongFile("it has a token and others may read it; chmod 600 it first");
    }
    return contexts;
}

Result<ClientOptions> InContext(ClientOptions options) {
    if (options.resolved) return options;
    options.resolved = true;
    const bool elsewhere = options.server_given();
    // A user who names a server means that one, whatever is in use.
    if (options.context.empty() && elsewhere) return options;
    auto contexts = ReadContexts();
    if (!contexts) return std::unexpected(contexts.error());
    const std::string& name = options.context.empty() ? contexts->current : options.context;
    if (name.empty()) return options;
    const auto found = contexts->by_name.find(name);
    if (found == contexts->by_name.end()) {
        Error error = NoContext(*contexts, name);
        error.code = ErrorCode::kInvalid;
        return std::unexpected(std::move(error));
    }
    const NamedServer& one = found->second;
    if (options.space.empty()) options.space = one.space;
    if (elsewhere) return options;
    options.server = one.server;
    if (options.ca_file.empty()) options.ca_file = one.ca_file;
    if (options.token.empty()) options.token = one.token;
    if (options.token.empty() && !one.token_file.empty()) {
        auto token = ReadTokenFile(one.token_file);
        if (!token) return std::unexpected(token.error());
        options.token = std::move(*token);
    }
    return options;
}

void AddContext(CLI::App& app, Context& context) {
    auto options = std::make_shared<ContextOptions>();
    CLI::App* command = app.add_subcommand("context", "Clusters by name; alone it lists them");
    command->add_flag("--json", options->json, "Print JSON, for scripts");
    RegisterFormats(*command, options->json);
    const auto run = [options, &context](Result<int> (*body)(const ContextOptions&)) {
        const auto done = body(*options);
        if (!done) PrintError(done.error());
        context.exit = done ? *done : ExitOf(done.error());
    };
    command->callback([command, run] {
        if (command->get_subcommands().empty()) run(ListContexts);
    });
    const auto add = [&](const char* name, const char* help,
                         Result<int> (*body)(const ContextOptions&)) {
        CLI::App* part = command->add_subcommand(name, help);
        part->fallthrough();
        part->callback([run, body] { run(body); });
        return part;
    };
    add("list", "Lists them", ListContexts);
    add("current", "Prints the name of the one in use", ShowCurrent);
    CLI::App* const named[] = {add("use", "Commands talk to this one from now on", UseContext),
                               add("set", "Makes one, or changes what is given", SetContext),
                               add("delete", "Forgets one", DeleteContext)};
    for (CLI::App* part : named) part->add_option("name", options->name, "Context")->required();
    NamedServer& given = options->given;
    CLI::App& set = *named[1];
    set.add_option("--server", given.server, "URL of a scheduler, or several parted by commas");
    set.add_option("--namespace", given.space, "Namespace that commands are about");
    set.add_option("--token-file", given.token_file, "File with an access token, read at each use");
    set.add_flag("--token-stdin", options->token_from_input,
                 "Keep the token that is on standard input in the file of contexts");
    set.add_option("--ca-file", given.ca_file, "Certificates to trust, PEM");
    command->footer(
        "--context NAME and TAKT_CONTEXT name another for one command; flags and environment are\n"
        "stronger than a context.\n"
        "examples:\n"
        "  takt context set prod --server https://takt.example:8080 --token-file ~/.takt/prod\n"
        "  takt context use prod\n"
        "  takt status --context staging\n");
}

}  // namespace takt::internal::cli
