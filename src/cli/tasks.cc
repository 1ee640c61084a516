// takt tasks and takt trigger: recurring tasks.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/json.h"
#include "cli/execution_view.h"
#include "cli/filter_flag.h"
#include "cli/flows.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "cli/task_flags.h"
#include "cli/wait_flags.h"

namespace takt::internal::cli {
namespace {

struct TasksOptions {
    ClientOptions client;
    std::string id;
    std::string name;
    std::string cursor;
    std::size_t limit = 100;
    std::size_t count = 5;
    std::string payload;
    bool text = false;
    bool force = false;
    bool keep_runs = false;
    WaitFlags waiting;
    std::string file;
    bool dry_run = false;
    BackfillOptions backfill;
    TaskFlags flags;
};

std::string ScheduleOf(const boost::json::value& task) {
    if (const std::string cron = Member(task, "cron_expression"); !cron.empty()) {
        return cron + " " + Member(task, "timezone");
    }
    for (const char* name : {"interval", "every"}) {
        if (const std::string every = Member(task, name); !every.empty()) return "every " + every;
    }
    for (const char* name : {"interval_after_end", "every_after_end"}) {
        const std::string after = Member(task, name);
        if (!after.empty()) return after + " after its end";
    }
    return "once";
}

// One that runs again after its run ended has no next time while that run lasts.
bool IsOver(const boost::json::value& task) {
    const double fires_max = NumberMember(task, "fires_max");
    if (fires_max > 0 && NumberMember(task, "fires") >= fires_max) return true;
    return Member(task, "next_fire_at").empty() && Member(task, "interval_after_end").empty();
}

Cell StateOf(const boost::json::value& task) {
    if (Member(task, "enabled") == "false") return Cell("paused", Colour::kYellow);
    return Cell(IsOver(task) ? "over" : "active");
}

Result<int> ListTasks(Client& client, const TasksOptions& options) {
    const auto page =
        client.Get(WithQuery("/api/v1/tasks", {{"name", options.name},
                                               {"limit", std::to_string(options.limit)},
                                               {"cursor", options.cursor}}));
    if (!page) return std::unexpected(page.error());
    if (PrintedAsJson(options.client, *page)) return kOk;
    Table table({"ID", "NAME", "TYPE", "SCHEDULE", "STATE", "FIRES", "MISSED", "LAST", "NEXT"},
                {"QUEUE", "PRIORITY", "MODE", "MISFIRE", "VERSION", "CREATED"});
    for (const auto* task : ListMember(page->value, "items")) {
        table.Add(
            {Member(*task, "id"), Clean(Member(*task, "name"), 30),
             Clean(Member(*task, "type"), 20), Clean(ScheduleOf(*task), 40), StateOf(*task),
             Member(*task, "fires"), Member(*task, "missed"),
             ShortTime(Member(*task, "last_fire_at")), ShortTime(Member(*task, "next_fire_at"))},
            {Member(*task, "queue"), Member(*task, "priority"), Member(*task, "execution_mode"),
             Member(*task, "misfire_policy"), Member(*task, "version"),
             ShortTime(Member(*task, "created_at"))});
    }
    if (table.empty()) {
        std::fprintf(stderr, "there are no recurring tasks; takt list shows what ran\n");
        return kOk;
    }
    table.Print();
    if (const std::string cursor = Member(page->value, "next_cursor"); !cursor.empty()) {
        std::fprintf(stderr, "there are more: --cursor %s\n", cursor.c_str());
    }
    return kOk;
}

Result<int> Show(const TasksOptions& options, Result<ClientAnswer> answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!PrintedAsJson(options.client, *answer)) {
        std::fputs(ObjectText(answer->value).c_str(), stdout);
    }
    return kOk;
}

Result<int> Delete(Client& client, const TasksOptions& options) {
    const auto answer = client.Call(
        HttpMethod::kDelete,
        WithQuery(PathOf("tasks", options.id), {{"runs", options.keep_runs ? "keep" : ""}}));
    if (!answer) return std::unexpected(answer.error());
    if (!options.client.json) std::printf("%s deleted\n", options.id.c_str());
    return kOk;
}

// A task has one schedule: one of another kind takes its place.
void ReplaceSchedule(GivenFields& change, const boost::json::value& task) {
    constexpr std::array kKinds = {"cron_expression", "interval", "interval_after_end"};
    const auto given = [&](const char* kind) { return change.Has(kind); };
    if (std::ranges::none_of(kKinds, given)) return;
    for (const char* kind : kKinds) {
        if (!given(kind) && FindMember(task, kind)) change.Set(kind, "null");
    }
}

Result<int> Update(Client& client, const TasksOptions& options) {
    auto change = options.flags.Given();
    if (!change) return std::unexpected(change.error());
    if (change->empty()) {
        return Fail(ErrorCode::kInvalid, "give what to change, such as --cron or --priority");
    }
    const std::string path = PathOf("tasks", options.id);
    const auto task = client.Get(path);
    if (!task) return std::unexpected(task.error());
    if (!FindMember(task->value, "enabled")) {
        return Fail(ErrorCode::kConflict,
                    options.id + " runs once and cannot be changed; cancel it and submit another");
    }
    ReplaceSchedule(*change, task->value);
    // The version that is changed is the one that was looked at.
    const std::string version = "\"" + Member(task->value, "version") + "\"";
    return Show(options,
                client.Call(HttpMethod::kPatch, path, change->Body(), {{"If-Match", version}}));
}

void PrintFires(const boost::json::value& fires, const std::string& schedule) {
    const std::string description = Member(fires, "description");
    std::printf("%s\n", description.empty() ? schedule.c_str() : description.c_str());
    for (const auto* fire : ListMember(fires, "fires")) {
        if (const auto* time = fire->if_string()) {
            std::printf("  %s UTC\n", ExactTime(std::string_view(*time)).c_str());
        }
    }
}

Result<int> PreviewTask(Client& client, const TasksOptions& options) {
    const auto fires = client.Get(WithQuery(PathOf("tasks", options.id, "fires"),
                                            {{"count", std::to_string(options.count)}}));
    if (!fires) return std::unexpected(fires.error());
    if (PrintedAsJson(options.client, *fires)) return kOk;
    const auto task = client.Get(PathOf("tasks", options.id));
    if (!task) return std::unexpected(task.error());
    PrintFires(fires->value, ScheduleOf(task->value));
    if (!ListMember(fires->value, "fires").empty()) return kOk;
    const bool paused = Member(task->value, "enabled") == "false";
    std::printf("  %s\n",
                paused ? "it is paused and does not fire until it is resumed" : "it fires no more");
    return kOk;
}

Result<int> Preview(Client& client, const TasksOptions& options) {
    auto schedule = options.flags.Given();
    if (!schedule) return std::unexpected(schedule.error());
    if (!options.id.empty()) {
        if (schedule->empty()) return PreviewTask(client, options);
        return Fail(
            ErrorCode::kInvalid,
            "give a task or a schedule, not both: a task is shown with the schedule that it "
            "has");
    }
    if (!schedule->Has("count")) schedule->Set("count", std::to_string(options.count));
    const std::string body = schedule->Body();
    const auto fires = client.Post("/api/v1/tasks/preview", body);
    if (!fires) return std::unexpected(fires.error());
    if (!PrintedAsJson(options.client, *fires))
        PrintFires(fires->value, ScheduleOf(*ParseJson(body)));
    return kOk;
}

Result<int> Trigger(Client& client, const TasksOptions& options) {
    const auto timeout = options.waiting.Timeout();
    if (!timeout) return std::unexpected(timeout.error());
    GivenFields body;
    if (!options.payload.empty()) {
        auto payload = ReadPayload(options.payload, options.text);
        if (!payload) return std::unexpected(payload.error());
        body.Set("payload", std::move(*payload));
    }
    if (options.force) body.Set("force", "true");
    auto answer = client.Post(PathOf("tasks", options.id, "trigger"), body.Body());
    if (!answer) return std::unexpected(HintAtExecution(client, options.id, answer.error()));
    const std::string id = Member(answer->value, "id");
    if (options.waiting.wait) {
        answer = WaitUntilFinished(
            client, {.execution = id, .timeout = *timeout, .show = !options.client.json});
        if (!answer) return std::unexpected(answer.error());
    }
    if (options.client.json) {
        std::printf("%s\n", answer->body.c_str());
    } else if (options.waiting.wait) {
        std::fputs(ExecutionText(answer->value).c_str(), stdout);
    } else {
        std::printf("%s %s\n", id.c_str(), Member(answer->value, "status").c_str());
    }
    return options.waiting.wait ? ExitOfOutcome(answer->value) : kOk;
}

Result<int> SetFires(Client& client, const TasksOptions& options, const char* action) {
    auto answer = client.Post(PathOf("tasks", options.id, action));
    if (!answer) return std::unexpected(HintAtExecution(client, options.id, answer.error()));
    return Show(options, std::move(answer));
}

void AddFilters(CLI::App& command, TasksOptions& options) {
    AddFilter(command, "--name", options.name, "Only tasks whose name contains this");
    command.add_option("-n,--limit", options.limit, "How many")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command.add_option("--cursor", options.cursor, "Go on where an earlier list ended");
}

void AddBackfillFlags(CLI::App& command, BackfillOptions& options) {
    command.add_option("id", options.task, "Task")->required();
    options.due.Add(command, "Due");
    command.get_option("--since")->required();
    command.add_option("--parallel", options.parallel_max,
                       "So many unfinished at a time; 10 for a parallel task, else 1");
    command.add_flag("--dry-run", options.dry_run, "Only show what would be run");
    command.add_flag("--wait", options.wait, "Show how far it is, until its end");
}

}  // namespace

