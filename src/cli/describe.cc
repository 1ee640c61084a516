// takt describe: everything about one thing, so that nobody has to ask five times: its fields, why it
// waits, its attempts, what happened to it, the end of its log.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "base/nearest.h"
#include "cli/client.h"
#include "cli/events.h"
#include "cli/execution_view.h"
#include "cli/fleet_view.h"
#include "cli/flows.h"
#include "cli/logs.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

struct DescribeOptions {
    ClientOptions client;
    std::string kind;
    std::string name;
    std::size_t lines = 10;
};

constexpr std::size_t kEventsShown = 15;

// One thing, part by part: text for people, JSON for scripts.
class Description {
  public:
    void Add(std::string_view key, boost::json::value json, const std::string& title,
             const std::string& text) {
        json_[key] = std::move(json);
        AddText(title, text);
    }
    // A part whose JSON is within another.
    void AddText(const std::string& title, const std::string& text) {
        if (text.empty()) return;
        if (!text_.empty()) text_ += "\n";
        if (!title.empty()) text_ += Paint(title, Colour::kBold) + "\n";
        text_ += text;
    }
    void Print(bool as_json) const {
        std::string json;
        if (as_json) AppendJson(json, json_), json += '\n';
        const std::string& shown = as_json ? json : text_;
        std::fwrite(shown.data(), 1, shown.size(), stdout);
    }

  private:
    boost::json::object json_;
    std::string text_;
};

using Described = Result<void>;

std::string RowsText(const Table& table) {
    return table.empty() ? std::string() : table.Text();
}

std::string AttemptsText(const boost::json::value& execution) {
    Table table({"ATTEMPT", "STATUS", "WORKER", "STARTED", "TOOK", "ERROR"});
    for (const auto* attempt : ListMember(execution, "attempts")) {
        const std::string status = Member(*attempt, "status");
        const auto* error = FindMember(*attempt, "error");
        const std::string worker = Member(*attempt, "worker_id");
        table.Add({Member(*attempt, "attempt"), Cell(status, ColourOf(status)),
                   worker.empty() ? "-" : worker, ExactTime(Member(*attempt, "started_at")),
                   ElapsedText(*attempt),
                   error && error->is_object()
                       ? Clean(Member(*error, "code") + ": " + Member(*error, "message"), 120)
                       : "-"});
    }
    return RowsText(table);
}

// "why", if somebody can say.
Described AddExplanation(Client& client, Description& to, const char* kind,
                         const std::string& name) {
    const auto answer = client.Get(PathOf(kind, name, "explain"));
    if (!answer) return std::unexpected(answer.error());
    to.Add("explanation", answer->value, "Why", Member(answer->value, "explanation") + "\n");
    return {};
}

// The last events that the leader remembers; of one execution, if it is named.
Described AddHistory(Client& client, Description& to, const Query& query,
                     const std::string& execution = {}) {
    auto events = PastEvents(client, query);
    if (!events) return std::unexpected(events.error());
    if (!execution.empty()) {
        std::erase_if(*events, [&](const boost::json::value& event) {
            return Member(event, "execution_id") != execution;
        });
    }
    const std::size_t skipped = events->size() - std::min(events->size(), kEventsShown);
    boost::json::array json;
    std::string text;
    for (std::size_t i = skipped; i < events->size(); ++i) {
        text += EventLine((*events)[i]) + "\n";
        json.push_back(std::move((*events)[i]));
    }
    to.Add("events", std::move(json), "Events", text);
    return {};
}

// Executions that a query matches, newest first.
Described AddExecutions(Client& client, Description& to, const char* title, const Query& query) {
    const auto page = client.Get(WithQuery("/api/v1/executions", query));
    if (!page) return std::unexpected(page.error());
    Table table = ExecutionTable();
    for (const auto* item : ListMember(page->value, "items")) AddExecution(table, *item);
    const auto* items = FindMember(page->value, "items");
    to.Add("executions", items ? *items : boost::json::array(), title, RowsText(table));
    return {};
}

