// Errors, states, kinds of events and the log: names and numbers that both sides share.
#include "sdk/convert.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/log_sink.h"
#include "model/event.h"
#include "model/status.h"
#include "model/worker.h"
#include "takt/event.h"
#include "takt/execution.h"
#include "takt/fleet.h"
#include "takt/log.h"

namespace takt {

// Converted by number: the lists must be the same.
static_assert(int(Status::kSkipped) == int(internal::Status::kSkipped));
static_assert(int(Status::kSuccess) == int(internal::Status::kSuccess));
static_assert(int(EventType::kWorkerChanged) == int(internal::EventType::kWorkerChanged));
static_assert(int(EventType::kTaskSkipped) == int(internal::EventType::kTaskSkipped));
static_assert(int(EventType::kWorkerOffline) == int(internal::EventType::kWorkerOffline));
static_assert(int(WorkerState::kMaintenance) == int(internal::WorkerStatus::kMaintenance));
static_assert(int(LogLevel::kOff) == int(internal::LogLevel::kOff));

Failure::Failure(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
Failure::~Failure() = default;

// The caller's name for each error of ours; the first of a pair's second names it.
static constexpr std::pair<internal::ErrorCode, ErrorCode> kCodes[] = {
    {internal::ErrorCode::kInvalid, ErrorCode::kInvalid},
    {internal::ErrorCode::kNotFound, ErrorCode::kNotFound},
    {internal::ErrorCode::kConflict, ErrorCode::kConflict},
    {internal::ErrorCode::kExhausted, ErrorCode::kExhausted},
    {internal::ErrorCode::kUnavailable, ErrorCode::kUnavailable},
    {internal::ErrorCode::kFenced, ErrorCode::kUnavailable},  // Somebody else leads now.
    {internal::ErrorCode::kUnknown, ErrorCode::kUnknown},
    {internal::ErrorCode::kCancelled, ErrorCode::kCancelled},
};

std::string_view Name(ErrorCode code) {
    if (code == ErrorCode::kTimeout) return "timeout";  // Only this library waits.
    const auto* found =
        std::ranges::find(kCodes, code, [](const auto& pair) { return pair.second; });
    return internal::Name(found == std::end(kCodes) ? internal::ErrorCode::kUnknown : found->first);
}

static ErrorCode CodeOf(internal::ErrorCode code) {
    const auto* found =
        std::ranges::find(kCodes, code, [](const auto& pair) { return pair.first; });
    return found == std::end(kCodes) ? ErrorCode::kUnknown : found->second;
}

Error ErrorOf(const internal::Error& error) {
    return {CodeOf(error.code), error.detail, error.field};
}

std::string_view Name(Status status) {
    return internal::Name(static_cast<internal::Status>(status));
}

std::optional<Status> ParseStatus(std::string_view name) {
    const auto status = internal::ParseStatus(name);
    if (!status) return std::nullopt;
    return static_cast<Status>(*status);
}

std::string_view Name(EventType type) {
    if (type == EventType::kMissed) return "missed";  // Only this library tells of it.
    return internal::Name(static_cast<internal::EventType>(type));
}

std::optional<EventType> ParseEventType(std::string_view name) {
    const auto type = internal::ParseEventType(name);
    if (!type) return std::nullopt;
    return static_cast<EventType>(*type);
}

std::string_view Name(WorkerState state) {
    return internal::Name(static_cast<internal::WorkerStatus>(state));
}

std::string_view Name(LogLevel level) {
    return internal::Name(static_cast<internal::LogLevel>(level));
}

Result<void> SetLog(const LogOptions& options) {
    const auto level = static_cast<internal::LogLevel>(options.level);
    const auto format = options.json ? internal::LogFormat::kJson : internal::LogFormat::kText;
    if (!options.sink) {
        return ResultOf(
            internal::StartLogging({.level = level, .format = format, .file = options.file}));
    }
    if (!options.file.empty()) {
        return Error{ErrorCode::kInvalid, "the log goes to a file or to a sink, not to both",
                     "file"};
    }
    internal::LogTo(
        [sink = options.sink](internal::LogLevel at, std::string_view component,
                              std::string_view text) {
            sink({static_cast<LogLevel>(at), component, text});
        },
        level, format);
    return {};
}

}  // namespace takt
