#include "cli/guarded_command.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>

namespace takt::internal::cli {

Result<std::unique_ptr<GuardedCommand>> GuardedCommand::Start(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> texts;
    for (char** variable = environ; *variable; ++variable) {
        const std::string_view text(*variable);
        bool replaced = false;
        for (const auto& [name, value] : variables) {
            replaced = replaced || text.starts_with(name + "=");
        }
        if (!replaced) texts.emplace_back(text);
    }
    for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& text : texts) environment.push_back(text.data());
    environment.push_back(nullptr);
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);

    // This process blocks and ignores signals that are the program's own business.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t standard;
    sigemptyset(&standard);
    sigaddset(&standard, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &standard);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t process = -1;
    const int failed = posix_spawnp(&process, arguments[0], nullptr, &attributes, arguments.data(),
                                    environment.data());
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
        return Fail(failed == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalid,
                    "cannot run '" + command[0] + "': " + std::strerror(failed));
    }
    return std::unique_ptr<GuardedCommand>(new GuardedCommand(process));
}

GuardedCommand::~GuardedCommand() {
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
}

void GuardedCommand::Signal(int number) {
    const std::scoped_lock lock(mutex_);
    if (!ended_) kill(process_, number);
}

void GuardedCommand::Stop(Duration grace) {
    Signal(SIGTERM);
    killer_ = std::jthread([this, grace] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, grace, [this] { return ended_; })) kill(process_, SIGKILL);
    });
}

int GuardedCommand::Wait() {
    // It keeps its number until it is waited for, so that nobody else is killed by mistake.
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT) == -1 &&
           errno == EINTR) {
    }
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    int status = 0;
    while (waitpid(process_, &status, 0) == -1 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace takt::internal::cli
