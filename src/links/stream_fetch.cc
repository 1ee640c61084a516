// Results of earlier steps that a worker fetches over its session.
#include <memory>
#include <utility>

#include "base/utf8.h"
#include "links/step_results.h"
#include "links/stream_session.h"
#include "worker.pb.h"

namespace takt::internal {

// Whoever asks for what is not its own is told no more than that.
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
                    [self = shared_from_this(), answer](Result<StepResultsPage> page) {
                        worker::v1::Fetched& out = *answer->mutable_fetched(0);
                        if (!page) {
                            out.set_why(page.error().detail);
                            return self->Send(*answer);
                        }
                        for (std::string& part : page->parts) {
                            MakeUtf8(part);
                            out.add_parts(std::move(part));
                        }
                        out.set_total(page->total);
                        out.set_list(page->list);
                        self->Send(*answer);
                    });
}

}  // namespace takt::internal
