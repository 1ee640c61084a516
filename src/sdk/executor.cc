#include "takt/executor.h"

#include <array>
#include <atomic>

#include "base/time.h"
#include "sdk/convert.h"
#include "sdk/enum_names.h"
#include "sdk/executor_bridge.h"
#include "sdk/parts.h"
#include "worker/attempt_run.h"
#include "worker/handlers/http_handler.h"
#include "worker/handlers/shell_handler.h"
#include "worker/task_context.h"

namespace takt {

static_assert(int(StopReason::kShutdown) == int(internal::StopReason::kShutdown));

struct AsyncTask::Impl {
    explicit Impl(std::shared_ptr<internal::AttemptRun> of);

    const std::shared_ptr<internal::AttemptRun> run;
    TaskContext context;
};

struct ContextAccess {
    static AsyncTask MakeAsync(std::shared_ptr<internal::AttemptRun> run) {
        return AsyncTask(std::make_shared<AsyncTask::Impl>(std::move(run)));
    }
    static TaskContext Make(internal::TaskContext& attempt) { return TaskContext(&attempt); }
    static internal::TaskContext& Of(const TaskContext& context) {
        return *static_cast<internal::TaskContext*>(context.attempt_);
    }
};

namespace {

const internal::AssignedTask& TaskOf(const TaskContext& context) {
    return ContextAccess::Of(context).task();
}

TaskResult ResultOf(internal::TaskResult result) {
    return {.code = result.code,
            .message = std::move(result.message),
            .data = std::move(result.data),
            .final = result.final,
            .rejected = result.rejected};
}

internal::TaskResult ResultOf(TaskResult result) {
    return {.code = result.code,
            .message = std::move(result.message),
            .data = std::move(result.data),
            .final = result.final,
            .rejected = result.rejected};
}

class FunctionExecutor final : public Executor {
  public:
    FunctionExecutor(std::string type, TaskFunction function)
        : type_(std::move(type)), function_(std::move(function)) {}

    TaskResult Execute(TaskContext& task) override { return function_(task); }
    std::string_view Type() const override { return type_; }
    std::string_view Protocol() const override { return "local"; }

  private:
    const std::string type_;
    const TaskFunction function_;
};

class ProcessorExecutor final : public Executor {
  public:
    explicit ProcessorExecutor(std::shared_ptr<TaskProcessor> processor)
        : processor_(std::move(processor)) {}

    TaskResult Execute(TaskContext& task) override { return processor_->Process(task); }
    std::string_view Type() const override { return "*"; }
    std::string_view Protocol() const override { return "local"; }

  private:
    const std::shared_ptr<TaskProcessor> processor_;
};

// One of ours, for users.
class BuiltIn final : public Executor {
  public:
    explicit BuiltIn(std::shared_ptr<internal::TaskHandler> inner) : inner_(std::move(inner)) {}

    TaskResult Execute(TaskContext& task) override {
        return ResultOf(inner_->Execute(ContextAccess::Of(task)));
    }
    std::string_view Type() const override { return inner_->Type(); }
    std::string_view Protocol() const override { return inner_->Protocol(); }

  private:
    const std::shared_ptr<internal::TaskHandler> inner_;
};

// One of a user's, for us.
class Bridge final : public internal::TaskHandler {
  public:
    explicit Bridge(std::shared_ptr<takt::Executor> own) : own_(std::move(own)) {}

    internal::TaskResult Execute(internal::TaskContext& attempt) override {
        TaskContext context = ContextAccess::Make(attempt);
        return ResultOf(own_->Execute(context));
    }
    std::string_view Type() const override { return own_->Type(); }
    std::string_view Protocol() const override { return own_->Protocol(); }

  private:
    const std::shared_ptr<takt::Executor> own_;
};

// A function of a user's that returns before its attempt ends, for us.
class AsyncBridge final : public internal::TaskHandler {
  public:
    AsyncBridge(std::string type, AsyncTaskFunction function)
        : type_(std::move(type)), function_(std::move(function)) {}

