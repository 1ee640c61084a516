// Workers: who is there, what they have in hand, what they get next.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

// A lease that is looked at later than this was not looked at in time, and says nothing yet.
constexpr Duration kTickLate{1'000};

// When a worker whose hand is being settled was lost, which an earlier leader may have found.
Time LostAt(const Worker& row, Duration lease, Time now) {
    const bool unknown = row.status != WorkerStatus::kOffline || row.seen_at == Time{};
    return unknown ? now : std::min(now, row.seen_at + lease);
}

CloseSession NoRoom(SessionId session, const std::string& why) {
    return {.session = session, .reason = Text(why), .full = true};
}

}  // namespace

Slot* Engine::SlotOf(SessionId session) const {
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? nullptr : found->second;
}

void Engine::On(Attach& attach) {
    auto [entry, is_new] = workers_.try_emplace(attach.worker.id.text());
    if (is_new) {
        entry->second = std::make_unique<Slot>();
        entry->second->order = ++joined_;
    }
    Slot& slot = *entry->second;
    // An executor registers once, when it starts: nobody would tell it that it has to again.
    if (slot.session != 0 && slot.row.link == LinkKind::kPush &&
        attach.worker.link != LinkKind::kPush) {
        draft_.Send(CloseSession{
            attach.session,
            Text("the id '" + slot.row.id.text().str() + "' is a live HTTP executor's (" +
                 slot.row.address.str() + "): give the worker another one")});
        return;
    }
    if (const auto admitted = quotas_.AdmitWorker(sessions_.size());
        !admitted && slot.session == 0) {
        draft_.Send(NoRoom(attach.session, admitted.error().detail));
        if (is_new) workers_.erase(entry);
        return;
    }
    if (is_new && !MakeRoomFor(slot)) {
        draft_.Send(NoRoom(attach.session, "there are " + std::to_string(config_.workers_max) +
                                               " workers already (scheduler.workers_max)"));
        workers_.erase(entry);
        return;
    }
    const Worker before = slot.row;
    // The work of a process of the same id that died has died with it; that of a process that only
    // lost its connection does not have, it never got.
    const bool same_process = !is_new && before.instance == attach.worker.instance;
    const bool was_away = slot.session == 0 && attach.worker.link == LinkKind::kStream;
    CloseSessionOf(slot, "a newer session of this worker took its place");
    slot.row = std::move(attach.worker);
    TakeCapacity(slot, before.capacity_set);
    slot.row.weight = std::clamp(slot.row.weight, 1u, kWeightMax);
    slot.row.joined_at = is_new ? now_.wall : before.joined_at;
    slot.row.seen_at = now_.wall;
    // An operator's word on it holds until the operator says otherwise; a drain ends with the
    // process that was drained.
    const bool maintained =
        before.status == WorkerStatus::kMaintenance && !TAKT_MUTANT("engine.forget_maintenance");
    const bool set_aside = maintained || (before.status == WorkerStatus::kDraining && same_process);
    slot.row.status = set_aside ? before.status : WorkerStatus::kOnline;
    slot.row.status_reason = set_aside ? before.status_reason : Text();
    slot.session = attach.session;
    slot.load = attach.load;
    slot.leaving = slot.gone = false;
    sessions_[attach.session] = &slot;
    leases_.Set(slot, now_.steady + config_.worker_lease, slot.order);
    // After a takeover all workers come at once, as they were.
    if (!slot.offer || !SameOffer(before, slot.row)) FindLanes(slot);
    DoubtHand(slot, !same_process);
    ReconcileHand(slot, attach.holding, was_away);
    ReviewStopping(slot, attach.holding, same_process);
    draft_.PutWorker(slot.mark, slot.row);
    if (is_new) {
        Emit(EventType::kWorkerJoined, slot);
    } else if (before.status != WorkerStatus::kOnline && !set_aside) {
        Emit(EventType::kWorkerOnline, slot);
    }
    if (set_aside) draft_.Send(DrainNotice{slot.session, true});
    if (before.capacity_set != 0) draft_.Send(CapacityNotice{slot.session, before.capacity_set});
    ContinueWorker(slot);
}

