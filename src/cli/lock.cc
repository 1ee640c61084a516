// takt lock: runs a command while it holds a lock, as flock does for one machine.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/guarded_command.h"
#include "cli/signals.h"
#include "remote/remote_lock.h"

namespace takt::internal::cli {
namespace {

constexpr Duration kKillGrace{10'000};
constexpr int kInterrupted = 130;  // As shells say it.

struct LockOptions {
    ClientOptions client;
    std::string name;
    std::string ttl = "30s";
    std::string wait = "0s";
    std::uint32_t permits = 1;
    std::string owner;
    bool keep_running = false;
    std::vector<std::string> command;
};

std::string HostAndProcess() {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    return std::string(host.data()) + ":" + std::to_string(getpid());
}

Result<LockDemand> DemandOf(const LockOptions& options) {
    const auto ttl = ParseDuration(options.ttl);
    if (!ttl) return Fail(ErrorCode::kInvalid, "--ttl must be a duration such as 30s");
    const auto wait = ParseDuration(options.wait);
    if (!wait) return Fail(ErrorCode::kInvalid, "--wait must be a duration such as 10s");
    return LockDemand{.name = options.name,
                      .ttl = *ttl,
                      .wait = *wait,
                      .permits = options.permits,
                      .owner = options.owner.empty() ? HostAndProcess() : options.owner};
}

// The command that runs, for the threads of signals and of the lock.
class Runs {
  public:
    void Set(GuardedCommand* command) {
        const std::scoped_lock lock(mutex_);
        command_ = command;
    }
    // False if nothing runs.
    bool Signal(int number) {
        const std::scoped_lock lock(mutex_);
        if (command_) command_->Signal(number);
        return command_ != nullptr;
    }

  private:
    std::mutex mutex_;
    GuardedCommand* command_ = nullptr;
};

Result<int> RunHolding(const LockOptions& options, RemoteLock& lock, Runs& runs) {
    auto command =
        GuardedCommand::Start(options.command, {{"TAKT_LOCK_NAME", lock.name()},
                                                {"TAKT_LOCK_ID", lock.lock_id()},
                                                {"TAKT_LOCK_TOKEN", std::to_string(lock.token())}});
    if (!command) return std::unexpected(command.error());
    runs.Set(command->get());
    int status = kOk;
    {
        const std::stop_callback on_lost(lock.over(), [&] {
            std::fprintf(stderr, "takt: lock '%s' was lost%s\n", lock.name().c_str(),
                         options.keep_running ? "" : "; stopping the command");
            if (!options.keep_running) (*command)->Stop(kKillGrace);
        });
        status = (*command)->Wait();
    }
    runs.Set(nullptr);
    if (const auto released = lock.Release(); !released) {
        std::fprintf(stderr, "takt: lock '%s' lasts until its lease is over: %s\n",
                     lock.name().c_str(), released.error().detail.c_str());
    }
    return status;
}

Result<int> RunLock(const LockOptions& options) {
    const auto demand = DemandOf(options);
    if (!demand) return std::unexpected(demand.error());
    const BlockedSignals blocked;
    Runs runs;
    // Before the command runs there is nothing to be stopped but the waiting.
    const auto stop = [&runs] {
        if (!runs.Signal(SIGTERM)) std::_Exit(kInterrupted);
    };
    const SignalWatch watch(
        blocked, {.stop = stop, .hurry = stop, .reopen = [&runs] { runs.Signal(SIGHUP); }});
    auto client = Client::Open(options.client);
    if (!client) return std::unexpected(client.error());
    LockWay way{
        .post = [&](const std::string& path, const std::string& body) -> Result<std::string> {
            auto answer = client->Post(path, body);
            if (!answer) return std::unexpected(answer.error());
            return std::move(answer->body);
        },
        .pause =
            [](Duration pause) {
                std::this_thread::sleep_for(pause);
                return true;
            }};
    auto lock = RemoteLock::Acquire(std::move(way), *demand);
    if (!lock) return std::unexpected(lock.error());
    return RunHolding(options, **lock, runs);
}

}  // namespace

void AddLock(CLI::App& app, Context& context) {
    auto options = std::make_shared<LockOptions>();
    CLI::App* command =
        app.add_subcommand("lock", "Runs a command while it holds a lock, as flock does");
    options->client.formats = false;
    options->client.Add(*command);
    command->add_option("name", options->name, "Lock")->required();
    command->add_option("command", options->command, "Program and arguments, behind --")
        ->required();
    command
        ->add_option("--ttl", options->ttl,
                     "The lease, 1s to 1h: how long the lock outlives this process")
        ->capture_default_str();
    command->add_option("--wait", options->wait, "How long to stand in line")
        ->capture_default_str();
    command->add_option("--permits", options->permits, "Of those that the lock has")
        ->capture_default_str();
    command->add_option("--owner", options->owner, "For people [host and process]");
    command->add_flag("--keep-running", options->keep_running,
                      "Do not stop the command when the lock is lost");
    command->footer(
        "The command has TAKT_LOCK_NAME, TAKT_LOCK_ID and TAKT_LOCK_TOKEN, the fencing token, in "
        "its "
        "environment.\n"
        "Exits as the command does; 4 if the lock could not be had in time.\n\n"
        "examples:\n"
        "  takt lock ledger -- ./reconcile.sh\n"
        "  takt lock gpu --permits 2 --wait 10m -- python3 train.py\n");
    command->callback([options, &context] {
        const Result<int> ended = RunLock(*options);
        if (!ended) PrintError(ended.error());
        context.exit = ended ? *ended : ExitOf(ended.error());
    });
}

}  // namespace takt::internal::cli
