// Process: a child with a process group of its own, its input and output on pipes.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace takt::internal {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { Close(); }
    void Close();
    int get() const { return number_; }
    bool open() const { return number_ >= 0; }

  private:
    int number_ = -1;
};

struct ProcessStart {
    std::vector<std::string> argv;         // Not empty; the first is looked up in PATH.
    std::vector<std::string> environment;  // NAME=value; all that it gets.
};

class Process {
  public:
    // kInvalid when the program cannot be run; kUnavailable when the machine has no process, memory
    // or descriptor to spare just now. On an error there is no process.
    static Result<Process> Start(const ProcessStart& start);

    Process(Process&&) = default;
    // REQUIRES: waited for.
    ~Process() = default;

    Descriptor input;   // Ours to write; does not block.
    Descriptor output;  // Ours to read, both outputs together; does not block.
    Descriptor watch;   // Readable once the process has ended.

    void Signal(int signal) const;  // To the whole group.
    // Waits for the end, if `watch` is not readable yet. The exit status, or 128 plus the signal
    // that ended it.
    int Wait();

  private:
    Process() = default;
    pid_t pid_ = -1;
};

}  // namespace takt::internal