// Whether there may be one more worker. Of those that are gone, the one not seen for the longest
// makes way: somebody who comes and goes under ever new names must not fill the memory.
bool Engine::MakeRoomFor(const Slot& newcomer) {
    if (workers_.size() <= config_.workers_max) return true;
    Slot* oldest = nullptr;
    for (const auto& [id, slot] : workers_) {
        const bool gone = slot->session == 0 && slot->hand.empty() && slot->pinned.empty() &&
                          slot->row.status == WorkerStatus::kOffline;
        if (!gone || slot.get() == &newcomer) continue;
        if (oldest && std::pair(oldest->row.seen_at, oldest->order) <
                          std::pair(slot->row.seen_at, slot->order)) {
            continue;
        }
        oldest = slot.get();
    }
    if (!oldest) return false;
    Emit(EventType::kWorkerLeft, *oldest, "made room for another worker");
    ForgetWorker(*oldest);
    return true;
}

// An attempt that the engine believes to be in the worker's hand may not be there.
void Engine::DoubtHand(Slot& slot, bool loss) {
    slot.doubt_is_loss = loss;
    for (Live* live = slot.hand.front(); live; live = live->next) live->doubtful = true;
    slot.lingering.clear();
}

// The worker told what it has: that is beyond doubt, and what is not its own any more it must stop.
void Engine::ReconcileHand(Slot& slot, const std::vector<AttemptRef>& holding, bool was_away) {
    for (const AttemptRef& attempt : holding) {
        Live* live = FindCurrent(attempt);
        if (live && live->slot == &slot && !TAKT_MUTANT("engine.refuse_hands")) {
            live->doubtful = live->spared = live->open = false;
            // Its result, if it has one, follows at once: it is no longer away, and not yet late.
            const Steady later = now_.steady + config_.timeout_grace;
            if (was_away && overdue_.TimeOf(*live) < later) {
                overdue_.Set(*live, later, live->row.serial);
            }
        } else {
            // Nobody may ever tell that a service has stopped it.
            if (slot.row.link == LinkKind::kStream) slot.lingering.push_back(attempt);
            if (FindStopping(attempt.execution, attempt.token)) continue;
            Claimed claimed{slot.session, attempt};
            On(claimed);
        }
    }
}

// Does what is to be done for a worker: takes the doubtful out of its hand, then fills it; as far
// as one step may go.
void Engine::ContinueWorker(Slot& slot) {
    if (slot.doubt_is_loss)
        trials_.Judge(slot.hand, LostAt(slot.row, config_.worker_lease, now_.wall));
    // The one to blame comes last, and suspects after what is none: that it was found is not
    // stored, and a leader that goes on with this one's work must not blame another one beside it.
    const auto rank = [&](const Live& live) {
        return !live.spared ? 2 : trials_.IsSuspect(live.row) ? 1 : 0;
    };
    for (int settled = 0; settled <= 2; ++settled) {
        for (Live* live = slot.hand.front(); live;) {
            Live* next = live->next;
            if (live->doubtful && rank(*live) == settled) {
                if (draft_.Tired()) return ContinueLater(slot);
                RequeueExecution(*live, slot.doubt_is_loss);
            }
            live = next;
        }
    }
    slot.doubt_is_loss = false;
    if (slot.gone && !FeedPinned(slot)) return;
    if (slot.leaving && slot.hand.empty()) return ForgetWorker(slot);
    RefreshCapacity(slot);
    FeedWorker(slot);
}

void Engine::ContinueLater(Slot& slot) {
    if (slot.unfinished || TAKT_MUTANT("engine.forget_unfinished")) return;
    slot.unfinished = true;
    unfinished_.push_back(&slot);
}

// Gives a worker with room the most urgent of what it may run, until it is full.
void Engine::FeedWorker(Slot& slot) {
    // An execution whose lock is free now comes before those in the lanes behind it.
    ServeLocks();
    if (!FeedPinned(slot)) return;
    while (slot.can_take) {
        Live* best = nullptr;
        for (Crew* crew : slot.crews) {
            Live* first = crew->First(now_.steady);
            const auto urgency = [&](const Live* live) {
                return UrgencyOf(live->row, config_.ageing);
            };
            if (first && (!best || urgency(first) < urgency(best))) best = first;
        }
        if (!best) return;
        if (draft_.Tired()) return ContinueLater(slot);
        Live& next = *best;
        if (EndIfExpired(next) || GiveToOthersFirst(next) || !MayBegin(next)) continue;
        GiveTo(next, slot);
    }
}

