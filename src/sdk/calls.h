// Calls: how a SchedulerApi's questions travel, over the network or inside the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "http/message.h"
#include "sdk/call_thread.h"

namespace takt {

class Calls {
  public:
    virtual ~Calls() = default;

    struct Question {
        internal::HttpMethod method = internal::HttpMethod::kGet;
        std::string path;
        std::string body = {};
        internal::HttpHeaderList headers = {};  // Beside those that every question has.
        internal::Duration wait{0};             // How long it may wait at the scheduler.
    };
    using Answered = std::move_only_function<void(internal::Result<std::string>)>;

    // Gives the body of a good answer. Refusals are errors, see RefusalOf. From any thread, many at
    // once; `answered` is called once, on any thread, and must not block it.
    virtual void Ask(Question question, Answered answered) = 0;
    // The same, and waits for it.
    virtual internal::Result<std::string> Call(Question question) = 0;

    // How long one more question may wait at the scheduler. 0: too many do, ask now and then.
    virtual internal::Duration wait_max() const = 0;

    // Another way there, for who goes on when this one is stopped. Null: this one is as good.
    virtual std::shared_ptr<Calls> MakeAnother() { return nullptr; }

    // The highest token of a lock that was ever given to this caller.
    const std::shared_ptr<std::atomic<std::uint64_t>> lock_token_seen =
        std::make_shared<std::atomic<std::uint64_t>>(0);

    // Lets some time pass before the next question. False, at once, when no more should be asked.
    virtual bool Pause(internal::Duration duration) = 0;

    // The object whose questions these are is going: what is under way ends with kCancelled, and is
    // told before this returns, but for callbacks that hang.
    virtual void Stop() = 0;
    // Whether questions are given up because of Stop.
    virtual bool stopped() const = 0;

    // Where callbacks of the program run. They may block, and wait for what this object does next.
    CallThread callbacks;
    // Where this library's own questions are asked after a pause; nothing there may block.
    CallThread timers;

  protected:
    // A question that waits for its time finds that it is stopped; then its callbacks are run.
    void StopThreads() {
        timers.Stop(kCallbackPatience);
        callbacks.Stop(kCallbackPatience);
    }

  private:
    // About as long as a server takes at most for its own end.
    static constexpr internal::Duration kCallbackPatience{5'000};
};

}  // namespace takt
