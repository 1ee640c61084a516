// The calls of SchedulerApi that do not wait, or wait for many.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/id.h"
#include "base/random.h"
#include "sdk/answers.h"
#include "sdk/calls.h"
#include "sdk/end_wait.h"
#include "sdk/own_names.h"
#include "sdk/records.h"
#include "takt/future.h"

namespace takt {
namespace {

// How long Run pauses before it submits the same again.
constexpr Duration kSubmitPauseMin{50};
constexpr Duration kSubmitPauseMax{1'000};

// Where callbacks leave their answers for the thread that waits for them.
template <typename T>
struct Gathered {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::optional<Result<T>>> answers;
    std::size_t count = 0;             // Of answers.
    std::optional<std::size_t> first;  // Which came first.

    void Take(std::size_t index, Result<T> answer) {
        const std::scoped_lock lock(mutex);
        answers[index] = std::move(answer);
        if (!first) first = index;
        ++count;
        changed.notify_all();
    }
};

// Waits for several executions at once; whatever has not ended is given up with it.
class Waits {
  public:
    Waits(const std::shared_ptr<Calls>& calls, const std::vector<std::string>& ids,
          Duration timeout) {
        gathered_->answers.resize(ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            waits_.push_back(EndWait::Begin(calls, ids[i], timeout,
                                            [gathered = gathered_, i](Result<Execution> ended) {
                                                gathered->Take(i, std::move(ended));
                                            }));
        }
    }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() {
        for (const auto& wait : waits_) wait->GiveUp();
    }

    Gathered<Execution>& gathered() { return *gathered_; }

  private:
    const std::shared_ptr<Gathered<Execution>> gathered_ = std::make_shared<Gathered<Execution>>();
    std::vector<std::shared_ptr<EndWait>> waits_;
};

std::string NewTaskId() {
    internal::Random random(internal::NewRandomSeed());
    return "run-" + internal::SerialText(random.Next()) + internal::SerialText(random.Next());
}

// One Run: submits until it is known to be there, then waits.
class RunOnce : public std::enable_shared_from_this<RunOnce> {
  public:
    RunOnce(std::shared_ptr<Calls> calls, std::string id, std::string body, Duration timeout,
            EndWait::Done done)
        : calls_(std::move(calls)),
          id_(std::move(id)),
          body_(std::move(body)),
          end_(std::chrono::steady_clock::now() + timeout),
          done_(std::move(done)) {}

    void Submit() {
        calls_->Ask({.method = internal::HttpMethod::kPost, .path = "/api/v1/tasks", .body = body_},
                    [self = shared_from_this()](const internal::Result<std::string>& answer) {
                        self->OnSubmitted(answer);
                    });
    }

  private:
    Duration Left() const {
        return std::chrono::duration_cast<Duration>(end_ - std::chrono::steady_clock::now());
    }

    void OnSubmitted(const internal::Result<std::string>& answer) {
        if (answer) {
            EndWait::Begin(calls_, id_, std::max(Left(), Duration(0)), done_);
            return;
        }
        const Error error = InTaskNames(ErrorOf(answer.error()));
        // The id makes it the same task, however often it is submitted.
        const bool passes =
            error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kUnknown;
        if (!passes || Left() < pause_ || calls_->stopped()) return done_(error);
        calls_->timers.After(pause_, [self = shared_from_this()] { self->Submit(); });
        pause_ = std::min(pause_ * 2, kSubmitPauseMax);
    }

    const std::shared_ptr<Calls> calls_;
    const std::string id_;
    const std::string body_;
    const std::chrono::steady_clock::time_point end_;
    const EndWait::Done done_;
    Duration pause_ = kSubmitPauseMin;
};

void RunTask(const std::shared_ptr<Calls>& calls, Task task, Duration timeout, EndWait::Done done) {
    if (task.recurring()) {
        return done(Error{ErrorCode::kInvalid, "a recurring task has no end to wait for",
                          "cron_expression"});
    }
    if (task.id.empty()) task.id = NewTaskId();
    auto body = JsonOf(task);
    if (!body) return done(body.error());
    std::make_shared<RunOnce>(calls, std::move(task.id), std::move(*body), timeout, std::move(done))
        ->Submit();
}

// `done`, on the thread for callbacks.
template <typename T>
std::function<void(Result<T>)> CalledBack(const std::shared_ptr<Calls>& calls,
                                          std::function<void(Result<T>)> done) {
    return [calls, done = std::move(done)](Result<T> answer) {
        calls->callbacks.Post([done, answer = std::move(answer)] { done(answer); });
    };
}

}  // namespace

void SchedulerApi::SubmitNow(const Task& task, std::function<void(Result<TaskRecord>)> done) {
    auto body = JsonOf(task);
    if (!body) return done(body.error());
    calls_->Ask(
        {.method = internal::HttpMethod::kPost, .path = "/api/v1/tasks", .body = std::move(*body)},
        [done = std::move(done)](const internal::Result<std::string>& answer) {
            done(InTaskNames(ReadAnswer(answer, ReadTask)));
        });
}

void SchedulerApi::SubmitTaskAsync(const Task& task, std::function<void(Result<TaskRecord>)> done) {
    SubmitNow(task, CalledBack<TaskRecord>(calls_, std::move(done)));
}

void SchedulerApi::WaitNow(std::string_view id, Duration timeout,
                           std::function<void(Result<Execution>)> done) {
    EndWait::Begin(calls_, std::string(id), timeout, std::move(done));
}

void SchedulerApi::WaitAsync(std::string_view id, Duration timeout,
                             std::function<void(Result<Execution>)> done) {
    WaitNow(id, timeout, CalledBack<Execution>(calls_, std::move(done)));
}

void SchedulerApi::RunNow(const Task& task, Duration timeout,
                          std::function<void(Result<Execution>)> done) {
    RunTask(calls_, task, timeout, std::move(done));
}

void SchedulerApi::RunAsync(const Task& task, Duration timeout,
                            std::function<void(Result<Execution>)> done) {
    RunNow(task, timeout, CalledBack<Execution>(calls_, std::move(done)));
}

Result<Execution> SchedulerApi::WaitForTask(std::string_view id, Duration timeout) {
    return WaitAsync(id, timeout).get();
}

Result<Execution> SchedulerApi::Run(const Task& task, Duration timeout) {
    return RunAsync(task, timeout).get();
}

std::vector<Result<Execution>> SchedulerApi::WaitForAll(const std::vector<std::string>& ids,
                                                        Duration timeout) {
    Waits waits(calls_, ids, timeout);
    Gathered<Execution>& gathered = waits.gathered();
    std::unique_lock lock(gathered.mutex);
    gathered.changed.wait(lock, [&] { return gathered.count == ids.size(); });
    std::vector<Result<Execution>> all;
    all.reserve(ids.size());
    for (auto& answer : gathered.answers) all.push_back(std::move(*answer));
    return all;
}

Result<Ended> SchedulerApi::WaitForAny(const std::vector<std::string>& ids, Duration timeout) {
    if (ids.empty()) return Error{ErrorCode::kInvalid, "there is nothing to wait for", "ids"};
    Waits waits(calls_, ids, timeout);
    Gathered<Execution>& gathered = waits.gathered();
    std::unique_lock lock(gathered.mutex);
    gathered.changed.wait(lock, [&] { return gathered.first.has_value(); });
    Result<Execution>& answer = *gathered.answers[*gathered.first];
    if (!answer) return answer.error();
    return Ended{*gathered.first, std::move(*answer)};
}

}  // namespace takt
