#include "store/faulty/faulty_store.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "store/operation_queue.h"

namespace takt::internal {

// Operations between two delays. Shared with what was given to Delay, which may run late.
class FaultyStore::Waiting : public std::enable_shared_from_this<Waiting> {
  public:
    Waiting(Store& store, Delay delay) : store_(store), delay_(std::move(delay)) {}

    void Add(Duration time, Operation<Store> operation) {
        std::uint64_t number = 0;
        {
            const std::lock_guard lock(mutex_);
            if (!closed_) {
                number = ++last_;
                operations_.emplace(number, std::move(operation));
            }
        }
        if (number == 0) return Cancel(operation);
        delay_(time, [self = shared_from_this(), number] { self->Run(number); });
    }

    void Close() {
        std::map<std::uint64_t, Operation<Store>> left;
        {
            std::unique_lock lock(mutex_);
            closed_ = true;
            left.swap(operations_);
            idle_.wait(lock, [this] { return running_ == 0; });
        }
        for (auto& [number, operation] : left) Cancel(operation);
    }

  private:
    static void Cancel(Operation<Store>& operation) {
        const Error cancelled{ErrorCode::kCancelled, "the store was closed", {}};
        operation(nullptr, &cancelled);
    }

    void Run(std::uint64_t number) {
        Operation<Store> operation;
        {
            const std::lock_guard lock(mutex_);
            const auto found = operations_.find(number);
            if (found == operations_.end()) return;
            operation = std::move(found->second);
            operations_.erase(found);
            ++running_;
        }
        operation(&store_, nullptr);
        // Notified under the lock: Close must not return, and this object go, before the notice is
        // out.
        const std::lock_guard lock(mutex_);
        --running_;
        idle_.notify_all();
    }

