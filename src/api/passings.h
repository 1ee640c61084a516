// Passings: the calls that this scheduler has passed on to leaders and that are not answered yet.
//
// A leader that is frozen, or was cut off with its power, takes a call and never answers. It is left
// once another one has led for a second: what may be sent twice is sent to the new leader, and whoever
// sent anything else hears that its outcome is not known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/call.h"
#include "http/gone.h"

namespace takt::internal {

struct Passing {
    Call call;                      // As it came, but for a body that is not kept.
    std::uint64_t epoch = 0;        // Of the term that it was sent to.
    std::string address;            // Of that term's leader.
    std::shared_ptr<HttpGone> cut;  // Ends the sending.
    bool whole = true;              // Whether the body was kept.
    int looks = 0;                  // How often another leader was seen since, without a break.
};

// On the server's thread, all of it.
class Passings {
  public:
    // The number is for Take.
    std::uint64_t Add(Passing passing);
    // Nothing if it was left.
    std::optional<Passing> Take(std::uint64_t number);

    // Looks who leads now. Gives back, and forgets, those whose leader is not to be waited for.
    std::vector<Passing> TakeLeft();

    // Whether somebody has to come back and look; true once until Disarm.
    bool Arm() { return !open_.empty() && !std::exchange(armed_, true); }
    void Disarm() { armed_ = false; }

    // Each of them holds the gate that holds them.
    void Clear() { open_.clear(); }

    std::size_t kept_bytes() const;  // Of bodies.

  private:
    std::map<std::uint64_t, Passing> open_;
    std::uint64_t last_ = 0;
    bool armed_ = false;
};

}  // namespace takt::internal
