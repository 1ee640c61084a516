// Results of earlier steps that handlers ask for: their questions and the scheduler's answers.
#include <utility>

#include "worker/worker_core.h"

namespace takt::internal {
namespace {

// A change of leaders takes some seconds; then it is asked again.
constexpr Duration kFetchPatience{60'000};
constexpr std::size_t kFetchedBytesMax = 256u << 20;  // Of all results of a step.
constexpr std::size_t kFetchBytes = 250;              // Of a question in a frame, about.

}  // namespace

// --- On the handler's thread --------------------------------------------------------------------

Result<std::string> Held::FetchStep(std::string_view step) {
    std::string list;
    for (std::uint32_t first = 0;;) {
        auto call = std::make_shared<FetchCall>(++asks, std::string(step), first);
        mailbox->AskFetch(shared_from_this(), call);
        auto page = call->Await(stop.get_token(), kFetchPatience);
        if (!page && stop.stop_requested()) {
            return Fail(ErrorCode::kCancelled, "the attempt is to stop");
        }
        if (!page) return Fail(ErrorCode::kUnavailable, "no scheduler has answered");
        if (!page->why.empty()) return Fail(ErrorCode::kNotFound, page->why);
        if (!page->list) return page->parts.empty() ? "null" : std::move(page->parts[0]);
        for (const std::string& part : page->parts) {
            list += list.empty() ? '[' : ',';
            list += part;
        }
        if (list.size() > kFetchedBytesMax) {
            return Fail(ErrorCode::kExhausted, "the results are larger than 256 MiB");
        }
        first += static_cast<std::uint32_t>(page->parts.size());
        if (first >= page->total || page->parts.empty()) break;
    }
    return list.empty() ? "[]" : list + "]";
}

// --- On the network thread ----------------------------------------------------------------------

void WorkerCore::TakeFetchMail() {
    for (auto& [held, call] : mail_.fetches) {
        if (held->phase != Held::Phase::kRunning) {
            call->Answer({.why = "the attempt is over"});
            continue;
        }
        held->fetch_calls[call->ask] = call;
        fetches_due_.emplace_back(std::move(held), std::move(call));
    }
    mail_.fetches.clear();
}

// Frames of the session before may not have arrived, nor what they would have been answered.
void WorkerCore::RepeatFetches() {
    fetches_due_.clear();
    for (const auto& [key, held] : held_) {
        for (const auto& [ask, call] : held->fetch_calls) fetches_due_.emplace_back(held, call);
    }
}

void WorkerCore::FillFetches(std::size_t& bytes) {
    for (; !fetches_due_.empty() && bytes < options_.frame_bytes_max; fetches_due_.pop_front()) {
        const auto& [held, call] = fetches_due_.front();
        if (held->phase != Held::Phase::kRunning || !held->fetch_calls.contains(call->ask)) {
            continue;
        }
        worker::v1::Fetch& out = *frame_.add_fetches();
        out.mutable_attempt()->set_execution_id(held->task.execution_id);
        out.mutable_attempt()->set_attempt(held->task.attempt);
        out.mutable_attempt()->set_token(held->token);
        out.set_ask(call->ask);
        out.set_step(call->step);
        out.set_first(call->first);
        bytes += kFetchBytes + call->step.size();
    }
}

void WorkerCore::OnFetched(const worker::v1::Fetched& fetched) {
    const HeldPtr held = FindHeld(fetched.attempt());
    if (!held) return;
    const auto call = held->fetch_calls.extract(fetched.ask());
    if (!call) return;
    FetchedPage page{.parts = {fetched.parts().begin(), fetched.parts().end()},
                     .total = fetched.total(),
                     .list = fetched.list(),
                     .why = fetched.why()};
    call.mapped()->Answer(std::move(page));
}

}  // namespace takt::internal
