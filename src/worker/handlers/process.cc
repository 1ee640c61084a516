#include "worker/handlers/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace takt::internal {
namespace {

struct Pipe {
    Descriptor read;
    Descriptor write;
};

Result<Pipe> MakePipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return Fail(ErrorCode::kUnavailable,
                    std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void SetNonBlocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// Of the machine at the moment rather than of the program.
bool MayPass(int error) {
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

// Attributes and actions of posix_spawn, freed however it ends.
struct Spawn {
    Spawn() {
        posix_spawnattr_init(&attributes);
        posix_spawn_file_actions_init(&actions);
    }
    Spawn(const Spawn&) = delete;
    Spawn& operator=(const Spawn&) = delete;
    ~Spawn() {
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
};

}  // namespace

void Descriptor::Close() {
    if (number_ >= 0) close(std::exchange(number_, -1));
}

Result<Process> Process::Start(const ProcessStart& start) {
    auto in = MakePipe();
    if (!in) return std::unexpected(in.error());
    auto out = MakePipe();
    if (!out) return std::unexpected(out.error());

    Spawn spawn;
    // A group of its own, so that a shell's children are ended with it; signals as after login,
    // whatever this process blocks or ignores.
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&spawn.attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&spawn.attributes, &signals);
    posix_spawnattr_setpgroup(&spawn.attributes, 0);
    posix_spawnattr_setflags(
        &spawn.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&spawn.actions, in->read.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, out->write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, out->write.get(), STDERR_FILENO);

    std::vector<std::string> argv = start.argv;
    std::vector<std::string> environment = start.environment;
    Process process;
    const int failed =
        posix_spawnp(&process.pid_, argv[0].c_str(), &spawn.actions, &spawn.attributes,
                     Pointers(argv).data(), Pointers(environment).data());
    if (failed != 0) {
        return Fail(MayPass(failed) ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
                    "cannot run '" + argv[0] + "': " + std::strerror(failed));
    }
    process.watch = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process.pid_, 0)));
    if (!process.watch.open()) {
        const int error = errno;
        // Nobody could tell when it ends.
        process.Signal(SIGKILL);
        process.Wait();
        return Fail(ErrorCode::kUnavailable,
                    "cannot watch '" + argv[0] + "': " + std::strerror(error));
    }
    process.input = std::move(in->write);
    process.output = std::move(out->read);
    SetNonBlocking(process.input.get());
    SetNonBlocking(process.output.get());
    return process;
}

void Process::Signal(int signal) const {
    kill(-pid_, signal);
}

int Process::Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace takt::internal
