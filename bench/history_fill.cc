// Puts finished executions behind a store, as many as a busy year leaves, through the Store interface
// and as fast as the store takes them: what ./dev bench growth measures over.
//
//   history_fill URL COUNT
//
// No scheduler may lead there; when it is done, one may at once. The executions are of the last six
// days, of a thousand tasks; one in thirty has failed, one in a hundred was cancelled. Prints the id of
// one of them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "model/change.h"
#include "store/lead.h"
#include "store/open.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTasks = 1'000;
constexpr Duration kStretch{6 * 86'400'000LL};
constexpr Duration kTtl{3'600'000};

class Finished {
  public:
    Finished(std::size_t count, Serial above)
        : count_(count),
          begin_(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) -
                 kStretch),
          serials_(0, above) {
        for (std::size_t i = 0; i < kTasks; ++i) {
            NewTaskPtr task(new Task);
            task->id = TaskId(Text("report-" + std::to_string(i)));
            task->name = task->id.text();
            task->type = Text("report");
            task->queue = Text("default");
            task->payload = Text(std::string(150, 'x'));
            task->created_at = task->updated_at = begin_;
            tasks_.push_back(std::move(task));
        }
        NewOutcome(failed_, Reason::kHandlerFailed, "connection refused");
        NewOutcome(cancelled_, Reason::kCancelled, "not needed any more");
    }

    Change Next() {
        const Time at = begin_ + kStretch * made_ / count_;
        Execution row;
        row.serial = serials_.Next(at);
        row.id = ExecutionId(Text(SerialText(row.serial)));
        row.task = tasks_[made_ * 7919 % kTasks];
        row.origin = Origin::kTrigger;
        row.created_at = row.scheduled_at = row.ready_at = at;
        row.started_at = at + 20ms;
        row.finished_at = at + 100ms + Duration(made_ % 900);
        row.attempt = 1;
        row.epoch = 1;
        row.worker = worker_;
        row.status = Status::kSuccess;
        if (made_ % 30 == 0) row.status = Status::kFailed, row.outcome = failed_;
        if (made_ % 100 == 7) row.status = Status::kCancelled, row.outcome = cancelled_;
        if (made_++ == count_ / 2) middle_ = row.id;
        return ExecutionChange{Place::kNone, Place::kHistory, std::move(row)};
    }
    bool over() const { return made_ == count_; }
    Serial last_serial() const { return serials_.last(); }
    const ExecutionId& middle() const { return middle_; }

  private:
    static void NewOutcome(OutcomePtr& outcome, Reason reason, const char* message) {
        outcome = MakeOutcome(reason, Text(message));
    }

    const std::size_t count_;
    const Time begin_;
    SerialSource serials_;
    std::vector<TaskPtr> tasks_;
    const WorkerId worker_{"worker-1"};
    OutcomePtr failed_, cancelled_;
    std::size_t made_ = 0;
    ExecutionId middle_;
};

template <typename T>
T Must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().detail);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// As many commits under way as the store allows.
void Fill(Store& store, const Term& term, Finished& finished) {
    const StoreLimits limits = store.limits();
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t under_way = 0;
    std::string trouble;
    for (std::uint64_t sequence = 1; !finished.over(); ++sequence) {
        std::vector<Change> changes;
        std::size_t bytes = 0;
        while (!finished.over() && changes.size() < limits.changes_max &&
               bytes < limits.bytes_max / 2) {
            changes.push_back(finished.Next());
            bytes += SizeOf(changes.back());
        }
        const auto batch = std::make_shared<const Batch>(
            Batch{term, sequence, finished.last_serial(), std::move(changes)});
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return under_way < limits.pipeline_max || !trouble.empty(); });
        if (!trouble.empty()) break;
        ++under_way;
        lock.unlock();
        store.Commit(batch, [&](Result<void> done) {
            const std::lock_guard guard(mutex);
            --under_way;
            if (!done) trouble = done.error().detail;
            changed.notify_one();
        });
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return under_way == 0; });
    if (!trouble.empty()) throw std::runtime_error(trouble);
}

void Run(const std::string& url, std::size_t count) {
    const auto store = Must(OpenStore(url));
    const NodeId node("history-fill");
    const Term term = Must(TakeLead(*store, {.node = {.node = node}, .ttl = kTtl}));
    const Serial last = Must(AskStore<LoadPage>([&](auto done) {
                            store->Load(term.partition, {}, std::move(done));
                        })).last_serial;
    Finished finished(count, last);
    Fill(*store, term, finished);
    Must(AskStore<void>([&](auto done) { store->Resign(term, NodeId(), std::move(done)); }));
    fmt::print("{}\n", finished.middle().text().view());
}

}  // namespace
}  // namespace takt::internal

int main(int argc, char** argv) {
    const long long count = argc == 3 ? std::atoll(argv[2]) : 0;
    if (count <= 0) {
        fmt::print(stderr, "usage: history_fill URL COUNT\n");
        return 2;
    }
    try {
        takt::internal::Run(argv[1], static_cast<std::size_t>(count));
    } catch (const std::exception& error) {
        fmt::print(stderr, "history_fill: {}\n", error.what());
        return 1;
    }
    return 0;
}
