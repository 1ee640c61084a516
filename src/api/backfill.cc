// Backfill: executions for past due times of a recurring task, none that exists already. It is a run
// with one step over these times; what is made of it is the engine's business.
#include <algorithm>
#include <set>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/execution_json.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "engine/passed_over.h"
#include "model/fire_plan.h"
#include "model/workflow.h"
#include "store/list_page.h"

namespace takt::internal {
namespace {

// Due times that are shown of a preview.
constexpr std::size_t kShownMax = 1'000;
// Executions of the task that are looked through for those that exist already.
constexpr std::size_t kLookedAtMax = 200'000;
constexpr std::uint32_t kParallel = 10;

struct BackfillBody {
    Time from{};
    Time to{};
    std::uint32_t parallel_max = 0;
    bool dry_run = false;
};

const RequestTable<BackfillBody>& BackfillFields() {
    using Take = TakenBy<BackfillBody>;
    const auto time = [](Time BackfillBody::* place) {
        return Take::Own(schema::Time(), "time",
                         [place](BackfillBody& body, const JsonView& value,
                                 std::string_view name) -> Result<void> {
                             const auto read = ReadTime(value, name);
                             if (!read) return std::unexpected(read.error());
                             body.*place = *read;
                             return {};
                         });
    };
    static const RequestTable<BackfillBody> fields = {
        {"from", "The first due time, or any before it.", time(&BackfillBody::from).Required()},
        {"to", "Due times before this; now unless given.", time(&BackfillBody::to)},
        {"parallel_max",
         "So many unfinished at a time. Unless given, 10 for a parallel task and 1 for one that "
         "skips or replaces; always 1 for a sequential task.",
         Take::Count(&BackfillBody::parallel_max, {1, 1'000})},
        {"dry_run", "Only tells what would be run.", Take::Truth(&BackfillBody::dry_run)}};
    return fields;
}

// One request on its way through the store's pages.
struct Backfill {
    Call call;
    BackfillBody body;
    TaskPtr task;
    std::vector<Time> due;
    std::set<Time> existing;
    std::size_t to_come = 0;  // Left to the task's own schedule.
    std::size_t looked_at = 0;
    ExecutionFilter filter = {};

    explicit Backfill(Call made) : call(std::move(made)) {}
};
using BackfillPtr = std::shared_ptr<Backfill>;

Result<std::vector<Time>> DueTimesOf(const Task& task, const BackfillBody& body) {
    const auto plan = FirePlan::Make(*task.opt().recurrence, task.created_at);
    if (!plan) return std::unexpected(plan.error());
    if (plan->after_end()) {
        return Fail(ErrorCode::kInvalid,
                    "the task fires some time after the end of each run and has no due times that "
                    "could be made up for; trigger it instead",
                    "from");
    }
    std::vector<Time> due;
    for (auto next = plan->Next(body.from - Duration(1)); next && *next < body.to;
         next = plan->Next(*next)) {
        if (due.size() >= kStepChildrenMax) {
            return BadField("to", "is too far from 'from': there are more than " +
                                      std::to_string(kStepChildrenMax) +
                                      " due times in between; ask for a part of them");
        }
        due.push_back(*next);
    }
    return due;
}

// A task that skips or replaces runs wants one at a time; of the past none is skipped or replaced, so
// they follow each other, unless who asks knows better. Sequential runs never overlap.
std::uint32_t ParallelMax(Mode mode, const BackfillBody& body) {
    if (mode == Mode::kSequential) return 1;
    if (body.parallel_max > 0) return body.parallel_max;
    return mode == Mode::kParallel ? kParallel : 1;
}

Submit SubmitOf(const Backfill& backfill) {
    std::string list = "[";
    for (const Time due : backfill.due) {
        if (list.size() > 1) list += ',';
        list += std::to_string(due.time_since_epoch().count());
    }
    auto task = NewTaskPtr(new Task);
    task->name = "backfill";
    WorkflowStep step;
    step.task = std::move(task);
    step.named = backfill.task->id.text();
    step.for_each = Text(list + "]");
    step.parallel_max = ParallelMax(backfill.task->opt().mode, backfill.body);
    step.backfill = true;
    auto run = NewTaskPtr(new Task);
    run->name = Text("backfill of " + backfill.task->name.str());
    run->queue = backfill.task->queue;
    run->priority = backfill.task->priority;
    auto options = std::make_unique<TaskOptions>();
    // One at a time: what another one has made and ended meanwhile would be made again.
    options->unique_key = Text("backfill of " + backfill.task->id.text().str());
    options->workflow =
        Workflow::Make({std::move(step)}, {.on_failure = OnFailure::kContinue}).value();
    run->options = std::move(options);
    return Submit{.task = std::move(run)};
}

void SendBackfill(Backfill& backfill, const Execution* run) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Key("run");
    run ? WriteExecution(json, {*run}) : static_cast<void>(json.Null());
    json.Field("count", backfill.due.size()).Field("existing", backfill.existing.size());
    json.Field("to_come", backfill.to_come);
    json.Key("due").BeginArray();
    for (std::size_t i = 0; i < std::min(backfill.due.size(), kShownMax); ++i) {
        json.Value(backfill.due[i]);
    }
    json.EndArray().EndObject();
    backfill.call.Json(run ? 201 : 200, std::move(body));
}

void Begin(const BackfillPtr& backfill) {
    // Of those that exist only what lies in the range counts.
    std::erase_if(backfill->existing,
                  [&](Time time) { return !std::ranges::binary_search(backfill->due, time); });
    std::erase_if(backfill->due, [&](Time time) { return backfill->existing.contains(time); });
    if (backfill->body.dry_run || backfill->due.empty()) return SendBackfill(*backfill, nullptr);
    Node& node = backfill->call.services().node;
    Submit submit = SubmitOf(*backfill);
    submit.by = ActOf(backfill->call, {.target = {"task", backfill->task->id.text().str()}});
    node.Ask(std::move(submit), [backfill](Result<Answer> answer) {
        if (!answer) return backfill->call.RefuseAnswer(answer.error());
        SendBackfill(*backfill, &answer->execution);
    });
}

// Looks through the kept executions of the task, newest first: each has the due time that it is of.
void LookThrough(const BackfillPtr& backfill) {
    backfill->call.services().rows.ListExecutions(
        backfill->filter, [backfill](Result<std::vector<Execution>> rows) {
            if (!rows) return backfill->call.RefuseAnswer(rows.error());
            for (const Execution& row : *rows) {
                if (row.status != Status::kSkipped) backfill->existing.insert(row.scheduled_at);
            }
            backfill->looked_at += rows->size();
            if (!MoreMayFollow(backfill->filter, *rows)) return Begin(backfill);
            if (backfill->looked_at >= kLookedAtMax) {
                return backfill->call.RefuseAnswer(
                    {ErrorCode::kInvalid,
                     "the task has had more executions since then than can be looked through; ask "
                     "for a later part",
                     "from"});
            }
            backfill->filter.before = rows->back().serial;
            LookThrough(backfill);
        });
}

void MakeBackfill(Call call) {
    auto id = PathId<TaskId>(call);
    if (!id) return;
    auto body = ReadBody(call, BackfillFields());
    if (!body) return call.RefuseRequest(body.error());
    auto backfill = std::make_shared<Backfill>(std::move(call));
    backfill->body = *body;
    backfill->call.services().rows.FindTask(*id, [backfill](Result<TaskRow> row) {
        Call& call = backfill->call;
        if (!row) return call.RefuseAnswer(row.error());
        const Time now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
        BackfillBody& body = backfill->body;
        if (body.to == Time{} || body.to > now) body.to = now;
        if (body.from >= body.to) {
            return call.RefuseRequest(BadField("from", "must be before 'to', in the past").error());
        }
        backfill->task = row->task;
        auto due = DueTimesOf(*row->task, body);
        if (!due) return call.RefuseRequest(due.error());
        backfill->due = std::move(*due);
        // The row was read before the executions are: what it has accounted for is among them.
        backfill->to_come =
            std::erase_if(backfill->due, [&](Time time) { return IsStillToCome(*row, time); });
        backfill->filter.task = row->task->id;
        backfill->filter.children = true;
        backfill->filter.created_from = body.from;
        backfill->filter.limit = 1'000;
        backfill->filter.brief = true;
        LookThrough(backfill);
    });
}

}  // namespace

void AddBackfillSchemas(SchemaList& to) {
    to.emplace_back("BackfillRequest", RequestSchema(BackfillFields()));
    to.emplace_back("Backfill", schema::Object()
                                    .Add("run", schema::OrNull(schema::Reference("Execution")))
                                    .Add("count", schema::Integer(0))
                                    .Add("existing", schema::Integer(0))
                                    .Add("to_come", schema::Integer(0))
                                    .Add("due", schema::ListOf(schema::Time()))
                                    .Text());
}

void AddBackfillRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/api/v1/tasks/{id}/backfill",
                      .permission = Permission::kOperator,
                      .where = Where::kLeader,
                      .handler = MakeBackfill,
                      .tag = "tasks",
                      .summary = "Run a recurring task for past due times that have no execution",
                      .takes = "BackfillRequest",
                      .gives = "Backfill",
                      .success = 201,
                      .also = 200});
}

}  // namespace takt::internal
