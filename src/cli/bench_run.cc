#include "cli/bench_run.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/id.h"
#include "base/random.h"
#include "cli/bench_submit.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

// Enough senders that one slow commit does not hold up the even rate.
constexpr std::size_t kSenders = 16;
constexpr Duration kBenchPoll{5};

double SecondsSince(Steady begin) {
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// The smallest value that at least this fraction is not above.
double Percentile(const std::vector<std::int64_t>& sorted_us, double fraction) {
    if (sorted_us.empty()) return 0;
    const auto rank =
        static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted_us.size())));
    const auto index = std::clamp<std::size_t>(rank, 1, sorted_us.size()) - 1;
    return static_cast<double>(sorted_us[index]) / 1000;
}

Latency LatencyOf(Rate sent, std::vector<std::int64_t> latencies_us) {
    std::ranges::sort(latencies_us);
    return {.sent = sent,
            .tasks = latencies_us.size(),
            .p50 = Percentile(latencies_us, 0.5),
            .p99 = Percentile(latencies_us, 0.99),
            .p999 = Percentile(latencies_us, 0.999),
            .max = Percentile(latencies_us, 1)};
}

// One run of takt bench: its connections, and a lane for each measurement.
class BenchRun {
  public:
    BenchRun(const ClientOptions& options, const BenchPlan& plan, BenchFleet& fleet)
        : options_(options), plan_(plan), fleet_(fleet) {}

    Result<void> Open();
    Result<Rate> Fill();
    Result<Rate> Single();
    Result<void> Drain(BenchResults& results);
    Result<void> EndToEnd(BenchResults& results);
    Result<Latency> MeasureLatency();

  private:
    BenchLane NextLane();
    Steady End() const { return SteadyClock::now() + plan_.timeout; }
    Result<Rate> Bulk(const BenchLane& lane, std::size_t tasks);
    Result<void> Say(const BenchLane& lane, std::string_view action);
    Result<bool> IsEmpty(const BenchLane& lane);
    // Until the store has every result; then each task must have run exactly once.
    Result<void> AwaitEnd(const BenchLane& lane, Steady end);
    Result<BenchTally> CheckOnce(const BenchLane& lane, std::size_t tasks);

    const ClientOptions& options_;
    const BenchPlan& plan_;
    BenchFleet& fleet_;
    std::vector<Client> submitters_;
    std::vector<Client> senders_;
    std::size_t phases_ = 0;
    Time lane_begin_{};
};

Result<void> BenchRun::Open() {
    const auto open = [&](std::vector<Client>& clients, std::size_t count) -> Result<void> {
        while (clients.size() < count) {
            auto client = Client::Open(options_);
            if (!client) return std::unexpected(client.error());
            // The first call opens the connection; that is not what is measured.
            if (auto warm = client->Get("/version"); !warm) return std::unexpected(warm.error());
            clients.push_back(std::move(*client));
        }
        return {};
    };
    if (auto opened = open(submitters_, plan_.submitters); !opened) return opened;
    return open(senders_, kSenders);
}

BenchLane BenchRun::NextLane() {
    Random random(NewRandomSeed());
    lane_begin_ = std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
    return {.phase = ++phases_,
            .queue = "bench-" + SerialText(random.Next()),
            .payload = plan_.payload,
            .kinds = plan_.kinds};
}

Result<Rate> BenchRun::Bulk(const BenchLane& lane, std::size_t tasks) {
    const Steady begin = SteadyClock::now();
    auto sent = SubmitInBulk(submitters_, lane,
                             {.tasks = tasks, .batch = plan_.batch, .end = begin + plan_.timeout});
    if (!sent) return std::unexpected(sent.error());
    return Rate{.tasks = tasks, .seconds = SecondsSince(begin)};
}

Result<void> BenchRun::Say(const BenchLane& lane, std::string_view action) {
    const auto answer = submitters_[0].Post(PathOf("queues", lane.queue, action));
    if (!answer) return std::unexpected(answer.error());
    return {};
}

// Whether every result is stored. The leader's own count is cheap and comes first; it falls when a
// result arrives, a moment before that is durable.
Result<bool> BenchRun::IsEmpty(const BenchLane& lane) {
    const auto counted = submitters_[0].Get(PathOf("queues", lane.queue));
    // A queue in which nothing is left may be forgotten.
    if (!counted && counted.error().code != ErrorCode::kNotFound) {
        return std::unexpected(counted.error());
    }
    if (counted &&
        NumberMember(counted->value, "waiting") + NumberMember(counted->value, "working") > 0) {
        return false;
    }
    // The store finds them by time; without it, it would look through everything that is pending.
    const auto live = submitters_[0].Get(
        WithQuery("/api/v1/executions", {{"queue", lane.queue},
                                         {"status", "pending,scheduled,running,retrying"},
                                         {"from", FormatTime(lane_begin_)},
                                         {"limit", "1"}}));
    if (!live) return std::unexpected(live.error());
    return ListMember(live->value, "items").empty();
}

