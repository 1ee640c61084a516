#include "links/service_report.h"

#include <boost/json/value.hpp>
#include <utility>

#include "base/failpoint.h"
#include "base/json.h"
#include "base/json_grammar.h"
#include "base/utf8.h"
#include "links/frame_inputs.h"
#include "wire/service_status.h"

namespace takt::internal {
namespace {

namespace json = boost::json;

// Longer words are no status; the start shows what it was.
constexpr std::size_t kStatusWordBytesMax = 64;

boost::intrusive_ptr<Outcome> Failure(Reason reason, std::int32_t code, std::string_view message) {
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = reason;
    outcome->code = code;
    outcome->message = Text(CutUtf8(message, kErrorBytesMax));
    return outcome;
}

std::unexpected<Error> Bad(std::string_view field, std::string_view why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::string(why),
                std::string(field));
}

struct ErrorCodeRead {
    std::int32_t number = 0;
    std::string word;  // A code that is no number of 32 bits: INSUFFICIENT_FUNDS.
};

Result<ErrorCodeRead> ReadErrorCode(const json::object& error) {
    ErrorCodeRead read;
    const json::value* code = error.if_contains("code");
    if (!code || code->is_null()) return read;
    if (code->is_string()) {
        read.word = code->get_string();
    } else if (code->is_int64() && std::in_range<std::int32_t>(code->get_int64())) {
        read.number = static_cast<std::int32_t>(code->get_int64());
    } else if (code->is_number()) {
        AppendJson(read.word, *code);
    } else {
        return Bad("error.code", "must be a number or a text");
    }
    return read;
}

Result<boost::intrusive_ptr<Outcome>> ReadError(const json::value& error) {
    if (error.is_null()) return Failure(Reason::kHandlerFailed, 0, "");
    if (error.is_string()) return Failure(Reason::kHandlerFailed, 0, error.get_string());
    if (!error.is_object()) return Bad("error", "must be a text or {code, message}");
    auto code = ReadErrorCode(error.get_object());
    if (!code) return std::unexpected(code.error());
    std::string& said = code->word;
    const json::value* message = error.get_object().if_contains("message");
    if (message && !message->is_null()) {
        if (!message->is_string()) return Bad("error.message", "must be a text");
        if (!said.empty() && !message->get_string().empty()) said += ": ";
        said += message->get_string();
    }
    return Failure(Reason::kHandlerFailed, code->number, said);
}

void AppendLines(std::string& to, std::string_view text) {
    if (text.empty()) return;
    to.append(text);
    if (!text.ends_with('\n')) to.push_back('\n');
}

// A text, or a list of lines.
Result<std::string> ReadLines(const json::value& value, std::string_view field) {
    std::string lines;
    if (value.is_null()) return lines;
    if (value.is_string()) {
        AppendLines(lines, value.get_string());
        return lines;
    }
    if (!value.is_array()) return Bad(field, "must be a text or a list of lines");
    for (const json::value& line : value.get_array()) {
        if (!line.is_string()) return Bad(field, "must be a text or a list of lines");
        lines.append(line.get_string());
        // An empty line is one too.
        if (!line.get_string().ends_with('\n')) lines.push_back('\n');
    }
    return lines;
}

Result<std::string> ReadLog(const json::object& object) {
    const json::value* log = object.if_contains("log");
    return log ? ReadLines(*log, "log") : std::string();
}

// A body that is a JSON object.
struct ServiceBody {
    json::value value;
    std::string unkept;  // Why it cannot be kept as it is; empty: it can.
};

Result<ServiceBody> ReadBody(std::string_view text) {
    const JsonLimits limits{.bytes_max = kReportBytesMax};
    auto value = ParseJson(text, limits);
    ServiceBody body{.value = value ? std::move(*value) : json::value(),
                     .unkept = value ? "" : value.error().detail};
    if (!value) {
        auto seen = ParseByGrammar(text, limits.bytes_max, JsonGrammar::kLenient);
        if (!seen) return std::unexpected(value.error());
        body.value = std::move(*seen);
    }
    if (!body.value.is_object()) return Fail(ErrorCode::kInvalid, "must be a JSON object");
    return body;
}

// A look by the grammar puts a NUL where half of a surrogate pair was.
bool IsWhole(std::string_view text) {
    return IsValidUtf8(text) && !text.contains('\0');
}

// The work was done, but its result cannot be kept; doing it again would not mend that, nor would
// waiting for a report that can. A failure stays what it was, without its data.
void KeepWhatCanBe(ServiceReport& report, const std::string& unkept) {
    const OutcomePtr said = report.outcome;
    if (report.success) {
        report.success = report.retryable = false;
        report.outcome = Failure(Reason::kRejected, 0, "the result cannot be kept: " + unkept);
    } else {
        const bool readable = IsWhole(said->message.view());
        report.outcome =
            Failure(said->reason, said->code,
                    readable ? said->message.str() : "the error cannot be kept: " + unkept);
    }
    if (!IsWhole(report.log)) report.log.clear();
}

// Nothing if there is no status, or one that is not final.
Result<std::optional<ServiceReport>> ReadReport(const ServiceBody& body) {
    const json::object& object = body.value.get_object();
    const json::value* name = object.if_contains("status");
    if (!name || name->is_null()) return std::nullopt;
    const auto status = name->is_string() ? ParseServiceStatus(name->get_string()) : std::nullopt;
    if (!status || status == ServiceStatus::kGoesOn) return std::nullopt;
    ServiceReport report{.success = status == ServiceStatus::kSuccess};
    const json::value* error = object.if_contains("error");
    auto outcome = ReadError(error ? *error : json::value());
    if (!outcome) return std::unexpected(outcome.error());
    // An empty error is what programs send that always have the field.
    if (report.success && ((*outcome)->code != 0 || !(*outcome)->message.empty())) {
        return Bad("error", "is given, and status says success: send one of them");
    }
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
    auto log = ReadLog(object);
    if (!log) return std::unexpected(log.error());
    report.log = std::move(*log);
    if (!body.unkept.empty()) KeepWhatCanBe(report, body.unkept);
    return report;
}

Result<std::string> ReadText(const json::value& value, std::string_view field) {
    if (!value.is_string()) return Bad(field, "must be a text");
    return std::string(value.get_string());
}

PushAnswer Ended(Reason reason, int code, std::string_view message, bool retryable) {
    return {
        .ended = ServiceReport{.retryable = retryable, .outcome = Failure(reason, code, message)},
        .instance_failed = false};
}

PushAnswer ReadFailedCall(const Error& error) {
    switch (error.code) {
        case ErrorCode::kInvalid:  // The address is not allowed; nor will it be in a moment.
            return Ended(Reason::kRejected, 0, "the executor could not be called: " + error.detail,
                         false);
        case ErrorCode::kUnavailable:
            if (TAKT_MUTANT("links.refused_is_failed")) break;
            return {.instance_failed = true, .unsent = true, .trouble = error.detail};
        case ErrorCode::kExhausted:
            // Our own shortage, of descriptors for example, says nothing about the instance.
            if (error.field != "response_bytes_max") return {.unsent = true};
            return Ended(Reason::kRejected, 0,
                         "the executor's answer is larger than " + std::to_string(kReportBytesMax) +
                             " bytes",
                         false);
        default:
            break;
    }
    // A reader must not believe that nothing was done.
    const Reason reason = error.field == "timeout" ? Reason::kTimeout : Reason::kHandlerFailed;
    PushAnswer answer =
        Ended(reason, 0, "the executor was called, and may have done it: " + error.detail, true);
    answer.instance_failed = true;
    answer.trouble = error.detail;
    return answer;
}

// "ok", "done", "error": it says something, and nobody knows whether a callback follows. To wait for
// one that never comes, and then to order the same again, is worse than a failure that is seen. It is
// not retried: the work may be done, and the next answer would be no clearer.
PushAnswer ReadOtherStatus(const json::object& object, std::string_view word) {
    PushAnswer answer = Ended(
        Reason::kRejected, 200,
        "the executor's answer has the status '" + std::string(CutUtf8(word, kStatusWordBytesMax)) +
            "', which is neither an end (success, completed, failed) nor a word for its going on "
            "(accepted, queued, pending, running): it may have done it",
        false);
    answer.ended->log = ReadLog(object).value_or("");
    answer.understood = false;
    return answer;
}

// An object was begun, to say something; the same as of a status that is no known word.
PushAnswer ReadBrokenObject(const Error& error) {
    PushAnswer answer = Ended(Reason::kRejected, 200,
                              "the executor's answer begins as an object, which cannot be read (" +
                                  error.detail + "): it may have done it",
                              false);
    answer.understood = false;
    return answer;
}

PushAnswer ReadOk(std::string_view body) {
    const auto said = ReadBody(body);
    if (!said) {
        const auto first = body.find_first_not_of(" \t\r\n");
        if (first != body.npos && body[first] == '{') return ReadBrokenObject(said.error());
        return {};  // "ok" or an empty body: it was taken, and says no more.
    }
    const json::object& object = said->value.get_object();
    const json::value* status = object.if_contains("status");
    if (status && status->is_string() && !ParseServiceStatus(status->get_string())) {
        if (said->unkept.empty()) return ReadOtherStatus(object, status->get_string());
        return Ended(Reason::kRejected, 200,
                     "the executor's answer cannot be kept: " + said->unkept, false);
    }
    auto report = ReadReport(*said);
    if (!report) {
        PushAnswer answer =
            Ended(Reason::kRejected, 200,
                  "the executor's answer cannot be understood: " + report.error().detail, false);
        answer.understood = false;
        return answer;
    }
    PushAnswer answer{.ended = std::move(*report)};
    // A log that cannot be read is no reason to doubt an attempt that goes on.
    if (!answer.ended && said->unkept.empty()) answer.log = ReadLog(object).value_or("");
    return answer;
}

}  // namespace

