// Server: a whole scheduler in one object. Opens the store, joins the cluster, listens.
//
// What `takt serve` runs and what takt::Scheduler embeds. One thread carries the node; the port is
// served by threads of its own or by the same (server.io_threads); the store has its own.
// docs/decisions/0009-threads.md draws them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "http/message.h"
#include "node/node.h"
#include "node/sink.h"
#include "store/store.h"

namespace takt::internal {

class Server {
  public:
    // Everything is checked before the first byte is served: kInvalid for a configuration that
    // cannot work, kUnavailable for a port or a store that is taken.
    // `watcher`, if not null, sees what the node releases and outlives the server.
    static Result<std::unique_ptr<Server>> Start(Config config, Sink* watcher = nullptr);

    // The keys that only a server understands: what Start would refuse of them, all of it, with places.
    // Beside CheckConfig, and also of a configuration of which other keys could not be read.
    static Result<void> CheckKeys(const Config& config);

    // One part of a start, tried.
    struct Tried {
        std::string part;
        Result<void> result;
        std::string good;  // What to say if it went well.
    };
    // Opens the store, reads it, binds the address, loads the certificates and lets go of all of it:
    // nothing is served and nobody leads. REQUIRES: CheckConfig and CheckKeys found no mistake.
    static std::vector<Tried> Try(Config config);

    // Stops if Stop was not called.
    ~Server();

    // Stops accepting, lets requests and commits finish, gives up the lead. Blocks; once.
    void Stop();

    // From any thread: the API's answer to a request, as if it had come over the port. After Stop
    // there is none: `reply` is destroyed with the server.
    void Call(HttpRequest request, HttpReply reply);

    // Where it listens, "http://127.0.0.1:8080".
    const std::string& url() const;
    // Where others reach it.
    const std::string& address() const;
    const std::string& store_name() const;

    Node& node();
    Store& store();

  private:
    struct Parts;
    explicit Server(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace takt::internal