    Store& store_;
    const Delay delay_;
    std::mutex mutex_;
    std::condition_variable idle_;
    std::map<std::uint64_t, Operation<Store>> operations_;
    std::uint64_t last_ = 0;
    int running_ = 0;
    bool closed_ = false;
};

namespace {

bool IsWrite(StoreCall call) {
    switch (call) {
        case StoreCall::kAcquire:
        case StoreCall::kRenew:
        case StoreCall::kResign:
        case StoreCall::kAnnounce:
        case StoreCall::kCommit:
            return true;
        case StoreCall::kLeader:
        case StoreCall::kNodes:
        case StoreCall::kLoad:
        case StoreCall::kRead:
            return false;
    }
    return false;
}

Error Lost(StoreCall call) {
    return {IsWrite(call) ? ErrorCode::kUnknown : ErrorCode::kUnavailable,
            "no answer came (injected fault)",
            {}};
}

}  // namespace

FaultyStore::FaultyStore(std::unique_ptr<Store> store, std::shared_ptr<FaultPlan> plan, Delay delay)
    : store_(std::move(store)),
      plan_(std::move(plan)),
      waiting_(std::make_shared<Waiting>(*store_, std::move(delay))) {}

FaultyStore::~FaultyStore() {
    waiting_->Close();
    store_.reset();
}

template <typename T>
void FaultyStore::Call(StoreCall call, std::move_only_function<void(Store&, Done<T>)> begin,
                       Done<T> done) {
    const Fault fault = plan_->Next(call);
    if (fault.kind == Fault::Kind::kRefuse || fault.kind == Fault::Kind::kLoseRequest) {
        const Error error = fault.kind == Fault::Kind::kRefuse
                                ? Error{ErrorCode::kUnavailable, "refused (injected fault)", {}}
                                : Lost(call);
        waiting_->Add(fault.before + fault.after,
                      [error, done = std::move(done)](Store*, const Error* refusal) mutable {
                          done(std::unexpected(refusal ? *refusal : error));
                      });
        return;
    }
    auto reach = [waiting = waiting_, fault, call, begin = std::move(begin),
                  done = std::move(done)](Store* store, const Error* refusal) mutable {
        if (refusal) return done(std::unexpected(*refusal));
        begin(*store, [waiting, fault, call, done = std::move(done)](Result<T> result) mutable {
            if (fault.kind == Fault::Kind::kLoseReply) result = std::unexpected(Lost(call));
            if (fault.after == Duration(0)) return done(std::move(result));
            waiting->Add(fault.after, [result = std::move(result), done = std::move(done)](
                                          Store*, const Error* refused) mutable {
                refused ? done(std::unexpected(*refused)) : done(std::move(result));
            });
        });
    };
    if (fault.before == Duration(0)) return reach(store_.get(), nullptr);
    waiting_->Add(fault.before, std::move(reach));
}

void FaultyStore::Acquire(const Candidate& candidate, Done<Term> done) {
    Call<Term>(
        StoreCall::kAcquire,
        [candidate](Store& store, Done<Term> d) { store.Acquire(candidate, std::move(d)); },
        std::move(done));
}

void FaultyStore::Renew(const Term& term, Duration ttl, Done<void> done) {
    Call<void>(
        StoreCall::kRenew,
        [term, ttl](Store& store, Done<void> d) { store.Renew(term, ttl, std::move(d)); },
        std::move(done));
}

void FaultyStore::Resign(const Term& term, Done<void> done) {
    Call<void>(
        StoreCall::kResign,
        [term](Store& store, Done<void> d) { store.Resign(term, std::move(d)); }, std::move(done));
}

void FaultyStore::Leader(Partition partition, Done<std::optional<LeaderRow>> done) {
    Call<std::optional<LeaderRow>>(
        StoreCall::kLeader,
        [partition](Store& store, Done<std::optional<LeaderRow>> d) {
            store.Leader(partition, std::move(d));
        },
        std::move(done));
}

void FaultyStore::Announce(const NodeRow& node, Duration ttl, Done<void> done) {
    Call<void>(
        StoreCall::kAnnounce,
        [node, ttl](Store& store, Done<void> d) { store.Announce(node, ttl, std::move(d)); },
        std::move(done));
}

void FaultyStore::Nodes(Done<std::vector<NodeRow>> done) {
    Call<std::vector<NodeRow>>(
        StoreCall::kNodes,
        [](Store& store, Done<std::vector<NodeRow>> d) { store.Nodes(std::move(d)); },
        std::move(done));
}

void FaultyStore::Commit(BatchPtr batch, Done<void> done) {
    Call<void>(
        StoreCall::kCommit,
        [batch = std::move(batch)](Store& store, Done<void> d) {
            store.Commit(batch, std::move(d));
        },
        std::move(done));
}

void FaultyStore::Load(Partition partition, const std::string& cursor, Done<LoadPage> done) {
    Call<LoadPage>(
        StoreCall::kLoad,
        [partition, cursor](Store& store, Done<LoadPage> d) {
            store.Load(partition, cursor, std::move(d));
        },
        std::move(done));
}

void FaultyStore::FindExecutions(std::vector<ExecutionId> ids,
                                 Done<std::vector<std::optional<Execution>>> done) {
    Call<std::vector<std::optional<Execution>>>(
        StoreCall::kRead,
        [ids = std::move(ids)](Store& store, Done<std::vector<std::optional<Execution>>> d) {
            store.FindExecutions(ids, std::move(d));
        },
        std::move(done));
}

void FaultyStore::ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) {
    Call<std::vector<Execution>>(
        StoreCall::kRead,
        [filter](Store& store, Done<std::vector<Execution>> d) {
            store.ListExecutions(filter, std::move(d));
        },
        std::move(done));
}

void FaultyStore::FindTask(const TaskId& id, Done<TaskRow> done) {
    Call<TaskRow>(
        StoreCall::kRead, [id](Store& store, Done<TaskRow> d) { store.FindTask(id, std::move(d)); },
        std::move(done));
}

void FaultyStore::ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) {
    Call<std::vector<TaskRow>>(
        StoreCall::kRead,
        [filter](Store& store, Done<std::vector<TaskRow>> d) {
            store.ListTasks(filter, std::move(d));
        },
        std::move(done));
}

void FaultyStore::ListWorkers(Done<std::vector<Worker>> done) {
    Call<std::vector<Worker>>(
        StoreCall::kRead,
        [](Store& store, Done<std::vector<Worker>> d) { store.ListWorkers(std::move(d)); },
        std::move(done));
}

void FaultyStore::ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) {
    Call<std::vector<SettingPut>>(
        StoreCall::kRead,
        [key_prefix](Store& store, Done<std::vector<SettingPut>> d) {
            store.ListSettings(key_prefix, std::move(d));
        },
        std::move(done));
}

void FaultyStore::ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                          Done<std::vector<LogChunk>> done) {
    Call<std::vector<LogChunk>>(
        StoreCall::kRead,
        [execution, after, limit](Store& store, Done<std::vector<LogChunk>> d) {
            store.ReadLog(execution, after, limit, std::move(d));
        },
        std::move(done));
}

void FaultyStore::ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) {
    Call<std::vector<Event>>(
        StoreCall::kRead,
        [after, limit](Store& store, Done<std::vector<Event>> d) {
            store.ReadEvents(after, limit, std::move(d));
        },
        std::move(done));
}

}  // namespace takt::internal