Result<CallbackBody> ReadCallback(std::string_view body) {
    const auto said = ReadBody(body);
    if (!said) return std::unexpected(said.error());
    const json::object& object = said->value.get_object();
    CallbackBody callback;
    for (const auto& member : object) {
        const std::string_view key = member.key();
        if (key == "token" || key == "callback_token" || key == "execution_id") {
            auto text = ReadText(member.value(), key);
            if (!text) return std::unexpected(text.error());
            (key == "execution_id" ? callback.execution_id : callback.token) = std::move(*text);
        } else if (key != "status" && key != "result" && key != "error" && key != "retryable" &&
                   key != "log") {
            return Fail(ErrorCode::kInvalid,
                        "there is no field '" + std::string(key.substr(0, 64)) +
                            "'; a callback has status, result, error, retryable, log, "
                            "callback_token (or token) and execution_id",
                        std::string(key.substr(0, 64)));
        }
    }
    auto report = ReadReport(*said);
    if (!report) return std::unexpected(report.error());
    if (!*report) return Bad("status", "must be success, completed or failed");
    callback.report = std::move(**report);
    return callback;
}

static Result<void> ReadProgress(const json::value& value, NewsBody& news) {
    if (!value.is_object()) return Bad("progress", "must be {percent, message}");
    for (const auto& member : value.get_object()) {
        if (member.key() == "percent") {
            boost::system::error_code error;
            const double percent = member.value().to_number<double>(error);
            if (error || !(percent >= 0 && percent <= 100)) {
                return Bad("progress.percent", "must be a number from 0 to 100");
            }
            news.fraction = percent / 100;
        } else if (member.key() == "message") {
            auto text = ReadText(member.value(), "progress.message");
            if (!text) return std::unexpected(text.error());
            news.message = CutUtf8(*text, kErrorBytesMax);
        } else {
            return Bad("progress", "has percent and message only");
        }
    }
    if (!news.fraction) return Bad("progress.percent", "is missing");
    return {};
}

