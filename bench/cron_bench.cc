// How long cron takes: Next for typical and for the worst expressions, Parse, and the first use of
// a zone. The targets are 10 µs for a typical Next and 1 ms for the worst.
#include <benchmark/benchmark.h>

#include <chrono>
#include <string>
#include <vector>

#include "model/cron.h"

namespace takt::internal {
namespace {

constexpr Time kStart = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

// A row of fires, from the beginning again when there are no more.
void Next(benchmark::State& state, const std::string& expression, const std::string& zone) {
    const Result<Cron> cron = Cron::Parse(expression, {.timezone = zone});
    if (!cron) return state.SkipWithError(cron.error().detail.c_str());
    Time time = kStart;
    for (auto _ : state) {
        const std::optional<Time> next = cron->Next(time);
        time = next.value_or(kStart);
        benchmark::DoNotOptimize(time);
    }
}

// Always from the same moment: the one far fire, or the whole search in vain.
void NextFar(benchmark::State& state, const std::string& expression, const std::string& zone) {
    const Result<Cron> cron = Cron::Parse(expression, {.timezone = zone, .dst = Dst::kSkip});
    if (!cron) return state.SkipWithError(cron.error().detail.c_str());
    for (auto _ : state) benchmark::DoNotOptimize(cron->Next(kStart));
}

void Parse(benchmark::State& state, const std::string& expression, bool valid) {
    for (auto _ : state) {
        const Result<Cron> cron = Cron::Parse(expression, {.timezone = "Asia/Shanghai"});
        if (cron.has_value() != valid) return state.SkipWithError("unexpected outcome");
        benchmark::DoNotOptimize(cron);
    }
}

const bool kRegistered = [] {
    struct Case {
        const char* expression;
        const char* zone;
    };
    for (const Case& c : std::vector<Case>{{"* * * * * *", "UTC"},
                                           {"*/15 * * * *", "Europe/Berlin"},
                                           {"0 2 * * *", "UTC"},
                                           {"0 2 * * *", "Asia/Shanghai"},
                                           {"30 2 * * *", "Europe/Berlin"},
                                           {"30 2 * * *", "Australia/Lord_Howe"},
                                           {"30 2 * * *", "Africa/Casablanca"},
                                           {"0 9 * * MON-FRI", "America/New_York"},
                                           {"0 0 LW * 5#2", "Pacific/Apia"},
                                           {"0 0 29 2 *", "Europe/Berlin"},
                                           {"0 0 29 2 1#5", "Australia/Lord_Howe"},
                                           {"0 0 * 2 1#5", "Africa/Casablanca"}}) {
        benchmark::RegisterBenchmark((std::string("Next/") + c.expression + "/" + c.zone).c_str(),
                                     Next, c.expression, c.zone);
    }
    for (const Case& c : std::vector<Case>{
             {"0 0 0 ? 2 1#5 2196", "Africa/Casablanca"},    // Found at the far end of time.
             {"0 0 0 31 12 ? 2199", "Australia/Lord_Howe"},  // The very last day.
             {"0 0 0 31 12 ? 1970", "Africa/Casablanca"},    // In the past only: in vain.
             {"0 30 2 29 3 ? 2026", "Europe/Berlin"},        // Only in a gap, skipped.
             {"0 0 0 1W,15W,31W 1-12 1#5,5L 1970-2025", "Europe/Berlin"}}) {
        benchmark::RegisterBenchmark((std::string("Worst/") + c.expression + "/" + c.zone).c_str(),
                                     NextFar, c.expression, c.zone);
    }
    benchmark::RegisterBenchmark("Parse/0 2 * * MON-FRI", Parse, "0 2 * * MON-FRI", true);
    benchmark::RegisterBenchmark("Parse/@every 90s", Parse, "@every 90s", true);
    benchmark::RegisterBenchmark("Parse/0 0 30 2 * (never)", Parse, "0 0 30 2 *", false);
    benchmark::RegisterBenchmark("Parse/0 0 31 2,4,6,9,11 * (never)", Parse, "0 0 31 2,4,6,9,11 *",
                                 false);
    return true;
}();

void Preview100(benchmark::State& state) {
    const Result<Cron> cron = Cron::Parse("30 2 * * *", {.timezone = "Europe/Berlin"});
    for (auto _ : state) benchmark::DoNotOptimize(cron->Preview(kStart, 100));
}
BENCHMARK(Preview100);

void Describe(benchmark::State& state) {
    const Result<Cron> cron = Cron::Parse("30 2 1,15 * MON-FRI", {.timezone = "Europe/Berlin"});
    for (auto _ : state) benchmark::DoNotOptimize(cron->Describe());
}
BENCHMARK(Describe);

}  // namespace
}  // namespace takt::internal
