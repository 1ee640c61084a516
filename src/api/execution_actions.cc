// Executions: cancel, retry and conclude, one by one or by filter.
#include <algorithm>
#include <atomic>

#include "api/audit.h"
#include "api/call_body.h"
#include "api/execution_json.h"
#include "api/execution_search.h"
#include "api/query.h"
#include "api/reason_body.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/task_json.h"
#include "model/workflow.h"

namespace takt::internal {
namespace {

Done<Answer> SendExecution(Call call) {
    return [call = std::move(call)](Result<Answer> answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        std::string body;
        JsonWriter json(body);
        WriteExecution(json, {answer->execution});
        call.Json(200, std::move(body));
    };
}

void CancelOne(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    auto body = ReadBody(call, ReasonFields());
    if (!body) return call.RefuseRequest(body.error());
    Node& node = call.services().node;
    Cancel cancel{
        .execution = std::move(*id), .reason = std::move(body->reason), .by = ActOf(call)};
    node.Ask(std::move(cancel), SendExecution(std::move(call)));
}

struct RetryBody {
    std::optional<std::vector<std::string>> steps;
};

const RequestTable<RetryBody>& RetryFields() {
    using Take = TakenBy<RetryBody>;
    static const RequestTable<RetryBody> fields = {
        {"steps",
         "Of a run: these steps and what comes after them run again, also if they succeeded.",
         Take::Texts(&RetryBody::steps, 64, kStepsMax)}};
    return fields;
}

void RetryOne(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    auto body = ReadBody(call, RetryFields());
    if (!body) return call.RefuseRequest(body.error());
    // A caller that worked out a list and found nothing does not mean all.
    if (body->steps && body->steps->empty()) {
        return call.RefuseRequest(
            BadField("steps",
                     "is an empty list; name the steps that are to run again, or leave it out to "
                     "run again all that has not succeeded")
                .error());
    }
    Node& node = call.services().node;
    Redrive redrive{.execution = std::move(*id)};
    redrive.by = ActOf(call);
    if (body->steps) redrive.steps.assign(body->steps->begin(), body->steps->end());
    node.Ask(std::move(redrive), SendExecution(std::move(call)));
}

// --- Concluding ---------------------------------------------------------------------------------

struct ConclusionBody {
    Status status{};
    Text message;
    Text result;
};

const RequestTable<ConclusionBody>& ConclusionFields() {
    using Take = TakenBy<ConclusionBody>;
    const auto read_result = [](ConclusionBody& body, const JsonView& value,
                                std::string_view) -> Result<void> {
        if (!value.is_null()) body.result = Text(value.raw());
        return {};
    };
    static const RequestTable<ConclusionBody> fields = {
        {"status", "How it ended.",
         Take::Choice(&ConclusionBody::status, ParseStatus, {"success", "failed", "cancelled"})
             .Required()},
        {"message", "Shown as its error, of a success as its message.",
         Take::Text(&ConclusionBody::message, kReasonBytesMax)},
        {"result", "What came of it.", Take::Own(schema::Any(), "any JSON", read_result)}};
    return fields;
}

Conclude ConcludeAs(ExecutionId id, ConclusionBody body) {
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->message = std::move(body.message);
    outcome->data = std::move(body.result);
    if (body.status == Status::kFailed) outcome->reason = Reason::kHandlerFailed;
    if (body.status == Status::kCancelled) outcome->reason = Reason::kCancelled;
    return {.execution = std::move(id), .status = body.status, .outcome = std::move(outcome)};
}

void ConcludeOne(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    auto body = ReadBody(call, ConclusionFields());
    if (!body) return call.RefuseRequest(body.error());
    Node& node = call.services().node;
    Conclude conclude = ConcludeAs(std::move(*id), std::move(*body));
    conclude.by = ActOf(call);
    node.Ask(std::move(conclude), SendExecution(std::move(call)));
}

// --- By filter ----------------------------------------------------------------------------------

const RequestTable<ExecutionQuery>& FilterFields() {
    using Take = TakenBy<ExecutionQuery>;
    // The same words as behind the question mark of a list.
    const auto part = [](std::string schema, std::string words) {
        return Take::Own(std::move(schema), std::move(words),
                         [](ExecutionQuery& filter, const JsonView& value,
                            std::string_view name) -> Result<void> {
                             std::string scratch;
                             const auto set = SetFilter(
                                 filter, name, value.is_string() ? value.AsString(scratch) : "");
                             if (!set) return std::unexpected(set.error());
                             return {};
                         });
    };
    const auto read_cursor = [](ExecutionQuery& filter, const JsonView& value,
                                std::string_view) -> Result<void> {
        std::string scratch;
        const auto before =
            ParseSerialCursor(value.is_string() ? value.AsString(scratch) : std::string_view());
        if (!before) return std::unexpected(before.error());
        filter.before = *before;
        return {};
    };
    static const RequestTable<ExecutionQuery> fields = {
        {"task_id", "Of this task.", part(schema::Text(), "id")},
        {"status", "In these states, parted by commas.", part(schema::Text(), "states")},
        {"worker_id", "That this worker had.", part(schema::Text(), "id")},
        {"type", "Of this type.", part(schema::Text(), "text")},
        {"queue", "Of this queue.", part(schema::Text(), "text")},
        {"search", "With this in names, ids, metadata, error or parameters; see the list.",
         part(schema::Text(), "text")},
        {"metadata", "With this metadata.", part(schema::Text(), "name=value")},
        {"parameters", "With this value in the parameters.", part(schema::Text(), "path=value")},
        {"from", "Made then or later.", part(schema::Time(), "time")},
        {"to", "Made before.", part(schema::Time(), "time")},
        {"limit", "How many at most.", Take::Count(&ExecutionQuery::limit, {1, kPageMax})},
        {"cursor", "next_cursor of the call before: goes on with older ones.",
         Take::Own(schema::Text(), "text", read_cursor)}};
    return fields;
}

// Many changes under way for one call. Each ends by itself: what could not be done is listed.
struct Sweep {
    explicit Sweep(Call asked) : call(std::move(asked)) {}