    bool is_async() const override { return true; }
    void Begin(std::shared_ptr<internal::AttemptRun> run) override {
        function_(ContextAccess::MakeAsync(std::move(run)));
    }
    internal::TaskResult Execute(internal::TaskContext&) override {
        return internal::TaskResult::Failure("it is begun, not executed");
    }
    std::string_view Type() const override { return type_; }
    std::string_view Protocol() const override { return "local"; }

  private:
    const std::string type_;
    const AsyncTaskFunction function_;
};

template <typename Inner>
Result<std::shared_ptr<Executor>> Wrap(internal::Result<std::shared_ptr<Inner>> made) {
    if (!made) return ErrorOf(made.error());
    return std::shared_ptr<Executor>(std::make_shared<BuiltIn>(std::move(*made)));
}

}  // namespace

AsyncTask::Impl::Impl(std::shared_ptr<internal::AttemptRun> of)
    : run(std::move(of)), context(ContextAccess::Make(run->context())) {}

TaskContext* AsyncTask::operator->() const {
    return &impl_->context;
}
TaskContext& AsyncTask::operator*() const {
    return impl_->context;
}
void AsyncTask::Finish(TaskResult result) const {
    impl_->run->Finish(ResultOf(std::move(result)));
}

std::shared_ptr<internal::TaskHandler> BridgeTo(std::string type, AsyncTaskFunction function) {
    return std::make_shared<AsyncBridge>(std::move(type), std::move(function));
}

TaskProcessor::~TaskProcessor() = default;
Executor::~Executor() = default;

std::shared_ptr<internal::TaskHandler> BridgeTo(std::shared_ptr<Executor> executor) {
    return std::make_shared<Bridge>(std::move(executor));
}

std::shared_ptr<Executor> ExecutorOf(std::shared_ptr<TaskProcessor> processor) {
    return std::make_shared<ProcessorExecutor>(std::move(processor));
}

Result<void> ExecutorRegistry::Add(std::shared_ptr<Executor> executor) {
    if (!executor) return Error{ErrorCode::kInvalid, "there is no executor", "executor"};
    std::string type(executor->Type());
    if (type.empty()) return Error{ErrorCode::kInvalid, "an executor must name a type", "type"};
    if (executors_.contains(type)) {
        return Error{ErrorCode::kConflict, "the type '" + type + "' has an executor already",
                     "type"};
    }
    executors_.emplace(std::move(type), std::move(executor));
    return {};
}

Result<void> ExecutorRegistry::Add(std::string type, TaskFunction function) {
    if (!function) {
        return Error{ErrorCode::kInvalid, "the function for '" + type + "' is empty", "function"};
    }
    return Add(std::make_shared<FunctionExecutor>(std::move(type), std::move(function)));
}

Executor* ExecutorRegistry::Find(std::string_view type) const {
    auto found = executors_.find(type);
    if (found == executors_.end()) found = executors_.find("*");
    return found == executors_.end() ? nullptr : found->second.get();
}

std::vector<std::shared_ptr<Executor>> ExecutorRegistry::All() const {
    std::vector<std::shared_ptr<Executor>> all;
    for (const auto& [type, executor] : executors_) all.push_back(executor);
    return all;
}

Result<std::shared_ptr<Executor>> MakeHttpExecutor(HttpExecutorOptions options) {
    internal::HttpHandlerOptions inner{.type = std::move(options.type),
                                       .url = std::move(options.url),
                                       .headers = std::move(options.headers),
                                       .timeout = options.timeout};
    inner.client.tls.ca_file = std::move(options.ca_file);
    return Wrap(internal::HttpTaskHandler::Create(std::move(inner)));
}

Result<std::shared_ptr<Executor>> MakeGrpcExecutor(GrpcExecutorOptions options) {
    return Wrap(MakeGrpcHandler(std::move(options)));
}

Result<std::shared_ptr<Executor>> MakeShellExecutor(ShellExecutorOptions options) {
    return Wrap(internal::ShellTaskHandler::Create({.allow_shell = options.allow_shell,
                                                    .type = std::move(options.type),
                                                    .argv = std::move(options.argv),
                                                    .env = std::move(options.env)}));
}

const std::string& TaskContext::execution_id() const {
    return TaskOf(*this).execution_id;
}
const std::string& TaskContext::task_id() const {
    return TaskOf(*this).task_id;
}
const std::string& TaskContext::task_name() const {
    return TaskOf(*this).task_name;
}
const std::string& TaskContext::type() const {
    return TaskOf(*this).type;
}
const std::string& TaskContext::queue() const {
    return TaskOf(*this).queue;
}
const std::string& TaskContext::payload() const {
    return TaskOf(*this).payload;
}
const std::map<std::string, std::string>& TaskContext::metadata() const {
    return TaskOf(*this).metadata;
}
int TaskContext::priority() const {
    return static_cast<int>(TaskOf(*this).priority);
}
const std::string& TaskContext::parent_id() const {
    return TaskOf(*this).parent_id;
}
const std::string& TaskContext::step() const {
    return TaskOf(*this).step;
}
std::uint32_t TaskContext::shard_index() const {
    return TaskOf(*this).shard_index;
}
std::uint32_t TaskContext::shard_total() const {
    return TaskOf(*this).shard_total;
}
std::uint32_t TaskContext::attempt() const {
    return TaskOf(*this).attempt;
}
std::uint32_t TaskContext::failures() const {
    return TaskOf(*this).failures;
}
Time TaskContext::scheduled_at() const {
    return Time(TaskOf(*this).scheduled_at.time_since_epoch());
}
const std::string& TaskContext::traceparent() const {
    return TaskOf(*this).traceparent;
}
std::pair<std::uint64_t, std::uint32_t> TaskContext::fencing_token() const {
    return {TaskOf(*this).epoch, TaskOf(*this).attempt};
}
std::uint64_t TaskContext::lock_token(std::string_view name) const {
    for (const internal::DeclaredLock& lock : TaskOf(*this).locks) {
        if (lock.name == name) return lock.token;
    }
    return 0;
}

Result<std::string> TaskContext::StepResult(std::string_view step) {
    auto result = ContextAccess::Of(*this).StepResult(step);
    if (!result) return ErrorOf(result.error());
    return std::move(*result);
}
std::stop_token TaskContext::lock_stop_token(std::string_view name) const {
    return ContextAccess::Of(*this).LockLost(name);
}

struct TaskLock::Impl {
    internal::TaskContext& attempt;
    internal::TaskLock lock;
    std::atomic<bool> released = false;

