// Rules about attempts: assignments, results, cancels, timeouts.
#include <algorithm>
#include <boost/json/value.hpp>

#include "base/json.h"
#include "kit/worker_rules.h"
#include "wire/zstd.h"

namespace takt::internal::kit {
namespace {

using Said = PlayedScheduler::Said;

constexpr std::size_t kLargePayload = 900 << 10;
constexpr std::size_t kTooLargeResult = 5 << 20;

bool SameJson(const std::string& left, const std::string& right) {
    const auto one = ParseJson(left);
    const auto other = ParseJson(right);
    return one && other && *one == *other;
}

void ExpectEcho(Stage& stage, const Attempt& attempt, const std::string& payload) {
    const auto result = stage.AwaitResult(attempt);
    if (!result) return;
    stage.Acknowledge(attempt);
    std::string data = result->data();
    if (!result->data_zstd().empty()) {
        data = Unzstd(result->data_zstd(), std::size_t(8) << 20).value_or("");
    }
    stage.Expect(result->success(), "the result is a failure: " + result->message());
    stage.Expect(SameJson(data, payload), "the result's data is not the payload that came");
}

void RunsWhatItIsGiven(Stage& stage) {
    if (!stage.Attach()) return;
    const std::string payload = R"({"text": "B\u00e4r \"韭\"", "list": [1, null, true]})";
    ExpectEcho(stage, stage.Give(stage.names.echo, payload), payload);
}

void TakesAnEmptyPayload(Stage& stage) {
    if (!stage.Attach()) return;
    const Attempt attempt = stage.Give(stage.names.echo, "");
    if (stage.AwaitResult(attempt)) stage.Acknowledge(attempt);
}

void TakesLargePayloads(Stage& stage) {
    if (!stage.Attach()) return;
    const std::string payload = "{\"text\": \"" + std::string(kLargePayload, 'x') + "\"}";
    ExpectEcho(stage, stage.Give(stage.names.echo, payload), payload);
}

void UnpacksZstd(Stage& stage) {
    if (!stage.Attach()) return;
    if (!stage.hello.accepts_zstd()) return stage.Skip("its Hello does not accept zstd");
    const std::string payload = "{\"text\": \"" + std::string(kLargePayload, 'x') + "\"}";
    SchedulerFrame frame = stage.MakeAssign(stage.names.echo, "");
    AppendZstd(*frame.mutable_assigns(0)->mutable_payload_zstd(), payload);
    stage.scheduler.Send(frame);
    ExpectEcho(stage, frame.assigns(0).attempt(), payload);
}

void FailsResultsThatAreTooLarge(Stage& stage) {
    if (!stage.Attach()) return;
    const std::string payload = "\"" + std::string(kTooLargeResult, 'x') + "\"";
    const Attempt attempt = stage.Give(stage.names.echo, payload);
    const auto result = stage.AwaitResult(attempt);
    if (result) stage.Acknowledge(attempt);
    const std::string fault = stage.scheduler.faults().size;
    stage.Expect(fault.empty(), fault);
    // Packed it may come in a frame: the scheduler fails it.
    if (result && result->data_zstd().empty()) {
        stage.Expect(!result->success(), "a result of 5 MiB is told as a success");
    }
}

