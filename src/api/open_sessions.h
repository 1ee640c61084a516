// OpenSessions: the event streams and WebSockets that were opened with an access token, so that
// they end when it does. A request is judged once; what it opens may last for months.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"

namespace takt::internal {

struct Gate;

// On the server's thread, all of it.
class OpenSessions {
  public:
    using End = std::function<void(std::string_view why)>;

    // `end` is called when the token does not hold any more. The number is for Remove.
    std::uint64_t Add(std::string token, End end);
    void Remove(std::uint64_t number) { sessions_.erase(number); }

    // Ends those whose token does not hold, and forgets them. `why_not` is a sentence, empty for a
    // token that holds.
    void EndRefused(const std::function<std::string_view(const std::string& token)>& why_not);

    // Whether somebody has to come back and look; true once until Disarm.
    bool Arm() { return !sessions_.empty() && !std::exchange(armed_, true); }
    void Disarm() { armed_ = false; }

  private:
    struct Session {
        std::string token;
        End end;
    };
    std::map<std::uint64_t, Session> sessions_;
    std::uint64_t last_ = 0;
    bool armed_ = false;
};

// The stream or WebSocket that `response` opens, if it does, ends with the token. From any thread.
void EndWithToken(HttpResponse& response, const std::shared_ptr<Gate>& gate,
                  const std::string& token);

}  // namespace takt::internal
