#include "kit/tested_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

namespace takt::internal::kit {
namespace {

constexpr Duration kLookAgain{10};

}  // namespace

Result<std::unique_ptr<TestedProcess>> TestedProcess::Start(const std::string& command,
                                                            const std::string& output_file) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const char* output = output_file.empty() ? "/dev/null" : output_file.c_str();
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t standard;
    sigemptyset(&standard);
    posix_spawnattr_setsigmask(&attributes, &standard);
    sigaddset(&standard, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &standard);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    // The shell gives its place to the program, so that signals reach it.
    std::string line = "exec " + command;
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    char* const arguments[] = {shell.data(), flag.data(), line.data(), nullptr};
    pid_t process = -1;
    const int failed =
        posix_spawn(&process, shell.c_str(), &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
        return Fail(ErrorCode::kUnavailable,
                    "cannot run '" + command + "': " + std::strerror(failed));
    }
    return std::unique_ptr<TestedProcess>(new TestedProcess(process));
}

TestedProcess::~TestedProcess() {
    if (AwaitEnd(Duration(0))) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

void TestedProcess::Signal(int number) {
    if (!AwaitEnd(Duration(0))) kill(process_, number);
}

void TestedProcess::Pause() {
    if (AwaitEnd(Duration(0))) return;
    kill(process_, SIGSTOP);
    // On a busy machine its other threads run on until one of them has taken the signal.
    int status = 0;
    if (waitpid(process_, &status, WUNTRACED) == process_) ended_ = !WIFSTOPPED(status);
}

bool TestedProcess::AwaitEnd(Duration patience) {
    for (const Steady end = SteadyClock::now() + patience; !ended_;) {
        ended_ = waitpid(process_, nullptr, WNOHANG) == process_;
        if (ended_ || SteadyClock::now() >= end) break;
        std::this_thread::sleep_for(kLookAgain);
    }
    return ended_;
}

}  // namespace takt::internal::kit
