// Calls: how a SchedulerApi's questions travel, over the network or inside the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/time.h"
#include "http/message.h"

namespace takt {

class Calls {
  public:
    virtual ~Calls() = default;

    // The body of a good answer. Refusals are errors, see RefusalOf. From any thread.
    virtual internal::Result<std::string> Call(internal::HttpMethod method, const std::string& path,
                                               const std::string& body) = 0;

    // Another way there, for questions that take long: whatever else is asked does not wait for it.
    // Null: this one is as good.
    virtual std::shared_ptr<Calls> MakeAnother() { return nullptr; }

    // The highest token of a lock that was ever given to this caller.
    const std::shared_ptr<std::atomic<std::uint64_t>> lock_token_seen =
        std::make_shared<std::atomic<std::uint64_t>>(0);

    // Lets some time pass before the next question. False, at once, when no more should be asked.
    virtual bool Pause(internal::Duration duration) = 0;
};

}  // namespace takt
