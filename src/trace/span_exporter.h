// SpanExporter: sends spans to a collector by OTLP over HTTP, as JSON.
//
// Adding a span never waits: a full queue drops it and counts it. A thread of its own sends
// batches; a collector that is away costs nobody anything but the spans.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "trace/trace_context.h"

namespace takt::internal {

class BlockingHttpClient;

// As OTLP numbers them.
enum class SpanKind : std::uint8_t {
    kInternal = 1,
    kServer = 2,
    kClient = 3,
    kProducer = 4,
    kConsumer = 5,
};

struct Span {
    TraceId trace{};
    SpanId id{};
    SpanId parent{};        // All zeros: none.
    std::string_view name;  // Of static life.
    SpanKind kind = SpanKind::kInternal;
    Time start{};
    Time end{};
    std::vector<std::pair<std::string_view, std::string>> attributes;
    bool failed = false;
    std::string message;  // Of a failure.
};

struct SpanExporterConfig {
    std::string endpoint;  // "http://127.0.0.1:4318"; a path instead of /v1/traces may be given.
    std::string service;   // "takt-scheduler"
    std::string instance;  // Which of them.
    std::size_t queue_max = 16'384;  // Some 10 MB at most.
    std::size_t batch_max = 512;
    Duration interval{1'000};  // A batch that is not full waits this long.
    Duration timeout{5'000};   // Of one call.
    int tries_max = 3;         // Then the batch is dropped.
};

class SpanExporter {
  public:
    // kInvalid for an endpoint that is no URL.
    static Result<std::unique_ptr<SpanExporter>> Start(SpanExporterConfig config);

    // Sends what is queued, once, and stops. Takes as long as one call at most.
    ~SpanExporter();

    // From any thread.
    void Add(Span span);
    std::uint64_t exported() const { return exported_; }
    std::uint64_t dropped() const { return dropped_; }

  private:
    SpanExporter(SpanExporterConfig config, std::unique_ptr<BlockingHttpClient> client);
    void Run();
    bool Send(const std::vector<Span>& batch);
    void TellTrouble(const std::string& why);

    const SpanExporterConfig config_;
    const std::unique_ptr<BlockingHttpClient> client_;
    std::atomic<std::uint64_t> exported_ = 0;
    std::atomic<std::uint64_t> dropped_ = 0;
    bool troubled_ = false;  // The sender's own.

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Span> queue_;
    bool over_ = false;
    std::thread thread_;
};

// The body of a POST to /v1/traces.
std::string EncodeSpans(const SpanExporterConfig& config, const std::vector<Span>& spans);

}  // namespace takt::internal
