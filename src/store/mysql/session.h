// Session: a connection that is opened when it is needed, and opened anew after it was lost; not
// too often.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "store/mysql/connection.h"

namespace takt::internal::mysql {

// Whether a connection that was silent for a while is asked first if it is still there. Who does all
// by Retry need not: one more request for nothing, most often.
enum class Silent : std::uint8_t { kAsk, kUse };

class Session {
  public:
    // `setup` is run on each new connection.
    Session(const MysqlOptions& options, std::string setup, Silent silent = Silent::kAsk)
        : options_(options), setup_(std::move(setup)), silent_(silent), timeout_(options.timeout) {}

    // How long the server may take, from the next connection on; at first the options' timeout.
    void set_timeout(std::chrono::seconds timeout) { timeout_ = timeout; }
    std::chrono::seconds timeout() const { return timeout_; }

    // An open connection, to the server that all use; with Silent::kAsk one that answered a moment
    // ago. It may be another than before: references from an earlier call are of no use any more.
    // Throws MysqlError; shortly after a failed attempt the same error again, without another attempt.
    Connection& Get();

    // A connection that was lost, or is in a state that nobody knows, is not used again.
    void Drop() { connection_.reset(); }

    // Calls `work` with the connection, and if that is lost meanwhile once more with a new one. For
    // what may be done twice.
    template <typename Work>
    auto Retry(Work work) {
        try {
            return work(Get());
        } catch (const MysqlError& error) {
            // Of several servers another one may take writes.
            if (!error.lost() && !(error.read_only() && !options_.others.empty())) throw;
            Drop();
        }
        return work(Get());
    }

    // Rises with each new connection.
    std::uint64_t generation() const { return generation_; }

  private:
    const MysqlOptions& options_;
    const std::string setup_;
    const Silent silent_;
    std::chrono::seconds timeout_;
    std::optional<Connection> connection_;
    std::uint64_t generation_ = 0;
    Steady used_{};
    Steady retry_at_{};
    Duration backoff_{0};
    std::optional<MysqlError> failure_;
};

}  // namespace takt::internal::mysql
