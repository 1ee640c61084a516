// takt tasks and takt trigger: recurring tasks.
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct TasksOptions {
    ClientOptions client;
    std::string id;
    std::string name;
    std::string cursor;
    std::size_t limit = 100;
    std::string cron, timezone, every;
    std::size_t count = 5;
    std::string payload;
    bool force = false;
    bool wait = false;
};

std::string ScheduleOf(const boost::json::value& task) {
    if (const std::string cron = Member(task, "cron_expression"); !cron.empty()) {
        return cron + " " + Member(task, "timezone");
    }
    if (const std::string every = Member(task, "interval"); !every.empty()) return "every " + every;
    if (const std::string after = Member(task, "interval_after_end"); !after.empty()) {
        return after + " after its end";
    }
    return "once";
}

Result<int> ListTasks(Client& client, const TasksOptions& options) {
    const auto page =
        client.Get(WithQuery("/api/v1/tasks", {{"name", options.name},
                                               {"limit", std::to_string(options.limit)},
                                               {"cursor", options.cursor}}));
    if (!page) return std::unexpected(page.error());
    if (options.client.json) {
        std::printf("%s\n", page->body.c_str());
        return kOk;
    }
    Table table({"ID", "NAME", "TYPE", "SCHEDULE", "STATE", "FIRES", "MISSED", "LAST", "NEXT"});
    for (const auto* task : ListMember(page->value, "items")) {
        const bool enabled = Member(*task, "enabled") != "false";
        table.Add({Member(*task, "id"), Clean(Member(*task, "name"), 30),
                   Clean(Member(*task, "type"), 20), Clean(ScheduleOf(*task), 40),
                   enabled ? Cell("active") : Cell("paused", Colour::kYellow),
                   Member(*task, "fires"), Member(*task, "missed"),
                   ShortTime(Member(*task, "last_fire_at")),
                   ShortTime(Member(*task, "next_fire_at"))});
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

std::string TaskText(const boost::json::value& task) {
    std::vector<std::pair<std::string, Cell>> fields;
    for (const auto& member : task.as_object()) {
        const std::string name(member.key());
        std::string text = Clean(Member(task, name), 500);
        if (!text.empty()) fields.emplace_back(name, Cell(std::move(text)));
    }
    return Fields(fields);
}

Result<int> Show(const TasksOptions& options, Result<ClientAnswer> answer) {
    if (!answer) return std::unexpected(answer.error());
    if (options.client.json) {
        if (!answer->body.empty()) std::printf("%s\n", answer->body.c_str());
    } else if (answer->value.is_object()) {
        std::fputs(TaskText(answer->value).c_str(), stdout);
    }
    return kOk;
}

Result<int> Delete(Client& client, const TasksOptions& options) {
    const auto answer = client.Call(HttpMethod::kDelete, PathOf("tasks", options.id));
    if (!answer) return std::unexpected(answer.error());
    if (!options.client.json) std::printf("%s deleted\n", options.id.c_str());
    return kOk;
}

Result<int> Preview(Client& client, const TasksOptions& options) {
    Result<ClientAnswer> answer;
    if (!options.id.empty()) {
        answer = client.Get(WithQuery(PathOf("tasks", options.id, "fires"),
                                      {{"count", std::to_string(options.count)}}));
    } else {
        boost::json::object schedule;
        if (!options.cron.empty()) schedule["cron_expression"] = options.cron;
        if (!options.every.empty()) schedule["interval"] = options.every;
        if (!options.timezone.empty()) schedule["timezone"] = options.timezone;
        schedule["count"] = options.count;
        std::string body;
        AppendJson(body, schedule);
        answer = client.Post("/api/v1/tasks/preview", std::move(body));
    }
    if (!answer) return std::unexpected(answer.error());
    if (options.client.json) {
        std::printf("%s\n", answer->body.c_str());
        return kOk;
    }
    std::printf("%s\n", Member(answer->value, "description").c_str());
    for (const auto* fire : ListMember(answer->value, "fires")) {
        if (const auto* time = fire->if_string()) {
            std::printf("  %s\n", ShortTime(std::string_view(*time)).c_str());
        }
    }
    return kOk;
}

Result<int> Trigger(Client& client, const TasksOptions& options) {
    boost::json::object body;
    if (!options.payload.empty()) {
        auto payload = ParseJson(options.payload);
        if (!payload) {
            return Fail(ErrorCode::kInvalid, "the payload is not JSON: " + payload.error().detail);
        }
        body["payload"] = std::move(*payload);
    }
    if (options.force) body["force"] = true;
    std::string text;
    AppendJson(text, body);
    auto answer = client.Post(PathOf("tasks", options.id, "trigger"), std::move(text));
    if (!answer) return std::unexpected(answer.error());
    const std::string id = Member(answer->value, "id");
    if (options.wait) {
        answer = WaitUntilFinished(client, {.execution = id, .show = !options.client.json});
        if (!answer) return std::unexpected(answer.error());
    }
    if (options.client.json) {
        std::printf("%s\n", answer->body.c_str());
    } else if (options.wait) {
        std::fputs(ExecutionText(answer->value).c_str(), stdout);
    } else {
        std::printf("%s %s\n", id.c_str(), Member(answer->value, "status").c_str());
    }
    return options.wait ? ExitOfOutcome(answer->value) : kOk;
}

using Body = Result<int> (*)(Client&, const TasksOptions&);

// A command under `takt tasks`; connection flags may stand before or after its name.
CLI::App* AddPart(CLI::App& tasks, Context& context, const std::shared_ptr<TasksOptions>& options,
                  std::pair<const char*, const char*> name_and_help, Body body) {
    CLI::App* part = tasks.add_subcommand(name_and_help.first, name_and_help.second);
    part->fallthrough();
    part->callback([options, &context, body] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return body(client, *options); });
    });
    return part;
}

