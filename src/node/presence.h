// Presence: tells the store, and so the other nodes, that this one is there. Used on the node's
// thread.
#pragma once

#include <cstdint>
#include <functional>

#include "node/runtime.h"
#include "store/store.h"

namespace takt::internal {

class Presence {
  public:
    // `on_turn` is called whenever the node is announced, at least once a second.
    Presence(Runtime& runtime, Store& store, NodeRow row, Duration ttl,
             std::function<void()> on_turn);
    ~Presence();

    void Start() { AnnounceLater(Duration(0)); }
    // Announces no more; what was announced ends with its ttl.
    void Pause();
    // Takes the node off the list. If the store cannot be told, it goes with its ttl.
    void Leave();

  private:
    void AnnounceLater(Duration delay);

    Runtime& runtime_;
    Store& store_;
    const NodeRow row_;
    const Duration ttl_;
    const std::function<void()> on_turn_;
    std::uint64_t timer_ = 0;
};

}  // namespace takt::internal
