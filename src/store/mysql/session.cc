#include "store/mysql/session.h"

#include <algorithm>

namespace takt::internal::mysql {
namespace {

// After this much silence the server may have closed the connection (wait_timeout, a restart, a
// proxy). Asking first keeps a commit on a dead connection from ending as kUnknown.
constexpr std::chrono::seconds kIdleMax{1};

// Between attempts to connect: enough not to flood a server that comes up, little against a ttl.
constexpr Duration kBackoffMin{50};
constexpr Duration kBackoffMax{1000};

}  // namespace

Connection& Session::Get() {
    // Another connection has turned to another server: this one may be a replica now, and behind.
    if (connection_ && connection_->place() != options_.current->load()) Drop();
    const Steady now = SteadyClock::now();
    const bool ask = silent_ == Silent::kAsk && now - used_ > kIdleMax;
    if (connection_ && ask && !connection_->Ping()) Drop();
    used_ = now;
    if (connection_) return *connection_;
    if (failure_ && now < retry_at_) throw *failure_;
    try {
        connection_.emplace(options_, timeout_);
        if (!setup_.empty()) connection_->Run(setup_);
    } catch (const MysqlError& error) {
        Drop();
        backoff_ = std::clamp(backoff_ * 2, kBackoffMin, kBackoffMax);
        retry_at_ = SteadyClock::now() + backoff_;
        failure_ = error;
        throw;
    }
    failure_.reset();
    backoff_ = Duration(0);
    ++generation_;
    return *connection_;
}

}  // namespace takt::internal::mysql