void AddFilters(CLI::App& command, TasksOptions& options) {
    command.add_option("--name", options.name, "Only tasks whose name contains this");
    command.add_option("-n,--limit", options.limit, "How many")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    command.add_option("--cursor", options.cursor, "Go on where an earlier list ended");
}

}  // namespace

void AddTasks(CLI::App& app, Context& context) {
    auto options = std::make_shared<TasksOptions>();
    CLI::App* tasks = app.add_subcommand("tasks", "Recurring tasks; alone it lists them");
    options->client.Add(*tasks);
    AddFilters(*tasks, *options);
    AddPart(*tasks, context, options, {"list", "Lists recurring tasks"}, ListTasks);
    const auto with_id = [&](CLI::App* part) {
        part->add_option("id", options->id, "Task")->required();
    };
    with_id(AddPart(*tasks, context, options, {"get", "Shows a task"},
                    [](Client& client, const TasksOptions& given) {
                        return Show(given, client.Get(PathOf("tasks", given.id)));
                    }));
    with_id(AddPart(*tasks, context, options,
                    {"delete", "Deletes a recurring task, or cancels one that runs once"}, Delete));
    with_id(AddPart(*tasks, context, options, {"pause", "Stops its fires"},
                    [](Client& client, const TasksOptions& given) {
                        return Show(given, client.Post(PathOf("tasks", given.id, "pause")));
                    }));
    with_id(AddPart(*tasks, context, options, {"resume", "Resumes its fires"},
                    [](Client& client, const TasksOptions& given) {
                        return Show(given, client.Post(PathOf("tasks", given.id, "resume")));
                    }));
    CLI::App* preview =
        AddPart(*tasks, context, options,
                {"preview", "When a task fires, or would with a schedule"}, Preview);
    preview->add_option("id", options->id, "Task; without it, --cron or --every");
    preview->add_option("--cron", options->cron, "Cron expression");
    preview->add_option("--every", options->every, "Interval");
    preview->add_option("--timezone", options->timezone, "Of --cron [UTC]");
    preview->add_option("-c,--count", options->count, "How many fires")->capture_default_str();
    tasks->footer(
        "examples:\n"
        "  takt tasks\n"
        "  takt tasks pause nightly\n"
        "  takt tasks preview --cron '0 2 * * MON' --timezone Europe/Berlin\n");
    tasks->callback([tasks, options, &context] {
        if (!tasks->get_subcommands().empty()) return;
        context.exit = WithClient(options->client,
                                  [&](Client& client) { return ListTasks(client, *options); });
    });
}

void AddTrigger(CLI::App& app, Context& context) {
    auto options = std::make_shared<TasksOptions>();
    CLI::App* trigger = app.add_subcommand("trigger", "Runs a recurring task now");
    options->client.Add(*trigger);
    trigger->add_option("id", options->id, "Task")->required();
    trigger->add_option("payload,--payload", options->payload, "Another input, this once, in JSON");
    trigger->add_flag("--force", options->force, "Also while its last run has not ended");
    trigger->add_flag("--wait", options->wait,
                      "Wait for its end; the exit code tells whether it succeeded");
    trigger->footer(
        "examples:\n"
        "  takt trigger nightly\n"
        "  takt trigger nightly '{\"full\": true}' --wait\n");
    trigger->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Trigger(client, *options); });
    });
}

}  // namespace takt::internal::cli
