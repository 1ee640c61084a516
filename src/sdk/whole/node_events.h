// NodeEvents: brings the events of this process' own node to the callbacks of the embedding program.
#pragma once

#include <functional>
#include <utility>

#include "node/sink.h"
#include "sdk/event_dispatcher.h"

namespace takt {

class NodeEvents final : public internal::Sink {
  public:
    // `on_role` is called on the node's thread when its role changes.
    NodeEvents(EventDispatcher& to, std::function<void(internal::Role)> on_role)
        : to_(to), on_role_(std::move(on_role)) {}

    // Sink. On the node's thread.
    void Release(const internal::Effects& effects) override;
    void OnRole(internal::Role role) override { on_role_(role); }

  private:
    EventDispatcher& to_;
    const std::function<void(internal::Role)> on_role_;
};

}  // namespace takt
