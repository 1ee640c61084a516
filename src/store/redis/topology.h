// Topology: which server has a key. One server, the primary that Sentinel names, or the owner of a
// slot in Redis Cluster. Belongs to the thread of its io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>

#include "store/redis/connection.h"
#include "store/redis/options.h"

namespace takt::internal::redis {

// One of the parts into which Redis Cluster divides all keys.
using HashSlot = std::uint16_t;
constexpr HashSlot kHashSlotCount = 16384;

class Topology {
  public:
    using Located = std::move_only_function<void(std::expected<Endpoint, Failure>)>;
    using Confirmed = std::move_only_function<void(bool)>;
    // Told of a server that is not the primary any more.
    using Left = std::function<void(const Endpoint&)>;

    virtual ~Topology() = default;

    // Answers at once if it knows; else it asks, and answers in the order of the calls.
    virtual void Locate(HashSlot slot, Deadline deadline, Located done) = 0;

    // Its knowledge may be out of date: ask again before the next answer.
    virtual void Suspect() {}

    // Whether a write that the server at `at` has applied may be believed: the server is still the one
    // to write to, and nobody has begun to replace it.
    virtual void Confirm(const Endpoint& at, Deadline deadline, Confirmed done) { done(true); }

    // A server said that `slot` is at `endpoint` now.
    virtual void Moved(HashSlot slot, const Endpoint& endpoint) {}

    // Every caller that waits is answered with kCancelled. REQUIRES: no Locate afterwards.
    virtual void Close() {}
};

// `tls` may be null, and is used as long as the topology lives.
std::shared_ptr<Topology> MakeTopology(boost::asio::io_context& io, const RedisOptions& options,
                                       TlsClientContext* tls, Topology::Left left);

}  // namespace takt::internal::redis
