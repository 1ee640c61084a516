#include "api/execution_waits.h"

#include "api/event_hub.h"
#include "api/execution_json.h"
#include "api/execution_reads.h"
#include "http/gone.h"

namespace takt::internal {
namespace {

bool IsOver(const FoundExecutions& found) {
    return !found || !found->front() || IsTerminal(found->front()->status);
}

// Only the leader knows when an execution ends. What has ended, any node can tell.
void WaitElsewhere(Call call, ExecutionId id) {
    const std::shared_ptr<Services> services = call.shared_services();
    std::vector<ExecutionId> ids = {id};
    services->rows.FindExecutions(std::move(ids), [call = std::move(call), id = std::move(id)](
                                                      const FoundExecutions& found) mutable {
        const bool over = IsOver(found);
        const std::shared_ptr<Services> services = call.shared_services();
        services->post([call = std::move(call), id = std::move(id), over]() mutable {
            const std::shared_ptr<Services> services = call.shared_services();
            const NodeStatus status = services->node.status();
            if (!over && CanPassOn(call, status, services->gate->stream)) {
                return PassOn(std::move(call), status, services->gate->stream);
            }
            services->reads->Get(std::move(call), std::move(id));
        });
    });
}

}  // namespace

void ExecutionWaits::Wait(Call call, ExecutionId id, Duration wait) {
    const std::shared_ptr<Services> services = call.shared_services();
    const Key key{SteadyClock::now() + wait, ++last_};
    // First told of the end, then looking: it does not fall between.
    const std::uint64_t number = services->events.ends().Await(id, [services, key] {
        services->post([services, key] { services->waits->AnswerAsStored(key); });
    });
    if (number == 0) return WaitElsewhere(std::move(call), std::move(id));
    if (const std::shared_ptr<HttpGone> gone = call.request().gone) {
        gone->Then([weak = std::weak_ptr(services), key] {
            const auto services = weak.lock();
            if (services) services->post([services, key] { services->waits->Drop(key); });
        });
    }
    std::vector<ExecutionId> ids = {id};
    waiters_.emplace(key, Waiter{std::move(call), std::move(id), number});
    Arm(services);
    services->rows.FindExecutions(std::move(ids), [services, key](FoundExecutions found) mutable {
        services->post([services, key, found = std::move(found)]() mutable {
            services->waits->OnFound(services, key, std::move(found));
        });
    });
}

void ExecutionWaits::OnFound(const std::shared_ptr<Services>& services, Key key,
                             FoundExecutions found) {
    if (!IsOver(found)) return;
    auto waiter = Take(key);
    if (!waiter) return;
    Call& call = waiter.mapped().call;
    if (!found) return call.RefuseAnswer(found.error());
    if (!found->front()) return call.RefuseAnswer(NoSuchExecution(waiter.mapped().id));
    call.Send(ExecutionAnswer(*services, *found->front(), nullptr));
}

void ExecutionWaits::AnswerAsStored(Key key) {
    auto waiter = Take(key);
    if (!waiter) return;
    const std::shared_ptr<Services> services = waiter.mapped().call.shared_services();
    services->reads->Get(std::move(waiter.mapped().call), std::move(waiter.mapped().id));
}

void ExecutionWaits::Drop(Key key) {
    Take(key);
}

std::map<ExecutionWaits::Key, ExecutionWaits::Waiter>::node_type ExecutionWaits::Take(Key key) {
    auto waiter = waiters_.extract(key);
    if (!waiter) return waiter;
    const Waiter& taken = waiter.mapped();
    const Services& services = taken.call.services();
    services.events.ends().Forget(taken.id, taken.number);
    if (waiters_.empty()) services.home.Cancel(std::exchange(timer_, 0));
    return waiter;
}

void ExecutionWaits::Arm(const std::shared_ptr<Services>& services) {
    if (waiters_.empty()) return;
    const Steady first = waiters_.begin()->first.first;
    if (timer_ != 0 && timer_at_ <= first) return;
    services->home.Cancel(timer_);
    timer_at_ = first;
    const auto delay = std::chrono::ceil<Duration>(first - SteadyClock::now());
    timer_ =
        services->home.After(std::max(delay, Duration(0)), [this, weak = std::weak_ptr(services)] {
            if (const auto services = weak.lock()) OnTime(services);
        });
}

void ExecutionWaits::OnTime(const std::shared_ptr<Services>& services) {
    timer_ = 0;
    const Steady now = SteadyClock::now();
    while (!waiters_.empty() && waiters_.begin()->first.first <= now) {
        AnswerAsStored(waiters_.begin()->first);
    }
    Arm(services);
}

}  // namespace takt::internal
