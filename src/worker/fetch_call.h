// FetchCall: results of an earlier step that a handler asks for, and the answer, on its way between the
// handler's thread and the network thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace takt::internal {

struct FetchedPage {
    std::vector<std::string> parts;  // JSON.
    std::uint32_t total = 0;
    bool list = false;
    std::string why;  // Not empty: it could not be had.
};

class FetchCall {
  public:
    FetchCall(std::uint64_t ask, std::string step, std::uint32_t first)
        : ask(ask), step(std::move(step)), first(first) {}

    const std::uint64_t ask;  // The attempt's number for it, from 1.
    const std::string step;
    const std::uint32_t first;

    // The first answer counts. From any thread.
    void Answer(FetchedPage page) {
        {
            const std::scoped_lock lock(mutex_);
            if (!page_) page_ = std::move(page);
        }
        changed_.notify_all();
    }

    // The answer, once; nothing if it has not come within `most`, or before `stop`.
    std::optional<FetchedPage> Await(const std::stop_token& stop, Duration most) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, most, [this] { return page_.has_value(); });
        return std::move(page_);
    }

  private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<FetchedPage> page_;
};

using FetchCallPtr = std::shared_ptr<FetchCall>;

}  // namespace takt::internal