Described DescribeExecution(Client& client, const DescribeOptions& options, Description& to) {
    const auto execution = client.Get(PathOf("executions", options.name));
    if (!execution) return std::unexpected(HintAtTask(client, options.name, execution.error()));
    const boost::json::value& row = execution->value;
    to.Add("execution", row, "", ExecutionText(row));
    to.AddText("Attempts", AttemptsText(row));
    if (!IsFinished(row)) {
        const auto explained = AddExplanation(client, to, "executions", options.name);
        if (!explained) return explained;
    }
    // Only runs of workflows have some.
    const auto steps = client.Get(PathOf("executions", options.name, "steps"));
    if (steps) to.Add("steps", steps->value, "Steps", StepTree(steps->value));
    const auto happened =
        AddHistory(client, to, {{"task_id", Member(row, "task_id")}}, options.name);
    if (!happened) return happened;
    const auto tail = ReadLogTail(client, options.name, options.lines);
    if (!tail) return std::unexpected(tail.error());
    std::string text = tail->text;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    to.Add("log", boost::json::string(tail->text),
           fmt::format("Log, its last {} lines", options.lines), text);
    return {};
}

Described DescribeTask(Client& client, const DescribeOptions& options, Description& to) {
    const auto task = client.Get(PathOf("tasks", options.name));
    if (!task) return std::unexpected(HintAtExecution(client, options.name, task.error()));
    to.Add("task", task->value, "", ObjectText(task->value));
    auto done = AddExplanation(client, to, "tasks", options.name);
    if (!done) return done;
    const auto fires = client.Get(PathOf("tasks", options.name, "fires"));
    if (!fires) return std::unexpected(fires.error());
    std::string next;
    for (const auto* fire : ListMember(fires->value, "fires")) {
        if (const auto* at = fire->if_string()) next += ShortTime(*at) + "\n";
    }
    to.Add("fires", fires->value, "Next, " + Member(fires->value, "description"), next);
    done = AddExecutions(client, to, "Last runs", {{"task_id", options.name}, {"limit", "5"}});
    if (done) done = AddHistory(client, to, {{"task_id", options.name}});
    return done;
}

Described DescribeWorker(Client& client, const DescribeOptions& options, Description& to) {
    const auto worker = client.Get(PathOf("workers", options.name));
    if (!worker) return std::unexpected(worker.error());
    to.Add("worker", worker->value, "", ObjectText(worker->value));
    auto done = AddExplanation(client, to, "workers", options.name);
    if (done) {
        done = AddExecutions(client, to, "In hand",
                             {{"worker_id", options.name}, {"status", "scheduled,running"}});
    }
    if (done) done = AddHistory(client, to, {{"worker_id", options.name}});
    return done;
}

bool Serves(const boost::json::value& worker, const std::string& queue) {
    const auto queues = ListMember(worker, "queues");
    return queues.empty() || std::ranges::any_of(queues, [&](const boost::json::value* name) {
               return name->is_string() && name->get_string() == queue;
           });
}

Described DescribeQueue(Client& client, const DescribeOptions& options, Description& to) {
    const auto queue = client.Get(PathOf("queues", options.name));
    if (!queue) return std::unexpected(queue.error());
    to.Add("queue", queue->value, "", ObjectText(queue->value));
    if (const auto done = AddExplanation(client, to, "queues", options.name); !done) return done;
    const auto workers = client.Get("/api/v1/workers");
    if (!workers) return std::unexpected(workers.error());
    boost::json::array serving;
    for (const auto* worker : ListMember(workers->value, "items")) {
        if (Serves(*worker, options.name)) serving.push_back(*worker);
    }
    const boost::json::object page{{"items", serving}};
    to.Add("workers", serving, "Workers that serve it", RowsText(WorkerTable(page)));
    return AddExecutions(client, to, "Not finished",
                         {{"queue", options.name},
                          {"status", "pending,scheduled,running,retrying"},
                          {"limit", "10"}});
}

Described DescribeRule(Client& client, const DescribeOptions& options, Description& to) {
    const auto rule = client.Get(PathOf("alert-rules", options.name));
    if (!rule) return std::unexpected(rule.error());
    to.Add("rule", rule->value, "", ObjectText(rule->value));
    const auto alerts = client.Get("/api/v1/alerts?state=all");
    if (!alerts) return std::unexpected(alerts.error());
    Table table({"ID", "STATE", "SINCE", "ENDED", "MESSAGE"});
    boost::json::array of_rule;
    for (const auto* alert : ListMember(alerts->value, "items")) {
        if (Member(*alert, "rule") != options.name) continue;
        of_rule.push_back(*alert);
        table.Add(
            {Member(*alert, "id"), Member(*alert, "state"), ShortTime(Member(*alert, "pending_at")),
             ShortTime(Member(*alert, "resolved_at")), Clean(Member(*alert, "message"), 120)});
    }
    to.Add("alerts", std::move(of_rule), "Alerts", RowsText(table));
    return {};
}

