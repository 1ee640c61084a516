// takt export: what stands, as files that takt apply takes back.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "api/definition_kind.h"
#include "base/json.h"
#include "cli/definition_server.h"
#include "definitions/yaml_text.h"

namespace takt::internal::cli {
namespace {

constexpr const char* kSchemaFile = ".takt.schema.json";

struct ExportOptions {
    ClientOptions client;
    std::string folder;
    bool all = false;
};

struct ExportedFile {
    std::string path;  // Below the folder.
    std::string text;
};

// Fields that a definition has even if they are as usual.
bool IsAlwaysWritten(std::string_view field) {
    static constexpr std::array<std::string_view, 8> kFields = {
        "id",     "name",     "cron_expression", "interval", "interval_after_end",
        "metric", "operator", "threshold"};
    return std::ranges::find(kFields, field) != kFields.end();
}

// A definition that says as little as one of its kind can: what it shows is as usual.
std::string SmallestOf(const std::string& kind, const std::map<ThingKey, StandingThing>& standing) {
    if (kind == "task") return R"({"id":"x","name":"x","interval":"1h"})";
    if (kind != "alert_rule") return R"({"name":"x"})";
    for (const auto& [key, thing] : standing) {
        if (key.kind != kind) continue;
        std::string text = R"({"name":"x","operator":">","threshold":0,"metric":)";
        AppendJsonString(text, TextOf(JsonView(thing.shown), "metric"));
        return text + "}";
    }
    return {};
}

// Members that are null say nothing in quotas and settings.
std::string WithoutNulls(const JsonView& object) {
    std::set<std::string> nulls;
    JsonView::Members members(object);
    while (members.Next()) {
        if (members.value().is_null()) nulls.insert(std::string(members.key()));
    }
    return WithoutMembers(object, nulls);
}

// Names of members whose values one would not put into a file that others read.
void FindSecrets(const JsonView& value, const std::string& place, std::vector<std::string>& to) {
    static constexpr std::array<std::string_view, 7> kWords = {
        "password", "passwd", "secret", "token", "api_key", "apikey", "private_key"};
    if (value.kind() == JsonView::Kind::kArray) {
        JsonView::Elements elements(value);
        while (elements.Next()) FindSecrets(elements.value(), place, to);
    }
    if (value.kind() != JsonView::Kind::kObject) return;
    JsonView::Members members(value);
    while (members.Next()) {
        std::string name(members.key());
        const std::string inside = place + "." + name;
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        const bool secret = std::ranges::any_of(
            kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
        if (secret && members.value().is_string()) {
            to.push_back(inside);
        } else {
            FindSecrets(members.value(), inside, to);
        }
    }
}

class Exporter {
  public:
    Exporter(DefinitionServer& server, const ExportOptions& options)
        : server_(server), options_(options) {}

    Result<std::vector<ExportedFile>> Make() {
        std::vector<std::string> spaces = {server_.home()};
        if (options_.all) spaces = server_.spaces();
        PlanInput input;
        if (auto read = server_.ReadStanding(input, spaces); !read) {
            return std::unexpected(read.error());
        }
        if (auto learned = LearnUsual(input.standing); !learned) {
            return std::unexpected(learned.error());
        }
        for (const std::string& space : spaces) {
            if (options_.all) Add({"namespace", {}, space}, input.standing, space);
            for (const char* kind : {"queue", "task", "alert_rule"}) {
                for (const auto& [key, thing] : input.standing) {
                    if (key.kind == kind && key.space == space) Add(key, input.standing, space);
                }
            }
        }
        return std::move(files_);
    }

  private:
    // Values that are as usual need not be written, and the server knows which are.
    Result<void> LearnUsual(const std::map<ThingKey, StandingThing>& standing) {
        std::vector<WrittenDefinition> smallest;
        for (const DefinitionKind& kind : DefinitionKinds()) {
            const std::string name(kind.name);
            std::string json = SmallestOf(name, standing);
            if (json.empty()) continue;
            WrittenDefinition one{.key = {name, server_.home(), "x"}, .json = json};
            if (name == "namespace") one.key.space.clear();
            smallest.push_back(std::move(one));
        }
        PlanInput input;
        const auto mistakes = server_.Check(smallest, input);
        if (!mistakes) return std::unexpected(mistakes.error());
        if (!mistakes->empty()) return Fail(ErrorCode::kUnknown, mistakes->front().detail);
        for (DefinedThing& thing : input.defined) usual_[thing.key.kind] = std::move(thing.shown);
        fields_ = std::move(input.fields);
        return {};
    }

    bool IsUsual(const ThingKey& key, const std::string& field, const JsonView& value,
                 const JsonView& object) const {
        if (IsAlwaysWritten(field)) return false;
        if (field == "type") return NormalJson(value) == NormalJson(*MemberOf(object, "name"));
        // A thing that is left open by files: only a pause is worth a line.
        if (key.kind == "task" && field == "enabled") return value.AsBool().value_or(true);
        if (key.kind == "queue" && field == "paused") return !value.AsBool().value_or(false);
        if (value.is_null()) return true;
        const auto usual = usual_.find(key.kind);
        if (usual == usual_.end()) return false;
        const auto standard = MemberOf(JsonView(usual->second), field);
        return standard && NormalJson(*standard) == NormalJson(value);
    }

    std::string DocumentOf(const ThingKey& key, const JsonView& object) const {
        std::string text;
        JsonWriter json(text);
        const bool workflow = key.kind == "task" && MemberOf(object, "steps");
        json.BeginObject().Field("kind", std::string_view(workflow ? "workflow" : key.kind));
        if (options_.all && !key.space.empty()) {
            json.Field("namespace", std::string_view(key.space));
        }
        if (key.kind == "queue") json.Field("name", std::string_view(key.name));
        for (const std::string& field : fields_.at(key.kind)) {
            const auto value = MemberOf(object, field);
            if (!value || IsUsual(key, field, *value, object)) continue;
            json.Key(field);
            key.kind == "namespace" && value->kind() == JsonView::Kind::kObject
                ? json.Raw(WithoutNulls(*value))
                : json.Raw(value->raw());
        }
        json.EndObject();
        return text;
    }

    void Add(const ThingKey& key, const std::map<ThingKey, StandingThing>& standing,
             const std::string& space) {
        const auto found = standing.find(key);
        if (found == standing.end()) return;
        // Queues without limits, `default` and the program's rules are there by themselves.
        if (found->second.own_making) return;
        const std::string json = DocumentOf(key, JsonView(found->second.shown));
        Warn(key, json);
        std::string path = options_.all ? space + "/" : "";
        path += key.kind == "task" ? "tasks/" + key.name : key.kind + "s";
        if (files_.empty() || files_.back().path != path + ".yaml") {
            const auto depth = std::ranges::count(path, '/');
            std::string head = "# yaml-language-server: $schema=";
            for (auto up = depth; up > 0; --up) head += "../";
            files_.push_back({path + ".yaml", head + kSchemaFile + "\n"});
        } else {
            files_.back().text += "---\n";
        }
        files_.back().text += YamlText(JsonView(json));
    }

    static void Warn(const ThingKey& key, const std::string& json) {
        std::vector<std::string> secrets;
        const JsonView object(json);
        for (const char* field : {"parameters", "metadata", "steps"}) {
            if (const auto value = MemberOf(object, field)) FindSecrets(*value, field, secrets);
        }
        for (const std::string& place : secrets) {
            std::fprintf(stderr, "%s %s: %s looks like a secret, and is written as it is\n",
                         key.kind.c_str(), key.name.c_str(), place.c_str());
        }
    }

    DefinitionServer& server_;
    const ExportOptions& options_;
    std::map<std::string, std::string> usual_;  // By kind.
    std::map<std::string, std::vector<std::string>> fields_;
    std::vector<ExportedFile> files_;
};

Result<void> WriteFile(const std::filesystem::path& path, const std::string& text) {
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (file) return {};
    return Fail(ErrorCode::kInvalid, "cannot write " + path.string());
}

// Files of an earlier export whose things are gone would be applied again.
void TellOthers(const std::string& folder, const std::set<std::string>& written) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
        const std::string ending = entry.path().extension().string();
        if (ending != ".yaml" && ending != ".yml" && ending != ".json") continue;
        if (!written.contains(entry.path().lexically_normal().string())) {
            std::fprintf(stderr, "%s is not of this export\n", entry.path().c_str());
        }
    }
}

Result<int> Write(const ExportOptions& options, const std::vector<ExportedFile>& files) {
    if (options.folder.empty()) {
        bool first = true;
        for (const ExportedFile& file : files) {
            // The line for editors is for files.
            const std::string text = file.text.substr(file.text.find('\n') + 1);
            std::printf("%s%s", std::exchange(first, false) ? "" : "---\n", text.c_str());
        }
        return kOk;
    }
    const std::filesystem::path folder(options.folder);
    std::set<std::string> written;
    for (const ExportedFile& file : files) {
        const auto path = (folder / file.path).lexically_normal();
        if (auto done = WriteFile(path, file.text); !done) return std::unexpected(done.error());
        written.insert(path.string());
    }
    const auto schema = (folder / kSchemaFile).lexically_normal();
    if (auto done = WriteFile(schema, DefinitionSchema() + "\n"); !done) {
        return std::unexpected(done.error());
    }
    written.insert(schema.string());
    TellOthers(options.folder, written);
    std::printf("%zu files in %s\n", files.size(), options.folder.c_str());
    return kOk;
}

Result<int> Export(const ExportOptions& options) {
    auto server = DefinitionServer::Open(options.client);
    if (!server) return std::unexpected(server.error());
    const auto files = Exporter(*server, options).Make();
    if (!files) return std::unexpected(files.error());
    std::fputs("left out: access tokens, and what the configuration says (alert channels too)\n",
               stderr);
    return Write(options, *files);
}

}  // namespace

void AddExport(CLI::App& app, Context& context) {
    auto options = std::make_shared<ExportOptions>();
    CLI::App* command =
        app.add_subcommand("export", "Writes what is defined, as files that takt apply takes");
    options->client.Add(*command);
    command->add_option("-o,--output", options->folder,
                        "Directory, made if there is none [standard output]");
    command->add_flag("-A,--all-namespaces", options->all,
                      "All namespaces that can be seen, and the namespaces themselves");
    command->footer(
        "Recurring tasks and workflows, queues with limits, alert rules.\n\n"
        "examples:\n"
        "  takt export > definitions.yaml\n"
        "  takt export -A -o definitions && takt diff -f definitions\n");
    command->callback([options, &context] {
        const auto ended = Export(*options);
        if (!ended) PrintError(ended.error());
        context.exit = ended ? *ended : ExitOf(ended.error());
    });
}

}  // namespace takt::internal::cli
