#include "cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace takt::internal::cli {
namespace {

// Lines are for people; one that never ends is not read further.
constexpr std::size_t kLineMax = 64 << 10;

[[noreturn]] void Become(const std::vector<std::string>& arguments, int input, int output,
                         pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    std::vector<char*> argv = {const_cast<char*>("takt")};
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(127);
}

std::unexpected<Error> CannotPipe() {
    return Fail(ErrorCode::kUnavailable, std::string("cannot make a pipe: ") + strerror(errno));
}

}  // namespace

Usage UsageOf(pid_t process) {
    Usage usage;
    const std::string folder = "/proc/" + std::to_string(process);
    std::ifstream stat(folder + "/stat");
    std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
    // The name, in brackets, may hold anything; the numbers follow it.
    if (const std::size_t end = text.rfind(')'); end != std::string::npos) {
        std::istringstream numbers(text.substr(end + 2));
        std::string skipped;
        for (int i = 0; i < 11; ++i) numbers >> skipped;
        double user = 0;
        double system = 0;
        numbers >> user >> system;
        usage.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("VmHWM:")) continue;
        usage.memory_peak_bytes = std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
    }
    return usage;
}

Result<Child> Child::Start(const std::vector<std::string>& arguments) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0) return CannotPipe();
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return CannotPipe();
    }
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process == 0) Become(arguments, in[0], out[1], parent);
    close(in[0]);
    close(out[1]);
    if (process < 0) {
        close(in[1]);
        close(out[0]);
        return Fail(ErrorCode::kUnavailable,
                    std::string("cannot start a process: ") + strerror(errno));
    }
    return Child(process, in[1], out[0]);
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      read_(std::move(other.read_)) {}

Child::~Child() {
    Stop(Duration(5'000));
    if (input_ >= 0) close(input_);
    if (output_ >= 0) close(output_);
}

Result<void> Child::WriteLine(const std::string& line) {
    const std::string text = line + "\n";
    // Lines are far shorter than what a pipe takes at once.
    if (write(input_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
    return Fail(ErrorCode::kUnavailable, "a process that was started for this has ended");
}

Result<std::string> Child::ReadLine(Duration timeout) {
    const Steady end = SteadyClock::now() + timeout;
    while (true) {
        if (const std::size_t newline = read_.find('\n'); newline != std::string::npos) {
            std::string line = read_.substr(0, newline);
            read_.erase(0, newline + 1);
            return line;
        }
        const auto left = std::chrono::duration_cast<Duration>(end - SteadyClock::now());
        pollfd source{output_, POLLIN, 0};
        if (left <= Duration(0) || read_.size() > kLineMax) break;
        if (poll(&source, 1, static_cast<int>(left.count())) <= 0) continue;
        char block[4096];
        const ssize_t count = read(output_, block, sizeof block);
        if (count <= 0) break;
        read_.append(block, static_cast<std::size_t>(count));
    }
    return Fail(ErrorCode::kUnavailable, "a process that was started for this did not come up");
}

void Child::Stop(Duration grace) {
    if (process_ < 0) return;
    kill(process_, SIGTERM);
    const Steady end = SteadyClock::now() + grace;
    while (waitpid(process_, nullptr, WNOHANG) == 0) {
        if (SteadyClock::now() > end) {
            kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
            break;
        }
        std::this_thread::sleep_for(Duration(5));
    }
    process_ = -1;
}

}  // namespace takt::internal::cli
