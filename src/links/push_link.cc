#include "links/push_link.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "links/push_answers.h"
#include "links/push_hand_over.h"
#include "links/session_id.h"
#include "model/namespace.h"
#include "node/node.h"
#include "node/shares.h"

namespace takt::internal {
namespace {

// Settings that remember which executors are offline (OfflineKey) and those of a hand-over
// (kLeftPrefix) begin alike: one read finds both.
constexpr std::string_view kSettingsPrefix = "executor-";
constexpr Duration kRestoreDelay{1'000};

// An order names no more schedulers than this: any one that lives is enough.
constexpr std::size_t kCallbackBasesMax = 16;

std::vector<Assign> HandOf(const Engine& engine, const WorkerId& id) {
    std::vector<Assign> hand;
    for (const HeldView& held : engine.HandOf(id)) {
        hand.push_back({.execution = held.execution, .timeout = held.timeout, .locks = held.locks});
    }
    return hand;
}

}  // namespace

PushLink::PushLink(Runtime& runtime, PartitionReader rows, PushLinkConfig config,
                   ServicePolicy policy, HttpSend execute, HttpSend check, const RandomSeed& seed)
    : rows_(rows),
      context_(new PushContext{.runtime = runtime,
                               .config = std::move(config),
                               .policy = std::move(policy),
                               .execute = std::move(execute),
                               .check = std::move(check),
                               .random = Random(seed)}),
      callbacks_session_(NewSessionId()) {
    const PushLinkConfig& given = context_->config;
    context_->callback_bases = {given.callback_base.empty() ? given.address : given.callback_base};
    context_->pass_on = [this](const AttemptRef& attempt, ServiceReport report) {
        Launch(PassOn(attempt, std::move(report)));
    };
}

PushLink::~PushLink() {
    context_->runtime.Cancel(timer_);
    context_->pass_on = {};
    for (auto& [id, instance] : instances_) instance->Drop();
}

std::shared_ptr<PushInstance> PushLink::FindInstance(const WorkerId& id) const {
    const auto found = instances_.find(id.text());
    return found == instances_.end() ? nullptr : found->second;
}

std::optional<PushView> PushLink::View(const WorkerId& id) const {
    const auto instance = FindInstance(id);
    if (!instance) return std::nullopt;
    return PushView{.circuit = instance->circuit(),
                    .checked = instance->checked(),
                    .checks_failed = instance->failures(),
                    .trouble = instance->trouble()};
}

// --- Terms --------------------------------------------------------------------------------------

void PushLink::OnRole(Role role) {
    home_.NextTerm();
    ready_ = false;
    context_->runtime.Cancel(std::exchange(timer_, 0));
    PartWith(role == Role::kStopped);
    for (auto& [key, callers] : std::exchange(waiting_, {})) {
        for (auto& [report, done] : callers) {
            done({CallbackAnswer::Verdict::kUnavailable,
                  "the leader has just changed; say it again"});
        }
    }
    if (role == Role::kLeader) LearnSchedulers([this] { Restore(); });
}

// Where the other schedulers are: what an executor reports it may report to any of them, so the
// death of this one costs no result. `then` is called in the same term, whether they answer or not.
void PushLink::LearnSchedulers(Action then) {
    rows_.store().Nodes(home_.term().Here([this, then = std::move(then)](auto nodes) mutable {
        if (nodes) {
            std::vector<std::string> bases = {context_->config.address};
            context_->schedulers.emplace();
            const std::string& name = context_->config.space;
            const Text space(name.empty() ? std::string(kDefaultNamespace) : name);
            for (const NodeRow& node : *nodes) {
                context_->schedulers->emplace(node.node, Peer{.row = node}.MayLead(space));
                if (node.address.empty() || node.address == bases.front()) continue;
                if (bases.size() < kCallbackBasesMax) bases.push_back(node.address.str());
            }
            if (context_->config.callback_base.empty()) context_->callback_bases = std::move(bases);
        }
        then();
    }));
}

void PushLink::Restore() {
    rows_.ListSettings(Text(kSettingsPrefix), home_.term().Here([this](auto settings) {
        if (!settings) {
            Log(LogLevel::kWarning, "executors", "cannot read which are offline",
                {{"error", settings.error().detail}});
            timer_ = context_->runtime.After(kRestoreDelay, [this] { Restore(); });
            return;
        }
        context_->node->Look(home_.term().Guard([this, settings](const Engine* engine) {
            if (engine) Restore(*engine, *settings);
        }));
    }));
}

void PushLink::Restore(const Engine& engine, const std::vector<SettingPut>& settings) {
    ready_ = true;
    LeftAttempts left = ReadLeftAttempts(settings);
    // A process of the same id that was stopped kept calls which this one does not have.
    if (!keeps_calls()) {
        const NodeId self = context_->node->status().node;
        std::erase_if(left, [&](const auto& entry) { return entry.second.keeper == self; });
    }
    context_->lease = engine.config().worker_lease;
    context_->forgotten = engine.config().worker_forgotten;
    for (const WorkerView& worker : engine.Workers()) {
        const Worker& row = worker.row;
        if (row.link != LinkKind::kPush || worker.leaving) continue;
        auto instance = std::make_shared<PushInstance>(context_, row);
        instances_[row.id.text()] = instance;
        instance->declared_offline = std::ranges::any_of(
            settings, [&](const SettingPut& setting) { return setting.key == OfflineKey(row.id); });
        instance->Watch();
        // The others were lost before; they come back when they are healthy or say so.
        if (row.status == WorkerStatus::kOffline || instance->declared_offline) continue;
        instance->Restore(HandOf(engine, row.id), left);
        instance->Open();
    }
    for (const SettingPut& setting : settings) {
        if (setting.key.view().starts_with(kLeftPrefix)) {
            context_->node->Tell(SetSetting{.key = setting.key});
        }
    }
    TickLater();
}

void PushLink::TickLater() {
    // Three times within a lease: one that is late does not lose the worker.
    timer_ = context_->runtime.After(context_->lease / 3, [this] {
        for (auto at = instances_.begin(); at != instances_.end();) {
            if (at->second->Tick()) {
                ++at;
            } else {
                at->second->Drop();
                at = instances_.erase(at);
            }
        }
        LearnSchedulers([] {});
        TickLater();
    });
}

void PushLink::Release(const Effects& effects) {
    const auto of = [&](SessionId session) -> PushInstance* {
        const auto found = context_->sessions.find(session);
        return found == context_->sessions.end() ? nullptr : found->second;
    };
    // An assignment of a session that is over was not in its hand: the engine gives it to others.
    for (const Assign& assign : effects.assigns) {
        if (PushInstance* instance = of(assign.session)) instance->OnAssign(assign);
    }
    for (const StopAttempt& stop : effects.stops) {
        if (PushInstance* instance = of(stop.session)) instance->OnStop(stop);
    }
    for (const LockVerdict& verdict : effects.lock_verdicts) {
        if (PushInstance* instance = of(verdict.session)) instance->OnLockLost(verdict);
    }
    for (const Verdict& verdict : effects.verdicts) {
        if (verdict.session == callbacks_session_) OnVerdict(verdict);
        if (context_->told.empty()) continue;
        context_->told.erase({verdict.attempt.execution.text(), verdict.attempt.token});
    }
    for (const CloseSession& close : effects.closes) {
        if (of(close.session)) OnClosed(close);
    }
    // One that is offline has no session that could be closed.
    for (const Event& event : effects.events) {
        if (event.type != EventType::kWorkerLeft) continue;
        const auto instance = FindInstance(event.worker);
        if (!instance || instance->session() != 0 || instance->in_question) continue;
        instance->Drop();
        instances_.erase(event.worker.text());
    }
}

// Ended by the engine: the executor was removed, or a stream worker took its id, or there are as many
// workers as there may be, or this process was asleep for longer than a lease. Only the last one comes
// back at once, and one that found no room when it next shows that it lives.
void PushLink::OnClosed(const CloseSession& close) {
    const WorkerId id = context_->sessions.at(close.session)->row().id;
    const auto instance = FindInstance(id);
    instance->Drop();
    instance->in_question = true;
    if (close.full) {
        Log(LogLevel::kWarning, "executors", "no room for an executor",
            {{"executor", id}, {"why", close.reason}});
    }
    context_->node->Look(
        home_.term().Guard([this, id, instance, full = close.full](const Engine* engine) {
            if (!engine || FindInstance(id) != instance) return;
            if (!std::exchange(instance->in_question, false)) return;  // It registered meanwhile.
            const auto worker = engine->FindWorker(id);
            if (!worker || worker->leaving || worker->row.link != LinkKind::kPush) {
                instances_.erase(id.text());
            } else {
                if (!full) instance->Open();
                instance->Watch();
            }
        }));
}

// --- What the API asks --------------------------------------------------------------------------

Flow<Result<void>> PushLink::Judge(const Worker& row, MayTake& may_take) {
    const std::string id = row.id.text().str();
    for (std::optional<Text> dead;;) {
        const Engine* engine = co_await Looked(home_, *context_->node);
        if (!engine || !ready_) co_return NotLeading();
        const auto worker = engine->FindWorker(row.id);
        if (worker && worker->session != 0 && worker->row.link != LinkKind::kPush) {
            co_return Fail(ErrorCode::kConflict,
                           "a worker that is connected has the id '" + id + "'", "instance_id");
        }
        // The engine has not heard yet of one that registered a moment ago.
        const auto known = FindInstance(row.id);
        const Worker* before = known ? &known->row() : nullptr;
        if (!before && worker && worker->row.link == LinkKind::kPush) before = &worker->row;
        if (before && may_take && !may_take(before->group)) {
            co_return Fail(ErrorCode::kConflict,
                           "the id '" + id + "' is an executor's of another service",
                           "instance_id");
        }
        const bool online = (worker && worker->session != 0) || (known && known->session() != 0);
        if (!online) {
            if (auto admitted = engine->AdmitsWorker(); !admitted) co_return admitted;
        }
        if (!known || !known->IsElsewhere(row) || known->row().address == dead) {
            co_return Result<void>();
        }
        // Two processes with one id would take it from each other for ever, and lose their work each
        // time. So the one that has it keeps it while it lives.
        const Text address = known->row().address;
        const bool alive =
            co_await home_.Wait<bool>([&](auto done) { known->AskWhetherAlive(std::move(done)); });
        if (!alive) dead = address;
        if (!alive || known->row().address != address || !known->IsElsewhere(row)) continue;
        Log(LogLevel::kWarning, "executors", "refused a registration: its id has another process",
            {{"executor", row.id}, {"address", row.address.view()}, {"other", address.view()}});
        co_return Fail(ErrorCode::kConflict,
                       "another process has the id '" + id + "' (" + address.str() +
                           ", which is alive): give each its own instance_id, or stop that one; if "
                           "it is dead, wait until it is taken for dead; a process that moves to "
                           "another address sends the same process_id as before",
                       "instance_id");
    }
}

void PushLink::CheckId(Worker row, Done<void> done, MayTake may_take) {
    Launch([](PushLink& link, Worker row, Done<void> done, MayTake may_take) -> Flow<> {
        done(co_await link.Judge(row, may_take));
    }(*this, std::move(row), std::move(done), std::move(may_take)));
}

void PushLink::Register(Worker row, Done<void> done, MayTake may_take) {
    Launch(RegisterFlow(std::move(row), std::move(done), std::move(may_take)));
}

Flow<> PushLink::RegisterFlow(Worker row, Done<void> done, MayTake may_take) {
    if (auto free = co_await Judge(row, may_take); !free) co_return done(std::move(free));
    const WorkerId id = row.id;
    auto& instance = instances_[id.text()];
    if (!instance) instance = std::make_shared<PushInstance>(context_, row);
    // Before its session, and told as that is: a store that is away refuses a question, and keeps the
    // session. The next leader would believe the old word of one that has work.
    context_->node->Tell(SetSetting{.key = OfflineKey(id)});
    instance->Update(std::move(row));
    // Once more, to ask: the answer comes when everything before it is committed too. By then the
    // engine has taken it in, or has too many.
    const auto kept = co_await Asked(home_, *context_->node, SetSetting{.key = OfflineKey(id)});
    if (!kept) co_return done(PartlyDone(kept.error()));
    const Engine* engine = co_await Looked(home_, *context_->node);
    if (!engine) co_return done(PartlyDone(NotLeading().error()));
    const auto worker = engine->FindWorker(id);
    const auto admitted = engine->AdmitsWorker();
    if (worker && (worker->session != 0 || admitted)) co_return done({});
    if (!admitted) co_return done(admitted);
    done(Fail(ErrorCode::kExhausted,
              "there are too many workers already; see scheduler.workers_max"));
}

void PushLink::Beat(WorkerId id, WorkerLoad load, Done<void> done) {
    home_.Post([this, id = std::move(id), load, done = std::move(done)]() mutable {
        if (!ready_) return done(NotLeading());
        const auto instance = FindInstance(id);
        if (!instance) return done(NoExecutor(id));
        instance->Beat(load);
        done({});
    });
}

}  // namespace takt::internal
