// AsioRuntime: a Runtime on an Asio event loop that one thread runs.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "node/runtime.h"

namespace takt::internal {

class AsioRuntime final : public Runtime {
  public:
    // `loop` must be run by one thread, and outlive the runtime.
    explicit AsioRuntime(boost::asio::io_context& loop) : loop_(loop) {}

    Instant Now() override { return ReadClocks(); }
    void Post(Action action) override;
    void Dispatch(Action action) override;
    std::uint64_t After(Duration delay, Action action) override;
    void Cancel(std::uint64_t timer) override;

  private:
    struct Timer {
        boost::asio::steady_timer timer;
        Action action;
    };

    boost::asio::io_context& loop_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Timer>> timers_;
    std::uint64_t last_ = 0;
};

}  // namespace takt::internal
