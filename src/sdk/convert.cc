// Errors, states, kinds of events and the log: names and numbers that both sides share.
#include "sdk/convert.h"

#include "base/log.h"
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
static_assert(int(EventType::kAlert) == int(internal::EventType::kAlert));
static_assert(int(EventType::kTaskSkipped) == int(internal::EventType::kTaskSkipped));
static_assert(int(EventType::kWorkerOffline) == int(internal::EventType::kWorkerOffline));
static_assert(int(WorkerState::kMaintenance) == int(internal::WorkerStatus::kMaintenance));
static_assert(int(LogLevel::kOff) == int(internal::LogLevel::kOff));

Failure::Failure(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
Failure::~Failure() = default;

std::string_view Name(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalid:
            return "invalid";
        case ErrorCode::kNotFound:
            return "not_found";
        case ErrorCode::kConflict:
            return "conflict";
        case ErrorCode::kExhausted:
            return "exhausted";
        case ErrorCode::kUnavailable:
            return "unavailable";
        case ErrorCode::kUnknown:
            return "unknown";
        case ErrorCode::kCancelled:
            return "cancelled";
    }
    return "unknown";
}

static ErrorCode CodeOf(internal::ErrorCode code) {
    switch (code) {
        case internal::ErrorCode::kInvalid:
            return ErrorCode::kInvalid;
        case internal::ErrorCode::kNotFound:
            return ErrorCode::kNotFound;
        case internal::ErrorCode::kConflict:
            return ErrorCode::kConflict;
        case internal::ErrorCode::kExhausted:
            return ErrorCode::kExhausted;
        case internal::ErrorCode::kFenced:  // To a caller: somebody else leads now.
        case internal::ErrorCode::kUnavailable:
            return ErrorCode::kUnavailable;
        case internal::ErrorCode::kUnknown:
            return ErrorCode::kUnknown;
        case internal::ErrorCode::kCancelled:
            return ErrorCode::kCancelled;
    }
    return ErrorCode::kUnknown;
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

Result<void> SetLog(const LogOptions& options) {
    return ResultOf(internal::StartLogging(
        {.level = static_cast<internal::LogLevel>(options.level),
         .format = options.json ? internal::LogFormat::kJson : internal::LogFormat::kText,
         .file = options.file}));
}

}  // namespace takt
