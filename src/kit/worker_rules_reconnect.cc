// Rules about lost connections, leaders that change, and acknowledgements.
#include <algorithm>

#include "kit/worker_rules.h"

namespace takt::internal::kit {
namespace {

using Said = PlayedScheduler::Said;

// The session is lost, and the next leader's begins.
bool ChangeLeader(Stage& stage) {
    stage.scheduler.Cut();
    if (!stage.AwaitHello()) return false;
    ++stage.epoch;
    stage.Welcome();
    return true;
}

void KeepsResults(Stage& stage) {
    if (!stage.Attach()) return;
    const Attempt attempt = stage.Give(stage.names.echo, "{\"a\": 1}");
    const auto first = stage.AwaitResult(attempt);
    if (!first || !ChangeLeader(stage)) return;
    stage.Expect(stage.Holds(attempt), "a result without an ack is not held in the next Hello");
    const auto again = stage.AwaitResult(attempt);
    if (!again) return;
    stage.Expect(again->success() && again->data() == first->data() &&
                     again->data_zstd() == first->data_zstd(),
                 "the result that is said again is another one");
    stage.Acknowledge(attempt);
}

void ForgetsWhatIsAcknowledged(Stage& stage) {
    if (!stage.Attach()) return;
    for (const bool accepted : {true, false}) {
        const Attempt attempt = stage.Give(stage.names.echo, "1");
        if (!stage.AwaitResult(attempt)) return;
        stage.Acknowledge(attempt, accepted);
        stage.scheduler.Collect(Duration(300));
        if (!ChangeLeader(stage)) return;
        const std::string how = accepted ? "accepted" : "not accepted";
        stage.Expect(!stage.Holds(attempt), "it holds a result that was acknowledged, " + how);
        for (const Said& said : stage.scheduler.Collect(Duration(500))) {
            stage.Expect(said.frame.results().empty(), "it says a result again that was " + how);
        }
    }
}

void WaitsForSlowAcks(Stage& stage) {
    if (!stage.Attach({.heartbeat = Duration(300)})) return;
    const Attempt slow = stage.Give(stage.names.echo, "1");
    if (!stage.AwaitResult(slow)) return;
    const auto meanwhile = stage.scheduler.Collect(Duration(1'500));
    const auto beats = std::ranges::count_if(
        meanwhile, [](const Said& said) { return said.frame.has_heartbeat(); });
    stage.Expect(beats >= 2, "no heartbeats while an ack is awaited");
    if (stage.hello.capacity() > 1) {
        const Attempt other = stage.Give(stage.names.echo, "2");
        if (!stage.AwaitResult(other)) return;
        stage.Acknowledge(other);
    }
    stage.Acknowledge(slow);
    const Attempt last = stage.Give(stage.names.echo, "3");
    if (stage.AwaitResult(last)) stage.Acknowledge(last);
}

// The handler runs on while there is no scheduler, and what it did counts.
void RunsOnWithoutAConnection(Stage& stage) {
    if (!stage.Attach()) return;
    const Attempt attempt = stage.Give(stage.names.sleep, stage.SleepFor(Duration(3'000)));
    if (!stage.AwaitStarted(attempt)) return;
    stage.scheduler.Cut();
    if (!stage.AwaitHello()) return;
    stage.Expect(stage.Holds(attempt), "what runs is not held in the next Hello");
    ++stage.epoch;
    stage.Welcome();
    bool started = false;
    bool ended = false;
    int results = 0;
    stage.scheduler.Await(
        [&](const Said& said) {
            for (const auto& one : said.frame.started()) {
                if (KeyOf(one.attempt()) != KeyOf(attempt)) continue;
                started = true;
                stage.Expect(one.ran_ms() > 0, "Started after a new welcome has no ran_ms");
            }
            for (const auto& result : said.frame.results()) {
                ended = true;
                ++results;
                stage.Expect(result.success(), "the handler was ended with the connection");
            }
            return ended;
        },
        kPatience);
    stage.Expect(ended, "no result came of what ran while the connection was lost");
    stage.Expect(started, "what runs is not said to have started after the new welcome");
    stage.Acknowledge(attempt);
    for (const Said& said : stage.scheduler.Collect(Duration(500))) {
        results += said.frame.results_size();
    }
    stage.Expect(results <= 1, "its result came " + std::to_string(results) + " times");
}

void IsTheSameWhenItComesBack(Stage& stage) {
    // More than a double can tell from its neighbours.
    constexpr std::uint64_t kTermId = (1ull << 63) + 12'345;
    if (!stage.Attach({.term_id = kTermId})) return;
    const auto before = stage.hello;
    const Attempt attempt = stage.Give(stage.names.echo, "1");
    if (!stage.AwaitResult(attempt)) return;
    stage.Acknowledge(attempt);
    if (!ChangeLeader(stage)) return;
    stage.Expect(stage.hello.worker_id() == before.worker_id(), "it has another worker_id");
    stage.Expect(stage.hello.instance() == before.instance(), "it has another instance");
    stage.Expect(stage.hello.term_id() == kTermId, "term_id is not that of the last Welcome");
    stage.Expect(stage.hello.epoch_seen() + 1 == stage.epoch,
                 "epoch_seen is " + std::to_string(stage.hello.epoch_seen()) + ", not the highest");
}

void GoesWhereTheLeaderIs(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame moved;
    moved.mutable_moved()->set_address(stage.scheduler.second_url());
    stage.scheduler.Send(moved);
    const auto there = stage.scheduler.Await(
        [](const Said& said) { return said.frame.has_hello(); }, Duration(3'000));
    if (!stage.Expect(there.has_value(), "no Hello came within 3s of Moved")) return;
    stage.Expect(there->second, "it did not go where Moved pointed");
    stage.Welcome();
    moved.mutable_moved()->set_address("");
    stage.scheduler.Send(moved);
    if (stage.AwaitHello()) stage.Welcome();
}

void WaitsBetweenTries(Stage& stage) {
    if (!stage.Attach()) return;
    stage.scheduler.SetAway(true);
    const std::uint64_t before = stage.scheduler.tries();
    stage.scheduler.Cut();
    stage.scheduler.Collect(Duration(4'000));
    const std::uint64_t tries = stage.scheduler.tries() - before;
    stage.scheduler.SetAway(false);
    stage.Expect(tries >= 2, "it tried " + std::to_string(tries) + " times in 4s");
    stage.Expect(tries <= 60, "it tried " + std::to_string(tries) + " times in 4s");
    if (stage.AwaitHello()) stage.Welcome();
}

void ComesBackWhenClosed(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame refused;
    refused.mutable_refused()->set_code("closed");
    refused.mutable_refused()->set_message("the lease ended");
    stage.scheduler.Send(refused);
    stage.scheduler.Cut();
    if (stage.AwaitHello()) stage.Welcome();
}

void RefuseAsMalformed(Stage& stage) {
    SchedulerFrame refused;
    refused.mutable_refused()->set_code("malformed");
    refused.mutable_refused()->set_message("played by protocol-test");
    stage.scheduler.Send(refused);
    stage.scheduler.Cut();
}

// One of two results is what the scheduler never takes. The other one must arrive.
void TellsRefusedResultsOneByOne(Stage& stage) {
    if (!stage.Attach()) return;
    if (stage.hello.capacity() < 2) return stage.Skip("its capacity is 1");
    const Attempt bad = stage.Give(stage.names.echo, "1");
    if (!stage.AwaitResult(bad)) return;
    const Attempt good = stage.Give(stage.names.echo, "2");
    if (!stage.AwaitResult(good)) return;
    std::set<std::string> open = {KeyOf(bad), KeyOf(good)};
    RefuseAsMalformed(stage);
    bool failure_told = false;
    // Each round is a session or an acknowledged result; a worker that keeps the rule needs four.
    bool attached = false;
    for (int round = 0; round < 8 && !open.empty(); ++round) {
        if (!attached && !stage.AwaitHello()) return;
        if (!attached) stage.Welcome();
        attached = true;
        const auto said = stage.scheduler.Await(
            [](const Said& one) { return !one.frame.results().empty(); }, kPatience);
        if (!stage.Expect(said.has_value(), "results are not said again")) return;
        if (!stage.Expect(said->frame.results_size() == 1,
                          "results are said together again after 'malformed'")) {
            return;
        }
        const auto& result = said->frame.results(0);
        const bool is_bad = KeyOf(result.attempt()) == KeyOf(bad);
        failure_told = failure_told || (is_bad && !result.success());
        if (is_bad && result.success()) {
            RefuseAsMalformed(stage);
            attached = false;
            continue;
        }
        open.erase(KeyOf(result.attempt()));
        stage.Acknowledge(result.attempt());
    }
    stage.Expect(open.empty(), "a result that is refused keeps the others from arriving");
    stage.Expect(failure_told, "a result that is refused twice is not told as a failure");
}

void AsksAgainForLocks(Stage& stage) {
    if (!stage.Attach()) return;
    if (!stage.Serves(stage.names.lock)) {
        return stage.Skip("it has no handler for '" + stage.names.lock + "'");
    }
    const Attempt attempt = stage.Give(stage.names.lock, R"({"name": "ledger"})");
    const auto is_ask = [](const Said& said) { return !said.frame.lock_asks().empty(); };
    const auto first = stage.scheduler.Await(is_ask, kPatience);
    if (!stage.Expect(first.has_value(), "the lock was not asked for")) return;
    const auto ask = first->frame.lock_asks(0);
    stage.Expect(ask.ask() > 0 && ask.name() == "ledger", "the question has no number or name");
    if (!ChangeLeader(stage)) return;
    const auto again = stage.scheduler.Await(is_ask, kPatience);
    if (!stage.Expect(again.has_value(), "the lock was not asked for again")) return;
    stage.Expect(again->frame.lock_asks(0).ask() == ask.ask(), "it was asked with another number");
    SchedulerFrame frame;
    auto& verdict = *frame.add_lock_verdicts();
    *verdict.mutable_attempt() = attempt;
    verdict.set_ask(ask.ask());
    verdict.set_name("ledger");
    verdict.set_token(4711);
    stage.scheduler.Send(frame);
    const auto result = stage.AwaitResult(attempt);
    if (!result) return;
    stage.Acknowledge(attempt);
    stage.Expect(result->data().contains("4711"), "the handler was not given the token");
}

constexpr WorkerRule kReconnectRules[] = {
    {"result_kept", "Result and Ack", "A result is held and said again until its ack has come.",
     KeepsResults},
    {"ack", "Result and Ack", "What is acknowledged is forgotten, whatever the ack says.",
     ForgetsWhatIsAcknowledged},
    {"slow_ack", "Result and Ack", "Work goes on while an ack is awaited.", WaitsForSlowAcks},
    {"locks", "Locks", "A lock that was not answered is asked for again, with the same number.",
     AsksAgainForLocks},
    {"runs_on", "Reconnecting", "Handlers go on without a connection; what runs is held.",
     RunsOnWithoutAConnection},
    {"same_instance", "Reconnecting",
     "It comes back with its id, its instance, its epoch and its term.", IsTheSameWhenItComesBack},
    {"backoff", "Reconnecting", "It waits a little before each try, and goes on trying.",
     WaitsBetweenTries},
    {"moved", "Moved", "It goes where Moved points, at once.", GoesWhereTheLeaderIs},
    {"closed", "Errors", "It comes back after 'closed'.", ComesBackWhenClosed},
    {"malformed", "Errors", "After 'malformed' results go one by one, and one is given up.",
     TellsRefusedResultsOneByOne},
};

}  // namespace

std::span<const WorkerRule> ReconnectRules() {
    return kReconnectRules;
}

}  // namespace takt::internal::kit