Result<NewsBody> ReadNews(std::string_view body) {
    const auto value = ParseJson(body, {.bytes_max = kReportBytesMax});
    if (!value) return std::unexpected(value.error());
    if (!value->is_object()) return Fail(ErrorCode::kInvalid, "send a JSON object with lines");
    NewsBody news;
    for (const auto& member : value->get_object()) {
        const std::string_view key = member.key();
        if (key == "lines") {
            auto lines = ReadLines(member.value(), key);
            if (!lines) return std::unexpected(lines.error());
            news.lines = std::move(*lines);
        } else if (key == "progress") {
            if (auto read = ReadProgress(member.value(), news); !read) {
                return std::unexpected(read.error());
            }
        } else if (key == "token" || key == "callback_token") {
            auto token = ReadText(member.value(), key);
            if (!token) return std::unexpected(token.error());
            news.token = std::move(*token);
        } else {
            return Fail(ErrorCode::kInvalid,
                        "there is no field '" + std::string(key.substr(0, 64)) +
                            "'; a log has lines, progress and callback_token (or token)",
                        std::string(key.substr(0, 64)));
        }
    }
    return news;
}

void AppendLog(SessionId session, const AttemptRef& attempt, std::string_view lines,
               std::vector<Input>& inputs) {
    const FrameInputLimits limits;
    std::string piece;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = CutUtf8(lines.substr(0, end), limits.log_line_bytes_max);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (!piece.empty() && piece.size() + line.size() + 1 > limits.log_piece_bytes_max) {
            inputs.emplace_back(LogLines{session, attempt, piece});
            piece.clear();
        }
        piece.append(line).push_back('\n');
    }
    if (!piece.empty()) inputs.emplace_back(LogLines{session, attempt, piece});
}

bool SaysTheSame(const Outcome* first, const Outcome* again) {
    static const Outcome nothing;
    if (!first) first = &nothing;
    if (!again) again = &nothing;
    return first->code == again->code && first->message == again->message &&
           first->data == again->data;
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
        busy.trouble = "it answered " + std::to_string(status);
        return busy;
    }
    return Ended(Reason::kRejected, status, said, false);
}

}  // namespace takt::internal
