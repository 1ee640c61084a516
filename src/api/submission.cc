#include "api/submission.h"

#include <charconv>

#include "api/json_read.h"

namespace takt::internal {
namespace {

constexpr std::size_t kIdempotencyKeyBytesMax = 255;

// version-trace-parent-flags, as W3C Trace Context spells it.
bool IsTraceParent(std::string_view text) {
    if (text.size() != 55) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool dash = i == 2 || i == 35 || i == 52;
        const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (dash ? c != '-' : !hex) return false;
    }
    return true;
}

// A task with an id of the caller's may be sent again from another trace, and is still the same.
void CarryTrace(const HttpRequest& request, Task& task) {
    const auto trace = request.headers.Find("traceparent");
    if (!trace || !task.id.empty() || !IsTraceParent(*trace)) return;
    auto options = std::make_unique<TaskOptions>(task.opt());
    options->trace = Text(*trace);
    task.options = std::move(options);
}

}  // namespace

Result<TaskRequest> ReadTaskBody(Call& call, ReadTaskOptions options) {
    const auto object = ReadObject(call.request().body, call.route().body_bytes_max);
    if (!object) return std::unexpected(object.error());
    options.now = ReadClocks().wall;
    auto request =
        ReadTask(*object, call.services().config.task_limits, call.services().texts, options);
    if (request && !options.base) CarryTrace(call.request(), *request->task);
    return request;
}

Result<void> NameByKey(const Call& call, Task& task) {
    const auto key = call.request().headers.Find("Idempotency-Key");
    if (!key || !task.id.empty()) return {};
    if (key->empty() || key->size() > kIdempotencyKeyBytesMax) {
        return BadField("Idempotency-Key", "must have 1 to 255 bytes");
    }
    const Sha256 hash = Sha256Of(*key);
    task.id = TaskId(Text("k" + HexText({reinterpret_cast<const char*>(hash.data()), 16})));
    return {};
}

Result<IfMatch> ReadIfMatch(const HttpRequest& request) {
    const auto header = request.headers.Find("If-Match");
    if (!header || *header == "*") return IfMatch{};
    std::string_view text = *header;
    if (text.starts_with("W/")) text.remove_prefix(2);
    std::uint32_t version = 0;
    if (text.size() > 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
        if (error == std::errc() && end == text.data() + text.size() && version > 0) {
            return IfMatch{version};
        }
    }
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

void FinishPut(Call call, Result<Answer> answer, std::optional<bool> enabled) {
    if (!answer) return RefuseChange(call, answer.error());
    const int status = answer->created ? 201 : 200;
    if (!enabled || *enabled == !answer->task.state.paused) {
        return SendTask(call, answer->task, status);
    }
    Node& node = call.services().node;
    const PauseTask pause{.task = answer->task.task->id, .paused = !*enabled};
    node.Ask(pause, [call = std::move(call), status](Result<Answer> paused) mutable {
        if (!paused) return call.RefuseAnswer(paused.error());
        SendTask(call, paused->task, status);
    });
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
    const PutTask put{.task = request.task,
                      .create_only = rule.create_only && !request.task->id.empty(),
                      .if_version = rule.if_version};
    node.Ask(put,
             [call = std::move(call), enabled = request.enabled](Result<Answer> answer) mutable {
                 FinishPut(std::move(call), std::move(answer), enabled);
             });
}

}  // namespace takt::internal
