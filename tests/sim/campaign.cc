#include "sim/campaign.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace takt::internal::sim {
namespace {

// The next seed that nobody has taken, shared by the processes. They take one at a time, so that all
// are busy to the end and none is far ahead.
using NextSeed = std::atomic<std::uint64_t>;

// A process says this of a seed; the text of its failure follows.
struct Report {
    std::uint64_t seed = 0;
    SimulationCounts counts;
    std::size_t failure_bytes = 0;
};

bool WriteAll(int file, const void* data, std::size_t bytes) {
    for (auto* at = static_cast<const char*>(data); bytes > 0;) {
        const ssize_t written = write(file, at, bytes);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        bytes -= std::size_t(written);
    }
    return true;
}

// False at the end of it.
bool ReadAll(int file, void* data, std::size_t bytes) {
    for (auto* at = static_cast<char*>(data); bytes > 0;) {
        const ssize_t got = read(file, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= std::size_t(got);
    }
    return true;
}

[[noreturn]] void Work(SimulationOptions options, std::uint64_t end, NextSeed& next, int reports) {
    while ((options.seed = next.fetch_add(1)) < end) {
        const SimulationResult result = Simulate(options);
        const Report report{options.seed, result, result.failure.size()};
        if (!WriteAll(reports, &report, sizeof report)) break;
        if (!WriteAll(reports, result.failure.data(), result.failure.size())) break;
    }
    _exit(EXIT_SUCCESS);
}

class Crew {
  public:
    Crew(const SimulationOptions& options, const SeedRange& seeds)
        : options_(options), end_(seeds.first + seeds.count) {
        void* shared = mmap(nullptr, sizeof(NextSeed), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared != MAP_FAILED) next_ = new (shared) NextSeed(seeds.first);
    }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // A process that is still at work does what nobody wants to know.
    ~Crew() {
        for (const Process& process : processes_) {
            kill(process.id, SIGTERM);
            Await(process);
        }
        if (next_) munmap(next_, sizeof(NextSeed));
    }

    bool Start() {
        int ends[2];
        if (!next_ || pipe(ends) != 0) return false;
        const pid_t id = fork();
        if (id == 0) {
            close(ends[0]);
            Work(options_, end_, *next_, ends[1]);
        }
        close(ends[1]);
        if (id < 0) close(ends[0]);
        if (id > 0) processes_.push_back({id, ends[0]});
        return id > 0;
    }

    // Of any of them; none when all have ended.
    std::optional<std::pair<std::uint64_t, SimulationResult>> Next() {
        while (!processes_.empty()) {
            std::vector<pollfd> files;
            for (const Process& process : processes_) files.push_back({process.reports, POLLIN, 0});
            if (poll(files.data(), files.size(), -1) < 0) continue;
            for (std::size_t i = 0; i < files.size(); ++i) {
                if (files[i].revents == 0) continue;
                Report report;
                SimulationResult result;
                if (ReadAll(files[i].fd, &report, sizeof report)) {
                    static_cast<SimulationCounts&>(result) = report.counts;
                    result.failure.resize(report.failure_bytes);
                    if (ReadAll(files[i].fd, result.failure.data(), report.failure_bytes)) {
                        return std::pair(report.seed, std::move(result));
                    }
                }
                End(i);
                break;
            }
        }
        return std::nullopt;
    }

    // How one of them died.
    const std::string& death() const { return death_; }

  private:
    struct Process {
        pid_t id = 0;
        int reports = -1;
    };

    static int Await(const Process& process) {
        int status = 0;
        while (waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
        }
        close(process.reports);
        return status;
    }

    void End(std::size_t index) {
        const int status = Await(processes_[index]);
        processes_.erase(processes_.begin() + std::ptrdiff_t(index));
        if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) return;
        death_ = WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                     : "status " + std::to_string(WEXITSTATUS(status));
        // The seeds below the one that killed it are in work already.
        next_->store(end_);
    }

    const SimulationOptions options_;
    const std::uint64_t end_;
    NextSeed* next_ = nullptr;
    std::vector<Process> processes_;
    std::string death_;
};

bool RunProcesses(const SimulationOptions& options, const SeedRange& seeds, std::uint64_t jobs,
                  const TellSeed& tell) {
    Crew crew(options, seeds);
    for (std::uint64_t job = 0; job < jobs; ++job) {
        if (crew.Start()) continue;
        std::fprintf(stderr, "takt_sim: no more than %llu processes can be started (%s)\n",
                     static_cast<unsigned long long>(job), std::strerror(errno));
        return false;
    }
    std::map<std::uint64_t, SimulationResult> early;  // Others before them are still in work.
    std::uint64_t next = seeds.first;
    while (auto report = crew.Next()) {
        early.insert(std::move(*report));
        for (auto first = early.begin(); first != early.end() && first->first == next; ++next) {
            if (!tell(next, first->second)) return true;
            first = early.erase(first);
        }
    }
    if (next == seeds.first + seeds.count) return true;
    std::fprintf(stderr, "takt_sim: seed %llu killed its process (%s)\n",
                 static_cast<unsigned long long>(next), crew.death().c_str());
    return false;
}

}  // namespace

bool RunCampaign(const SimulationOptions& options, const SeedRange& seeds, std::uint64_t jobs,
                 const TellSeed& tell) {
    jobs = std::min(jobs, seeds.count);
    // In this process a debugger finds it, and a trace is whole.
    if (jobs > 1 && !options.trace) return RunProcesses(options, seeds, jobs, tell);
    SimulationOptions one = options;
    for (one.seed = seeds.first; one.seed < seeds.first + seeds.count; ++one.seed) {
        if (!tell(one.seed, Simulate(one))) break;
    }
    return true;
}

}  // namespace takt::internal::sim
