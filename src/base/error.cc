#include "base/error.h"

namespace takt::internal {

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
        case ErrorCode::kFenced:
            return "fenced";
        case ErrorCode::kUnavailable:
            return "unavailable";
        case ErrorCode::kUnknown:
            return "unknown";
        case ErrorCode::kCancelled:
            return "cancelled";
    }
    return "invalid_code";
}

}  // namespace takt::internal
