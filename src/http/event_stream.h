// Server-sent events: the text/event-stream side of an answer that never ends.
//
//     HttpResponse response;
//     response.event_stream = std::make_shared<EventStreamOptions>();
//     response.event_stream->on_open = [](std::shared_ptr<EventStream> stream) { … keep it … };
//     reply(std::move(response));
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace takt::internal {

struct ServerSentEvent {
    std::string_view event;  // Empty: the client's default, "message".
    std::string_view data;   // Any text; line breaks are kept.
    std::string_view id;     // Empty: none. Without line breaks.
};

// The bytes of an event on the wire, with its empty line.
std::string FormatEvent(const ServerSentEvent& event);

// Every method may be called from any thread. The io_context must outlive it.
class EventStream {
  public:
    virtual ~EventStream() = default;

    // False when the event was not taken: the stream is closed, or the client is too slow and the
    // overflow rule was applied.
    virtual bool Write(const ServerSentEvent& event) = 0;
    // Text that FormatEvent made; formatting once serves many streams.
    virtual bool WriteFormatted(std::string_view text) = 0;
    // Sends what is queued, then ends the stream.
    virtual void Close() = 0;
    // Events that the kDrop rule threw away. A reader that must know can compare ids.
    virtual std::uint64_t dropped() const = 0;
};

struct EventStreamOptions {
    enum class Overflow : std::uint8_t {
        kClose,  // The client reconnects with Last-Event-ID and misses nothing.
        kDrop,   // The event is lost, the stream goes on; for values that the next one replaces.
    };

    std::size_t buffer_bytes_max = 256 << 10;
    Overflow overflow = Overflow::kClose;
    // A comment after this much silence: keeps proxies from closing and finds dead clients.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(15);

    // Everything written so far has left; for who has more than fits the buffer. On the server's
    // thread, while the stream is open.
    std::move_only_function<void()> on_drain;
    // Both on the server's thread, each once; on_close also when the server stops.
    std::move_only_function<void(std::shared_ptr<EventStream>)> on_open;
    std::move_only_function<void()> on_close;
};

}  // namespace takt::internal