Lane& Engine::LaneFor(const Task& task) {
    lanes_.Sweep([this](Lane& lane) { crews_.Remove(lane); });
    bool made = false;
    Lane& lane = lanes_.For(task, made);
    if (made) {
        const Offers::Found found = offers_.WhoServes(lane);
        if (!crews_.PlaceByMark(lane, found.mark)) crews_.Place(lane, found.Members());
    }
    return lane;
}

// The worker came, or came back as another.
void Engine::FindLanes(Slot& slot) {
    const bool is_new = !slot.offer;
    offers_.Remove(slot);
    offers_.Add(slot);
    const Slot* like = offers_.Like(slot);
    std::vector<Lane*> changed;
    const auto judge = [&](Lane& lane) {
        if (Serves(slot.row, lane) != lane.crew().Has(slot)) changed.push_back(&lane);
    };
    if (is_new && like) {
        crews_.Join(slot, *like, [&](const Lane& lane) { return Serves(slot.row, lane); });
        for (Lane* lane : lanes_.AimedAt(slot.row.id.text())) judge(*lane);
    } else {
        lanes_.ForEach(judge);
    }
    crews_.Toggle(slot, std::move(changed));
}

void Engine::On(Heartbeat& heartbeat) {
    Slot* slot = SlotOf(heartbeat.session);
    if (!slot) return;
    slot->load = heartbeat.load;
    slot->row.seen_at = now_.wall;
    if (heartbeat.capacity != 0 && heartbeat.capacity != slot->row.capacity_said) {
        ChangeCapacity(*slot, heartbeat.capacity, slot->row.capacity_set);
    }
    leases_.Set(*slot, now_.steady + config_.worker_lease, slot->order);
    RefreshCapacity(*slot);
    FeedWorker(*slot);
}

void Engine::On(Detach& detach) {
    Slot* slot = SlotOf(detach.session);
    if (!slot) return;
    sessions_.erase(detach.session);
    slot->session = 0;
    RefreshCapacity(*slot);
}

void Engine::On(Goodbye& goodbye) {
    Slot* slot = SlotOf(goodbye.session);
    if (!slot) return;
    // One that an operator has set aside stays so, whatever process comes next under its id.
    if (slot->row.status == WorkerStatus::kMaintenance &&
        !TAKT_MUTANT("engine.leave_maintenance")) {
        return LoseWorker(*slot, "it said goodbye", false);
    }
    DismissWorker(*slot, "it said goodbye");
}

AuditTarget TargetOf(const Worker& row) {
    return {row.link == LinkKind::kPush ? "executor" : "worker", row.id.text().str()};
}

void Engine::On(RemoveWorker& remove) {
    const auto found = workers_.find(remove.worker.text());
    if (found == workers_.end()) {
        return draft_.Reply(
            remove.request,
            Fail(ErrorCode::kNotFound, "there is no worker '" + remove.worker.text().str() + "'"));
    }
    const Slot& slot = *found->second;
    if (!remove.force && slot.session != 0 && !slot.hand.empty()) {
        return draft_.Reply(
            remove.request,
            Fail(ErrorCode::kConflict,
                 "it is connected and has " + std::to_string(slot.hand.size()) +
                     " executions in hand, which would run a second time beside it; drain it "
                     "first, stop it, or say force"));
    }
    draft_.Audit(remove.by, {.target = TargetOf(slot.row),
                             .before = FieldsDocument({{"status", Name(slot.row.status)}})});
    draft_.Reply(remove.request, Answer{});
    DismissWorker(*found->second, "an operator removed it");
}

