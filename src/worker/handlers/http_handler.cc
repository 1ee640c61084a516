#include "worker/handlers/http_handler.h"

#include <boost/asio/executor_work_guard.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/json.h"
#include "base/url.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

// Of an error page, what a person needs.
constexpr std::size_t kMessageBytesMax = 1'000;

std::string BodyOf(const AssignedTask& task) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject()
        .Field("execution_id", task.execution_id)
        .Field("task_id", task.task_id)
        .Field("task_name", task.task_name)
        .Field("type", task.type)
        .Field("attempt", task.attempt)
        .Field("epoch", task.epoch)
        .Field("scheduled_at", task.scheduled_at);
    json.Key("payload");
    if (task.payload.empty()) {
        json.Null();
    } else if (CheckJson(task.payload, {.bytes_max = task.payload.size()})) {
        json.Raw(task.payload);
    } else {
        json.Value(task.payload);
    }
    json.Key("metadata").BeginObject();
    for (const auto& [key, value] : task.metadata) json.UserKey(key).Value(value);
    json.EndObject();
    if (!task.parent_id.empty()) {
        json.Field("parent_id", task.parent_id).Field("step", task.step);
    }
    if (task.shard_total > 0) {
        json.Key("shard").BeginObject().Field("index", task.shard_index);
        json.Field("total", task.shard_total).EndObject();
    }
    if (!task.locks.empty()) {
        json.Key("locks").BeginArray();
        for (const DeclaredLock& lock : task.locks) {
            json.BeginObject().Field("name", lock.name).Field("token", lock.token);
            json.Field("permits", lock.permits).EndObject();
        }
        json.EndArray();
    }
    json.EndObject();
    return body;
}

// The state that the caller and the network thread share; the latter may come late.
struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<HttpAnswer>> answer;
    bool stopped = false;
};

}  // namespace

TaskResult ResultOfAnswer(const HttpAnswer& answer) {
    if (answer.status >= 200 && answer.status < 300) return TaskResult::Success(answer.body);
    const bool retryable = answer.status == 408 || answer.status == 425 || answer.status == 429 ||
                           answer.status >= 500;
    std::string message = "HTTP " + std::to_string(answer.status);
    if (!answer.body.empty()) {
        message += ": ";
        message += CutUtf8(answer.body, kMessageBytesMax);
    }
    return retryable ? TaskResult::Failure(std::move(message), answer.status)
                     : TaskResult::FinalFailure(std::move(message), answer.status);
}

Result<std::shared_ptr<HttpTaskHandler>> HttpTaskHandler::Create(HttpHandlerOptions options) {
    if (auto url = ParseUrl(options.url); !url) return std::unexpected(url.error());
    auto handler = std::shared_ptr<HttpTaskHandler>(new HttpTaskHandler(std::move(options)));
    auto client = HttpClient::Create(handler->loop_, handler->options_.client);
    if (!client) return std::unexpected(client.error());
    handler->client_ = std::move(*client);
    handler->thread_ = std::thread([&loop = handler->loop_] {
        const auto work = boost::asio::make_work_guard(loop);
        loop.run();
    });
    return handler;
}

HttpTaskHandler::~HttpTaskHandler() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    client_.reset();
}

TaskResult HttpTaskHandler::Execute(TaskContext& context) {
    HttpCall call{.method = HttpMethod::kPost,
                  .url = options_.url,
                  .headers = options_.headers,
                  .body = BodyOf(context.task()),
                  .timeout = context.Remaining(options_.timeout) + kDeadlineSlack,
                  .response_bytes_max = options_.response_bytes_max};
    call.headers.emplace_back("Content-Type", "application/json");
    // The same attempt twice is the same request: services can tell by it.
    call.headers.emplace_back("Idempotency-Key", context.task().execution_id + "/" +
                                                     std::to_string(context.task().attempt));
    if (!context.task().traceparent.empty()) {
        call.headers.emplace_back("traceparent", context.task().traceparent);
        if (!context.task().tracestate.empty()) {
            call.headers.emplace_back("tracestate", context.task().tracestate);
        }
    }
    const auto waiting = std::make_shared<Waiting>();
    client_->Send(std::move(call), [waiting](Result<HttpAnswer> answer) {
        const std::scoped_lock lock(waiting->mutex);
        waiting->answer = std::move(answer);
        waiting->changed.notify_all();
    });
    const std::stop_callback on_stop(context.stop_token(), [waiting] {
        const std::scoped_lock lock(waiting->mutex);
        waiting->stopped = true;
        waiting->changed.notify_all();
    });
    std::unique_lock lock(waiting->mutex);
    // The call has a timeout of its own, so one of the two always comes.
    waiting->changed.wait(lock, [&] { return waiting->answer || waiting->stopped; });
    if (!waiting->answer) return TaskResult::Failure("given up: the attempt was to stop");
    if (*waiting->answer) return ResultOfAnswer(**waiting->answer);
    const Error& error = waiting->answer->error();
    if (error.code == ErrorCode::kInvalid) return TaskResult::FinalFailure(error.detail);
    // It was called and has answered: the next answer would be as large, and the work done twice.
    if (error.field == "response_bytes_max") {
        return TaskResult::FinalFailure(error.detail + "; it was called, and may have done it");
    }
    return TaskResult::Failure(error.detail);
}

}  // namespace takt::internal
