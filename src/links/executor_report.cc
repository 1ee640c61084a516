#include "links/executor_report.h"

#include <boost/json/value.hpp>

#include "base/json.h"

namespace takt::internal {
namespace {

namespace json = boost::json;

boost::intrusive_ptr<Outcome> Failure(Reason reason, std::int32_t code, std::string_view message) {
    if (message.size() > kErrorBytesMax) {
        std::size_t end = kErrorBytesMax;
        // Not in the middle of a character.
        while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
        message = message.substr(0, end);
    }
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = reason;
    outcome->code = code;
    outcome->message = Text(message);
    return outcome;
}

std::unexpected<Error> Bad(std::string_view field, std::string_view why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::string(why),
                std::string(field));
}

Result<boost::intrusive_ptr<Outcome>> ReadError(const json::value& error) {
    if (error.is_null()) return Failure(Reason::kHandlerFailed, 0, "");
    if (error.is_string()) return Failure(Reason::kHandlerFailed, 0, error.get_string());
    if (!error.is_object()) return Bad("error", "must be a text or {code, message}");
    std::int32_t code = 0;
    if (const json::value* number = error.get_object().if_contains("code")) {
        if (!number->is_int64() || number->get_int64() < INT32_MIN ||
            number->get_int64() > INT32_MAX) {
            return Bad("error.code", "must be a number of 32 bits");
        }
        code = static_cast<std::int32_t>(number->get_int64());
    }
    const json::value* message = error.get_object().if_contains("message");
    if (message && !message->is_string()) return Bad("error.message", "must be a text");
    return Failure(Reason::kHandlerFailed, code,
                   message ? std::string_view(message->get_string()) : "");
}

// Nothing if there is no status, or one that is not final.
Result<std::optional<ExecutorReport>> ReadReport(const json::object& object) {
    const json::value* name = object.if_contains("status");
    if (!name || name->is_null()) return std::nullopt;
    const auto status = name->is_string() ? ParseStatus(name->get_string()) : std::nullopt;
    if (status != Status::kSuccess && status != Status::kFailed) return std::nullopt;
    ExecutorReport report{.success = status == Status::kSuccess};
    const json::value* error = object.if_contains("error");
    auto outcome = ReadError(error ? *error : json::value());
    if (!outcome) return std::unexpected(outcome.error());
    if (report.success) (*outcome)->reason = Reason::kNone;
    if (const json::value* retryable = object.if_contains("retryable")) {
        if (!retryable->is_bool()) return Bad("retryable", "must be true or false");
        report.retryable = retryable->get_bool();
    }
    if (const json::value* result = object.if_contains("result"); result && !result->is_null()) {
        std::string text;
        AppendJson(text, *result);
        (*outcome)->data = Text(text);
    }
    report.outcome = std::move(*outcome);
    return report;
}

Result<std::string> ReadText(const json::value& value, std::string_view field) {
    if (!value.is_string()) return Bad(field, "must be a text");
    return std::string(value.get_string());
}

PushAnswer Ended(Reason reason, int code, std::string_view message, bool retryable) {
    return {
        .ended = ExecutorReport{.retryable = retryable, .outcome = Failure(reason, code, message)},
        .instance_failed = false};
}

PushAnswer ReadFailedCall(const Error& error) {
    const std::string message = "the executor could not be called: " + error.detail;
    switch (error.code) {
        case ErrorCode::kInvalid:  // The address is not allowed; nor will it be in a moment.
            return Ended(Reason::kRejected, 0, message, false);
        case ErrorCode::kExhausted:
            return Ended(Reason::kRejected, 0,
                         "the executor's answer is larger than " + std::to_string(kReportBytesMax) +
                             " bytes",
                         false);
        default:
            break;
    }
    PushAnswer answer = Ended(Reason::kHandlerFailed, 0, message, true);
    answer.instance_failed = true;
    return answer;
}

PushAnswer ReadOk(const std::string& body) {
    const auto value = ParseJson(body, {.bytes_max = kReportBytesMax});
    // "ok" or an empty body: it was taken, and says no more.
    if (!value || !value->is_object()) return {};
    auto report = ReadReport(value->get_object());
    if (!report) {
        return Ended(Reason::kRejected, 200,
                     "the executor's answer cannot be understood: " + report.error().detail, false);
    }
    return {.ended = std::move(*report)};
}

}  // namespace

Result<CallbackBody> ReadCallback(std::string_view body) {
    const auto value = ParseJson(body, {.bytes_max = kReportBytesMax});
    if (!value) return std::unexpected(value.error());
    if (!value->is_object()) return Fail(ErrorCode::kInvalid, "a callback must be a JSON object");
    CallbackBody callback;
    for (const auto& member : value->get_object()) {
        const std::string_view key = member.key();
        if (key == "token" || key == "execution_id") {
            auto text = ReadText(member.value(), key);
            if (!text) return std::unexpected(text.error());
            (key == "token" ? callback.token : callback.execution_id) = std::move(*text);
        } else if (key != "status" && key != "result" && key != "error" && key != "retryable") {
            return Fail(ErrorCode::kInvalid,
                        "there is no field '" + std::string(key.substr(0, 64)) +
                            "'; a callback has status, result, error, retryable, token and "
                            "execution_id",
                        std::string(key.substr(0, 64)));
        }
    }
    auto report = ReadReport(value->get_object());
    if (!report) return std::unexpected(report.error());
    if (!*report) return Bad("status", "must be success, completed or failed");
    callback.report = std::move(**report);
    return callback;
}

PushAnswer ReadPushAnswer(const Result<HttpAnswer>& answer) {
    if (!answer) return ReadFailedCall(answer.error());
    const int status = answer->status;
    if (status == 200) return ReadOk(answer->body);
    if (status > 200 && status < 300) return {};
    const std::string said = "the executor answered " + std::to_string(status);
    if (status >= 300 && status < 400) {
        return Ended(Reason::kRejected, status, said + "; redirects are not followed", false);
    }
    if (status == 429 || status >= 500) {
        PushAnswer busy = Ended(Reason::kHandlerFailed, status, said, true);
        busy.instance_failed = true;
        return busy;
    }
    return Ended(Reason::kRejected, status, said, false);
}

}  // namespace takt::internal
