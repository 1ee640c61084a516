#include "sim/drills.h"

#include <utility>

namespace takt::internal::sim {
namespace {

constexpr Micros kDrillLook = 20ms;
constexpr Micros kAway = 9s;  // How long a scheduler is gone: the others have long taken over.
constexpr Micros kBack = 5s;  // How long nothing happens then.
constexpr Micros kSecond = 1s;

// Twice a second it comes and goes, for ten seconds.
constexpr Micros kPass = 250ms;
constexpr int kPasses = 40;

// Of one way: an answer still comes before its sender gives up.
constexpr Micros kSlow = 400ms;
constexpr Micros kStuckFor = 8s;

// From a question to its answer: four ways, and a commit that has to wait for another.
constexpr Micros kPrompt = 100ms;

}  // namespace

void Drills::After(Micros delay, void (Drills::*step)()) {
    world_.After(delay, nullptr, [this, step] {
        if (drill_ != Drill::kNone) (this->*step)();
    });
}

void Drills::Begin(Drill drill) {
    drill_ = drill;
    if (drill != Drill::kNone) WatchLater();
}

void Drills::End() {
    drill_ = Drill::kNone;
    database_.slow.clear();
    database_.stuck.clear();
}

void Drills::WatchLater() {
    After(kDrillLook, &Drills::Watch);
}

void Drills::Watch() {
    bool all = true;
    for (const auto& space : spaces_) all = all && space->led();
    if (!settled_ && all) {
        settled_ = true;
        for (const auto& space : spaces_) led_at_[space->partition()] = world_.now();
        world_.Note("drill", "begins");
        if (drill_ == Drill::kDeaths) KillOne();
        if (drill_ == Drill::kMoves) ComeAndGo();
        if (drill_ == Drill::kSlow || drill_ == Drill::kStuck) {
            SlowDown();
            AskPromptly();
        }
    }
    if (settled_) {
        for (const auto& space : spaces_) WatchLead(*space);
    }
    WatchLater();
}

// Within the ttl and a second there is another leader; where nobody dies, within a second.
void Drills::WatchLead(const Space& space) {
    const Partition partition = space.partition();
    const std::string name = "namespace " + std::to_string(partition);
    const bool poor = drill_ == Drill::kStuck && partition == kPoor;
    const Micros ttl = drill_ == Drill::kDeaths ? Micros(space.cluster.config.leadership.ttl) : 0us;
    if (space.led()) led_at_[partition] = world_.now();
    if (!poor && world_.now() - led_at_[partition] > ttl + kSecond) {
        fail_(name + " is without a leader for too long");
    }
    for (const auto& node : space.cluster.nodes) {
        if (!node->elected() || !node->host().well()) continue;
        const SimHost* before = std::exchange(leaders_[partition], &node->host());
        if (before == nullptr || before == &node->host()) continue;
        ++moves_;
        const bool slow = drill_ == Drill::kSlow || drill_ == Drill::kStuck;
        if (slow && !poor) fail_(name + " changed its leader though nothing happened to it");
    }
    const bool passes = drill_ == Drill::kMoves && turn_ < kPasses;
    if (passes && leaders_[partition] == hosts_.back().get()) {
        fail_(name + " is led by a scheduler that has just come");
    }
}

// --- Schedulers that die ------------------------------------------------------------------------

// While it leads some and follows others.
void Drills::KillOne() {
    victim_ = world_.Below(hosts_.size());
    SimHost& host = *hosts_[victim_];
    switch (world_.Below(3)) {
        case 0:
            host.Crash();
            break;
        case 1:
            host.Freeze(kAway);
            break;
        default:
            world_.Note(host.name(), "cannot reach the store");
            host.store_link.cut = true;
            break;
    }
    After(kAway, &Drills::PutRight);
}

void Drills::PutRight() {
    SimHost& host = *hosts_[victim_];
    world_.Note(host.name(), "is put right");
    host.store_link.cut = false;
    host.Start();
    After(kBack, &Drills::KillOne);
}

// --- Schedulers that come and go ----------------------------------------------------------------

void Drills::ComeAndGo() {
    SimHost& host = *hosts_.back();
    if (++turn_ >= kPasses) {
        host.Start();
        return After(kAway, &Drills::StopOne);
    }
    if (!host.running()) {
        host.Start();
    } else if (turn_ % 4 == 0) {
        host.Crash();
    } else {
        host.StopInOrder();
    }
    After(kPass, &Drills::ComeAndGo);
}

// A rolling restart, one after the other.
void Drills::StopOne() {
    victim_ = (victim_ + 1) % hosts_.size();
    hosts_[victim_]->StopInOrder();
    world_.After(kBack, nullptr, [this] { hosts_[victim_]->Start(); });
    After(kAway, &Drills::StopOne);
}

// --- A store that is slow for one namespace -----------------------------------------------------

void Drills::SlowDown() {
    if (drill_ == Drill::kSlow) {
        database_.slow[kPoor] = kSlow;
        return;
    }
    const bool stuck = database_.stuck.contains(kPoor);
    world_.Note("store", stuck ? "answers namespace 2 again" : "does not answer namespace 2");
    stuck ? void(database_.stuck.erase(kPoor)) : void(database_.stuck.insert(kPoor));
    After(kStuckFor, &Drills::SlowDown);
}

void Drills::AskPromptly() {
    ++turn_;
    for (const auto& space : spaces_) {
        if (space->partition() == kPoor) continue;
        auto task = NewTaskPtr(new Task);
        task->id = TaskId(Text("prompt-" + std::to_string(turn_)));
        task->type = "work";
        task->queue = "default";
        task->timeout = 5s;
        const Steady asked = world_.now();
        space->client.Ask(Submit{0, std::move(task)}, [this, asked, &space = *space](
                                                          const Result<Answer>& result) {
            const bool refused = !result && result.error().code == ErrorCode::kUnavailable;
            if (refused) return;  // That one does not lead.
            const Micros took = world_.now() - asked;
            if (result) space.checker.OnSubmitted(result->execution);
            if (took > kPrompt) {
                fail_("namespace " + std::to_string(space.partition()) + " was answered after " +
                      std::to_string(took.count() / 1000) + " ms");
            }
        });
    }
    After(500ms, &Drills::AskPromptly);
}

}  // namespace takt::internal::sim
