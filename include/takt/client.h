// Client: a scheduler in another process, over its REST API.
//
//     takt::Client client({.servers = {"http://127.0.0.1:8080"}});
//     auto task = client.SubmitTask({.type = "resize", .payload = R"({"image": "cat.png"})"});
//     if (!task) …
//     auto run = client.WaitForTask(task->id, 30s);
#pragma once

#include <string>
#include <vector>

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
};

}  // namespace takt
