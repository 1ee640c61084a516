// Explanation: why an execution, a task, a queue or a worker is where it is, for the person who
// waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text.h"

namespace takt::internal {

struct Execution;
struct Lane;
struct Run;
struct Slot;

struct ExplainedValue {
    std::string_view name;                           // Stable, for programs: "worker", "queue", …
    std::variant<std::uint64_t, std::string> value;  // Times are `since` and `at`, in RFC 3339.
};

struct Explanation {
    std::string_view code;  // Stable, for programs: "no_worker", "workers_full", …
    std::string sentence;   // For people.
    // All that the sentence names: with the code, enough to say it in another language.
    std::vector<ExplainedValue> values = {};
};

// Why no worker serves the lane: names the demand that nobody meets, or the worker that comes
// nearest, and what to do.
Explanation ExplainUnserved(const Lane& lane,
                            const std::map<Text, std::unique_ptr<Slot>, std::less<>>& workers);

// Why none of the workers that serve the lane takes more. REQUIRES: its pool is not empty.
Explanation ExplainPool(const Lane& lane);

// Why a run that has begun has not ended, and why an execution that only one worker may run waits.
Explanation ExplainRun(const Run& run);
Explanation ExplainPinned(const Execution& row);

// "'nightly'", "1 worker", "3 workers".
std::string Quoted(const Text& text);
std::string Counted(std::uint64_t count, std::string_view noun);

}  // namespace takt::internal