void Engine::On(SetWorkerStatus& set) {
    const auto found = workers_.find(set.worker.text());
    if (found == workers_.end()) {
        return draft_.Reply(
            set.request,
            Fail(ErrorCode::kNotFound, "there is no worker '" + set.worker.text().str() + "'"));
    }
    Slot& slot = *found->second;
    if (set.by) {
        draft_.Audit(set.by, {.target = TargetOf(slot.row),
                              .before = FieldsDocument({{"status", Name(slot.row.status)},
                                                        {"reason", slot.row.status_reason.view()}}),
                              .after = FieldsDocument(
                                  {{"status", Name(set.status)}, {"reason", set.reason.view()}})});
    }
    draft_.Reply(set.request, Answer{});
    if (set.status == WorkerStatus::kOffline) return LoseWorker(slot, set.reason);
    const WorkerStatus before = slot.row.status;
    // A worker that is not there cannot be put online by saying so. One that is cut off, whose lease
    // goes on, may be back with what it has: stored as offline it would be lost to the next leader.
    const bool away = slot.gone || before == WorkerStatus::kOffline;
    const bool absent = set.status == WorkerStatus::kOnline && slot.session == 0 && away;
    slot.row.status = absent ? WorkerStatus::kOffline : set.status;
    slot.row.status_reason = set.reason;
    draft_.PutWorker(slot.mark, slot.row);
    if (slot.session != 0) {
        draft_.Send(DrainNotice{slot.session, set.status != WorkerStatus::kOnline});
    }
    if (before != WorkerStatus::kOnline && slot.row.status == WorkerStatus::kOnline) {
        Emit(EventType::kWorkerOnline, slot, set.reason);
    }
    ContinueWorker(slot);
}

void Engine::CloseSessionOf(Slot& slot, Text why) {
    if (slot.session == 0) return;
    draft_.Send(CloseSession{slot.session, std::move(why)});
    sessions_.erase(slot.session);
    slot.session = 0;
}

// The worker is taken for dead: what it had in hand is given to others. `loss`: and has died with it.
void Engine::LoseWorker(Slot& slot, Text why, bool loss) {
    CloseSessionOf(slot, why);
    if (slot.row.status != WorkerStatus::kMaintenance) {
        slot.row.status = WorkerStatus::kOffline;
        slot.row.status_reason = why;
    }
    draft_.PutWorker(slot.mark, slot.row);
    Emit(EventType::kWorkerOffline, slot, std::move(why));
    leases_.Set(slot, now_.steady + ForgottenAfter(config_), slot.order);
    slot.gone = true;
    DoubtHand(slot, loss);
    ReviewStopping(slot, {}, false);
    RefreshCapacity(slot);
    ContinueWorker(slot);
}

// The worker goes in order: what it still had in hand is given to others, and counts as no loss.
void Engine::DismissWorker(Slot& slot, Text why) {
    CloseSessionOf(slot, why);
    slot.row.status = WorkerStatus::kOffline;
    slot.leaving = slot.gone = true;
    Emit(EventType::kWorkerLeft, slot, std::move(why));
    DoubtHand(slot, false);
    ReviewStopping(slot, {}, false);
    RefreshCapacity(slot);
    ContinueWorker(slot);
}

void Engine::OnLease(Slot& slot) {
    // This process slept, or was kept busy: its workers' signs of life may lie unread in the inbox.
    if (slot.session != 0 && now_.steady - leases_.next_at() > kTickLate) {
        return leases_.Set(slot, now_.steady + kTickLate, slot.order);
    }
    if (slot.session == 0 && slot.row.status == WorkerStatus::kOffline && slot.hand.empty() &&
        slot.pinned.empty()) {
        return ForgetWorker(slot);
    }
    if (slot.session == 0 && slot.row.status == WorkerStatus::kMaintenance && slot.hand.empty()) {
        // An operator set it aside; it stays known until an operator removes it.
        ReviewStopping(slot, {}, false);
        return leases_.Set(slot, now_.steady + ForgottenAfter(config_), slot.order);
    }
    LoseWorker(slot, "not heard of for longer than its lease");
}

void Engine::ForgetWorker(Slot& slot) {
    TAKT_CHECK(slot.hand.empty() && slot.pinned.empty() && slot.session == 0);
    crews_.Leave(slot);
    offers_.Remove(slot);
    LeaveSlot(slot);
    leases_.Remove(slot);
    std::erase(unfinished_, &slot);
    draft_.DeleteWorker(slot.mark, slot.row.id);
    workers_.erase(Text(slot.row.id.text()));
}

}  // namespace takt::internal
