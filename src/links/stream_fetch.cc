// Results of earlier steps that a worker fetches over its session.
#include <memory>
#include <utility>

#include "base/utf8.h"
#include "links/step_results.h"
#include "links/stream_session.h"
#include "worker.pb.h"

namespace takt::internal {
namespace {

void FillPage(Result<StepResultsPage> page, worker::v1::Fetched& out) {
    if (!page) return out.set_why(page.error().detail);
    for (std::string& part : page->parts) {
        MakeUtf8(part);
        out.add_parts(std::move(part));
    }
    out.set_total(page->total);
    out.set_list(page->list);
}

}  // namespace

// A worker that asks for what is not its own is told no more than that.
void StreamSession::AnswerFetch(const worker::v1::Fetch& fetch) {
    auto answer = std::make_shared<worker::v1::SchedulerFrame>();
    worker::v1::Fetched& out = *answer->add_fetched();
    *out.mutable_attempt() = fetch.attempt();
    out.set_ask(fetch.ask());
    const auto token = ParseToken(fetch.attempt().token());
    const auto& rows = sessions_->config().rows;
    if (!rows || !token || HoldingOf(*token) != Holding::kHeld) {
        out.set_why("the attempt is over, or was never this worker's");
        return Send(*answer);
    }
    ReadStepResults(*sessions_->node(), *rows,
                    {.execution = ExecutionId(Text(fetch.attempt().execution_id())),
                     .token = *token,
                     .step = fetch.step(),
                     .first = fetch.first()},
                    [socket = socket_, form = form_.load(), answer](Result<StepResultsPage> page) {
                        FillPage(std::move(page), *answer->mutable_fetched(0));
                        // A thread of the store's, maybe after the session has let its socket go.
                        std::string bytes;
                        WriteFrame(form, *answer, bytes);
                        const bool sent = form == FrameForm::kBinary ? socket->SendBinary(bytes)
                                                                     : socket->SendText(bytes);
                        if (!sent)
                            socket->Close(WebSocketCode::kTryLater, "too much waits to be read");
                    });
}

}  // namespace takt::internal
