#include "http/event_stream.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "http/event_stream_core.h"

namespace takt::internal {
namespace {

// One line of a field. A line break would start another field, so it ends the value.
void AppendField(std::string& out, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out.append(name).append(": ").append(value.substr(0, value.find_first_of("\r\n")));
    out.push_back('\n');
}

}  // namespace

std::string FormatEvent(const ServerSentEvent& event) {
    std::string out;
    out.reserve(event.event.size() + event.data.size() + event.id.size() + 32);
    AppendField(out, "id", event.id);
    AppendField(out, "event", event.event);
    std::string_view rest = event.data;
    for (bool more = true; more;) {
        const std::size_t end = rest.find_first_of("\r\n");
        out.append("data: ").append(rest.substr(0, end)).push_back('\n');
        more = end != std::string_view::npos;
        if (more) rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
    }
    out.push_back('\n');
    return out;
}

}  // namespace takt::internal

namespace takt::internal::http {

EventStreamCore::EventStreamCore(std::shared_ptr<Transport> transport,
                                 std::shared_ptr<EventStreamOptions> options)
    : transport_(std::move(transport)),
      options_(std::move(options)),
      outbox_(std::make_shared<Outbox>(transport_, options_->buffer_bytes_max)),
      last_write_(SteadyClock::now().time_since_epoch().count()) {
    if (!options_->on_drain) return;
    outbox_->set_on_empty([options = options_] { options->on_drain(); });
}

bool EventStreamCore::Write(const ServerSentEvent& event) {
    return WriteFormatted(FormatEvent(event));
}

bool EventStreamCore::WriteFormatted(std::string_view text) {
    if (outbox_->Append(text, {})) {
        last_write_ = SteadyClock::now().time_since_epoch().count();
        return true;
    }
    if (closing_) return false;
    if (options_->overflow == EventStreamOptions::Overflow::kDrop) {
        ++dropped_;
        return false;
    }
    // A client that does not read would not read the rest either: end it on the io thread.
    boost::asio::post(transport_->socket().get_executor(),
                      [transport = transport_] { transport->Close(); });
    return false;
}

void EventStreamCore::Close() {
    closing_ = true;
    outbox_->Finish();
}

bool EventStreamCore::Tick(Steady now, SteadyClock::duration stall_max) {
    if (outbox_->StalledFor(now) > stall_max) return false;
    const Steady last{SteadyClock::duration(last_write_)};
    if (now - last >= options_->heartbeat && outbox_->bytes() == 0) {
        outbox_->AppendControl(":\n\n");
        last_write_ = now.time_since_epoch().count();
    }
    return true;
}

}  // namespace takt::internal::http