Described DescribeLock(Client& client, const DescribeOptions& options, Description& to) {
    const auto lock = client.Get(PathOf("locks", options.name));
    if (!lock) return std::unexpected(lock.error());
    boost::json::value fields = lock->value;
    std::vector<std::pair<const char*, std::string>> parts;
    for (const char* part : {"holders", "waiters"}) {
        std::string text;
        for (const auto* one : ListMember(lock->value, part)) {
            text += (text.empty() ? "" : "\n") + ObjectText(*one);
        }
        if (FindMember(fields, part)) fields.as_object().erase(part);
        parts.emplace_back(part, std::move(text));
    }
    to.Add("lock", lock->value, "", ObjectText(fields));
    to.AddText("Held by", parts[0].second);
    to.AddText("In line", parts[1].second);
    return {};
}

// Things whose fields are all there is to say.
template <const char* kCollection, const char* kKey>
Described DescribePlain(Client& client, const DescribeOptions& options, Description& to) {
    const auto thing = client.Get(PathOf(kCollection, options.name));
    if (!thing) return std::unexpected(thing.error());
    boost::json::value fields = thing->value;
    to.Add(kKey, thing->value, "", ObjectText(fields));
    return {};
}

constexpr char kNamespaces[] = "namespaces";
constexpr char kNamespace[] = "namespace";
constexpr char kExecutors[] = "executors";
constexpr char kExecutor[] = "executor";

struct DescribedKind {
    std::string_view name;
    std::string_view other;  // Also called.
    Described (*describe)(Client&, const DescribeOptions&, Description&);
};
constexpr DescribedKind kDescribedKinds[] = {
    {"execution", "run", DescribeExecution},
    {"task", "schedule", DescribeTask},
    {"worker", "", DescribeWorker},
    {"queue", "", DescribeQueue},
    {"namespace", "ns", DescribePlain<kNamespaces, kNamespace>},
    {"rule", "alert-rule", DescribeRule},
    {"lock", "", DescribeLock},
    {"executor", "", DescribePlain<kExecutors, kExecutor>},
};

Result<int> Describe(Client& client, const DescribeOptions& options) {
    std::string_view kind = options.kind;
    const auto called = [&](const DescribedKind& one) {
        return kind == one.name || (!one.other.empty() && kind == one.other) ||
               (kind.ends_with('s') && kind.substr(0, kind.size() - 1) == one.name);
    };
    const auto* found = std::ranges::find_if(kDescribedKinds, called);
    if (found == std::end(kDescribedKinds)) {
        std::vector<std::string_view> names;
        std::string list;
        for (const DescribedKind& one : kDescribedKinds) {
            names.push_back(one.name);
            list += (list.empty() ? "" : ", ") + std::string(one.name);
        }
        const std::string nearest(NearestName(kind, names));
        return Fail(
            ErrorCode::kInvalid,
            "there is no kind '" + options.kind + "'" +
                (nearest.empty() ? "; there are " + list : "; did you mean '" + nearest + "'?"));
    }
    Description description;
    const auto done = found->describe(client, options, description);
    if (!done) return std::unexpected(done.error());
    description.Print(options.client.json);
    return kOk;
}

}  // namespace

void AddDescribe(CLI::App& app, Context& context) {
    auto options = std::make_shared<DescribeOptions>();
    CLI::App* describe = app.add_subcommand(
        "describe", "Tells everything about one thing: fields, why, events, log");
    options->client.Add(*describe);
    options->client.AddWatch(*describe);
    describe
        ->add_option("kind", options->kind,
                     "execution, task, worker, queue, namespace, rule, lock or executor")
        ->required();
    describe->add_option("name", options->name, "Its id or name")->required();
    describe->add_option("--tail", options->lines, "Lines of an execution's log")
        ->capture_default_str();
    describe->footer(
        "examples:\n"
        "  takt describe execution remind-7\n"
        "  takt describe queue images -w\n"
        "  takt describe worker host-7 -o yaml\n");
    describe->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Describe(client, *options); });
    });
}

}  // namespace takt::internal::cli
