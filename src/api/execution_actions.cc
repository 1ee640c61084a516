// Executions: cancel, retry and conclude, one by one or by filter.
#include <algorithm>
#include <array>
#include <atomic>

#include "api/execution_json.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resources.h"
#include "api/services.h"
#include "api/task_json.h"

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
    auto reason = ReadReason(call.request().body);
    if (!reason) return call.RefuseRequest(reason.error());
    Node& node = call.services().node;
    Cancel cancel{.execution = std::move(*id), .reason = std::move(*reason)};
    node.Ask(std::move(cancel), SendExecution(std::move(call)));
}

void RetryOne(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    Node& node = call.services().node;
    Redrive redrive{.execution = std::move(*id)};
    node.Ask(std::move(redrive), SendExecution(std::move(call)));
}

// --- Concluding ---------------------------------------------------------------------------------

Result<Conclude> ReadConclusion(const Call& call) {
    static constexpr std::array<std::string_view, 3> kNames = {"status", "message", "result"};
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    std::optional<Status> status;
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    std::string scratch;
    JsonView::Members members(*object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (members.key() == kNames[0]) {
            if (value.is_string()) status = ParseStatus(value.AsString(scratch));
            if (!status || !IsTerminal(*status) || *status == Status::kSkipped) {
                return BadField("status", "must be success, failed or cancelled");
            }
        } else if (members.key() == kNames[1]) {
            const auto text = ReadText(value, "message", kReasonBytesMax, scratch);
            if (!text) return std::unexpected(text.error());
            outcome->message = Text(*text);
        } else if (members.key() == kNames[2]) {
            if (!value.is_null()) outcome->data = Text(value.raw());
        } else {
            return UnknownField(members.key(), kNames);
        }
    }
    if (!status) return BadField("status", "is missing");
    if (*status == Status::kFailed) outcome->reason = Reason::kHandlerFailed;
    if (*status == Status::kCancelled) outcome->reason = Reason::kCancelled;
    return Conclude{.status = *status, .outcome = std::move(outcome)};
}

void ConcludeOne(Call call) {
    auto id = PathId<ExecutionId>(call);
    if (!id) return;
    auto conclude = ReadConclusion(call);
    if (!conclude) return call.RefuseRequest(conclude.error());
    conclude->execution = std::move(*id);
    Node& node = call.services().node;
    node.Ask(std::move(*conclude), SendExecution(std::move(call)));
}

// --- By filter ----------------------------------------------------------------------------------

Result<ExecutionFilter> ReadFilter(const Call& call) {
    static constexpr std::array<std::string_view, 9> kNames = {
        "task_id", "status", "worker_id", "type", "queue", "from", "to", "limit", "cursor"};
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    ExecutionFilter filter;
    std::string scratch;
    JsonView::Members members(*object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (members.key() == "limit") {
            const auto limit = ReadInteger(value, "limit", {1, kPageMax});
            if (!limit) return std::unexpected(limit.error());
            filter.limit = static_cast<std::size_t>(*limit);
            continue;
        }
        if (members.key() == "cursor") {
            const auto before =
                ParseSerialCursor(value.is_string() ? value.AsString(scratch) : std::string_view());
            if (!before) return std::unexpected(before.error());
            filter.before = *before;
            continue;
        }
        const auto set =
            SetFilter(filter, members.key(), value.is_string() ? value.AsString(scratch) : "");
        if (!set) return std::unexpected(set.error());
        if (!*set) return UnknownField(members.key(), kNames);
    }
    return filter;
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
    for (std::size_t i = 0; i < sweep->ids.size(); ++i) {
        node.Ask(make(sweep->ids[i]), [sweep, i](Result<Answer> answer) {
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

template <typename MakeInput>
void ChangeByFilter(Call call, SweepRule<MakeInput> rule) {
    auto filter = ReadFilter(call);
    if (!filter) return call.RefuseRequest(filter.error());
    if (auto fits = CheckStatuses(filter->statuses, rule.possible); !fits) {
        return call.RefuseRequest(fits.error());
    }
    if (filter->statuses.empty()) filter->statuses = std::move(rule.standard);
    filter->brief = true;
    Store& store = call.services().store;
    auto sweep = std::make_shared<Sweep>(std::move(call));
    store.ListExecutions(*filter, [sweep, make = rule.make,
                                   limit = filter->limit](Result<std::vector<Execution>> rows) {
        if (!rows) return sweep->call.RefuseAnswer(rows.error());
        for (const Execution& row : *rows) sweep->ids.push_back(row.id);
        if (rows->size() == limit) {
            sweep->next = SerialCursor(rows->back().serial);
        }
        ChangeAll(sweep, make);
    });
}

void RetryMany(Call call) {
    ChangeByFilter(std::move(call), SweepRule{.standard = {Status::kFailed},
                                              .possible = {Status::kFailed, Status::kCancelled},
                                              .make = [](const ExecutionId& id) {
                                                  return Redrive{.execution = id};
                                              }});
}

void CancelMany(Call call) {
    const std::vector<Status> unfinished = {Status::kPending, Status::kScheduled, Status::kRunning,
                                            Status::kRetrying};
    ChangeByFilter(
        std::move(call),
        SweepRule{
            .standard = unfinished, .possible = unfinished, .make = [](const ExecutionId& id) {
                return Cancel{.execution = id, .reason = "cancelled with others"};
            }});
}

}  // namespace

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
         .summary = "Run a failed or cancelled execution again",
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
         .summary = "Run failed executions again, up to 1000 that a filter matches",
         .takes = "ExecutionFilter",
         .gives = "SweepAnswer"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/executions/cancel",
         .handler = CancelMany,
         .summary = "End unfinished executions, up to 1000 that a filter matches",
         .takes = "ExecutionFilter",
         .gives = "SweepAnswer"});
}

}  // namespace takt::internal
