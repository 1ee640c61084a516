// CronJobs of Kubernetes as definitions.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/json.h"
#include "definitions/import.h"
#include "definitions/json_text.h"
#include "definitions/yaml_json.h"
#include "model/cron.h"

namespace takt::internal {
namespace {

using Grade = ImportNote::Grade;

std::optional<JsonView> Inside(JsonView at, std::initializer_list<std::string_view> path) {
    for (const std::string_view name : path) {
        const auto next = MemberOf(at, name);
        if (!next) return std::nullopt;
        at = *next;
    }
    return at.is_null() ? std::nullopt : std::optional(at);
}

std::optional<JsonView> FirstOf(const std::optional<JsonView>& list) {
    if (!list || list->kind() != JsonView::Kind::kArray) return std::nullopt;
    JsonView::Elements elements(*list);
    return elements.Next() ? std::optional(elements.value()) : std::nullopt;
}

std::size_t LengthOf(const std::optional<JsonView>& list) {
    std::size_t length = 0;
    if (!list || list->kind() != JsonView::Kind::kArray) return length;
    JsonView::Elements elements(*list);
    while (elements.Next()) ++length;
    return length;
}

std::vector<std::string> TextsOf(const std::optional<JsonView>& list) {
    std::vector<std::string> texts;
    if (!list || list->kind() != JsonView::Kind::kArray) return texts;
    JsonView::Elements elements(*list);
    while (elements.Next()) {
        std::string scratch;
        const JsonView item = elements.value();
        texts.emplace_back(item.is_string() ? item.AsString(scratch) : item.raw());
    }
    return texts;
}

std::string ModeOfPolicy(std::string_view policy) {
    if (policy == "Forbid") return "skip";
    if (policy == "Replace") return "replace";
    return policy.empty() || policy == "Allow" ? "parallel" : "";
}

// Fields that are taken, told of otherwise, or filled in by the cluster.
constexpr std::array<std::string_view, 9> kJobFields = {
    "backoffLimit", "activeDeadlineSeconds", "completions", "parallelism",         "template",
    "selector",     "completionMode",        "suspend",     "podReplacementPolicy"};
constexpr std::array<std::string_view, 6> kPodFields = {
    "containers",    "restartPolicy", "dnsPolicy", "schedulerName", "terminationGracePeriodSeconds",
    "serviceAccount"};
constexpr std::array<std::string_view, 8> kContainerFields = {
    "name", "image", "imagePullPolicy",        "command",
    "args", "env",   "terminationMessagePath", "terminationMessagePolicy"};

using Variables = std::vector<std::pair<std::string, std::string>>;

// $(NAME) in a command is the value of a variable, $$(NAME) is $(NAME): the kubelet does that before
// any shell sees it. What is no variable stays, and is told to `unknown`.
std::string Expand(std::string_view text, const Variables& variables,
                   std::vector<std::string>& unknown) {
    std::string done;
    while (!text.empty()) {
        const std::size_t end = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
        if (text.starts_with("$$")) {
            done += '$';
            text.remove_prefix(2);
            continue;
        }
        if (end == std::string_view::npos) {
            done += text.front();
            text.remove_prefix(1);
            continue;
        }
        const std::string name(text.substr(2, end - 2));
        const auto found =
            std::ranges::find(variables, name, [](const auto& variable) { return variable.first; });
        if (found != variables.end()) {
            done += found->second;
        } else {
            done += text.substr(0, end + 1);
            const bool named = std::ranges::all_of(name, [](unsigned char c) {
                return std::isalnum(c) || c == '_' || c == '-' || c == '.';
            });
            if (named) unknown.push_back(name);
        }
        text.remove_prefix(end + 1);
    }
    return done;
}

// One CronJob: `place` is where it stands in its document.
class CronJob {
  public:
    CronJob(const YamlDocument& document, JsonView object, std::string place)
        : document_(document), object_(object), place_(std::move(place)) {}

    // The definition, or nothing: the notes say why.
    std::optional<std::string> Define(const CronJobOptions& options, ImportIds& ids,
                                      Imported& notes) {
        notes_ = &notes;
        const std::string name = TextAt({"metadata", "name"});
        const std::string schedule = TextAt({"spec", "schedule"});
        const std::string zone = TextAt({"spec", "timeZone"});
        const auto cron = Cron::Parse(schedule, {.timezone = zone});
        if (!cron) return Leave("spec.schedule", name + ": " + cron.error().detail);
        if (options.type == "shell" && Command().empty()) {
            return Leave("spec.jobTemplate",
                         name +
                             ": the container has no command, and what its image would run is "
                             "not known here; --type gives it to workers of yours");
        }
        const std::string id = ids.Make(name);
        const std::string space = TextAt({"metadata", "namespace"});
        const std::string described = "task " + id +
                                      (space.empty() ? "" : " of namespace " + space) + ", " +
                                      cron->Describe();
        notes.Note(LineAt("metadata.name"), Grade::kTaken, described);
        std::string text;
        JsonWriter json(text);
        json.BeginObject().Field("kind", "task").Field("id", std::string_view(id));
        json.Field("name", std::string_view(name)).Field("type", std::string_view(options.type));
        json.Field("cron_expression", std::string_view(schedule));
        if (!zone.empty()) json.Field("timezone", std::string_view(zone));
        WriteRules(json);
        WriteRun(json, options);
        json.EndObject();
        TellRest();
        return text;
    }

