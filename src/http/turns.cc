#include "http/turns.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace takt::internal::http {
namespace {

// Called in a turn; those for whom the budget does not suffice are the first of the next one.
constexpr int kCalledPerTurn = 32;

}  // namespace

bool Turns::Enter(const std::shared_ptr<Guest>& guest) {
    BeginTurn();
    const bool called = std::exchange(guest->called_, false);
    const bool room = !used_ || spent_ < budget_;
    if (room && (called || line_.empty())) {
        used_ = true;
        return true;
    }
    // Called in vain: first in line, in the order of the call.
    line_.insert(called ? line_.begin() + returned_++ : line_.end(), guest);
    return false;
}

// The loop takes what is posted in order: when it comes to the mark, all that was ready when the
// turn began has run, and timers and sockets have been looked at.
void Turns::BeginTurn() {
    if (std::exchange(begun_, true)) return;
    used_ = false;
    spent_ = {};
    boost::asio::post(io_, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->EndTurn();
    });
}

void Turns::EndTurn() {
    begun_ = false;
    returned_ = 0;
    if (line_.empty()) return;
    for (int i = 0; i < kCalledPerTurn && !line_.empty(); ++i) {
        const auto guest = line_.front().lock();
        line_.pop_front();
        if (!guest) continue;
        guest->called_ = true;
        guest->OnTurn();
    }
    // Behind those that were called.
    BeginTurn();
}

}  // namespace takt::internal::http
