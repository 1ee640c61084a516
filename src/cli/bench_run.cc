#include "cli/bench_run.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/id.h"
#include "base/json.h"
#include "base/random.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

// Enough senders that one slow commit does not hold up the even rate.
constexpr std::size_t kSenders = 16;
constexpr Duration kPoll{5};

std::string NewQueue() {
    Random random(NewRandomSeed());
    return "bench-" + SerialText(random.Next());
}

double SecondsBetween(Steady from, Steady to) {
    return std::chrono::duration<double>(to - from).count();
}

std::int64_t WallMicroseconds() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string BatchOf(std::size_t count, const std::string& queue) {
    const std::string task = R"({"name":"noop","type":"noop","queue":")" + queue + "\"}";
    std::string body = "[";
    for (std::size_t i = 0; i < count; ++i) body += (i ? "," : "") + task;
    return body + "]";
}

// What several threads do together ends with the first error of any.
class FirstError {
  public:
    void Set(Error error) {
        const std::lock_guard lock(mutex_);
        if (!failed_.exchange(true)) error_ = std::move(error);
    }
    bool failed() const { return failed_; }
    Result<void> Get() const {
        if (failed_) return std::unexpected(error_);
        return {};
    }

  private:
    std::mutex mutex_;
    std::atomic<bool> failed_ = false;
    Error error_{};
};

// Submits `count` tasks; those that were turned away because the scheduler is full are sent again.
Result<void> SubmitBatch(Client& client, const std::string& queue, std::size_t count, Steady end) {
    while (count > 0) {
        const auto answer = client.Post("/api/v1/tasks/bulk", BatchOf(count, queue));
        if (answer) {
            count -=
                std::min(count, static_cast<std::size_t>(NumberMember(answer->value, "created")));
            if (count == 0) return {};
        } else if (answer.error().code != ErrorCode::kExhausted) {
            return std::unexpected(answer.error());
        }
        if (SteadyClock::now() > end) {
            return Fail(ErrorCode::kUnavailable, "the scheduler did not take all tasks in time");
        }
        std::this_thread::sleep_for(kPoll);
    }
    return {};
}

// Whether every result is stored. The leader's own count is cheap and comes first; it falls when a
// result arrives, a moment before that is durable.
Result<bool> IsEmpty(Client& client, const std::string& queue) {
    const auto counted = client.Get(PathOf("queues", queue));
    // A queue in which nothing is left may be forgotten.
    if (!counted && counted.error().code != ErrorCode::kNotFound) {
        return std::unexpected(counted.error());
    }
    if (counted &&
        NumberMember(counted->value, "waiting") + NumberMember(counted->value, "working") > 0) {
        return false;
    }
    const auto live = client.Get(WithQuery(
        "/api/v1/executions",
        {{"queue", queue}, {"status", "pending,scheduled,running,retrying"}, {"limit", "1"}}));
    if (!live) return std::unexpected(live.error());
    return ListMember(live->value, "items").empty();
}

Result<void> WaitUntilEmpty(Client& client, const std::string& queue, Steady end) {
    while (true) {
        const auto empty = IsEmpty(client, queue);
        if (!empty) return std::unexpected(empty.error());
        if (*empty) return {};
        if (SteadyClock::now() > end) {
            return Fail(ErrorCode::kUnavailable,
                        "the tasks were not done in time; are there workers that run noop?");
        }
        std::this_thread::sleep_for(kPoll);
    }
}

struct Sent {
    std::mutex mutex;
    std::unordered_map<std::string, std::int64_t> at;  // By id, in microseconds.
};

void SendEvenly(Client& client, const std::string& queue, std::size_t rate, std::size_t from,
                std::size_t count, Steady begin, Sent& sent, FirstError& error) {
    for (std::size_t i = from; i < count && !error.failed(); i += kSenders) {
        const Steady due = begin + std::chrono::microseconds(i * 1'000'000 / rate);
        std::this_thread::sleep_for(due - SteadyClock::now());
        const std::string id = queue + "-" + std::to_string(i);
        const std::string body =
            R"({"name":"clock","type":"clock","queue":")" + queue + R"(","id":")" + id + "\"}";
        const std::int64_t at = WallMicroseconds();
        if (auto answer = client.Post("/api/v1/tasks", body); !answer) error.Set(answer.error());
        const std::lock_guard lock(sent.mutex);
        sent.at.emplace(id, at);
    }
}

