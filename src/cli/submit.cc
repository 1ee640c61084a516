// takt submit: creates a task, and waits for its end if asked.
#include <cstdio>

#include "cli/client.h"
#include "cli/execution_view.h"
#include "cli/task_flags.h"
#include "cli/wait_flags.h"

namespace takt::internal::cli {
namespace {

struct SubmitOptions {
    ClientOptions client;
    std::string type;
    TaskFlags flags;
    WaitFlags waiting;
    bool quiet = false;
};

// A task that is not called anything is called what it runs.
Result<GivenFields> TaskOf(const SubmitOptions& options) {
    auto task = options.flags.Given();
    if (!task) return task;
    task->SetText("type", options.type);
    if (!task->Has("name")) task->SetText("name", options.type);
    return task;
}

bool IsRecurring(const GivenFields& task) {
    return task.Has("cron_expression") || task.Has("interval") || task.Has("interval_after_end");
}

Result<int> WaitAndTell(Client& client, const SubmitOptions& options, const WaitFor& what) {
    auto ended = WaitUntilFinished(client, what);
    if (!ended) return std::unexpected(ended.error());
    if (options.client.json) {
        std::printf("%s\n", ended->body.c_str());
    } else if (options.quiet) {
        std::printf("%s\n", what.execution.c_str());
    } else {
        std::fputs(ExecutionText(ended->value).c_str(), stdout);
    }
    return ExitOfOutcome(ended->value);
}

Result<int> Submit(Client& client, const SubmitOptions& options) {
    const auto task = TaskOf(options);
    if (!task) return std::unexpected(task.error());
    const auto timeout = options.waiting.Timeout();
    if (!timeout) return std::unexpected(timeout.error());
    const bool recurring = IsRecurring(*task);
    if (options.waiting.wait && recurring) {
        return Fail(ErrorCode::kInvalid,
                    "--wait is for tasks that run once; a recurring task has no end");
    }
    const auto made = client.Post("/api/v1/tasks", task->Body());
    if (!made) return std::unexpected(made.error());
    const std::string id = Member(made->value, "id");
    if (options.waiting.wait) {
        const bool show = !options.client.json && !options.quiet;
        return WaitAndTell(client, options, {.execution = id, .timeout = *timeout, .show = show});
    }
    if (options.client.json) {
        std::printf("%s\n", made->body.c_str());
    } else if (options.quiet) {
        std::printf("%s\n", id.c_str());
    } else if (recurring) {
        std::printf("%s fires next at %s\n", id.c_str(),
                    ShortTime(Member(made->value, "next_fire_at")).c_str());
    } else {
        std::printf("%s %s\n", id.c_str(), made->status == 200 ? "was there already" : "submitted");
    }
    return kOk;
}

}  // namespace

void AddSubmit(CLI::App& app, Context& context) {
    auto options = std::make_shared<SubmitOptions>();
    CLI::App* submit = app.add_subcommand("submit", "Submits a task");
    options->client.Add(*submit);
    submit->add_option("type", options->type, "Which handler runs it")->required();
    options->flags.Add(*submit, TaskFlags::Purpose::kNew);
    options->waiting.Add(*submit);
    submit->add_flag("-q,--quiet", options->quiet, "Print only the id");
    submit->footer(
        "examples:\n"
        "  takt submit echo '{\"say\": \"hello\"}' --wait\n"
        "  takt submit resize @image.json --queue images --retries 5 --timeout 2m\n"
        "  takt submit remind --at 2027-01-01T08:00:00Z --id remind-7\n"
        "  takt submit report --cron '0 2 * * *' --timezone Asia/Shanghai\n"
        "  takt submit fetch --field 'retry_policy={\"delay\": \"1s\"}'\n");
    submit->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Submit(client, *options); });
    });
}

}  // namespace takt::internal::cli