void RunsTheSameOnce(Stage& stage) {
    if (!stage.Attach()) return;
    const SchedulerFrame frame = stage.MakeAssign(stage.names.sleep, stage.SleepFor(Duration(300)));
    stage.scheduler.Send(frame);
    stage.scheduler.Send(frame);
    const Attempt attempt = frame.assigns(0).attempt();
    int results = 0;
    int started = 0;
    for (const Said& said : stage.scheduler.Collect(Duration(1'500))) {
        results += said.frame.results_size();
        started += said.frame.started_size();
    }
    stage.Acknowledge(attempt);
    stage.Expect(results >= 1, "no result came");
    stage.Expect(results <= 1 && started <= 1, "it was run twice");
}

void TakesAnotherTokenForAnother(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame frame = stage.MakeAssign(stage.names.sleep, stage.SleepFor(Duration(300)));
    stage.scheduler.Send(frame);
    const Attempt first = frame.assigns(0).attempt();
    frame.mutable_assigns(0)->mutable_attempt()->set_token(std::string(32, 'f'));
    stage.scheduler.Send(frame);
    const Attempt second = frame.assigns(0).attempt();
    std::set<std::string> ended;
    for (const Said& said : stage.scheduler.Collect(Duration(1'500))) {
        for (const auto& result : said.frame.results()) ended.insert(KeyOf(result.attempt()));
    }
    stage.Acknowledge(first);
    stage.Acknowledge(second);
    stage.Expect(ended.contains(KeyOf(second)), "the attempt with another token was not run");
    stage.Expect(ended.contains(KeyOf(first)), "the first attempt was not reported");
}

void IgnoresADeposedLeader(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame old = stage.MakeAssign(stage.names.echo, "1");
    old.mutable_assigns(0)->set_epoch(stage.epoch - 1);
    stage.scheduler.Send(old);
    const Attempt current = stage.Give(stage.names.echo, "2");
    bool ran_current = false;
    for (const Said& said : stage.scheduler.Collect(Duration(1'000))) {
        for (const auto& result : said.frame.results()) {
            const bool is_old = KeyOf(result.attempt()) == KeyOf(old.assigns(0).attempt());
            stage.Expect(!is_old, "an assignment of a lower epoch was run");
            ran_current = ran_current || KeyOf(result.attempt()) == KeyOf(current);
        }
    }
    stage.Acknowledge(current);
    stage.Expect(ran_current, "what came behind an assignment of a lower epoch was not run");
}

void TellsFailures(Stage& stage) {
    if (!stage.Attach()) return;
    const Attempt attempt = stage.Give(stage.names.fail, "{}");
    const auto result = stage.AwaitResult(attempt);
    if (!result) return;
    stage.Acknowledge(attempt);
    stage.Expect(!result->success(), "a handler that fails is told as a success");
    stage.Expect(!result->message().empty(), "its message is empty");
    stage.Expect(result->message().size() <= 4 << 10, "its message is longer than 4 KiB");
}

void EndsAtTheTimeout(Stage& stage) {
    if (!stage.Attach()) return;
    const Steady begun = SteadyClock::now();
    const Attempt attempt =
        stage.Give(stage.names.sleep, stage.SleepFor(Duration(20'000)), Duration(500));
    const auto result = stage.AwaitResult(attempt, Duration(5'500));
    if (!result) return;
    stage.Acknowledge(attempt);
    stage.Expect(SteadyClock::now() - begun >= Duration(450), "it ended before its timeout");
    stage.Expect(!result->success(), "an attempt that timed out is told as a success");
    stage.Expect(result->reason() == "timeout", "the reason is '" + result->reason() + "'");
}

void TellsTheEndOfWhatIsCancelled(Stage& stage) {
    if (!stage.Attach()) return;
    const Attempt attempt = stage.Give(stage.names.sleep, stage.SleepFor(Duration(4'000)));
    if (!stage.AwaitStarted(attempt)) return;
    stage.Cancel(attempt, "cancelled");
    if (stage.AwaitResult(attempt)) stage.Acknowledge(attempt, false);
    const Attempt next = stage.Give(stage.names.echo, "1");
    if (stage.AwaitResult(next)) stage.Acknowledge(next);
}

void IgnoresCancelsOfOthers(Stage& stage) {
    if (!stage.Attach()) return;
    stage.Cancel(stage.MakeAssign(stage.names.echo, "1").assigns(0).attempt(), "cancelled");
    const Attempt attempt = stage.Give(stage.names.echo, "1");
    if (stage.AwaitResult(attempt)) stage.Acknowledge(attempt);
}

void TakesAssignsBeforeCancels(Stage& stage) {
    if (!stage.Attach()) return;
    SchedulerFrame frame = stage.MakeAssign(stage.names.sleep, stage.SleepFor(Duration(4'000)));
    *frame.add_cancels()->mutable_attempt() = frame.assigns(0).attempt();
    frame.mutable_cancels(0)->set_reason("cancelled");
    stage.scheduler.Send(frame);
    const Attempt attempt = frame.assigns(0).attempt();
    if (stage.AwaitResult(attempt)) stage.Acknowledge(attempt, false);
}

void WritesLogsBeforeTheResult(Stage& stage) {
    if (!stage.Attach()) return;
    if (!stage.Serves(stage.names.log)) {
        return stage.Skip("it has no handler for '" + stage.names.log + "'");
    }
    const Attempt attempt = stage.Give(stage.names.log, R"({"lines": 3})");
    int lines = 0;
    bool ended = false;
    stage.scheduler.Await(
        [&](const Said& said) {
            for (const auto& log : said.frame.logs()) {
                lines += log.lines_size();
                for (const std::string& line : log.lines()) {
                    stage.Expect(!line.contains('\n'), "a line has a newline");
                }
            }
            ended = ended || !said.frame.results().empty();
            return ended;
        },
        kPatience);
    stage.Acknowledge(attempt);
    stage.Expect(ended, "no result came");
    stage.Expect(lines == 3, std::to_string(lines) + " lines of 3 came before the result");
    stage.scheduler.Collect(Duration(300));
    const std::string fault = stage.scheduler.faults().late;
    stage.Expect(fault.empty(), fault);
}

constexpr WorkerRule kAttemptRules[] = {
    {"run", "Assign", "What is assigned is run, and its result told with all parts of its name.",
     RunsWhatItIsGiven},
    {"empty_payload", "Assign", "A payload may be empty.", TakesAnEmptyPayload},
    {"large_payload", "Numbers", "A payload of almost 1 MiB comes back as it went.",
     TakesLargePayloads},
    {"zstd", "Hello", "Whoever accepts zstd unpacks it.", UnpacksZstd},
    {"large_result", "Result and Ack",
     "A result that is too large is a failure, not a large frame.", FailsResultsThatAreTooLarge},
    {"assigned_twice", "Assign", "What it holds already is not run again.", RunsTheSameOnce},
    {"another_token", "Assign", "Another token for the same number is another attempt.",
     TakesAnotherTokenForAnother},
    {"stale_epoch", "Assign", "An assignment of a lower epoch is neither run nor reported.",
     IgnoresADeposedLeader},
    {"failure", "Result and Ack", "A failure is told, with a message.", TellsFailures},
    {"timeout", "Assign", "An attempt is ended at its timeout, and told with that reason.",
     EndsAtTheTimeout},
    {"cancel", "Cancel", "Something that is cancelled is reported when it has stopped.",
     TellsTheEndOfWhatIsCancelled},
    {"cancel_unknown", "Cancel", "Cancels of attempts that it does not hold are ignored.",
     IgnoresCancelsOfOthers},
    {"frame_order", "Cancel", "A frame may cancel what it assigns.", TakesAssignsBeforeCancels},
    {"logs", "Started, Progress, Log", "Log lines come whole, and before the result.",
     WritesLogsBeforeTheResult},
};

}  // namespace

std::span<const WorkerRule> AttemptRules() {
    return kAttemptRules;
}

}  // namespace takt::internal::kit
