// Client: a scheduler in another process, over its REST API.
//
//     takt::Client client({.servers = {"http://127.0.0.1:8080"}});
//     auto task = client.SubmitTask({.type = "resize", .payload = R"({"image": "cat.png"})"});
//     if (!task) …
//     auto run = client.WaitForTask(task->id, 30s);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "takt/event.h"
#include "takt/scheduler_api.h"

namespace takt {

struct ClientOptions {
    // Any schedulers of one cluster, http:// or https://; tried in order.
    std::vector<std::string> servers = {"http://127.0.0.1:8080"};
    std::string name_space = {};  // The namespace; empty: the token's, else `default`.
    std::string token = {};       // Access token with the role operator; empty is none.
    std::string ca_file = {};     // PEM, for https; empty is the system's certificates.
    Duration timeout{30'000};     // Of one call to one server.
    // A call that found no scheduler, or none that leads, is tried again for this long: a change of
    // leaders takes up to ten seconds. Only calls of which nothing was done are repeated.
    Duration patience{0};
};

class TAKT_EXPORT Client final : public SchedulerApi {
  public:
    // Does not connect yet. Options that cannot be used fail every call with kInvalid.
    explicit Client(ClientOptions options = {});
    ~Client() override;

    // Calls `callback` for each event of that type (or of every type) that happens from now on in the
    // client's namespace, in their order, after what it tells of was stored, on a thread that this
    // object has for it. Connects by itself, and again whenever it has to, to any scheduler, and goes
    // on where it was; what could not be told is told as kMissed, to every callback. A callback that
    // is slow holds up other event callbacks; beyond 10,000 events the oldest are dropped (see
    // events_dropped). What it throws is logged. The number is for UnregisterEventCallback, after
    // which a call that is under way may still be going on.
    std::uint64_t RegisterEventCallback(EventType type, EventCallback callback);
    std::uint64_t RegisterEventCallback(EventCallback callback);
    void UnregisterEventCallback(std::uint64_t number);
    std::uint64_t events_dropped() const;

  private:
    struct TAKT_LOCAL Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace takt