    ~Impl() { Release(); }
    void Release() {
        if (!released.exchange(true)) attempt.Unlock(lock);
    }
};

std::uint64_t TaskLock::token() const {
    return impl_->lock.token;
}
std::stop_token TaskLock::stop_token() const {
    return impl_->lock.lost;
}
void TaskLock::Release() {
    impl_->Release();
}

Result<TaskLock> TaskContext::Lock(std::string_view name, TaskLockOptions options) {
    internal::TaskContext& attempt = ContextAccess::Of(*this);
    const auto lock = attempt.Lock(name, {.wait = options.wait, .permits = options.permits});
    if (!lock) return ErrorOf(lock.error());
    return TaskLock(std::make_shared<TaskLock::Impl>(attempt, *lock));
}

std::stop_token TaskContext::stop_token() const {
    return ContextAccess::Of(*this).stop_token();
}
std::string_view Name(StopReason reason) {
    static constexpr std::array<std::string_view, 4> kNames = {"none", "timeout", "cancelled",
                                                               "shutdown"};
    return NameFrom(kNames, reason);
}

StopReason TaskContext::stop_reason() const {
    return static_cast<StopReason>(ContextAccess::Of(*this).stop_reason());
}
std::optional<Duration> TaskContext::remaining() const {
    if (!ContextAccess::Of(*this).deadline()) return std::nullopt;
    return ContextAccess::Of(*this).Remaining(Duration(0));
}
void TaskContext::Progress(double fraction, std::string_view message) {
    ContextAccess::Of(*this).Progress(fraction, message);
}
void TaskContext::Log(std::string_view line) {
    ContextAccess::Of(*this).Log(line);
}

}  // namespace takt
