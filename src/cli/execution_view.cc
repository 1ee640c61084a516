#include "cli/execution_view.h"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace takt::internal::cli {
namespace {

// Soon enough for a person, rarely enough for a server that a thousand scripts wait on.
constexpr Duration kPollFirst{20};
constexpr Duration kPollLast{500};
// Longer than an election and a restart take.
constexpr std::chrono::seconds kSilenceMax{60};

}  // namespace

Table ExecutionTable() {
    return Table({"ID", "NAME", "TYPE", "STATUS", "ATTEMPT", "WORKER", "CREATED", "TOOK"});
}

void AddExecution(Table& table, const boost::json::value& execution) {
    const std::string status = Member(execution, "status");
    const std::string worker = Member(execution, "worker_id");
    table.Add({Member(execution, "id"), Clean(Member(execution, "task_name"), 30),
               Clean(Member(execution, "type"), 20), Cell(status, ColourOf(status)),
               Member(execution, "attempt"), worker.empty() ? "-" : worker,
               ShortTime(Member(execution, "created_at")),
               TimeBetween(Member(execution, "started_at"), Member(execution, "finished_at"))});
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
        {"payload", Clean(Member(execution, "parameters"), 500)},
        {"result", Clean(Member(execution, "result"), 2000)},
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

Result<ClientAnswer> WaitUntilFinished(Client& client, const WaitFor& what) {
    const Steady begin = SteadyClock::now();
    Steady heard = begin;
    Duration pause = kPollFirst;
    std::string shown;
    while (true) {
        auto answer = client.Get(PathOf("executions", what.execution));
        const Steady now = SteadyClock::now();
        if (answer) {
            heard = now;
            if (IsFinished(answer->value)) return answer;
            std::string state = Member(answer->value, "status");
            if (const std::string attempt = Member(answer->value, "attempt"); attempt != "0") {
                state += ", attempt " + attempt;
            }
            if (const std::string worker = Member(answer->value, "worker_id"); !worker.empty()) {
                state += " on " + worker;
            }
            if (what.show && state != shown) {
                std::fprintf(stderr, "%s: %s\n", what.execution.c_str(), state.c_str());
                shown = state;
            }
        } else {
            const bool passing = answer.error().code == ErrorCode::kUnavailable ||
                                 answer.error().code == ErrorCode::kUnknown ||
                                 answer.error().code == ErrorCode::kExhausted;
            if (!passing || now - heard > kSilenceMax) return answer;
        }
        if (what.timeout > Duration(0) && now - begin > what.timeout) {
            return Fail(ErrorCode::kUnavailable, "execution " + what.execution +
                                                     " is not finished after " +
                                                     FormatDuration(what.timeout) + "; it goes on");
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 3 / 2, kPollLast);
    }
}

int ExitOfOutcome(const boost::json::value& execution) {
    return Member(execution, "status") == "success" ? kOk : kFailed;
}

}  // namespace takt::internal::cli