void AddTasks(CLI::App& app, Context& context) {
    PartedCommand<TasksOptions> tasks(app, context,
                                      {"tasks", "Recurring tasks; alone it lists them"}, ListTasks);
    TasksOptions& options = tasks.options();
    AddFilters(tasks.command(), options);
    tasks.Add({"list", "Lists recurring tasks"}, ListTasks);
    CLI::App* remove =
        tasks.Add({"delete", "Deletes a recurring task, or cancels one that runs once"}, Delete);
    CLI::App* update = tasks.Add({"update", "Changes a recurring task"}, Update);
    CLI::App* const named[] = {
        tasks.Add({"get", "Shows a task"},
                  [](Client& client, const TasksOptions& given) {
                      return Show(given, client.Get(PathOf("tasks", given.id)));
                  }),
        update, remove,
        tasks.Add({"pause", "Stops its fires"},
                  [](Client& client, const TasksOptions& given) {
                      return SetFires(client, given, "pause");
                  }),
        tasks.Add({"resume", "Resumes its fires"}, [](Client& client, const TasksOptions& given) {
            return SetFires(client, given, "resume");
        })};
    CLI::App* create =
        tasks.Add({"create", "Creates the task that a file says, with its steps"},
                  [](Client& client, const TasksOptions& given) {
                      return CreateFromFile(client, {given.file, given.dry_run, given.client.json});
                  });
    create->add_option("-f,--file", options.file, "YAML or JSON; - is standard input")->required();
    create->add_flag("--dry-run", options.dry_run, "Only tell all that is wrong with it");
    CLI::App* backfill =
        tasks.Add({"backfill", "Runs it for past due times that have no execution"},
                  [](Client& client, const TasksOptions& given) {
                      BackfillOptions asked = given.backfill;
                      asked.json = given.client.json;
                      return RunBackfill(client, asked);
                  });
    AddBackfillFlags(*backfill, options.backfill);
    for (CLI::App* part : named) part->add_option("id", options.id, "Task")->required();
    remove->add_flag("--keep-runs", options.keep_runs,
                     "Runs that have not begun go on in their order; else they are cancelled");
    options.flags.Add(*update, TaskFlags::Purpose::kChange);
    CLI::App* preview =
        tasks.Add({"preview", "When a task fires, or would with a schedule"}, Preview);
    preview->add_option("id", options.id, "Task; without it, --cron or --every");
    options.flags.Add(*preview, TaskFlags::Purpose::kPreview);
    preview->add_option("-c,--count", options.count, "How many fires")->capture_default_str();
    tasks.command().footer(
        "examples:\n"
        "  takt tasks\n"
        "  takt tasks create -f flow.yaml\n"
        "  takt tasks create -f flow.yaml --dry-run\n"
        "  takt tasks backfill nightly --from 2026-11-01T00:00:00Z --dry-run\n"
        "  takt tasks pause nightly\n"
        "  takt tasks update nightly --cron '0 3 * * *' --timeout 10m\n"
        "  takt tasks preview nightly --count 3\n"
        "  takt tasks preview --cron '0 2 * * MON' --timezone Europe/Berlin --field dst=skip\n");
}

void AddTrigger(CLI::App& app, Context& context) {
    auto options = std::make_shared<TasksOptions>();
    CLI::App* trigger = app.add_subcommand("trigger", "Runs a recurring task now");
    options->client.Add(*trigger);
    trigger->add_option("id", options->id, "Task")->required();
    trigger->add_option("payload,--payload", options->payload,
                        "Another input, this once, in JSON; @FILE reads a file, - standard input");
    trigger->add_flag("--text", options->text, "The payload is text, not JSON");
    trigger->add_flag("--force", options->force, "Also while its last run has not ended");
    options->waiting.Add(*trigger);
    trigger->footer(
        "examples:\n"
        "  takt trigger nightly\n"
        "  takt trigger nightly '{\"full\": true}' --wait\n"
        "  takt trigger nightly @full.json\n");
    trigger->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Trigger(client, *options); });
    });
}

}  // namespace takt::internal::cli