  private:
    std::optional<JsonView> At(std::initializer_list<std::string_view> path) const {
        return Inside(object_, path);
    }
    std::string TextAt(std::initializer_list<std::string_view> path) const {
        const auto found = At(path);
        std::string scratch;
        return found && found->is_string() ? std::string(found->AsString(scratch)) : std::string();
    }
    std::optional<std::int64_t> NumberAt(std::initializer_list<std::string_view> path) const {
        const auto found = At(path);
        return found ? found->AsInteger() : std::nullopt;
    }
    int LineAt(const std::string& field) const {
        return document_.LineOf(place_.empty() ? field : place_ + "." + field);
    }
    void Tell(const std::string& field, std::string text) {
        notes_->Note(LineAt(field), Grade::kPartly, std::move(text));
    }
    std::nullopt_t Leave(const std::string& field, std::string text) {
        notes_->Note(LineAt(field), Grade::kLeft, std::move(text));
        return std::nullopt;
    }

    std::optional<JsonView> Pod() const {
        return At({"spec", "jobTemplate", "spec", "template", "spec"});
    }
    std::optional<JsonView> Container() const {
        const auto pod = Pod();
        return pod ? FirstOf(MemberOf(*pod, "containers")) : std::nullopt;
    }

    std::vector<std::string> Command() const {
        const auto container = Container();
        if (!container) return {};
        std::vector<std::string> words = TextsOf(MemberOf(*container, "command"));
        if (words.empty()) return {};
        for (std::string& word : TextsOf(MemberOf(*container, "args"))) {
            words.push_back(std::move(word));
        }
        return words;
    }

    // Names and values; others are told of. As the kubelet does it a value has those before it filled
    // in, and of a name that comes again the last counts.
    Variables Environment() {
        Variables variables;
        const auto container = Container();
        const auto list = container ? MemberOf(*container, "env") : std::nullopt;
        if (!list || list->kind() != JsonView::Kind::kArray) return variables;
        std::vector<std::string> unknown;
        JsonView::Elements elements(*list);
        while (elements.Next()) {
            const std::string name = TextOf(elements.value(), "name");
            if (MemberOf(elements.value(), "valueFrom")) {
                Tell("spec.jobTemplate", "env " + name +
                                             ": valueFrom is not known here; give it to "
                                             "the worker's environment");
                std::erase_if(variables, [&](const auto& one) { return one.first == name; });
                continue;
            }
            std::string value = Expand(TextOf(elements.value(), "value"), variables, unknown);
            const auto before =
                std::ranges::find(variables, name, [](const auto& one) { return one.first; });
            if (before != variables.end()) {
                before->second = std::move(value);
            } else {
                variables.emplace_back(name, std::move(value));
            }
        }
        TellUnknown(unknown, "an env value");
        return variables;
    }

    void TellUnknown(const std::vector<std::string>& names, const std::string& where) {
        for (const std::string& name : names) {
            Tell("spec.jobTemplate",
                 "$(" + name + ") in " + where + " stays as it is: its value is not known here");
        }
    }

    void WriteRules(JsonWriter& json) {
        const std::string policy = TextAt({"spec", "concurrencyPolicy"});
        const std::string mode = ModeOfPolicy(policy);
        if (mode.empty()) Tell("spec.concurrencyPolicy", "there is no policy " + policy);
        json.Field("execution_mode", std::string_view(mode.empty() ? "parallel" : mode));
        json.Field("misfire_policy", "fire_once");
        if (const auto seconds = NumberAt({"spec", "startingDeadlineSeconds"})) {
            json.Field("start_deadline", std::string_view(std::to_string(*seconds) + "s"));
        }
        if (const auto suspend = At({"spec", "suspend"});
            suspend && suspend->AsBool().value_or(false)) {
            json.Field("enabled", false);
        }
        // As a Job's controller repeats: 10 s, doubled, up to six minutes.
        const auto retries = NumberAt({"spec", "jobTemplate", "spec", "backoffLimit"});
        json.Key("retry_policy").BeginObject().Field("max_retries", retries.value_or(6));
        json.Field("delay", "10s").Field("backoff_rate", 2).Field("delay_max", "6m").EndObject();
        const auto deadline = NumberAt({"spec", "jobTemplate", "spec", "activeDeadlineSeconds"});
        json.Field("timeout", std::string_view(deadline ? std::to_string(*deadline) + "s" : "24h"));
        if (deadline && retries.value_or(6) > 0) {
            Tell("spec.jobTemplate.spec.activeDeadlineSeconds",
                 "activeDeadlineSeconds is of each attempt here, not of all of them together");
        }
        WriteShards(json);
    }

