// The jobs of XXL-JOB as definitions.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "base/json.h"
#include "definitions/import.h"
#include "definitions/json_text.h"
#include "definitions/xxl_tables.h"
#include "model/cron.h"

namespace takt::internal {
namespace {

using Grade = ImportNote::Grade;

using Words = std::array<std::string_view, 2>;  // Theirs and ours.
constexpr std::array<Words, 3> kBlocks = {
    {{"SERIAL_EXECUTION", "sequential"}, {"DISCARD_LATER", "skip"}, {"COVER_EARLY", "replace"}}};
// FAILOVER and BUSYOVER are what every strategy does here.
constexpr std::array<Words, 9> kRoutes = {{{"FIRST", "sticky"},
                                           {"ROUND", "round_robin"},
                                           {"RANDOM", "random"},
                                           {"CONSISTENT_HASH", "consistent_hash"},
                                           {"LEAST_FREQUENTLY_USED", "least_tasks"},
                                           {"LEAST_RECENTLY_USED", "round_robin"},
                                           {"FAILOVER", ""},
                                           {"BUSYOVER", ""},
                                           {"SHARDING_BROADCAST", ""}}};
constexpr std::array<Words, 3> kScripts = {
    {{"GLUE_SHELL", "/bin/bash -c"}, {"GLUE_PYTHON", "python3 -c"}, {"GLUE_NODEJS", "node -e"}}};

template <std::size_t count>
std::optional<std::string_view> OurWord(const std::array<Words, count>& words,
                                        std::string_view theirs) {
    const auto found = std::ranges::find(words, theirs, [](const Words& w) { return w[0]; });
    return found == words.end() ? std::nullopt : std::optional((*found)[1]);
}

std::vector<std::string> PartsOf(std::string_view text, char sign) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(sign), text.size());
        if (end > 0) parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

class XxlJob {
  public:
    XxlJob(const SqlRow& row, const XxlTables& tables) : row_(row), tables_(tables) {}

    std::string Get(const std::string& column) const {
        const auto found = row_.values.find(column);
        return found == row_.values.end() ? std::string() : found->second;
    }
    std::int64_t Number(const std::string& column) const {
        const std::string text = Get(column);
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return number;
    }
    int line() const { return row_.line; }
    std::string id() const { return Get("id"); }
    std::string title() const { return "job " + id() + " (" + Get("job_desc") + ")"; }

    // Whether something here can run it; `why` says what not.
    bool Runs(std::string& why) const {
        const std::string glue = Get("glue_type");
        if (glue.empty() || glue == "BEAN") {
            if (!Get("executor_handler").empty()) return true;
            why = "it has no handler";
            return false;
        }
        if (OurWord(kScripts, glue)) return true;
        why = glue + ": code of this kind cannot be run here; put it into a handler";
        return false;
    }

    // The fields that a task and a step share: what is run, by whom, how long, how often.
    void WriteRun(JsonWriter& json) const {
        const std::string glue = Get("glue_type");
        const auto script = OurWord(kScripts, glue);
        json.Field("type", std::string_view(script ? "shell" : Get("executor_handler")));
        const std::string parameter = Get("executor_param");
        if (script) {
            json.Key("parameters").BeginObject().Key("argv").BeginArray();
            for (const std::string& word : PartsOf(*script, ' '))
                json.Value(std::string_view(word));
            json.Value(std::string_view(Get("glue_source")));
            // As its executor calls a script: the parameter, the shard and how many there are.
            if (glue == "GLUE_SHELL") json.Value("glue.sh");
            json.Value(std::string_view(parameter)).Value("0").Value("1");
            json.EndArray().EndObject();
        } else if (!parameter.empty()) {
            json.Field("parameters", std::string_view(parameter));
        }
        const auto group = tables_.groups.find(Get("job_group"));
        if (group != tables_.groups.end() && !group->second.empty()) {
            json.Field("executor", std::string_view(group->second));
        }
        const std::string route = Get("executor_route_strategy");
        if (route == "SHARDING_BROADCAST") json.Field("each_worker", true);
        if (const auto ours = OurWord(kRoutes, route); ours && !ours->empty()) {
            json.Field("load_balance_strategy", *ours);
        }
        const std::int64_t seconds = Number("executor_timeout");
        json.Field("timeout",
                   std::string_view(seconds > 0 ? std::to_string(seconds) + "s" : "24h"));
        json.Field("max_retry", std::max<std::int64_t>(Number("executor_fail_retry_count"), 0));
    }