Result<void> BenchRun::AwaitEnd(const BenchLane& lane, Steady end) {
    while (true) {
        const auto empty = IsEmpty(lane);
        if (!empty) return std::unexpected(empty.error());
        if (*empty) return {};
        if (SteadyClock::now() > end) {
            return Fail(ErrorCode::kUnavailable, "the tasks were not done in time");
        }
        std::this_thread::sleep_for(kBenchPoll);
    }
}

Result<BenchTally> BenchRun::CheckOnce(const BenchLane& lane, std::size_t tasks) {
    auto tally = fleet_.Read(lane.phase);
    if (!tally) return tally;
    if (tally->distinct == tasks && tally->twice == 0) return tally;
    // A task that two processes ran counts as two distinct ones.
    return Fail(ErrorCode::kConflict, "not every task ran exactly once: of " +
                                          std::to_string(tasks) + " the workers ran " +
                                          std::to_string(tally->distinct) + " and " +
                                          std::to_string(tally->twice) + " again");
}

Result<Rate> BenchRun::Fill() {
    BenchLane lane = NextLane();
    lane.type = "bench-pending";  // That no worker serves.
    lane.runs = false;
    return Bulk(lane, plan_.pending);
}

Result<Rate> BenchRun::Single() {
    BenchLane lane = NextLane();
    lane.runs = false;
    if (auto paused = Say(lane, "pause"); !paused) return std::unexpected(paused.error());
    const Steady begin = SteadyClock::now();
    auto sent = SubmitOneByOne(submitters_[0], lane, plan_.single, End());
    if (!sent) return std::unexpected(sent.error());
    const Rate rate{.tasks = plan_.single, .seconds = SecondsSince(begin)};
    if (auto resumed = Say(lane, "resume"); !resumed) return std::unexpected(resumed.error());
    if (auto over = AwaitEnd(lane, End()); !over) return std::unexpected(over.error());
    if (auto once = CheckOnce(lane, plan_.single); !once) return std::unexpected(once.error());
    return rate;
}

Result<void> BenchRun::Drain(BenchResults& results) {
    BenchLane lane = NextLane();
    lane.runs = false;
    if (auto paused = Say(lane, "pause"); !paused) return paused;
    const auto bulk = Bulk(lane, plan_.drain);
    if (!bulk) return std::unexpected(bulk.error());
    results.bulk = *bulk;
    const Steady begin = SteadyClock::now();
    if (auto resumed = Say(lane, "resume"); !resumed) return resumed;
    if (auto over = AwaitEnd(lane, End()); !over) return over;
    results.drain = {.tasks = plan_.drain, .seconds = SecondsSince(begin)};
    const auto once = CheckOnce(lane, plan_.drain);
    return once ? Result<void>() : std::unexpected(once.error());
}

Result<void> BenchRun::EndToEnd(BenchResults& results) {
    const BenchLane lane = NextLane();
    const Steady begin = SteadyClock::now();
    const auto submitted = Bulk(lane, plan_.tasks);
    if (!submitted) return std::unexpected(submitted.error());
    if (auto over = AwaitEnd(lane, begin + plan_.timeout); !over) return over;
    results.submitted = *submitted;
    results.end_to_end = {.tasks = plan_.tasks, .seconds = SecondsSince(begin)};
    const auto once = CheckOnce(lane, plan_.tasks);
    return once ? Result<void>() : std::unexpected(once.error());
}

Result<Latency> BenchRun::MeasureLatency() {
    const BenchLane lane = NextLane();
    const auto tasks = static_cast<std::size_t>(plan_.latency_for.count()) * plan_.rate / 1000;
    const Steady begin = SteadyClock::now();
    if (auto sent = SubmitEvenly(senders_, lane, tasks, plan_.rate); !sent) {
        return std::unexpected(sent.error());
    }
    const Rate rate{.tasks = tasks, .seconds = SecondsSince(begin)};
    if (auto over = AwaitEnd(lane, End()); !over) return std::unexpected(over.error());
    auto tally = CheckOnce(lane, tasks);
    if (!tally) return std::unexpected(tally.error());
    return LatencyOf(rate, std::move(tally->latencies_us));
}

}  // namespace

Result<BenchResults> RunBench(const ClientOptions& client, const BenchPlan& plan,
                              BenchFleet& fleet) {
    BenchRun run(client, plan, fleet);
    if (auto opened = run.Open(); !opened) return std::unexpected(opened.error());
    BenchResults results;
    if (plan.pending > 0) {
        const auto filled = run.Fill();
        if (!filled) return std::unexpected(filled.error());
        results.pending = *filled;
    }
    if (plan.single > 0) {
        const auto single = run.Single();
        if (!single) return std::unexpected(single.error());
        results.single = *single;
    }
    if (plan.drain > 0) {
        if (auto drained = run.Drain(results); !drained) return std::unexpected(drained.error());
    }
    if (plan.tasks > 0) {
        if (auto done = run.EndToEnd(results); !done) return std::unexpected(done.error());
    }
    if (plan.latency_for > Duration(0)) {
        const auto latency = run.MeasureLatency();
        if (!latency) return std::unexpected(latency.error());
        results.latency = *latency;
    }
    return results;
}

}  // namespace takt::internal::cli
