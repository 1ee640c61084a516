// takt submit: creates a task, and waits for its end if asked.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/json.h"
#include "cli/client.h"
#include "cli/execution_view.h"

namespace takt::internal::cli {
namespace {

// What the server takes at most; reading more from a pipe would only be refused later.
constexpr std::size_t kPayloadBytesMax = 1 << 20;

struct SubmitOptions {
    ClientOptions client;
    std::string type;
    std::string payload;
    bool text = false;
    std::string name, id, queue, priority, delay, at, cron, every, timezone, timeout, executor;
    std::string retries;
    std::vector<std::string> labels;
    std::vector<std::string> fields;
    bool wait = false;
    std::string wait_timeout;
    bool quiet = false;
};

Result<std::string> ReadAll(std::istream& in, const std::string& name) {
    std::string text;
    char block[4096];
    while (in.read(block, sizeof block) || in.gcount() > 0) {
        text.append(block, static_cast<std::size_t>(in.gcount()));
        if (text.size() > kPayloadBytesMax) {
            return Fail(ErrorCode::kInvalid,
                        name + " is longer than 1 MiB, the most a payload may be");
        }
    }
    if (in.bad()) return Fail(ErrorCode::kInvalid, "cannot read " + name);
    return text;
}

// As given, @FILE or - for standard input.
Result<std::string> ReadPayload(const std::string& given) {
    if (given == "-") return ReadAll(std::cin, "standard input");
    if (!given.starts_with('@')) return given;
    std::ifstream file(given.substr(1), std::ios::binary);
    if (!file)
        return Fail(ErrorCode::kInvalid, "cannot read the payload's file " + given.substr(1));
    return ReadAll(file, given.substr(1));
}

Result<std::pair<std::string, std::string>> Pair(const std::string& text, std::string_view flag) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        return Fail(ErrorCode::kInvalid,
                    std::string(flag) + " wants NAME=VALUE, not '" + text + "'");
    }
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<void> AddPayload(boost::json::object& task, const SubmitOptions& options) {
    if (options.payload.empty()) return {};
    auto payload = ReadPayload(options.payload);
    if (!payload) return std::unexpected(payload.error());
    if (options.text) {
        task["payload"] = *payload;
        return {};
    }
    auto value = ParseJson(*payload, {.bytes_max = kPayloadBytesMax});
    if (!value) {
        return Fail(ErrorCode::kInvalid, "the payload is not JSON (" + value.error().detail +
                                             "); say --text to send it as a string");
    }
    task["payload"] = std::move(*value);
    return {};
}

Result<boost::json::object> TaskOf(const SubmitOptions& options) {
    boost::json::object task;
    task["type"] = options.type;
    task["name"] = options.name.empty() ? options.type : options.name;
    const std::pair<const char*, const std::string*> texts[] = {{"id", &options.id},
                                                                {"queue", &options.queue},
                                                                {"delay", &options.delay},
                                                                {"run_at", &options.at},
                                                                {"cron", &options.cron},
                                                                {"every", &options.every},
                                                                {"timeout", &options.timeout},
                                                                {"timezone", &options.timezone},
                                                                {"executor", &options.executor}};
    for (const auto& [name, value] : texts) {
        if (!value->empty()) task[name] = *value;
    }
    // Numbers or words: what they may be is the server's to say.
    const std::pair<const char*, const std::string*> values[] = {{"priority", &options.priority},
                                                                 {"max_retry", &options.retries}};
    for (const auto& [name, value] : values) {
        if (value->empty()) continue;
        auto parsed = ParseJson(*value);
        if (parsed && parsed->is_number()) {
            task[name] = std::move(*parsed);
        } else {
            task[name] = *value;
        }
    }
    if (auto added = AddPayload(task, options); !added) return std::unexpected(added.error());
    boost::json::object labels;
    for (const std::string& label : options.labels) {
        const auto pair = Pair(label, "--label");
        if (!pair) return std::unexpected(pair.error());
        labels[pair->first] = pair->second;
    }
    if (!labels.empty()) task["labels"] = std::move(labels);
    for (const std::string& field : options.fields) {
        const auto pair = Pair(field, "--field");
        if (!pair) return std::unexpected(pair.error());
        auto value = ParseJson(pair->second);
        task[pair->first] = value ? std::move(*value) : boost::json::value(pair->second);
    }
    return task;
}

Result<int> WaitAndTell(Client& client, const SubmitOptions& options, const std::string& id) {
    Duration timeout{0};
    if (!options.wait_timeout.empty()) {
        const auto parsed = ParseDuration(options.wait_timeout);
        if (!parsed) return Fail(ErrorCode::kInvalid, "--wait-timeout: " + parsed.error().detail);
        timeout = *parsed;
    }
    const bool show = !options.client.json && !options.quiet;
    auto ended = WaitUntilFinished(client, {.execution = id, .timeout = timeout, .show = show});
    if (!ended) return std::unexpected(ended.error());
    if (options.client.json) {
        std::printf("%s\n", ended->body.c_str());
    } else if (options.quiet) {
        std::printf("%s\n", id.c_str());
    } else {
        std::fputs(ExecutionText(ended->value).c_str(), stdout);
    }
    return ExitOfOutcome(ended->value);
}

Result<int> Submit(Client& client, const SubmitOptions& options) {
    const bool recurring = !options.cron.empty() || !options.every.empty();
    if (options.wait && recurring) {
        return Fail(ErrorCode::kInvalid,
                    "--wait is for tasks that run once; a recurring task has no end");
    }
    const auto task = TaskOf(options);
    if (!task) return std::unexpected(task.error());
    std::string body;
    AppendJson(body, *task);
    const auto made = client.Post("/api/v1/tasks", std::move(body));
    if (!made) return std::unexpected(made.error());
    const std::string id = Member(made->value, "id");
    if (options.wait) return WaitAndTell(client, options, id);
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

void AddFields(CLI::App& submit, SubmitOptions& options) {
    submit.add_option("--name", options.name, "What people call it [the type]");
    submit.add_option("--id", options.id, "Your id; the same submit again changes nothing");
    submit.add_option("--queue", options.queue, "Queue [default]");
    submit.add_option("-p,--priority", options.priority, "0 to 9 or low, normal, high, urgent [5]");
    submit.add_option("--delay", options.delay, "Run it this long from now: 90s, 1h30m");
    submit.add_option("--at", options.at, "Run it at this time: 2027-01-01T08:00:00Z");
    submit.add_option("--cron", options.cron, "Run it again and again: '0 2 * * *'");
    submit.add_option("--every", options.every, "Run it again and again: 10m");
    submit.add_option("--timezone", options.timezone, "Of --cron: Asia/Shanghai [UTC]");
    submit.add_option("--retries", options.retries, "How often to try again after a failure");
    submit.add_option("--timeout", options.timeout, "How long one attempt may take");
    submit.add_option("--executor", options.executor, "Group of workers or executor to run it");
    submit.add_option("--label", options.labels, "NAME=VALUE that a worker must have; repeatable")
        ->type_name("NAME=VALUE");
    submit
        .add_option("--field", options.fields,
                    "Any other field of POST /api/v1/tasks, value in JSON; repeatable")
        ->type_name("NAME=JSON");
}

}  // namespace

void AddSubmit(CLI::App& app, Context& context) {
    auto options = std::make_shared<SubmitOptions>();
    CLI::App* submit = app.add_subcommand("submit", "Submits a task");
    options->client.Add(*submit);
    submit->add_option("type", options->type, "Which handler runs it")->required();
    submit->add_option("payload,--payload", options->payload,
                       "Its input in JSON; @FILE reads a file, - standard input");
    submit->add_flag("--text", options->text, "The payload is text, not JSON");
    AddFields(*submit, *options);
    submit->add_flag("--wait", options->wait,
                     "Wait for its end; the exit code tells whether it succeeded");
    submit->add_option("--wait-timeout", options->wait_timeout, "Give up waiting after [never]");
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
