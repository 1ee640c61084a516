// StreamLink: the workers that connected to us. Turns their frames into the engine's inputs, and
// the engine's effects into frames.
//
//     StreamLink link(runtime, {.node = id});
//     Node node(runtime, store, config, seed, &link);
//     link.Bind(node);
//     … and for GET /api/v1/workers/attach, once the caller is known to be a worker:
//     reply(link.Attach(request));
//
// Threads: Attach on any thread that runs an HttpServer; Release and OnRole on the node's. Both may
// be the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "http/message.h"
#include "links/frame_inputs.h"
#include "links/hello.h"
#include "node/runtime.h"
#include "node/sink.h"
#include "store/partition_reader.h"
#include "trace/execution_trace.h"

namespace takt::internal {

class Node;

struct StreamLinkConfig {
    NodeId node;                      // This scheduler's, told to workers.
    std::string space = "default";    // The namespace, and
    std::uint64_t space_id = 0;       // its id: see Welcome in the worker protocol.
    Duration heartbeat{10'000};       // How often workers are to send one.
    Duration lease{30'000};           // As the engine's: told to workers so that they know it.
    Duration hello_deadline{10'000};  // A connection that has not said Hello by then is closed.
    Duration ping_interval{15'000};   // Twice this without a byte: the connection is half open.
    std::size_t frame_bytes_max = 4
                                  << 20;  // Of a worker's frame (Hello: twice); about that of ours.
    // Of messages that have not come whole, of all workers together. Honest ones come within
    // moments; beyond, whoever sends more is cut off and told to try later.
    std::size_t unfinished_bytes_max = 128 << 20;
    std::size_t queue_bytes_max = 64 << 20;  // A worker that lags further behind is cut off.
    std::size_t compress_bytes_min = 8 << 10;
    FrameInputLimits limits;
    TracePolicy tracing;
    std::optional<PartitionReader> rows = {};  // Results that workers fetch are read there.
};

// Since the start. A copy.
struct StreamLinkStats {
    std::size_t sessions = 0;  // Open now.
    std::uint64_t attached = 0;
    std::uint64_t refused = 0;  // Sessions ended because of what the worker did.
    std::uint64_t moved = 0;
    std::uint64_t too_slow = 0;  // Sessions ended because the worker did not read.
    std::uint64_t frames_in = 0;
    std::uint64_t frames_out = 0;
    std::uint64_t assigns = 0;
    std::uint64_t results = 0;
};

class StreamLink final : public Sink {
  public:
    // The runtime is the node's and must outlive the link.
    StreamLink(Runtime& runtime, StreamLinkConfig config);

    // REQUIRES: no HttpServer whose requests came to Attach is running any more. Sessions that are
    // still open end without a word.
    ~StreamLink() override;

    // Once, before the first Attach.
    void Bind(Node& node);

    // Takes the connection of a worker; who may be one is for the caller to decide first.
    HttpResponse Attach(const HttpRequest& request, AttachBounds bounds = {});

    void Release(const Effects& effects) override;
    void OnRole(Role role) override;

    // From any thread.
    StreamLinkStats stats() const;

  private:
    struct Sender;

    const std::shared_ptr<class StreamSessions> sessions_;
    const std::unique_ptr<Sender> sender_;
};

}  // namespace takt::internal
