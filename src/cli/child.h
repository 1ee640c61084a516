// This program run again as a process of its own, for takt bench.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal::cli {

// CPU time and memory that a process has used so far.
struct Usage {
    double cpu_seconds = 0;
    std::size_t memory_peak_bytes = 0;
};
Usage UsageOf(pid_t process);

class Child {
  public:
    // Runs `takt ARGUMENTS`; it ends with this process, however that ends. REQUIRES: no threads
    // yet.
    static Result<Child> Start(const std::vector<std::string>& arguments);

    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) = delete;
    // Stops it.
    ~Child();

    // The next line of its standard output. kUnavailable if it ends or says nothing until then.
    Result<std::string> ReadLine(Duration timeout);

    // Adds a line to its standard input. kUnavailable if it has ended.
    Result<void> WriteLine(const std::string& line);

    // Asks it to stop, and kills it when it has not after `grace`.
    void Stop(Duration grace);

    pid_t process() const { return process_; }

  private:
    Child(pid_t process, int input, int output)
        : process_(process), input_(input), output_(output) {}
    pid_t process_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string read_;
};

}  // namespace takt::internal::cli
