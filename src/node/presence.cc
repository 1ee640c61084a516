#include "node/presence.h"

#include <algorithm>
#include <utility>

namespace takt::internal {
namespace {

// Followers tell of themselves at least this often, so that status is never much older.
constexpr Duration kTurn{1'000};

}  // namespace

Presence::Presence(Runtime& runtime, Store& store, NodeRow row, Duration ttl,
                   std::function<void()> on_turn)
    : runtime_(runtime),
      store_(store),
      row_(std::move(row)),
      ttl_(ttl),
      on_turn_(std::move(on_turn)) {}

Presence::~Presence() {
    Pause();
}

void Presence::AnnounceLater(Duration delay) {
    timer_ = runtime_.After(delay, [this] {
        // A miss is made up for by the next one: there are at least three of them in a ttl.
        store_.Announce(row_, ttl_, [](const Result<void>&) {});
        on_turn_();
        AnnounceLater(std::min(ttl_ / 3, kTurn));
    });
}

void Presence::Pause() {
    runtime_.Cancel(std::exchange(timer_, 0));
}

void Presence::Leave() {
    Pause();
    store_.Announce({.node = row_.node}, Duration(0), [](const Result<void>&) {});
}

}  // namespace takt::internal
