#include "node/asio_runtime.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace takt::internal {

void AsioRuntime::Post(Action action) {
    boost::asio::post(loop_, std::move(action));
}

void AsioRuntime::Dispatch(Action action) {
    boost::asio::dispatch(loop_, std::move(action));
}

std::uint64_t AsioRuntime::After(Duration delay, Action action) {
    const std::uint64_t id = ++last_;
    auto& entry = timers_[id];
    entry = std::make_unique<Timer>(boost::asio::steady_timer(loop_, delay), std::move(action));
    entry->timer.async_wait([this, id](const boost::system::error_code& error) {
        if (error) return;  // Cancelled; the entry is gone already.
        const auto found = timers_.find(id);
        if (found == timers_.end()) return;
        Action due = std::move(found->second->action);
        timers_.erase(found);
        due();
    });
    return id;
}

void AsioRuntime::Cancel(std::uint64_t timer) {
    timers_.erase(timer);
}

}  // namespace takt::internal