// When handlers began, by what they returned.
Result<std::vector<double>> ReadLatencies(Client& client, const std::string& queue,
                                          const Sent& sent) {
    std::vector<double> latencies;
    std::string cursor;
    do {
        const auto page = client.Get(WithQuery(
            "/api/v1/executions", {{"queue", queue}, {"limit", "1000"}, {"cursor", cursor}}));
        if (!page) return std::unexpected(page.error());
        for (const auto* item : ListMember(page->value, "items")) {
            const auto found = sent.at.find(Member(*item, "id"));
            const auto* result = FindMember(*item, "result");
            if (found == sent.at.end() || !result || !result->is_object()) {
                return Fail(ErrorCode::kConflict,
                            "execution " + Member(*item, "id") + " is " + Member(*item, "status") +
                                " without the time of its start; do the workers have --demo?");
            }
            const double started = NumberMember(*result, "started_us");
            latencies.push_back((started - static_cast<double>(found->second)) / 1000);
        }
        cursor = Member(page->value, "next_cursor");
    } while (!cursor.empty());
    std::ranges::sort(latencies);
    return latencies;
}

// The smallest value that at least this fraction is not above.
double Percentile(const std::vector<double>& sorted, double fraction) {
    if (sorted.empty()) return 0;
    const auto rank =
        static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

Result<Throughput> MeasureThroughput(const ClientOptions& options, const BenchPlan& plan) {
    const std::string queue = NewQueue();
    std::vector<Client> clients;
    for (std::size_t i = 0; i < plan.submitters; ++i) {
        auto client = Client::Open(options);
        if (!client) return std::unexpected(client.error());
        clients.push_back(std::move(*client));
    }
    FirstError error;
    std::atomic<std::size_t> taken = 0;
    const Steady begin = SteadyClock::now();
    const Steady end = begin + plan.timeout;
    {
        std::vector<std::jthread> threads;
        for (Client& client : clients) {
            threads.emplace_back([&] {
                while (!error.failed()) {
                    const std::size_t first = taken.fetch_add(plan.batch);
                    if (first >= plan.tasks) return;
                    const std::size_t count = std::min(plan.batch, plan.tasks - first);
                    auto sent = SubmitBatch(client, queue, count, end);
                    if (!sent) error.Set(sent.error());
                }
            });
        }
    }
    const Steady submitted = SteadyClock::now();
    if (auto all = error.Get(); !all) return std::unexpected(all.error());
    if (auto done = WaitUntilEmpty(clients[0], queue, end); !done) {
        return std::unexpected(done.error());
    }
    return Throughput{.tasks = plan.tasks,
                      .submit_seconds = SecondsBetween(begin, submitted),
                      .total_seconds = SecondsBetween(begin, SteadyClock::now())};
}

Result<Latency> MeasureLatency(const ClientOptions& options, const BenchPlan& plan) {
    const std::string queue = NewQueue();
    const auto count = static_cast<std::size_t>(plan.latency_for.count()) * plan.rate / 1000;
    if (count == 0) return Latency{};
    std::vector<Client> clients;
    for (std::size_t i = 0; i < kSenders; ++i) {
        auto client = Client::Open(options);
        if (!client) return std::unexpected(client.error());
        // The first call opens the connection; that is not what is measured.
        if (auto warm = client->Get("/version"); !warm) return std::unexpected(warm.error());
        clients.push_back(std::move(*client));
    }
    FirstError error;
    Sent sent;
    const Steady begin = SteadyClock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < kSenders; ++i) {
            threads.emplace_back(
                [&, i] { SendEvenly(clients[i], queue, plan.rate, i, count, begin, sent, error); });
        }
    }
    const double seconds = SecondsBetween(begin, SteadyClock::now());
    if (auto all = error.Get(); !all) return std::unexpected(all.error());
    const Steady end = SteadyClock::now() + plan.timeout;
    if (auto done = WaitUntilEmpty(clients[0], queue, end); !done) {
        return std::unexpected(done.error());
    }
    const auto latencies = ReadLatencies(clients[0], queue, sent);
    if (!latencies) return std::unexpected(latencies.error());
    return Latency{.tasks = latencies->size(),
                   .rate = static_cast<double>(count) / seconds,
                   .p50 = Percentile(*latencies, 0.5),
                   .p99 = Percentile(*latencies, 0.99),
                   .p999 = Percentile(*latencies, 0.999),
                   .max = latencies->empty() ? 0 : latencies->back()};
}

}  // namespace takt::internal::cli
