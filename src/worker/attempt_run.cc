#include "worker/attempt_run.h"

#include <utility>

#include "worker/mailbox.h"

namespace takt::internal {

AttemptRun::AttemptRun(HeldPtr held, std::shared_ptr<RunTracer> tracer, std::unique_ptr<Span> span)
    : held_(std::move(held)),
      tracer_(std::move(tracer)),
      span_(std::move(span)),
      context_(held_->task, *held_, held_->stop.get_token(), held_->deadline) {}

AttemptRun::~AttemptRun() {
    Finish(TaskResult::Failure("the handler let go of its task without a result"));
}

void AttemptRun::Finish(TaskResult result) {
    if (finished_.exchange(true)) return;
    if (tracer_) tracer_->End(std::move(span_), result);
    held_->mailbox->Finished(held_, std::move(result));
}

}  // namespace takt::internal