    void WriteShards(JsonWriter& json) {
        const auto completions = NumberAt({"spec", "jobTemplate", "spec", "completions"});
        const auto parallelism = NumberAt({"spec", "jobTemplate", "spec", "parallelism"});
        if (completions.value_or(parallelism.value_or(1)) <= 1) return;
        json.Field("shards", completions.value_or(*parallelism));
        if (parallelism && completions) json.Field("parallel_max", *parallelism);
        Tell("spec.jobTemplate",
             "completions are shards: a program finds its index in TAKT_SHARD_INDEX, not in "
             "JOB_COMPLETION_INDEX");
    }

    void WriteRun(JsonWriter& json, const CronJobOptions& options) {
        const auto variables = Environment();
        const auto container = Container();
        json.Key("parameters").BeginObject();
        if (options.type == "shell") {
            json.Key("argv").BeginArray();
            if (!variables.empty()) {
                json.Value("env");
                for (const auto& [name, value] : variables) {
                    json.Value(std::string_view(name + "=" + value));
                }
            }
            std::vector<std::string> unknown;
            for (const std::string& word : Command()) {
                json.Value(std::string_view(Expand(word, variables, unknown)));
            }
            TellUnknown(unknown, "the command");
            json.EndArray();
        } else {
            if (container) json.Field("image", std::string_view(TextOf(*container, "image")));
            for (const char* field : {"command", "args"}) {
                const auto list = container ? MemberOf(*container, field) : std::nullopt;
                if (list) json.Key(field).Raw(list->raw());
            }
            json.Key("env").BeginObject();
            for (const auto& [name, value] : variables) {
                json.UserKey(name).Value(std::string_view(value));
            }
            json.EndObject();
        }
        json.EndObject();
    }

    // Tells of all that has no counterpart.
    void TellRest() {
        const auto container = Container();
        if (container) {
            Tell("spec.jobTemplate", "image " + TextOf(*container, "image") +
                                         ": it is not pulled; run a worker that has what is in it");
        }
        const auto pod = Pod();
        if (pod && LengthOf(MemberOf(*pod, "containers")) > 1) {
            Tell("spec.jobTemplate", "only the first of its containers is taken");
        }
        const std::string in_job = "spec.jobTemplate.spec.";
        TellOthers(At({"spec", "jobTemplate", "spec"}), in_job, kJobFields);
        TellOthers(pod, in_job + "template.spec.", kPodFields);
        TellOthers(container, in_job + "template.spec.containers[0].", kContainerFields);
        for (const char* field : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) {
            if (At({"spec", field})) {
                Tell(std::string("spec.") + field,
                     std::string(field) + ": history is kept by time, scheduler.retention");
            }
        }
    }

    // Fields that are neither taken nor of those that a cluster fills in itself.
    template <std::size_t count>
    void TellOthers(const std::optional<JsonView>& object, const std::string& place,
                    const std::array<std::string_view, count>& known) {
        if (!object || object->kind() != JsonView::Kind::kObject) return;
        JsonView::Members members(*object);
        while (members.Next()) {
            const std::string name(members.key());
            const bool nothing = members.value().raw() == "{}" || members.value().raw() == "[]";
            if (nothing || std::ranges::find(known, name) != known.end()) continue;
            Tell(place + name, name + " is not taken; it is the worker's own affair");
        }
    }

    const YamlDocument& document_;
    const JsonView object_;
    const std::string place_;
    Imported* notes_ = nullptr;
};

}  // namespace

Imported ImportCronJobs(const std::string& text, const CronJobOptions& options) {
    Imported imported;
    ImportIds ids;
    const YamlFile file = ReadYamlFile(text);
    for (const FileMistake& mistake : file.mistakes) {
        imported.Note(mistake.line, Grade::kLeft, mistake.detail);
        imported.unreadable = true;
    }
    const auto take = [&](const YamlDocument& document, const JsonView& object,
                          const std::string& place) {
        const std::string kind = TextOf(object, "kind");
        if (kind == "CronJob") {
            auto made = CronJob(document, object, place).Define(options, ids, imported);
            if (made) imported.definitions.push_back(std::move(*made));
        } else {
            imported.Note(document.LineOf(place), Grade::kTaken,
                          (kind.empty() ? "a document without a kind" : kind) + " is passed over");
        }
    };
    for (const YamlDocument& document : file.documents) {
        const JsonView object(document.json);
        const auto items = MemberOf(object, "items");
        if (!items || items->kind() != JsonView::Kind::kArray) {
            take(document, object, {});
            continue;
        }
        JsonView::Elements elements(*items);
        for (std::size_t at = 0; elements.Next(); ++at) {
            take(document, elements.value(), "items[" + std::to_string(at) + "]");
        }
    }
    return imported;
}

}  // namespace takt::internal
