#include "model/execution.h"

#include <algorithm>
#include <ranges>

#include "base/utf8.h"
#include "model/names.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 19> kReasons = {
    "none",         "handler_failed", "timeout",        "worker_lost",   "cancelled",
    "expired",      "skipped",        "missed",         "replaced",      "undecodable",
    "rejected",     "paused",         "lock_too_small", "step_failed",   "value_missing",
    "step_refused", "worker_gone",    "run_ended",      "lock_not_held",
};
constexpr std::array<std::string_view, 5> kOrigins = {"once", "fire", "trigger", "step",
                                                      "backfill"};
constexpr std::array<std::string_view, 4> kAttemptEnds = {"failed", "lost", "returned",
                                                          "cancelled"};
constexpr std::string_view kHex = "0123456789abcdef";

int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string TokenText(const Token& token) {
    std::string text(2 * token.size(), '0');
    for (std::size_t i = 0; i < token.size(); ++i) {
        text[2 * i] = kHex[token[i] >> 4];
        text[2 * i + 1] = kHex[token[i] & 15];
    }
    return text;
}

std::optional<Token> ParseToken(std::string_view text) {
    Token token;
    if (text.size() != 2 * token.size()) return std::nullopt;
    for (std::size_t i = 0; i < token.size(); ++i) {
        const int high = HexDigit(text[2 * i]);
        const int low = HexDigit(text[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        token[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return token;
}

std::string_view Name(Reason reason) {
    return names::Find(kReasons, reason);
}

std::optional<Reason> ParseReason(std::string_view name) {
    return names::Parse<Reason>(kReasons, name);
}

std::string_view Name(Origin origin) {
    return names::Find(kOrigins, origin);
}

OutcomePtr MakeOutcome(Reason reason, Text message) {
    auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
    outcome->reason = reason;
    outcome->message = std::move(message);
    return outcome;
}

std::string_view Name(AttemptEnd end) {
    return names::Find(kAttemptEnds, end);
}

OutcomePtr RememberAttempt(const Execution& row, const AttemptEnding& ending) {
    auto outcome =
        boost::intrusive_ptr<Outcome>(row.outcome ? new Outcome(*row.outcome) : new Outcome);
    auto& past = outcome->past;
    if (past.size() >= kPastAttemptsMax) past.erase(past.begin());
    past.push_back({.attempt = row.attempt,
                    .end = ending.end,
                    .reason = ending.reason,
                    .worker = row.worker,
                    .started_at = row.started_at,
                    .finished_at = ending.at,
                    .message = Text(CutUtf8(ending.message, kPastMessageBytesMax))});
    return outcome;
}

bool WasEndedByOthers(const Execution& row) {
    if (!row.outcome || row.outcome->past.empty()) return false;
    const PastAttempt& last = row.outcome->past.back();
    return last.attempt == row.attempt && last.end != AttemptEnd::kFailed;
}

std::optional<Time> FirstFailureSinceRedrive(const Execution& row, Time late) {
    if (!row.outcome || row.failures == 0) return std::nullopt;
    const auto& past = row.outcome->past;
    // Failures and losses are counted anew when it is run again, its history goes on.
    const auto counted = std::ranges::count_if(
        past, [](const PastAttempt& attempt) { return attempt.end != AttemptEnd::kReturned; });
    const bool has_earlier = std::uint64_t(counted) > std::uint64_t{row.failures} + row.losses;
    std::uint32_t failures = 0;
    for (const PastAttempt& attempt : past | std::views::reverse) {
        if (attempt.end != AttemptEnd::kFailed || ++failures < row.failures) continue;
        const Time began = attempt.started_at != Time{} ? attempt.started_at : attempt.finished_at;
        return has_earlier || began >= late ? std::optional(began) : std::nullopt;
    }
    return std::nullopt;
}

OutcomePtr WithHistory(OutcomePtr latest, const OutcomePtr& before) {
    if (!before || before->past.empty()) return latest;
    auto outcome = boost::intrusive_ptr<Outcome>(latest ? new Outcome(*latest) : new Outcome);
    outcome->past = before->past;
    return outcome;
}

}  // namespace takt::internal
