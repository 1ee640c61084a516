// Tests a worker, rule by rule.
#include <algorithm>

#include "kit/worker_rules.h"

namespace takt::internal::kit {
namespace {

// Epochs of one rule do not reach into those of the next.
constexpr std::uint64_t kEpochsPerRule = 100;

std::string CommandAt(std::string command, const std::string& url) {
    constexpr std::string_view kPlace = "{url}";
    for (auto at = command.find(kPlace); at != std::string::npos; at = command.find(kPlace, at)) {
        command.replace(at, kPlace.size(), url);
        at += url.size();
    }
    return command;
}

// Rules that every frame of the test can break.
void AddFaults(Stage& stage, const PlayedScheduler::Faults& faults) {
    for (const std::string* fault : {&faults.form, &faults.hello, &faults.attempt}) {
        stage.Expect(fault->empty(), *fault);
    }
}

Result<std::vector<WorkerRule>> ChosenRules(const std::vector<std::string>& only) {
    std::vector<WorkerRule> rules = WorkerRules();
    if (only.empty()) return rules;
    for (const std::string& name : only) {
        if (!std::ranges::any_of(rules, [&](const auto& rule) { return rule.name == name; })) {
            return Fail(ErrorCode::kInvalid, "there is no rule '" + name + "'", "--only");
        }
    }
    std::erase_if(rules, [&](const WorkerRule& rule) {
        return std::ranges::find(only, rule.name) == only.end();
    });
    return rules;
}

// Waits for a worker, so that the first rule is not blamed for a command that does not work.
Result<void> AwaitWorker(PlayedScheduler& scheduler, const WorkerKitOptions& options) {
    const std::uint64_t before = scheduler.tries();
    for (const Steady end = SteadyClock::now() + options.patience; scheduler.tries() == before;) {
        if (SteadyClock::now() > end) {
            return Fail(ErrorCode::kUnavailable, "no worker connected to " + scheduler.url() +
                                                     " within " + FormatDuration(options.patience));
        }
        scheduler.AwaitClosed(Duration(0));
        std::this_thread::sleep_for(Duration(10));
    }
    return {};
}

}  // namespace

std::vector<WorkerRule> WorkerRules() {
    std::vector<WorkerRule> rules;
    for (const auto part : {SessionRules(), AttemptRules(), ReconnectRules(), LeavingRules()}) {
        rules.insert(rules.end(), part.begin(), part.end());
    }
    return rules;
}

Result<std::vector<RuleReport>> TestWorker(const WorkerKitOptions& options) {
    const auto rules = ChosenRules(options.only);
    if (!rules) return std::unexpected(rules.error());
    auto listening = PlayedScheduler::Listen(options.host, options.port);
    if (!listening) return std::unexpected(listening.error());
    PlayedScheduler& scheduler = **listening;
    if (options.on_listening) options.on_listening(scheduler.url());
    std::vector<RuleReport> reports;
    std::uint64_t epoch = kEpochsPerRule;
    for (const WorkerRule& rule : *rules) {
        scheduler.Forget();
        // A process of its own for each rule: what one leaves behind is not the next one's fault.
        std::unique_ptr<TestedProcess> process;
        if (!options.command.empty()) {
            auto started = TestedProcess::Start(CommandAt(options.command, scheduler.url()),
                                                options.output_file);
            if (!started) return std::unexpected(started.error());
            process = std::move(*started);
        } else {
            scheduler.Cut();
        }
        if (auto came = AwaitWorker(scheduler, options); !came && reports.empty()) {
            return std::unexpected(came.error());
        }
        Stage stage(scheduler, process.get(), options.names, epoch);
        epoch += kEpochsPerRule;
        rule.test(stage);
        AddFaults(stage, scheduler.faults());
        reports.push_back({rule.name, rule.section, rule.sentence});
        reports.back().Judge(stage.broken(), stage.skipped());
        if (options.on_report) options.on_report(reports.back());
        const bool had_process = process != nullptr;
        process.reset();
        if (had_process) scheduler.AwaitClosed(Duration(2'000));
    }
    return reports;
}

}  // namespace takt::internal::kit
