#include "cli/execution_view.h"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace takt::internal::cli {
namespace {

// Between questions that are answered at once, as while the leader changes.
constexpr Duration kPauseFirst{20};
constexpr Duration kPauseLast{500};
// A server that hangs is left for the next one; states are shown as they change.
constexpr Duration kWaitMax{10'000};
constexpr Duration kWaitShowing{1'000};
// Longer than an election and a restart take.
constexpr std::chrono::seconds kSilenceMax{60};

}  // namespace

Table ExecutionTable() {
    Table table({"ID", "NAME", "TYPE", "STATUS", "ATTEMPT", "WORKER", "CREATED", "TOOK", "ERROR"},
                {"QUEUE", "PRIORITY", "TASK", "ORIGIN", "STARTED", "FINISHED", "RESULT"});
    table.Optional("ERROR");
    return table;
}

std::string ElapsedText(const boost::json::value& execution) {
    const std::string started = Member(execution, "started_at");
    const std::string finished = Member(execution, "finished_at");
    const auto begin = ParseTime(started);
    if (!begin || !finished.empty()) return TimeBetween(started, finished);
    const Duration going = std::max(Duration(0), ReadClocks().wall - *begin);
    return ShortDuration(static_cast<double>(going.count()) / 1'000) + "…";
}

void AddExecution(Table& table, const boost::json::value& execution) {
    const std::string status = Member(execution, "status");
    const std::string worker = Member(execution, "worker_id");
    const bool begun = status == "running" || IsFinished(execution);
    std::string error;
    if (const auto* why = FindMember(execution, "error"); why && why->is_object()) {
        error = Clean(Member(*why, "code") + ": " + Member(*why, "message"), 60);
    }
    table.Add(
        {Member(execution, "id"), Clean(Member(execution, "task_name"), 30),
         Clean(Member(execution, "type"), 20), Cell(status, ColourOf(status)),
         Member(execution, "attempt"), worker.empty() ? "-" : worker,
         ShortTime(Member(execution, "created_at")), begun ? ElapsedText(execution) : "-",
         Cell(error, Colour::kRed)},
        {Member(execution, "queue"), Member(execution, "priority"), Member(execution, "task_id"),
         Member(execution, "origin"), ExactTime(Member(execution, "started_at")),
         ExactTime(Member(execution, "finished_at")), Clean(Member(execution, "result"), 60)});
}

std::string ExecutionText(const boost::json::value& execution) {
    const std::string status = Member(execution, "status");
    std::vector<std::pair<std::string, Cell>> fields = {
        {"id", Member(execution, "id")},
        {"task", Member(execution, "task_id")},
        {"name", Member(execution, "task_name")},
        {"type", Member(execution, "type")},
        {"queue", Member(execution, "queue")},
        {"priority", Member(execution, "priority")},
        {"status", Cell(status, ColourOf(status))},
        {"origin", Member(execution, "origin")},
        {"attempt", Member(execution, "attempt") + " (" + Member(execution, "failures") +
                        " failed, " + Member(execution, "losses") + " lost)"},
        {"worker", Member(execution, "worker_id")},
        {"created", ShortTime(Member(execution, "created_at"))},
        {"ready", ShortTime(Member(execution, "ready_at"))},
        {"started", ShortTime(Member(execution, "started_at"))},
        {"finished", ShortTime(Member(execution, "finished_at"))},
        {"took", ElapsedText(execution)},
        {"payload", Clean(Member(execution, "parameters"), 500)},
        {"result", Clean(Member(execution, "result"), 2000)},
        {"message", Clean(Member(execution, "message"), 2000)},
    };
    if (const auto* error = FindMember(execution, "error"); error && error->is_object()) {
        fields.emplace_back(
            "error", Cell(Member(*error, "code") + ": " + Member(*error, "message"), Colour::kRed));
    }
    std::erase_if(fields, [](const auto& field) { return field.second.text.empty(); });
    return Fields(fields);
}

bool IsFinished(const boost::json::value& execution) {
    const std::string status = Member(execution, "status");
    return status == "success" || status == "failed" || status == "cancelled" ||
           status == "skipped";
}

namespace {

std::string StateLine(const boost::json::value& execution) {
    std::string state = Member(execution, "status");
    if (const std::string attempt = Member(execution, "attempt"); attempt != "0") {
        state += ", attempt " + attempt;
    }
    if (const std::string worker = Member(execution, "worker_id"); !worker.empty()) {
        state += " on " + worker;
    }
    return state;
}

bool MayPass(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnknown ||
           error.code == ErrorCode::kExhausted;
}

}  // namespace

Result<ClientAnswer> WaitUntilFinished(Client& client, const WaitFor& what) {
    const Steady begin = SteadyClock::now();
    Steady heard = begin;
    Duration pause = kPauseFirst;
    std::string shown;
    while (true) {
        const Steady asked = SteadyClock::now();
        // A call that waits is answered before it would be given up.
        Duration wait = std::min(what.show ? kWaitShowing : kWaitMax, client.timeout() / 2);
        if (what.timeout > Duration(0)) {
            const auto left = std::chrono::ceil<Duration>(begin + what.timeout - asked);
            wait = std::clamp(left, Duration(0), wait);
        }
        auto answer = client.Get(WithQuery(PathOf("executions", what.execution),
                                           {{"wait", std::to_string(wait.count()) + "ms"}}));
        const Steady now = SteadyClock::now();
        if (answer) {
            heard = now;
            if (IsFinished(answer->value)) return answer;
            const std::string state = StateLine(answer->value);
            if (what.show && state != shown) {
                std::fprintf(stderr, "%s: %s\n", what.execution.c_str(), state.c_str());
                shown = state;
            }
        } else if (!MayPass(answer.error()) || now - heard > kSilenceMax) {
            return answer;
        }
        if (what.timeout > Duration(0) && now - begin >= what.timeout) {
            return Fail(ErrorCode::kUnavailable, "execution " + what.execution +
                                                     " is not finished after " +
                                                     FormatDuration(what.timeout) + "; it goes on");
        }
        const bool waited = answer && wait > Duration(0) && now - asked >= wait;
        if (!waited) std::this_thread::sleep_for(pause);
        pause = waited ? kPauseFirst : std::min(pause * 3 / 2, kPauseLast);
    }
}

int ExitOfOutcome(const boost::json::value& execution) {
    return Member(execution, "status") == "success" ? kOk : kFailed;
}

}  // namespace takt::internal::cli