    // The names and values of its schedule; nothing if it has none that is understood.
    std::optional<std::pair<std::string, std::string>> Schedule(const std::string& zone,
                                                                std::string& why) const {
        std::string type = Get("schedule_type");
        std::string value = Get("schedule_conf");
        // Before version 2.3 there was cron alone.
        if (type.empty() && !Get("job_cron").empty()) {
            type = "CRON";
            value = Get("job_cron");
        }
        if (type == "FIX_RATE") return std::pair("interval", value + "s");
        if (type == "FIX_DELAY") return std::pair("interval_after_end", value + "s");
        if (type != "CRON") {
            why = "it has no schedule; what is started by hand is submitted";
            return std::nullopt;
        }
        std::string expression = CronOfQuartz(value);
        const auto cron = Cron::Parse(expression, {.timezone = zone});
        if (cron) return std::pair("cron_expression", expression);
        why = value + ": " + cron.error().detail;
        return std::nullopt;
    }

    // Tells of all that means something else here.
    void TellRest(Imported& to) const {
        const auto tell = [&](const std::string& text) {
            to.Note(line(), Grade::kPartly, title() + ": " + text);
        };
        const std::string route = Get("executor_route_strategy");
        if (!route.empty() && !OurWord(kRoutes, route)) {
            tell("there is no route " + route + " here; the scheduler's strategy decides");
        }
        const std::string block = Get("executor_block_strategy");
        if (!block.empty() && !OurWord(kBlocks, block)) {
            tell("there is no block strategy " + block + " here; runs follow each other");
        }
        const std::string group = Get("job_group");
        if (!group.empty() && !tables_.groups.contains(group)) {
            tell("its executor, group " + group +
                 ", is not in the dump: whoever has the handler may run it");
        }
        if (!Get("alarm_email").empty()) {
            tell("no mail is sent to " + Get("alarm_email") + "; an alert rule tells of failures");
        }
    }

  private:
    const SqlRow& row_;
    const XxlTables& tables_;
};

class XxlReader {
  public:
    XxlReader(const XxlTables& tables, const XxlJobOptions& options, Imported& to)
        : options_(options), to_(to) {
        for (const SqlRow& row : tables.jobs) jobs_.emplace_back(row, tables);
        for (const XxlJob& job : jobs_) by_id_.emplace(job.id(), &job);
        for (const XxlJob& job : jobs_) {
            for (const std::string& child : PartsOf(job.Get("child_jobid"), ',')) {
                children_.insert(child);
            }
        }
    }

    void Read() {
        for (const XxlJob& job : jobs_) Define(job);
    }

  private:
    void Leave(const XxlJob& job, const std::string& why) {
        to_.Note(job.line(), Grade::kLeft, job.title() + ": " + why);
    }

