// EventReader: server-sent events of an answer, one by one as they come.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/client.h"

namespace takt::internal::cli {

class EventReader : public HttpAnswerSink {
  public:
    bool OnHead(const HttpAnswer&) final {
        rest_.clear();
        heard_ = SteadyClock::now();
        return true;
    }
    bool OnPiece(std::string_view piece) final {
        heard_ = SteadyClock::now();
        rest_.append(piece);
        std::size_t begin = 0;
        bool more = true;
        for (std::size_t end = 0; more && (end = rest_.find("\n\n", begin)) != rest_.npos;) {
            const std::string_view event = std::string_view(rest_).substr(begin, end - begin);
            if (const std::string_view id = FieldOf(event, "id: "); !id.empty()) last_id_ = id;
            more = OnEvent(FieldOf(event, "event: "), FieldOf(event, "data: "));
            begin = end + 2;
        }
        rest_.erase(0, begin);
        OnPause();
        return more;
    }

    // Of the last event that had one; the next connection goes on behind it.
    const std::string& last_id() const { return last_id_; }
    void set_last_id(std::string id) { last_id_ = std::move(id); }
    // The last sign of life.
    Steady heard() const { return heard_; }

  protected:
    // False ends the reading.
    virtual bool OnEvent(std::string_view kind, std::string_view data) = 0;
    // Nothing more has come for the moment.
    virtual void OnPause() {}

  private:
    static std::string_view FieldOf(std::string_view event, std::string_view name) {
        while (!event.empty()) {
            const std::size_t end = std::min(event.find('\n'), event.size());
            const std::string_view line = event.substr(0, end);
            if (line.starts_with(name)) return line.substr(name.size());
            event.remove_prefix(std::min(end + 1, event.size()));
        }
        return {};
    }

    std::string rest_;  // Of an event that has not come whole.
    std::string last_id_;
    Steady heard_ = SteadyClock::now();
};

}  // namespace takt::internal::cli
