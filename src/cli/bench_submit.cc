#include "cli/bench_submit.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "cli/bench_ledger.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

// Before asking again a scheduler that is full.
constexpr Duration kFullPause{5};
// Half of what a bulk request may have, for the text around the payloads.
constexpr std::size_t kBulkBytesMax = 16 << 20;

// Work of several threads, which ends with the first error of any of them.
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

std::string BenchBody(const BenchLane& lane, std::size_t number, std::int64_t sent_us = 0) {
    std::string labels;
    for (const auto& [name, value] : BenchLabels(number % lane.kinds)) {
        labels += (labels.empty() ? R"(","labels":{")" : R"(",")") + name + R"(":")" + value;
    }
    if (!labels.empty()) labels += "\"}";
    return R"({"name":"bench","type":")" + lane.type + R"(","queue":")" + lane.queue + labels +
           (labels.empty() ? R"(","payload":)" : R"(,"payload":)") +
           BenchPayload({.phase = lane.phase, .number = number, .sent_us = sent_us}, lane.payload) +
           "}";
}

std::string BenchBody(const BenchLane& lane, const std::vector<std::size_t>& numbers) {
    std::string body = "[";
    for (const std::size_t number : numbers) {
        if (body.size() > 1) body += ',';
        body += BenchBody(lane, number);
    }
    return body + "]";
}

std::string WithKeyToRaise(const Error& refusal) {
    if (refusal.field != "queue") return refusal.detail;
    return refusal.detail +
           ". Raise scheduler.queue_size (--set scheduler.queue_size=N, or in the configuration of "
           "the scheduler that is measured), or measure fewer tasks";
}

// A limit on what waits, which is not passed again while nothing runs.
bool StaysFull(const BenchLane& lane, const Error& refusal) {
    return !lane.runs &&
           (refusal.field == "queue" || refusal.field == "quotas.executions_waiting" ||
            refusal.field == "quotas.payload_bytes");
}

// A refused task is sent again; or the refusal ends the measurement, and is returned.
Result<void> TakeRefusal(const BenchLane& lane, const Error& refusal, Steady end) {
    if (StaysFull(lane, refusal)) {
        return Fail(ErrorCode::kExhausted,
                    "the scheduler takes no more tasks: " + WithKeyToRaise(refusal));
    }
    if (SteadyClock::now() <= end) return {};
    return Fail(ErrorCode::kUnavailable,
                "the scheduler did not take all tasks in time: " + WithKeyToRaise(refusal));
}

// Leaves in `numbers` those that were turned away because the scheduler is full.
Result<void> SubmitOnce(Client& client, const BenchLane& lane, std::vector<std::size_t>& numbers,
                        Steady end) {
    const auto answer = client.Post("/api/v1/tasks/bulk", BenchBody(lane, numbers));
    if (!answer) {
        if (answer.error().code == ErrorCode::kExhausted) {
            return TakeRefusal(lane, answer.error(), end);
        }
        return std::unexpected(answer.error());
    }
    const auto items = ListMember(answer->value, "items");
    if (items.size() != numbers.size()) {
        return Fail(ErrorCode::kConflict, "the scheduler answered for other tasks than were sent");
    }
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto status = static_cast<int>(NumberMember(*items[i], "status"));
        if (status == 201) continue;
        const auto* problem = FindMember(*items[i], "problem");
        const Error refusal{status == 429 ? ErrorCode::kExhausted : ErrorCode::kInvalid,
                            problem ? Member(*problem, "detail") : "?",
                            problem ? Member(*problem, "field") : ""};
        if (status != 429) {
            return Fail(refusal.code, "the scheduler refused a task: " + refusal.detail);
        }
        if (auto taken = TakeRefusal(lane, refusal, end); !taken) return taken;
        left.push_back(numbers[i]);
    }
    numbers = std::move(left);
    return {};
}

Result<void> SubmitAll(Client& client, const BenchLane& lane, std::vector<std::size_t> numbers,
                       Steady end) {
    while (true) {
        if (auto sent = SubmitOnce(client, lane, numbers, end); !sent) return sent;
        if (numbers.empty()) return {};
        std::this_thread::sleep_for(kFullPause);
    }
}

}  // namespace

std::map<std::string, std::string> BenchLabels(std::size_t kind) {
    std::map<std::string, std::string> labels;
    for (std::size_t bit = 0; kind >> bit != 0; ++bit) {
        if ((kind >> bit & 1) != 0) labels["bench-" + std::to_string(bit)] = "1";
    }
    return labels;
}

Result<void> SubmitInBulk(std::vector<Client>& clients, const BenchLane& lane,
                          const BulkPlan& plan) {
    const std::size_t batch = std::clamp(kBulkBytesMax / lane.payload, std::size_t{1}, plan.batch);
    FirstError error;
    std::atomic<std::size_t> taken = 0;
    {
        std::vector<std::jthread> threads;
        for (Client& client : clients) {
            threads.emplace_back([&] {
                while (!error.failed()) {
                    const std::size_t first = taken.fetch_add(batch);
                    if (first >= plan.tasks) return;
                    std::vector<std::size_t> numbers(std::min(batch, plan.tasks - first));
                    std::iota(numbers.begin(), numbers.end(), first);
                    auto sent = SubmitAll(client, lane, std::move(numbers), plan.end);
                    if (!sent) error.Set(sent.error());
                }
            });
        }
    }
    return error.Get();
}

Result<void> SubmitOneByOne(Client& client, const BenchLane& lane, std::size_t tasks, Steady end) {
    for (std::size_t number = 0; number < tasks;) {
        auto answer = client.Post("/api/v1/tasks", BenchBody(lane, number));
        if (answer) {
            ++number;
        } else if (answer.error().code != ErrorCode::kExhausted) {
            return std::unexpected(answer.error());
        } else if (auto taken = TakeRefusal(lane, answer.error(), end); !taken) {
            return taken;
        }
        if (SteadyClock::now() > end) {
            return Fail(ErrorCode::kUnavailable, "the scheduler did not take all tasks in time");
        }
    }
    return {};
}

Result<void> SubmitEvenly(std::vector<Client>& clients, const BenchLane& lane, std::size_t tasks,
                          std::size_t rate) {
    FirstError error;
    const Steady begin = SteadyClock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t first = 0; first < clients.size(); ++first) {
            threads.emplace_back([&, first] {
                for (std::size_t i = first; i < tasks && !error.failed(); i += clients.size()) {
                    std::this_thread::sleep_until(begin +
                                                  std::chrono::microseconds(i * 1'000'000 / rate));
                    const std::string body = BenchBody(lane, i, SteadyMicroseconds());
                    auto answer = clients[first].Post("/api/v1/tasks", body);
                    if (!answer) error.Set(answer.error());
                }
            });
        }
    }
    return error.Get();
}

}  // namespace takt::internal::cli
