#include "sim/executor_checker.h"

#include <algorithm>

#include "sim/checker.h"

namespace takt::internal::sim {
namespace {

// A message, and the rounding of clocks to milliseconds.
constexpr Micros kSlack = 10ms;

// An operator's word may be on its way while an order is sent.
constexpr Micros kDismissal = 2s;

constexpr std::string_view kExecutors = "executor-";

bool IsFinalFailure(const Result<HttpAnswer>& answer) {
    if (!answer) return answer.error().code != ErrorCode::kUnavailable;
    return answer->status >= 300;
}

}  // namespace

Said Said::Of(const ServiceReport& report) {
    return {report.success,
            report.success ? report.outcome->data.str() : report.outcome->message.str()};
}

void ExecutorChecker::Fail(const Attempt& attempt, const std::string& what) {
    checker_.Fail(attempt.ref.execution.text().str() + " attempt " +
                  std::to_string(attempt.ref.attempt) + " " + what);
}

// --- Commits ------------------------------------------------------------------------------------

void ExecutorChecker::OnCommit(const Batch& batch, const std::vector<RowMove>& moves,
                               const EngineConfig& config) {
    for (const RowMove& move : moves) {
        const Execution& before = move.before;
        const Execution& after = move.after;
        if (before.task && IsWorking(before.status) &&
            !(IsWorking(after.status) && after.attempt == before.attempt)) {
            const auto found = attempts_.find(TokenText(before.token));
            if (found != attempts_.end() && !found->second.end) {
                found->second.end = EndOf(move);
                Judge(found->second, batch, before.worker);
            }
        }
        if (after.attempt > before.attempt && IsWorking(after.status) &&
            after.worker.view().starts_with(kExecutors)) {
            const Duration own = after.task->timeout;
            attempts_[TokenText(after.token)] = {
                .ref = {after.id, after.attempt, after.token},
                .epoch = batch.term.epoch,
                .timeout = own > Duration(0) ? own : config.timeout};
        }
    }
}

// The end that a batch brought to an attempt, whatever else happened to its execution since.
ExecutorChecker::End ExecutorChecker::EndOf(const RowMove& move) {
    const Execution& row = move.after;
    if (!row.outcome) return {};
    const auto past =
        std::ranges::find(row.outcome->past, move.before.attempt, &PastAttempt::attempt);
    if (past != row.outcome->past.end()) {
        if (past->end == AttemptEnd::kReturned) return {Kind::kReturned, {}};
        if (past->end != AttemptEnd::kFailed) return {};
        return {past->reason == Reason::kTimeout ? Kind::kTimeout : Kind::kFailed,
                past->message.str()};
    }
    // An operator's word, not its own.
    if (row.outcome->message.view() == kConcluded) return {};
    if (row.status == Status::kSuccess) return {Kind::kSuccess, row.outcome->data.str()};
    if (row.status != Status::kFailed) return {};
    switch (row.outcome->reason) {
        case Reason::kTimeout:
            return {Kind::kTimeout, {}};
        case Reason::kHandlerFailed:
        case Reason::kRejected:
            return {Kind::kFailed, row.outcome->message.str()};
        default:
            return {};
    }
}

void ExecutorChecker::Judge(const Attempt& attempt, const Batch& batch, const WorkerId& worker) {
    const End& end = *attempt.end;
    const bool was_said =
        std::ranges::any_of(attempt.said, [&](const Said& said) { return end.Is(said); });
    switch (end.kind) {
        case Kind::kSuccess:
            if (!was_said) Fail(attempt, "has a result that its executor did not tell");
            break;
        case Kind::kFailed:
            // A refused connection, for one, costs no retry.
            if (!was_said && !attempt.call_failed) Fail(attempt, "failed though nobody said so");
            break;
        case Kind::kTimeout:
            if (HadEndedInTime(attempt, batch.term.epoch)) {
                Fail(attempt, "was timed out though it was told in time how it ended");
            }
            break;
        case Kind::kReturned:
            if (attempt.taken_by && attempt.taken_by->alive && !WasDoubted(attempt, worker)) {
                Fail(attempt, "was taken back though its executor has it");
            }
            break;
        case Kind::kOther:
            break;
    }
}

bool ExecutorChecker::WasDoubted(const Attempt& attempt, const WorkerId& worker) const {
    const auto at = doubted_.find(worker.text().str());
    return at != doubted_.end() && at->second + kDismissal >= attempt.sent_at;
}

// Its time begins with its order. A leader that takes it over gives it all of its time anew, from the
// beginning of its term: an order that the one before left may be sent once more much later, when
// nobody answered it, and gains no time by that.
bool ExecutorChecker::HadEndedInTime(const Attempt& attempt, std::uint64_t epoch) const {
    const auto in_term = attempt.terms.find(epoch);
    const auto term = terms_.find(epoch);
    if (in_term == attempt.terms.end() || term == terms_.end()) return false;
    const auto& [ordered, told, arrived] = in_term->second;
    const Steady began = attempt.epoch == epoch ? ordered.value_or(term->second) : term->second;
    if (!told || (attempt.call_failed && *attempt.call_failed <= *told)) return false;
    return *told + kSlack < began + Micros(attempt.timeout);
}

// --- Orders and callbacks -----------------------------------------------------------------------

void ExecutorChecker::OnOrderSent(const std::string& token, std::uint64_t epoch) {
    const auto found = attempts_.find(token);
    if (found == attempts_.end()) return checker_.Fail("an order was sent that is not committed");
    Attempt& attempt = found->second;
    if (attempt.terms.empty()) attempt.sent_at = world_.now();
    world_.Note("leader", "orders, timeout", attempt.ref.execution.view(),
                std::uint64_t(attempt.timeout.count()));
    auto& ordered = attempt.terms[epoch].ordered;
    if (!ordered) ordered = world_.now();
}

void ExecutorChecker::OnOrderAnswered(const std::string& token, std::uint64_t epoch,
                                      const Result<HttpAnswer>& answer) {
    Attempt& attempt = attempts_.at(token);
    if (!IsFinalFailure(answer) || attempt.call_failed) return;
    attempt.call_failed = world_.now();
    // It may be given up from now on, in whatever time.
    checker_.policies.OnEnd(attempt.ref);
}

bool ExecutorChecker::OnOrder(const std::string& token, std::uint64_t epoch,
                              const ProcessPtr& process) {
    ++orders_;
    Attempt& attempt = attempts_.at(token);
    const bool first =
        std::ranges::none_of(attempt.terms, [](const auto& entry) { return entry.second.arrived; });
    if (std::exchange(attempt.terms[epoch].arrived, true)) {
        Fail(attempt, "was ordered twice by the same leader");
    }
    attempt.taken_by = process;
    return first;
}

void ExecutorChecker::OnSaid(const std::string& token, const Said& said) {
    attempts_.at(token).said.push_back(said);
}

// Once, if it said several things.
bool ExecutorChecker::SaidSuccess(const std::string& token) const {
    return std::ranges::any_of(attempts_.at(token).said, &Said::success);
}

void ExecutorChecker::OnCallback(const std::string& token, std::uint64_t epoch) {
    const Attempt& attempt = attempts_.at(token);
    world_.Note("leader", "is told how ends", attempt.ref.execution.view(), attempt.ref.attempt);
    auto& told = attempts_.at(token).terms[epoch].told;
    if (!told) told = world_.now();
}

void ExecutorChecker::OnCallbackAnswered(const std::string& token, const Said& said,
                                         CallbackAnswer::Verdict verdict) {
    const Attempt& attempt = attempts_.at(token);
    const bool is_end = attempt.end && attempt.end->Is(said);
    if (verdict == CallbackAnswer::Verdict::kAccepted) {
        if (!is_end) Fail(attempt, "had a callback accepted that says other than what is stored");
        return;
    }
    const bool refused =
        verdict == CallbackAnswer::Verdict::kStale || verdict == CallbackAnswer::Verdict::kForeign;
    if (!refused || !is_end) return;
    const Execution* row = checker_.Find(attempt.ref.execution);
    // Between two attempts it may have been ended otherwise.
    const bool last =
        row && row->token == attempt.ref.token &&
        (row->status == Status::kSuccess || (row->status == Status::kFailed && row->outcome &&
                                             row->outcome->reason == Reason::kHandlerFailed));
    if (last && !checker_.MayBeRunAgain(row->id) && !checker_.WasConcluded(*row)) {
        Fail(attempt, "had a callback refused that says what is stored");
    }
}

}  // namespace takt::internal::sim
