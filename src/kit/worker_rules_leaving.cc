// Rules about the end of a worker. They come last: whoever keeps them is gone afterwards.
#include <algorithm>
#include <csignal>

#include "kit/worker_rules.h"

namespace takt::internal::kit {
namespace {

using Said = PlayedScheduler::Said;

constexpr const char* kNeedsProcess = "needs --connect: the worker must be sent SIGTERM";

void FinishesWhatItHolds(Stage& stage) {
    if (!stage.process) return stage.Skip(kNeedsProcess);
    if (!stage.Attach({.heartbeat = Duration(300)})) return;
    const Attempt attempt = stage.Give(stage.names.sleep, stage.SleepFor(Duration(1'500)));
    if (!stage.AwaitStarted(attempt)) return;
    stage.process->Signal(SIGTERM);
    bool draining = false;
    bool said_bye = false;
    std::optional<worker::v1::Result> result;
    stage.scheduler.Await(
        [&](const Said& said) {
            draining = draining || said.frame.heartbeat().draining();
            said_bye = said_bye || said.frame.has_bye();
            for (const auto& one : said.frame.results()) result = one;
            return result || said_bye;
        },
        kPatience);
    stage.Expect(draining, "no heartbeat said that it drains");
    if (!stage.Expect(result && result->success(), "what it held was not finished")) return;
    // The ack is slow.
    for (const Said& said : stage.scheduler.Collect(Duration(700))) {
        stage.Expect(!said.frame.has_bye(), "it says Bye before the ack of its result");
    }
    stage.Acknowledge(attempt);
    const auto bye =
        stage.scheduler.Await([](const Said& said) { return said.frame.has_bye(); }, kPatience);
    stage.Expect(bye.has_value(), "it ends without a Bye");
    stage.scheduler.Cut();
    stage.Expect(stage.process->AwaitEnd(kPatience), "it said Bye and did not end");
}

void StaysAwayWhenReplaced(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame refused;
    refused.mutable_refused()->set_code("replaced");
    refused.mutable_refused()->set_message("another process has this worker_id now");
    stage.scheduler.Send(refused);
    stage.scheduler.Cut();
    for (const Said& said : stage.scheduler.Collect(Duration(4'000))) {
        stage.Expect(!said.frame.has_hello(), "it comes back after 'replaced'");
    }
}

constexpr WorkerRule kLeavingRules[] = {
    {"leaving", "Leaving", "Before its end it drains, finishes, awaits the acks and says Bye.",
     FinishesWhatItHolds},
    {"replaced", "Errors", "It stops after 'replaced', and does not fight over its id.",
     StaysAwayWhenReplaced},
};

}  // namespace

std::span<const WorkerRule> LeavingRules() {
    return kLeavingRules;
}

}  // namespace takt::internal::kit
