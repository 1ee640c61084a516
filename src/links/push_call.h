// The call that hands an attempt to a service: POST {base_url}/execute.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "engine/effects.h"
#include "http/client.h"
#include "model/worker.h"
#include "trace/execution_trace.h"

namespace takt::internal {

struct PushTerms {
    // "http://scheduler:8080", of every scheduler that takes the callback. Not empty.
    std::span<const std::string> callback_bases;
    std::string_view space = {};  // The namespace, unless it is `default`.
    Time deadline{};              // Of the attempt.
    Duration timeout{};           // Of the call.
    TracePolicy tracing;
};

HttpCall MakePushCall(const Worker& worker, const Assign& assign, const PushTerms& terms);

}  // namespace takt::internal
