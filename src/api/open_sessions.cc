#include "api/open_sessions.h"

#include <vector>

#include "api/api.h"
#include "api/services.h"
#include "base/log.h"
#include "http/event_stream.h"
#include "http/websocket.h"

namespace takt::internal {
namespace {

// Nobody may ask anything for hours while sessions are open. So the tokens are read again as often
// as they would be for requests: for one that expires, or was revoked on another node.
void LookLater(const std::shared_ptr<Gate>& gate) {
    if (!gate->after || !gate->sessions.Arm()) return;
    gate->after(gate->config.access.age_max, [weak = std::weak_ptr(gate)] {
        const auto gate = weak.lock();
        if (!gate) return;
        LoadAccess(gate, [gate] {
            gate->sessions.Disarm();
            LookLater(gate);
        });
    });
}

std::uint64_t KeepSession(const std::shared_ptr<Gate>& gate, const std::string& token,
                          OpenSessions::End end) {
    const std::uint64_t number = gate->sessions.Add(token, std::move(end));
    LookLater(gate);
    return number;
}

}  // namespace

std::uint64_t OpenSessions::Add(std::string token, End end) {
    sessions_.emplace(++last_, Session{std::move(token), std::move(end)});
    return last_;
}

void OpenSessions::EndRefused(
    const std::function<std::string_view(const std::string& token)>& why_not) {
    std::vector<std::pair<Session, std::string_view>> over;
    for (auto entry = sessions_.begin(); entry != sessions_.end();) {
        const std::string_view why = why_not(entry->second.token);
        if (why.empty()) {
            ++entry;
        } else {
            over.emplace_back(std::move(entry->second), why);
            entry = sessions_.erase(entry);
        }
    }
    for (const auto& [session, why] : over) {
        Log(LogLevel::kWarning, "audit", "ended a session whose token does not hold any more",
            {{"token", session.token}, {"why", why}});
        session.end(why);
    }
}

void EndWithToken(HttpResponse& response, const std::shared_ptr<Gate>& gate,
                  const std::string& token) {
    if (!response.event_stream && !response.websocket) return;
    const auto number = std::make_shared<std::uint64_t>(0);
    if (response.event_stream) {
        EventStreamOptions& options = *response.event_stream;
        options.on_open = [gate, token, number, then = std::move(options.on_open)](
                              std::shared_ptr<EventStream> stream) mutable {
            *number = KeepSession(gate, token, [weak = std::weak_ptr(stream)](auto) {
                if (const auto open = weak.lock()) open->Close();
            });
            if (then) then(std::move(stream));
        };
        options.on_close = [gate, number, then = std::move(options.on_close)]() mutable {
            gate->sessions.Remove(*number);
            if (then) then();
        };
    }
    if (response.websocket) {
        WebSocketCallbacks& callbacks = *response.websocket;
        callbacks.on_open = [gate, token, number, then = std::move(callbacks.on_open)](
                                std::shared_ptr<WebSocketSession> session) mutable {
            *number =
                KeepSession(gate, token, [weak = std::weak_ptr(session)](std::string_view why) {
                    if (const auto open = weak.lock()) {
                        open->Close(WebSocketCode::kPolicy, "unauthorized: " + std::string(why));
                    }
                });
            if (then) then(std::move(session));
        };
        callbacks.on_close =
            [gate, number, then = std::move(callbacks.on_close)](WebSocketClosed closed) mutable {
                gate->sessions.Remove(*number);
                if (then) then(std::move(closed));
            };
    }
}

}  // namespace takt::internal
