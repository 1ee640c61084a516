// A real server for a test: started as a process of its own, on a free port, with a directory of
// its own, and gone when the test is.
//
//   TempDirectory directory;
//   const std::uint16_t port = FreePort();
//   auto server = ServerProcess::Start({.command = {"redis-server", "--port", …},
//                                       .directory = directory.path(),
//                                       .ready = [&] { return Accepts(port); }});
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

// A new directory under the system's directory for temporary files, removed with all in it.
class TempDirectory {
  public:
    TempDirectory();
    ~TempDirectory();
    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string File(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

// A TCP port of 127.0.0.1 that nobody listens on. Another process may take it before its user does;
// ports are handed out far apart to make that unlikely.
std::uint16_t FreePort();

// Whether something listens on the port of 127.0.0.1.
bool Accepts(std::uint16_t port);

// Runs a program to its end and returns what it wrote to standard output. kUnknown, with the end of
// its output, if it failed or took more than a minute.
Result<std::string> RunProgram(const std::vector<std::string>& command);

class ServerProcess {
  public:
    struct Options {
        std::vector<std::string> command;  // The program is looked up in PATH.
        std::filesystem::path directory;   // Its working directory; gets its output as server.log.
        std::function<bool()> ready;       // Whether it answers.
        Duration start_max{20'000};
    };

    // Returns once the server answers. kUnavailable, with the end of its output, if it ends before
    // that or takes longer than start_max.
    static Result<std::unique_ptr<ServerProcess>> Start(Options options);
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    void Kill();             // SIGKILL, as a power cut. Nothing happens if it is dead.
    void Pause();            // SIGSTOP: it stalls, its connections stay open.
    void Continue();         // SIGCONT
    Result<void> Restart();  // Starts it again, the same command. REQUIRES: dead.

    pid_t pid() const { return pid_; }

  private:
    explicit ServerProcess(Options options) : options_(std::move(options)) {}
    Result<void> Launch();
    void Reap();
    std::string LogEnd() const;

    const Options options_;
    pid_t pid_ = 0;
};

}  // namespace takt::internal