    Call call;
    std::vector<ExecutionId> ids;
    std::vector<std::optional<Problem>> problems;
    // Where to go on, if the filter may match further ones. Only older ones follow, so that what is
    // run again and fails again at once is not matched a second time.
    std::optional<std::string> next;
    std::atomic<std::size_t> waiting = 0;

    void Send() {
        std::size_t changed = 0;
        for (const auto& problem : problems) changed += !problem;
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Field("matched", ids.size()).Field("changed", changed);
        json.Field("more", next.has_value()).Key("items").BeginArray();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            json.BeginObject().Field("id", ids[i].view());
            json.Field("status", problems[i] ? problems[i]->status : 200);
            if (problems[i]) {
                json.Key("problem");
                WriteProblem(json, *problems[i], {});
            }
            json.EndObject();
        }
        EndPage(json, next);
        call.Json(200, std::move(body));
    }
};

template <typename MakeInput>
void ChangeAll(const std::shared_ptr<Sweep>& sweep, MakeInput make) {
    if (sweep->ids.empty()) return sweep->Send();
    sweep->problems.resize(sweep->ids.size());
    sweep->waiting = sweep->ids.size();
    Node& node = sweep->call.services().node;
    const ActPtr by = ActOf(sweep->call);
    for (std::size_t i = 0; i < sweep->ids.size(); ++i) {
        node.Ask(make(sweep->ids[i], by), [sweep, i](Result<Answer> answer) {
            if (!answer) sweep->problems[i] = ProblemOfAnswer(answer.error());
            if (sweep->waiting.fetch_sub(1, std::memory_order_acq_rel) == 1) sweep->Send();
        });
    }
}

// A change by filter: the states that it takes unless the caller says which, those that it can
// take, and the input that changes one execution.
template <typename MakeInput>
struct SweepRule {
    std::vector<Status> standard;
    std::vector<Status> possible;
    MakeInput make;
};

// A state whose executions would be refused one by one is refused at once.
Result<void> CheckStatuses(const std::vector<Status>& asked, const std::vector<Status>& possible) {
    for (const Status status : asked) {
        if (std::ranges::find(possible, status) != possible.end()) continue;
        std::string names;
        for (const Status each : possible) {
            names += (names.empty() ? "" : ", ") + std::string(Name(each));
        }
        return BadField("status", "cannot be " + std::string(Name(status)) +
                                      " here; this is for executions that are " + names);
    }
    return {};
}

// A script whose variables are all empty does not mean everything that there is.
Result<void> CheckNarrow(const ExecutionQuery& filter) {
    const bool narrow = !filter.statuses.empty() || filter.task || filter.worker || filter.type ||
                        filter.queue || filter.created_from != Time{} ||
                        filter.created_to != Time{} || !filter.words.empty();
    if (narrow) return {};
    return Fail(ErrorCode::kInvalid,
                "give filters, such as task_id or queue: without any this would be for all; who "
                "means all of them names their status");
}

template <typename MakeInput>
Flow<> ChangeByFilter(Call call, SweepRule<MakeInput> rule) {
    auto filter = ReadBody(call, FilterFields());
    if (!filter) co_return call.RefuseRequest(filter.error());
    if (auto narrow = CheckNarrow(*filter); !narrow) co_return call.RefuseRequest(narrow.error());
    if (auto fits = CheckStatuses(filter->statuses, rule.possible); !fits) {
        co_return call.RefuseRequest(fits.error());
    }
    if (filter->statuses.empty()) filter->statuses = std::move(rule.standard);
    auto sweep = std::make_shared<Sweep>(std::move(call));
    const auto page = co_await SearchExecutions(sweep->call, std::move(*filter));
    if (!page) co_return sweep->call.RefuseAnswer(page.error());
    for (const Execution& row : page->rows) sweep->ids.push_back(row.id);
    if (page->more) sweep->next = SerialCursor(page->last);
    ChangeAll(sweep, rule.make);
}

void RetryMany(Call call) {
    Launch(ChangeByFilter(std::move(call),
                          SweepRule{.standard = {Status::kFailed},
                                    .possible = {Status::kFailed, Status::kCancelled},
                                    .make = [](const ExecutionId& id, const ActPtr& by) {
                                        return Redrive{.execution = id, .by = by};
                                    }}));
}

void CancelMany(Call call) {
    const std::vector<Status> unfinished = {Status::kPending, Status::kScheduled, Status::kRunning,
                                            Status::kRetrying};
    Launch(ChangeByFilter(
        std::move(call),
        SweepRule{.standard = unfinished,
                  .possible = unfinished,
                  .make = [](const ExecutionId& id, const ActPtr& by) {
                      return Cancel{.execution = id, .reason = "cancelled with others", .by = by};
                  }}));
}

}  // namespace