    void Define(const XxlJob& job) {
        std::string why;
        const auto schedule = job.Schedule(options_.timezone, why);
        if (!schedule) {
            if (!children_.contains(job.id())) return Leave(job, why);
            return to_.Note(job.line(), Grade::kTaken,
                            job.title() + ": a step of the jobs whose child it is");
        }
        if (!job.Runs(why)) return Leave(job, why);
        const std::string id = ids_.Make("job-" + job.id());
        const auto children = PartsOf(job.Get("child_jobid"), ',');
        std::string text;
        JsonWriter json(text);
        json.BeginObject().Field("kind", children.empty() ? "task" : "workflow");
        json.Field("id", std::string_view(id));
        const std::string name = job.Get("job_desc");
        json.Field("name", std::string_view(name.empty() ? id : name));
        json.Field(schedule->first, std::string_view(schedule->second));
        if (!options_.timezone.empty() && schedule->first == "cron_expression") {
            json.Field("timezone", std::string_view(options_.timezone));
        }
        WriteRules(json, job);
        if (children.empty()) {
            job.WriteRun(json);
        } else {
            WriteSteps(json, job);
        }
        json.EndObject();
        to_.Note(job.line(), Grade::kTaken,
                 job.title() + ": " + (children.empty() ? "task " : "workflow ") + id + ", " +
                     schedule->first + " " + schedule->second);
        job.TellRest(to_);
        to_.definitions.push_back(std::move(text));
    }

    void WriteRules(JsonWriter& json, const XxlJob& job) const {
        const auto block = OurWord(kBlocks, job.Get("executor_block_strategy"));
        json.Field("execution_mode", block.value_or("sequential"));
        json.Field("misfire_policy",
                   job.Get("misfire_strategy") == "FIRE_ONCE_NOW" ? "fire_once" : "skip");
        if (job.Number("trigger_status") == 0) json.Field("enabled", false);
        if (!job.Get("author").empty()) {
            json.Key("metadata").BeginObject();
            json.Field("author", std::string_view(job.Get("author"))).EndObject();
        }
    }

    void WriteSteps(JsonWriter& json, const XxlJob& root) {
        json.Key("steps").BeginArray();
        std::set<std::string> written;
        WriteStepOf(json, root, {}, written);
        json.EndArray();
    }

    // The job and, after it, its children and theirs.
    void WriteStepOf(JsonWriter& json, const XxlJob& job, const std::string& after,
                     std::set<std::string>& written) {
        std::string why;
        if (!written.insert(job.id()).second) {
            return to_.Note(job.line(), Grade::kPartly,
                            job.title() +
                                ": a child of more than one in the same workflow, and "
                                "there only once");
        }
        if (!job.Runs(why)) return Leave(job, "as a child: " + why);
        const std::string name = "job-" + job.id();
        json.BeginObject().Field("name", std::string_view(name));
        if (!after.empty()) {
            json.Key("after").BeginArray().Value(std::string_view(after)).EndArray();
        }
        job.WriteRun(json);
        json.EndObject();
        for (const std::string& child : PartsOf(job.Get("child_jobid"), ',')) {
            const auto found = by_id_.find(child);
            if (found != by_id_.end()) {
                WriteStepOf(json, *found->second, name, written);
            } else {
                to_.Note(job.line(), Grade::kPartly,
                         job.title() + ": its child, job " + child + ", is not in the dump");
            }
        }
    }

    const XxlJobOptions& options_;
    Imported& to_;
    std::vector<XxlJob> jobs_;
    std::map<std::string, const XxlJob*> by_id_;
    std::set<std::string> children_;
    ImportIds ids_;
};

}  // namespace

Imported ImportXxlJobs(const std::string& text, const XxlJobOptions& options) {
    Imported imported;
    const XxlTables tables = ReadXxlTables(text, imported);
    if (tables.jobs.empty() && imported.notes.empty()) {
        imported.Note(1, Grade::kLeft, std::string("there are no rows of ") + kXxlJobTable);
        imported.unreadable = true;
    }
    XxlReader(tables, options, imported).Read();
    const bool cron = std::ranges::any_of(imported.definitions, [](const std::string& definition) {
        return MemberOf(JsonView(definition), "cron_expression").has_value();
    });
    if (cron && options.timezone.empty()) {
        imported.Note(0, Grade::kPartly,
                      "cron expressions are taken as UTC; say --timezone, of the admin's machine");
    }
    return imported;
}

}  // namespace takt::internal
