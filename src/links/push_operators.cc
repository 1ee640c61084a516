// An operator's word on an executor. It is stored first: a link that acts before the node agrees is
// left with another truth than the store's if the node refuses or dies.
#include <utility>

#include "links/push_answers.h"
#include "links/push_link.h"
#include "node/node.h"

namespace takt::internal {

void PushLink::SetStatus(SetWorkerStatus set, Done<void> done) {
    home_.Post([this, set = std::move(set), done = std::move(done)]() mutable {
        if (!ready_) return done(NotLeading());
        auto instance = FindInstance(set.worker);
        if (!instance) return done(NoExecutor(set.worker));
        Launch(SetStatusFlow(std::move(instance), std::move(set), std::move(done)));
    });
}

// Whether it is declared offline is a setting of its own, which goes first: with it alone the executor
// becomes what was asked for, now or under the next leader.
Flow<> PushLink::SetStatusFlow(std::shared_ptr<PushInstance> instance, SetWorkerStatus set,
                               Done<void> done) {
    const WorkerId id = set.worker;
    const bool offline = set.status == WorkerStatus::kOffline;
    bool acted = false;
    if (offline != instance->declared_offline) {
        Text why;
        if (offline) why = set.reason.empty() ? Text("offline") : set.reason;
        const std::uint64_t registrations = instance->registrations();
        const auto kept =
            co_await Asked(home_, *context_->node, SetSetting{.key = OfflineKey(id), .value = why});
        if (!kept) co_return done(std::unexpected(kept.error()));
        if (FindInstance(id) != instance) co_return done(PartlyDone(NotLeading().error()));
        if (instance->registrations() != registrations) {
            co_return done(Fail(ErrorCode::kConflict, "it registered again meanwhile"));
        }
        instance->declared_offline = offline;
        acted = true;
    }
    if (offline) {
        // Maintenance would outlast being declared dead; draining does not, and starts nothing.
        context_->node->Tell(SetWorkerStatus{.worker = id, .status = WorkerStatus::kDraining});
        instance->Leave();
    } else if (set.status == WorkerStatus::kOnline && instance->session() == 0) {
        instance->Open();
        acted = true;
    }
    const auto told = co_await Asked(home_, *context_->node, std::move(set));
    if (told) co_return done({});
    done(acted || offline ? PartlyDone(told.error()) : std::unexpected(told.error()));
}

void PushLink::Remove(WorkerId id, ActPtr by, Done<void> done) {
    home_.Post([this, id = std::move(id), by = std::move(by), done = std::move(done)]() mutable {
        if (!ready_) return done(NotLeading());
        auto instance = FindInstance(id);
        if (!instance) return done(NoExecutor(id));
        Launch(RemoveFlow(std::move(instance), std::move(by), std::move(done)));
    });
}

Flow<> PushLink::RemoveFlow(std::shared_ptr<PushInstance> instance, ActPtr by, Done<void> done) {
    const WorkerId id = instance->row().id;
    const std::uint64_t registrations = instance->registrations();
    instance->BeginRemoval();
    const auto removed = co_await Asked(
        home_, *context_->node, RemoveWorker{.worker = id, .force = true, .by = std::move(by)});
    const bool stands = FindInstance(id) == instance && instance->registrations() == registrations;
    if (!removed) {
        if (stands) instance->EndRemoval();
        co_return done(std::unexpected(removed.error()));
    }
    if (stands) {
        instance->Drop();
        instances_.erase(id.text());
        context_->node->Tell(SetSetting{.key = OfflineKey(id)});
    }
    done({});
}

}  // namespace takt::internal
