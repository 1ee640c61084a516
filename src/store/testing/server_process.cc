#include "store/testing/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/check.h"

namespace takt::internal {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// Nothing tells from outside when a server begins to answer, so it is asked every few milliseconds.
constexpr std::chrono::milliseconds kAskAgain{5};

// The child after fork: only calls that are safe there.
[[noreturn]] void RunChild(std::vector<char*>& arguments, const char* directory, int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that crashes leaves no server behind.
    if (chdir(directory) != 0) _exit(126);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

pid_t Spawn(const std::vector<std::string>& command, const std::filesystem::path& directory,
            const std::string& output_file) {
    const int output =
        open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (output < 0) return -1;
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string where = directory.string();
    const pid_t pid = fork();
    if (pid == 0) RunChild(arguments, where.c_str(), output);
    close(output);
    return pid;
}

std::string ReadFile(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string EndOf(const std::string& text) {
    constexpr std::size_t kShown = 1000;
    return text.size() > kShown ? text.substr(text.size() - kShown) : text;
}

}  // namespace

TempDirectory::TempDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "takt-test-XXXXXX").string();
    TAKT_CHECK(mkdtemp(name.data()));
    path_ = name;
}

TempDirectory::~TempDirectory() {
    std::error_code ignored;  // What cannot be removed now goes with the machine's next clean-up.
    std::filesystem::remove_all(path_, ignored);
}

std::uint16_t FreePort() {
    // Below the range from which the kernel picks ports for outgoing connections; so is Redis
    // Cluster's second port, 10,000 above, which no other server must be given. Each process has some
    // of its own, and gives none twice: whoever asked for one may not listen yet.
    constexpr unsigned kPortsOfOne = 61;
    static std::atomic<unsigned> next = static_cast<unsigned>(getpid()) * kPortsOfOne;
    for (int tries = 0; tries < 1000; ++tries) {
        const auto port = static_cast<std::uint16_t>(10'000 + next++ % 10'000);
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in address = Loopback(port);
        const bool is_free =
            bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
        close(fd);
        if (is_free) return port;
    }
    TAKT_CHECK(!"there is no free port");
    return 0;
}

bool Accepts(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(port);
    const bool connected =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    return connected;
}

Result<std::string> RunProgram(const std::vector<std::string>& command) {
    const TempDirectory directory;
    const std::string output = directory.File("output");
    const pid_t pid = Spawn(command, std::filesystem::current_path(), output);
    if (pid < 0) return Fail(ErrorCode::kUnknown, "cannot start " + command[0]);
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return Fail(ErrorCode::kUnknown, command[0] + " did not end");
        }
        std::this_thread::sleep_for(kAskAgain);
    }
    std::string text = ReadFile(output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return Fail(ErrorCode::kUnknown, command[0] + " failed: " + EndOf(text));
    }
    return text;
}

Result<std::unique_ptr<ServerProcess>> ServerProcess::Start(Options options) {
    std::unique_ptr<ServerProcess> server(new ServerProcess(std::move(options)));
    if (Result<void> launched = server->Launch(); !launched) {
        return std::unexpected(launched.error());
    }
    return server;
}

ServerProcess::~ServerProcess() {
    Kill();
}

Result<void> ServerProcess::Restart() {
    TAKT_CHECK(pid_ == 0);
    return Launch();
}

Result<void> ServerProcess::Launch() {
    const std::string log = (options_.directory / "server.log").string();
    pid_ = Spawn(options_.command, options_.directory, log);
    if (pid_ < 0) {
        pid_ = 0;
        return Fail(ErrorCode::kUnavailable, "cannot start " + options_.command[0]);
    }
    const auto end = std::chrono::steady_clock::now() + options_.start_max;
    while (!options_.ready()) {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = 0;
            return Fail(ErrorCode::kUnavailable,
                        options_.command[0] + " ended at once: " + LogEnd());
        }
        if (std::chrono::steady_clock::now() > end) {
            Kill();
            return Fail(ErrorCode::kUnavailable,
                        options_.command[0] + " does not answer: " + LogEnd());
        }
        std::this_thread::sleep_for(kAskAgain);
    }
    return {};
}

void ServerProcess::Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    Reap();
}

void ServerProcess::Pause() {
    TAKT_CHECK(pid_ != 0);
    kill(pid_, SIGSTOP);
    // The signal is on its way when kill returns; the server stands when it is reported so.
    int status = 0;
    while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
}

void ServerProcess::Continue() {
    TAKT_CHECK(pid_ != 0);
    kill(pid_, SIGCONT);
}

void ServerProcess::Reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
}

std::string ServerProcess::LogEnd() const {
    return EndOf(ReadFile((options_.directory / "server.log").string()));
}

}  // namespace takt::internal
