#include "api/submission.h"

#include <charconv>

#include "api/audit.h"
#include "api/json_read.h"
#include "trace/trace_context.h"

namespace takt::internal {
namespace {

constexpr std::size_t kIdempotencyKeyBytesMax = 255;

}  // namespace

void CarryTrace(const CallerTrace& trace, Task& task) {
    // Runs of a recurring task are traces of their own. What the task itself says is closer to
    // whoever made it. A header that is none is to be ignored: that is the specification's word.
    if (task.recurring() || !task.opt().trace.empty() || !ParseTraceParent(trace.parent)) return;
    auto options = std::make_unique<TaskOptions>(task.opt());
    options->trace = Text(trace.parent);
    if (IsTraceState(trace.state)) options->trace_state = Text(trace.state);
    task.options = std::move(options);
}

Result<TaskRequest> ReadTaskBody(Call& call, const ReadTaskOptions& options) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    auto request =
        ReadTask(*object, call.services().config.task_limits, call.services().texts, options);
    const HttpHeaders& headers = call.request().headers;
    if (request && !options.base) {
        CarryTrace({.parent = headers.Find("traceparent").value_or(""),
                    .state = headers.Find("tracestate").value_or("")},
                   *request->task);
    }
    return request;
}

Result<Text> IdOfKey(std::optional<std::string_view> key, std::string_view place) {
    if (!key) return Text();
    if (key->empty() || key->size() > kIdempotencyKeyBytesMax) {
        return BadField(std::string(kIdempotencyKey.name), "must have 1 to 255 bytes");
    }
    // No key can have the line break.
    const Sha256 hash =
        Sha256Of(place.empty() ? std::string(*key) : std::string(*key) + "\n" + std::string(place));
    return Text("k" + HexText({reinterpret_cast<const char*>(hash.data()), 16}));
}

std::optional<std::uint32_t> VersionOfETag(std::string_view text) {
    if (text.starts_with("W/")) text.remove_prefix(2);
    if (text.size() <= 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::uint32_t version = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return version;
}

Result<IfMatch> ReadIfMatch(const HttpRequest& request) {
    const auto header = request.headers.Find("If-Match");
    if (!header || *header == "*") return IfMatch{};
    const auto version = VersionOfETag(*header);
    if (version && *version > 0) return IfMatch{*version};
    return BadField("If-Match", "must be one ETag of this task, such as \"3\"");
}

void SendTask(Call& call, const TaskRow& row, int status) {
    std::string body;
    JsonWriter json(body);
    WriteTask(json, row);
    HttpResponse response = HttpResponse::Json(status, std::move(body));
    response.headers.emplace_back("ETag", "\"" + std::to_string(row.task->version) + "\"");
    if (status == 201) {
        response.headers.emplace_back("Location", "/api/v1/tasks/" + row.task->id.text().str());
    }
    call.Send(std::move(response));
}

void SendOnceTask(Call& call, const Execution& execution, int status) {
    std::string body;
    JsonWriter json(body);
    WriteOnceTask(json, execution);
    HttpResponse response = HttpResponse::Json(status, std::move(body));
    if (status == 201) {
        response.headers.emplace_back("Location", "/api/v1/tasks/" + execution.id.text().str());
    }
    call.Send(std::move(response));
}

void RefuseChange(Call& call, const Error& error) {
    Problem problem = ProblemOfAnswer(error);
    if (error.code == ErrorCode::kConflict && error.field == "version" &&
        call.request().headers.Find("If-Match")) {
        problem.status = 412;
        problem.code = "precondition_failed";
        problem.field = "If-Match";
    }
    call.Refuse(problem);
}

void FinishPut(Call call, Result<Answer> answer) {
    if (!answer) return RefuseChange(call, answer.error());
    SendTask(call, answer->task, answer->created ? 201 : 200);
}

void Create(Call call, TaskRequest request, CreateRule rule) {
    Node& node = call.services().node;
    if (!request.task->recurring()) {
        if (rule.if_version != 0) {
            return call.Refuse(
                {412, "precondition_failed", "a one-off task has no versions", "If-Match"});
        }
        return node.Ask(Submit{.task = std::move(request.task)},
                        [call = std::move(call)](Result<Answer> answer) mutable {
                            if (!answer) return call.RefuseAnswer(answer.error());
                            SendOnceTask(call, answer->execution, answer->created ? 201 : 200);
                        });
    }
    PutTask put{.task = request.task,
                .create_only = rule.create_only && !request.task->id.empty(),
                .if_version = rule.if_version,
                .by = ActOf(call)};
    if (request.enabled) put.paused = !*request.enabled;
    node.Ask(std::move(put), [call = std::move(call)](Result<Answer> answer) mutable {
        FinishPut(std::move(call), std::move(answer));
    });
}

}  // namespace takt::internal
