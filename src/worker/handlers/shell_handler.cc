#include "worker/handlers/shell_handler.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "base/json.h"
#include "worker/handlers/process.h"

extern char** environ;

namespace takt::internal {
namespace {

// After the process has ended, its children may still hold the pipe; what they write is not ours.
constexpr Duration kLastOutput{200};
constexpr std::size_t kLineBytesMax = 16 << 10;
// A pipe is full after as long at some 10 MB/s.
constexpr Duration kLookForRoom{5};

// The program that the payload names.
Result<std::vector<std::string>> ReadCommand(std::string_view payload) {
    constexpr auto kUsage =
        R"(the payload must be {"argv": ["program", "argument", …]} or {"command": "…"})";
    auto json = ParseJson(payload);
    if (!json) return std::unexpected(json.error());
    const auto* object = json->if_object();
    if (!object || object->size() != 1) return Fail(ErrorCode::kInvalid, kUsage);
    if (const auto* command = object->if_contains("command"); command && command->is_string()) {
        // The shell would see only what is before it.
        if (command->get_string().find('\0') != boost::json::string::npos) {
            return Fail(ErrorCode::kInvalid, "the command must not have a NUL character");
        }
        return std::vector<std::string>{"/bin/sh", "-c", std::string(command->get_string())};
    }
    const auto* list = object->if_contains("argv");
    if (!list || !list->is_array() || list->get_array().empty()) {
        return Fail(ErrorCode::kInvalid, kUsage);
    }
    std::vector<std::string> argv;
    for (const auto& word : list->get_array()) {
        if (!word.is_string()) return Fail(ErrorCode::kInvalid, kUsage);
        argv.emplace_back(word.get_string());
        if (argv.back().contains('\0')) return Fail(ErrorCode::kInvalid, kUsage);
    }
    return argv;
}

// Variables that programs need to find their files and to speak the user's language, and nothing
// secret.
constexpr std::array<std::string_view, 6> kInheritedNames = {"PATH", "HOME", "USER",
                                                             "LANG", "TZ",   "TMPDIR"};

std::vector<std::string> InheritedEnvironment(const std::vector<std::string>& more) {
    const auto has = [](const auto& names, std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    std::vector<std::string> inherited;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view variable(*entry);
        const std::string_view name = variable.substr(0, variable.find('='));
        if (name.starts_with("LC_") || has(kInheritedNames, name) || has(more, name)) {
            inherited.emplace_back(variable);
        }
    }
    return inherited;
}

// The fencing tokens: TAKT_LOCKS has them all, as "ledger=51539607553 gpu=51539607554"; the first,
// which most tasks have no second to, is also TAKT_LOCK_NAME and TAKT_LOCK_TOKEN, as under
// `takt lock`.
void AddLocks(const std::vector<DeclaredLock>& locks, std::vector<std::string>& environment) {
    if (locks.empty()) return;
    std::string all;
    for (const DeclaredLock& lock : locks) {
        all += (all.empty() ? "" : " ") + lock.name + "=" + std::to_string(lock.token);
    }
    environment.push_back("TAKT_LOCKS=" + all);
    environment.push_back("TAKT_LOCK_NAME=" + locks[0].name);
    environment.push_back("TAKT_LOCK_TOKEN=" + std::to_string(locks[0].token));
}

// Runs one process to its end, on the calling thread.
class Run {
  public:
    struct Parts {
        Process process;
        Descriptor wake;  // An eventfd.
        std::string_view input;
    };
    Run(TaskContext& context, const ShellHandlerOptions& options, Parts parts)
        : context_(context),
          options_(options),
          process_(std::move(parts.process)),
          input_(parts.input),
          wake_(std::move(parts.wake)) {}

    int ToEnd() {
        const std::stop_callback on_stop(context_.stop_token(), [this] {
            const std::uint64_t one = 1;
            static_cast<void>(!write(wake_.get(), &one, sizeof(one)));
        });
        while (!ended_) Step();
        // Ended, but its last words may still be in the pipe.
        const Steady until = SteadyClock::now() + kLastOutput;
        while (process_.output.open() && SteadyClock::now() < until) {
            pollfd poll_output{process_.output.get(), POLLIN, 0};
            if (poll(&poll_output, 1, 20) > 0) ReadOutput();
        }
        if (!line_.empty()) context_.Log(line_);
        // Processes that it left running in its group end with it.
        process_.Signal(SIGKILL);
        return process_.Wait();
    }

  private:
    void Step() {
        if (input_.empty()) process_.input.Close();
        // A closed one is ignored by poll, being negative.
        const bool waits = IsToWait();
        std::array<pollfd, 4> polls{{{waits ? -1 : process_.output.get(), POLLIN, 0},
                                     {process_.input.get(), POLLOUT, 0},
                                     {process_.watch.get(), POLLIN, 0},
                                     {stopping_ ? -1 : wake_.get(), POLLIN, 0}}};
        poll(polls.data(), polls.size(), PollTimeout(waits));
        if (polls[0].revents != 0) ReadOutput();
        if (polls[1].revents != 0) WriteInput();
        if (polls[2].revents != 0) ended_ = true;
        if (polls[3].revents != 0) {
            stopping_ = true;
            kill_at_ = SteadyClock::now() + options_.kill_grace;
            process_.Signal(SIGTERM);
        }
        if (stopping_ && !killed_ && SteadyClock::now() >= kill_at_) {
            killed_ = true;
            process_.Signal(SIGKILL);
        }
    }

