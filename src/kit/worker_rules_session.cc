// Rules about sessions: Hello, Welcome, heartbeats, silence.
#include <algorithm>
#include <csignal>
#include <set>

#include "kit/worker_rules.h"

namespace takt::internal::kit {
namespace {

using Said = PlayedScheduler::Said;

bool IsWorkerId(const std::string& id) {
    const auto fits = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
               c == '~' || c == '-';
    };
    return !id.empty() && id.size() <= 64 && std::isalnum(static_cast<unsigned char>(id[0])) != 0 &&
           std::ranges::all_of(id, fits);
}

void SaysHello(Stage& stage) {
    if (!stage.AwaitHello()) return;
    const auto& hello = stage.hello;
    stage.Expect(hello.protocol() == 1, "protocol is " + std::to_string(hello.protocol()));
    stage.Expect(IsWorkerId(hello.worker_id()), "worker_id '" + hello.worker_id() + "' is none");
    stage.Expect(!hello.instance().empty(), "instance is empty");
    stage.Expect(hello.capacity() >= 1 && hello.capacity() <= 100'000,
                 "capacity is " + std::to_string(hello.capacity()));
    stage.Expect(hello.weight() <= 1'000, "weight is " + std::to_string(hello.weight()));
    stage.Expect(hello.holding().empty(), "a new process holds attempts already");
    const std::string fault = stage.scheduler.faults().hello;
    stage.Expect(fault.empty(), fault);
}

// All places are taken by handlers that are busy, and the heartbeats come all the same.
void Beats(Stage& stage) {
    constexpr Duration kTime{2'400};
    if (!stage.Attach({.heartbeat = Duration(300)})) return;
    std::vector<Attempt> attempts;
    const std::uint32_t busy = std::min(stage.hello.capacity(), 16u);
    for (std::uint32_t i = 0; i < busy; ++i) {
        attempts.push_back(stage.Give(stage.names.sleep, stage.SleepFor(Duration(2'500))));
    }
    const auto all = stage.scheduler.Collect(kTime);
    const auto beats =
        std::ranges::count_if(all, [](const Said& said) { return said.frame.has_heartbeat(); });
    // Eight are due; a busy machine may be late with some.
    stage.Expect(beats >= 5, std::to_string(beats) + " heartbeats came in " +
                                 FormatDuration(kTime) + " at an interval of 300ms");
    stage.Expect(beats <= 20, std::to_string(beats) + " heartbeats came where 8 were due");
    // Several may come in one frame.
    std::set<std::string> open;
    for (const Attempt& attempt : attempts) open.insert(KeyOf(attempt));
    const auto take = [&](const Said& said) {
        for (const auto& result : said.frame.results()) open.erase(KeyOf(result.attempt()));
        return open.empty();
    };
    for (const Said& said : all) take(said);
    if (!open.empty()) stage.scheduler.Await(take, kPatience);
    stage.Expect(open.empty(), std::to_string(open.size()) + " results did not come");
    for (const Attempt& attempt : attempts) stage.Acknowledge(attempt);
}

void LeavesTheSilent(Stage& stage) {
    if (!stage.Attach({.heartbeat = Duration(300), .lease = Duration(1'000)})) return;
    stage.scheduler.Collect(Duration(500));
    stage.scheduler.SetSilent(true);
    const bool closed = stage.scheduler.AwaitClosed(Duration(5'000));
    stage.scheduler.SetSilent(false);
    stage.Expect(closed, "a scheduler that was silent for 5 times its lease is not left");
    if (closed) stage.AwaitHello();
}

void BeginsNothingAfterSleep(Stage& stage) {
    if (!stage.process) return stage.Skip("needs --connect: the worker must be paused");
    if (!stage.Attach({.heartbeat = Duration(300), .lease = Duration(1'500)})) return;
    stage.scheduler.Collect(Duration(500));
    stage.process->Pause();
    const Attempt attempt = stage.Give(stage.names.echo, "1");
    stage.scheduler.Collect(Duration(2'500));
    stage.process->Signal(SIGCONT);
    if (!stage.AwaitHello()) return;
    stage.Expect(!stage.Holds(attempt), "it holds what came while it was taken for dead");
    stage.Welcome();
    for (const Said& said : stage.scheduler.Collect(Duration(700))) {
        stage.Expect(said.frame.results().empty() && said.frame.started().empty(),
                     "it ran what came while it was taken for dead");
    }
}

void LeavesAnOlderTerm(Stage& stage) {
    if (!stage.Attach()) return;
    stage.scheduler.Collect(Duration(200));
    stage.scheduler.Cut();
    if (!stage.AwaitHello()) return;
    stage.Expect(stage.hello.epoch_seen() == stage.epoch,
                 "epoch_seen is " + std::to_string(stage.hello.epoch_seen()) + " after a term " +
                     std::to_string(stage.epoch));
    stage.Welcome({.epoch = stage.epoch - 1});
    stage.Expect(stage.scheduler.AwaitClosed(Duration(5'000)),
                 "a scheduler that welcomes with a lower epoch is not left");
    if (stage.AwaitHello()) stage.Welcome();
}

void ForgetsEpochsOfANamespaceThatIsGone(Stage& stage) {
    if (!stage.Attach({.namespace_id = 7})) return;
    stage.scheduler.Collect(Duration(200));
    stage.scheduler.Cut();
    if (!stage.AwaitHello()) return;
    stage.Expect(stage.hello.namespace_id() == 7, "namespace_id of the last Welcome is not said");
    stage.epoch -= 5;
    stage.Welcome({.namespace_id = 8});
    const Attempt attempt = stage.Give(stage.names.echo, "1");
    if (stage.AwaitResult(attempt)) stage.Acknowledge(attempt);
    stage.epoch += 5;
}

void SkipsUnknownFields(Stage& stage) {
    if (!stage.Attach()) return;
    const SchedulerFrame frame = stage.MakeAssign(stage.names.echo, "1");
    stage.scheduler.Send(frame, "of_a_later_version");
    if (stage.AwaitResult(frame.assigns(0).attempt())) {
        stage.Acknowledge(frame.assigns(0).attempt());
    }
}

void WorksOnWhenSetAside(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame drain;
    drain.mutable_drain()->set_draining(true);
    stage.scheduler.Send(drain);
    const Attempt attempt = stage.Give(stage.names.echo, "1");
    if (stage.AwaitResult(attempt)) stage.Acknowledge(attempt);
}

// An operator gives it more than it asked for: it is run beside what it has, or after it.
void RunsWhatAnOperatorGivesIt(Stage& stage) {
    constexpr std::uint32_t kPlayedMax = 32;
    if (!stage.Attach()) return;
    const std::uint32_t own = stage.hello.capacity();
    if (own > kPlayedMax) return stage.Skip("its capacity is above 32");
    const auto say = [&](std::uint32_t capacity) {
        SchedulerFrame frame;
        frame.mutable_capacity()->set_capacity(capacity);
        stage.scheduler.Send(frame);
    };
    say(own + 2);
    std::vector<Attempt> attempts;
    std::set<std::string> open;
    for (std::uint32_t i = 0; i < own + 2; ++i) {
        attempts.push_back(stage.Give(stage.names.sleep, stage.SleepFor(Duration(300))));
        open.insert(KeyOf(attempts.back()));
    }
    // Several may come in one frame.
    stage.scheduler.Await(
        [&](const Said& said) {
            for (const auto& result : said.frame.results()) open.erase(KeyOf(result.attempt()));
            return open.empty();
        },
        kPatience);
    stage.Expect(open.empty(), std::to_string(open.size()) + " results did not come");
    for (const Attempt& attempt : attempts) stage.Acknowledge(attempt);
    say(0);
    const Attempt last = stage.Give(stage.names.echo, "1");
    if (stage.AwaitResult(last)) stage.Acknowledge(last);
}

constexpr WorkerRule kSessionRules[] = {
    {"hello", "Hello", "The first frame is a Hello, alone, and all in it can be.", SaysHello},
    {"unknown_fields", "Frames", "Fields that it does not know are skipped.", SkipsUnknownFields},
    {"older_term", "Welcome", "A scheduler that welcomes with a lower epoch is left.",
     LeavesAnOlderTerm},
    {"namespace_epoch", "Welcome", "Epochs are forgotten when namespace_id changes.",
     ForgetsEpochsOfANamespaceThatIsGone},
    {"heartbeat", "Heartbeat and Beat", "Heartbeats come in time, however busy handlers are.",
     Beats},
    {"silence", "Heartbeat and Beat", "A scheduler that is silent for its lease is left.",
     LeavesTheSilent},
    {"asleep", "Heartbeat and Beat", "After a sleep longer than the lease nothing is begun.",
     BeginsNothingAfterSleep},
    {"capacity", "Capacity", "What an operator's capacity brings beyond its own is run, too.",
     RunsWhatAnOperatorGivesIt},
    {"drain", "Leaving", "An operator's drain needs no answer: what comes is run.",
     WorksOnWhenSetAside},
};

}  // namespace

std::span<const WorkerRule> SessionRules() {
    return kSessionRules;
}

}  // namespace takt::internal::kit
