// Callbacks: an executor says, by a call of its own, how an attempt ended.
#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "links/push_link.h"
#include "node/node.h"

namespace takt::internal {
namespace {

using Kind = CallbackAnswer::Verdict;

constexpr auto kSaidOtherwise =
    "the attempt was reported before, with another result; that one is stored";

CallbackAnswer Stale(const Execution& row) {
    std::string why = "the attempt is over: the execution is " + std::string(Name(row.status));
    if (row.outcome && row.outcome->reason != Reason::kNone) {
        why += " (" + std::string(Name(row.outcome->reason)) + ")";
    }
    return {Kind::kStale, why + "; this report came too late"};
}

// Whether the attempt itself failed so: one that was lost or given back leaves the outcome of the one
// before it.
bool HasFailedItself(const Execution& row) {
    if (!row.outcome || row.outcome->reason != Reason::kHandlerFailed) return false;
    return !WasEndedByOthers(row) || TAKT_MUTANT("links.accept_lost_failures");
}

}  // namespace

CallbackAnswer JudgeCallback(const Execution& row, const CallbackReport& report) {
    if (row.token != report.token) {
        // Tokens of earlier attempts are not kept; without an earlier attempt it cannot be one.
        if (row.attempt <= 1) {
            return {Kind::kForeign, "the token is not one of this execution's"};
        }
        return {Kind::kStale, "the token is not that of the current attempt, number " +
                                  std::to_string(row.attempt) +
                                  "; an earlier attempt's report comes too late"};
    }
    const bool same = SaysTheSame(row.outcome.get(), report.report.outcome.get()) &&
                      !TAKT_MUTANT("links.refuse_copies");
    switch (row.status) {
        case Status::kScheduled:
        case Status::kRunning:
            return {Kind::kUnavailable, "the attempt is being settled; say it again"};
        case Status::kSuccess:
            if (!report.report.success || WasEndedByOthers(row)) break;
            if (same) return {Kind::kAccepted, ""};
            return {Kind::kStale, kSaidOtherwise};
        case Status::kFailed:
        case Status::kRetrying:
        case Status::kPending:
            if (!report.report.success && HasFailedItself(row)) {
                if (same) return {Kind::kAccepted, ""};
                return {Kind::kStale, kSaidOtherwise};
            }
            break;
        default:
            break;
    }
    return Stale(row);
}

void PushLink::Callback(CallbackReport report, CallbackDone done) {
    context_->node->Look([this, report = std::move(report), done = std::move(done),
                          stay = home_.stay()](const Engine* engine) mutable {
        if (!stay.holds()) return done({Kind::kUnavailable, "the scheduler stops"});
        TakeCallback(engine, std::move(report), std::move(done));
    });
}

void PushLink::TakeCallback(const Engine* engine, CallbackReport report, CallbackDone done) {
    if (!engine) {
        return done({Kind::kUnavailable, "the leader has just changed; say it again"});
    }
    // A copy of a callback whose commit is still under way is answered with it.
    const auto under_way = waiting_.find({report.execution.text(), report.token});
    if (under_way != waiting_.end()) {
        under_way->second.emplace_back(std::move(report), std::move(done));
        return;
    }
    const Execution* row = engine->FindExecution(report.execution);
    const bool current = row && row->token == report.token && IsWorking(row->status);
    if (row && !current && TAKT_MUTANT("links.answer_callbacks_early")) {
        return done(JudgeCallback(*row, report));
    }
    // It ended after it was cancelled: nobody need wait for its handler any longer.
    if (const AttemptRef* stopping = engine->FindStopping(report.execution, report.token)) {
        context_->node->Tell(internal::Report{.session = callbacks_session_, .attempt = *stopping});
    }
    // The engine may have decided on the attempt and not stored that yet: told is only what is stored.
    if (!current) return JudgeStored(std::move(report), std::move(done));
    if (TAKT_MUTANT("links.lose_callbacks")) return done({Kind::kUnavailable, "lost"});
    const AttemptRef attempt{row->id, row->attempt, row->token};
    if (const auto instance = FindInstance(row->worker)) instance->OnEnded(attempt);
    std::vector<Input> lines;
    AppendLog(callbacks_session_, attempt, report.report.log, lines);
    if (!lines.empty()) context_->node->Tell(std::move(lines));
    const bool blank = report.report.success && TAKT_MUTANT("links.lose_results");
    context_->node->Tell(
        internal::Report{.session = callbacks_session_,
                         .attempt = attempt,
                         .success = report.report.success,
                         .retryable = report.report.retryable,
                         .outcome = blank ? OutcomePtr(new Outcome) : report.report.outcome});
    waiting_[{attempt.execution.text(), attempt.token}].emplace_back(std::move(report),
                                                                     std::move(done));
}

void PushLink::TakeNews(News news, CallbackDone done) {
    context_->node->Look([this, news = std::move(news), done = std::move(done),
                          stay = home_.stay()](const Engine* engine) mutable {
        if (!stay.holds()) return done({Kind::kUnavailable, "the scheduler stops"});
        if (!engine) {
            return done({Kind::kUnavailable, "the leader has just changed; say it again"});
        }
        const Execution* row = engine->FindExecution(news.execution);
        if (!row) {
            return done({Kind::kStale, "the execution is finished, or there is none of this id"});
        }
        if (row->token != news.token || !IsWorking(row->status)) {
            if (row->attempt <= 1 && row->token != news.token) {
                return done({Kind::kForeign, "the token is not one of this execution's"});
            }
            return done({Kind::kStale, "the attempt is over; what it writes is not kept"});
        }
        const AttemptRef attempt{row->id, row->attempt, row->token};
        std::vector<Input> inputs;
        AppendLog(callbacks_session_, attempt, news.body.lines, inputs);
        if (news.body.fraction) {
            inputs.emplace_back(Progress{callbacks_session_, attempt, *news.body.fraction,
                                         Text(news.body.message)});
        }
        if (!inputs.empty()) context_->node->Tell(std::move(inputs));
        done({Kind::kAccepted, ""});
    });
}

void PushLink::OnVerdict(const internal::Verdict& verdict) {
    const auto found = waiting_.find({verdict.attempt.execution.text(), verdict.attempt.token});
    if (found == waiting_.end()) return;
    Callers callers = std::move(found->second);
    waiting_.erase(found);
    const ServiceReport first = callers.front().first.report;
    for (auto& [report, done] : callers) {
        const bool same = (report.report.success == first.success &&
                           SaysTheSame(first.outcome.get(), report.report.outcome.get())) ||
                          TAKT_MUTANT("links.accept_contradictions");
        // The first was judged with what the engine knew; what it says otherwise the store knows.
        if (verdict.accepted && same) {
            done({Kind::kAccepted, ""});
        } else {
            JudgeStored(std::move(report), std::move(done));
        }
    }
}

void PushLink::JudgeStored(CallbackReport report, CallbackDone done) {
    std::vector<ExecutionId> ids = {report.execution};
    rows_.FindExecutions(
        std::move(ids), [report = std::move(report), done = std::move(done)](auto found) mutable {
            if (!found) return done({Kind::kUnavailable, found.error().detail});
            if (!found->front()) {
                return done({Kind::kNotFound,
                             "there is no execution '" + report.execution.text().str() + "'"});
            }
            done(JudgeCallback(*found->front(), report));
        });
}

}  // namespace takt::internal