void AddExecutionActionSchemas(SchemaList& to) {
    to.emplace_back("ExecutionFilter", RequestSchema(FilterFields()));
    to.emplace_back("RetryRequest", RequestSchema(RetryFields()));
    to.emplace_back("Reason", RequestSchema(ReasonFields()));
    to.emplace_back("Conclusion", RequestSchema(ConclusionFields()));
    to.emplace_back("SweepAnswer", schema::Object()
                                       .Add("matched", schema::Integer(0))
                                       .Add("changed", schema::Integer(0))
                                       .Add("more", schema::Bool())
                                       .Add("items", TouchedSchema())
                                       .Add("next_cursor", schema::OrNull(schema::Text()))
                                       .Text());
}

void AddExecutionActionRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.permission = Permission::kOperator;
        route.where = Where::kLeader;
        route.tag = "executions";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/{id}/cancel",
         .handler = CancelOne,
         .summary = "End an execution that is not finished",
         .takes = "Reason",
         .body_optional = true,
         .gives = "Execution"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/{id}/retry",
         .handler = RetryOne,
         .summary = "Run a failed or cancelled execution again; of a run, what has not succeeded",
         .takes = "RetryRequest",
         .body_optional = true,
         .gives = "Execution"});
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/executions/{id}/status",
         .handler = ConcludeOne,
         .summary = "End an execution as success, failed or cancelled, in place of its worker",
         .takes = "Conclusion",
         .gives = "Execution"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/retry",
         .handler = RetryMany,
         .summary = "Run failed executions again, up to 1000 that at least one filter matches",
         .takes = "ExecutionFilter",
         .gives = "SweepAnswer"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/cancel",
         .handler = CancelMany,
         .summary = "End unfinished executions, up to 1000 that at least one filter matches",
         .takes = "ExecutionFilter",
         .gives = "SweepAnswer"});
}

}  // namespace takt::internal
