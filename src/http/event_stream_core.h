// The server's side of an EventStream.
#pragma once

#include <atomic>
#include <memory>

#include "http/event_stream.h"
#include "http/outbox.h"

namespace takt::internal::http {

class EventStreamCore final : public EventStream {
  public:
    EventStreamCore(std::shared_ptr<Transport> transport,
                    std::shared_ptr<EventStreamOptions> options);

    bool Write(const ServerSentEvent& event) override;
    bool WriteFormatted(std::string_view text) override;
    void Close() override;
    std::uint64_t dropped() const override { return dropped_; }

    // The io thread. Sends a heartbeat when one is due; false when the client takes nothing.
    bool Tick(Steady now, SteadyClock::duration stall_max);
    // The io thread: nothing more is taken.
    void Abandon() { outbox_->Abandon(); }
    bool closing() const { return closing_; }

  private:
    const std::shared_ptr<Transport> transport_;
    const std::shared_ptr<EventStreamOptions> options_;
    const std::shared_ptr<Outbox> outbox_;
    std::atomic<bool> closing_ = false;
    std::atomic<std::uint64_t> dropped_ = 0;
    std::atomic<SteadyClock::rep> last_write_;
};

}  // namespace takt::internal::http
