// Stage: what a rule about workers has in its hands while it is tested.
//
//     void RunsWhatItIsGiven(Stage& stage) {
//         const Attempt attempt = stage.Give(stage.names.echo, "{}");
//         const auto result = stage.AwaitResult(attempt);
//         if (!result) return;
//         stage.Expect(result->success(), "the result is a failure");
//     }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kit/played_scheduler.h"
#include "kit/tested_process.h"

namespace takt::internal::kit {

// Types that the worker has handlers for.
struct TypeNames {
    std::string echo = "echo";    // Its result is its payload.
    std::string sleep = "sleep";  // Sleeps {"ms": 500}, or until it is to stop.
    std::string fail = "fail";    // Fails.
    std::string log = "log";      // Writes {"lines": 3} lines. May be missing.
    std::string lock =
        "lock";  // Asks for the lock {"name": "x"}, its result is the token. May be missing.
};

struct WelcomeTerms {
    std::uint64_t epoch = 0;  // 0: that of the stage.
    Duration heartbeat{300};
    Duration lease{10'000};
    std::uint64_t namespace_id = 0;
    std::uint64_t term_id = 0;
};

// How long a worker may take for what it can do at once, on a busy machine.
constexpr Duration kPatience{10'000};

class Stage {
  public:
    // `process` is null for a worker that somebody else started.
    Stage(PlayedScheduler& scheduler, TestedProcess* process, const TypeNames& names,
          std::uint64_t first_epoch)
        : scheduler(scheduler), process(process), names(names), epoch(first_epoch) {}

    PlayedScheduler& scheduler;
    TestedProcess* const process;
    const TypeNames& names;
    std::uint64_t epoch;      // Of the term that is played.
    worker::v1::Hello hello;  // The latest.

    // Awaits a Hello and answers it. False, and the rule is broken, if none comes.
    bool Attach(const WelcomeTerms& terms = {});
    // Awaits a Hello, and does not answer it.
    bool AwaitHello(Duration patience = kPatience);
    void Welcome(const WelcomeTerms& terms = {});

    // Whether the worker says that it runs such a type; an empty list is every type.
    bool Serves(const std::string& type) const;

    // An assignment of an execution of its own.
    SchedulerFrame MakeAssign(const std::string& type, const std::string& payload,
                              Duration timeout = Duration(0));
    // The same, sent.
    Attempt Give(const std::string& type, const std::string& payload,
                 Duration timeout = Duration(0));
    std::string SleepFor(Duration time) const;

    // Its result, not acknowledged. Nothing, and the rule is broken, if none comes.
    std::optional<worker::v1::Result> AwaitResult(const Attempt& attempt,
                                                  Duration patience = kPatience);
    bool AwaitStarted(const Attempt& attempt);
    void Acknowledge(const Attempt& attempt, bool accepted = true);
    void Cancel(const Attempt& attempt, const std::string& reason);
    bool Holds(const Attempt& attempt) const;  // As the latest Hello says.

    // The first that does not hold is why the rule is broken.
    bool Expect(bool holds, const std::string& otherwise);
    void Skip(const std::string& why);

    const std::string& broken() const { return broken_; }
    const std::string& skipped() const { return skipped_; }

  private:
    std::uint64_t next_ = 0;
    std::string broken_;
    std::string skipped_;
};

}  // namespace takt::internal::kit
