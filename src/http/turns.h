// Turns: shares a loop among connections.
//
// A turn of the loop serves requests for a budget of time, all connections together, and at least
// one. Whoever comes later, or wants more, waits in line for a later turn. So nobody waits for long
// behind clients that always have the next request ready, however many they are: not another
// client, and not a timer. Only requests use the budget: a loop that reads the uploads of others in
// between would else serve one request a turn, and all who wait would wait that many turns. Used on
// the loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>

#include "base/time.h"

namespace takt::internal::http {

class Turns : public std::enable_shared_from_this<Turns> {
  public:
    // One of those that take turns.
    class Guest {
      public:
        virtual ~Guest() = default;
        // Its turn has come: it has to ask again, not from inside this call.
        virtual void OnTurn() = 0;

      private:
        friend class Turns;
        bool called_ = false;
    };

    Turns(boost::asio::io_context& io, std::chrono::microseconds budget)
        : io_(io), budget_(budget) {}

    // Whether the guest may go on with one request now. If not, OnTurn tells when to ask again.
    bool Enter(const std::shared_ptr<Guest>& guest);
    // One that was let in took so long.
    void Spend(SteadyClock::duration time) { spent_ += time; }

  private:
    void BeginTurn();
    void EndTurn();

    boost::asio::io_context& io_;
    const std::chrono::microseconds budget_;
    bool begun_ = false;
    bool used_ = false;  // By a request at least.
    SteadyClock::duration spent_{};
    std::deque<std::weak_ptr<Guest>> line_;
    std::ptrdiff_t returned_ = 0;  // Of those, called in this turn.
};

}  // namespace takt::internal::http