    int PollTimeout(bool waits) const {
        constexpr Duration kNever{60'000};
        Duration wait = waits ? kLookForRoom : kNever;
        if (stopping_ && !killed_) {
            wait =
                std::min(wait, std::chrono::duration_cast<Duration>(kill_at_ - SteadyClock::now()));
        }
        return static_cast<int>(std::max(wait, Duration(0)).count());
    }

    void WriteInput() {
        const ssize_t size = write(process_.input.get(), input_.data(), input_.size());
        if (size > 0) input_.remove_prefix(static_cast<std::size_t>(size));
        // Nobody reads it: not every program does.
        if (size < 0 && errno != EAGAIN && errno != EINTR) process_.input.Close();
    }

    void ReadOutput() {
        std::array<char, 16 << 10> buffer;
        const ssize_t size = read(process_.output.get(), buffer.data(), buffer.size());
        if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
            return process_.output.Close();
        }
        if (size < 0) return;
        line_.append(buffer.data(), static_cast<std::size_t>(size));
        std::size_t begin = 0;
        for (std::size_t end = 0; (end = line_.find('\n', begin)) != std::string::npos;) {
            context_.Log(std::string_view(line_).substr(begin, end - begin));
            begin = end + 1;
        }
        line_.erase(0, begin);
        if (line_.size() < kLineBytesMax) return;
        context_.Log(line_);
        line_.clear();
    }

    // Whether to leave the output in the pipe, where the process waits for it to be read.
    bool IsToWait() {
        if (context_.HasLogRoom()) {
            full_since_.reset();
            return false;
        }
        const Steady now = SteadyClock::now();
        if (!full_since_) full_since_ = now;
        return now - *full_since_ < options_.log_patience;
    }

    TaskContext& context_;
    const ShellHandlerOptions& options_;
    Process process_;
    std::string_view input_;
    const Descriptor wake_;
    std::string line_;
    std::optional<Steady> full_since_;
    bool ended_ = false;
    bool stopping_ = false;
    bool killed_ = false;
    Steady kill_at_{};
};

// A process that does not read its input must not kill this one. Who handles the signal already
// knows what they do.
void IgnoreBrokenPipes() {
    struct sigaction action{};
    if (sigaction(SIGPIPE, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

}  // namespace

ShellTaskHandler::ShellTaskHandler(ShellHandlerOptions options)
    : options_(std::move(options)), inherited_(InheritedEnvironment(options_.env)) {}

Result<std::shared_ptr<ShellTaskHandler>> ShellTaskHandler::Create(ShellHandlerOptions options) {
    if (!options.allow_shell) {
        return Fail(ErrorCode::kInvalid,
                    "running programs must be allowed explicitly (--allow-shell)", "allow_shell");
    }
    for (const std::string& name : options.env) {
        if (!name.empty() && !name.contains('=') && !name.contains('\0')) continue;
        return Fail(ErrorCode::kInvalid, "'" + name + "' is no name of an environment variable",
                    "env");
    }
    IgnoreBrokenPipes();
    return std::shared_ptr<ShellTaskHandler>(new ShellTaskHandler(std::move(options)));
}

TaskResult ShellTaskHandler::Execute(TaskContext& context) {
    const AssignedTask& task = context.task();
    ProcessStart start{.argv = options_.argv, .environment = inherited_};
    start.environment.insert(
        start.environment.end(),
        {"TAKT_EXECUTION_ID=" + task.execution_id, "TAKT_TASK_ID=" + task.task_id,
         "TAKT_TYPE=" + task.type, "TAKT_ATTEMPT=" + std::to_string(task.attempt),
         "TAKT_EPOCH=" + std::to_string(task.epoch), "TRACEPARENT=" + task.traceparent,
         "TRACESTATE=" + task.tracestate});
    if (!task.parent_id.empty()) {
        start.environment.push_back("TAKT_PARENT_ID=" + task.parent_id);
        start.environment.push_back("TAKT_STEP=" + task.step);
    }
    if (task.shard_total > 0) {
        start.environment.push_back("TAKT_SHARD_INDEX=" + std::to_string(task.shard_index));
        start.environment.push_back("TAKT_SHARD_TOTAL=" + std::to_string(task.shard_total));
    }
    AddLocks(task.locks, start.environment);
    std::string_view input;
    if (start.argv.empty()) {
        auto argv = ReadCommand(task.payload);
        if (!argv) return TaskResult::Rejected(argv.error().detail);
        start.argv = std::move(*argv);
    } else {
        input = task.payload;
    }
    // Before there is a process that nobody could be woken for.
    Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.open()) {
        return TaskResult::Failure(std::string("cannot make an eventfd: ") + std::strerror(errno));
    }
    auto process = Process::Start(start);
    if (!process) {
        return process.error().code == ErrorCode::kInvalid
                   ? TaskResult::FinalFailure(process.error().detail, 127)
                   : TaskResult::Failure(process.error().detail);
    }
    Run run(context, options_,
            {.process = std::move(*process), .wake = std::move(wake), .input = input});
    const int code = run.ToEnd();
    if (code == 0) return TaskResult::Success();
    return TaskResult::Failure("exit status " + std::to_string(code), code);
}

}  // namespace takt::internal
