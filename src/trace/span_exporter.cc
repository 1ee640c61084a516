#include "trace/span_exporter.h"

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/url.h"
#include "http/client.h"

namespace takt::internal {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 << 10;

void WriteAttribute(JsonWriter& json, std::string_view key, std::string_view value) {
    json.BeginObject().Field("key", key).Key("value");
    json.BeginObject().Field("stringValue", value).EndObject().EndObject();
}

std::string Nanoseconds(Time time) {
    return std::to_string(time.time_since_epoch().count()) + "000000";
}

void WriteSpan(JsonWriter& json, const Span& span) {
    json.BeginObject();
    json.Field("traceId", std::string_view(TraceIdText(span.trace)));
    json.Field("spanId", std::string_view(SpanIdText(span.id)));
    if (span.parent != SpanId{}) {
        json.Field("parentSpanId", std::string_view(SpanIdText(span.parent)));
    }
    json.Field("name", span.name).Field("kind", static_cast<int>(span.kind));
    json.Field("startTimeUnixNano", std::string_view(Nanoseconds(span.start)));
    // Clocks of two processes differ; a span must not end before it began.
    json.Field("endTimeUnixNano", std::string_view(Nanoseconds(std::max(span.start, span.end))));
    json.Key("attributes").BeginArray();
    for (const auto& [key, value] : span.attributes) WriteAttribute(json, key, value);
    json.EndArray();
    if (span.failed) {
        json.Key("status").BeginObject().Field("code", 2);
        json.Field("message", std::string_view(span.message)).EndObject();
    }
    json.EndObject();
}

}  // namespace

std::string EncodeSpans(const SpanExporterConfig& config, const std::vector<Span>& spans) {
    std::string body;
    body.reserve(512 * spans.size());
    JsonWriter json(body);
    json.BeginObject().Key("resourceSpans").BeginArray().BeginObject();
    json.Key("resource").BeginObject().Key("attributes").BeginArray();
    WriteAttribute(json, "service.name", config.service);
    WriteAttribute(json, "service.instance.id", config.instance);
    json.EndArray().EndObject();
    json.Key("scopeSpans").BeginArray().BeginObject();
    json.Key("scope").BeginObject().Field("name", "takt").EndObject();
    json.Key("spans").BeginArray();
    for (const Span& span : spans) WriteSpan(json, span);
    json.EndArray().EndObject().EndArray().EndObject().EndArray().EndObject();
    return body;
}

Result<std::unique_ptr<SpanExporter>> SpanExporter::Start(SpanExporterConfig config) {
    const auto url = ParseUrl(config.endpoint);
    if (!url) return Fail(ErrorCode::kInvalid, url.error().detail, "tracing.endpoint");
    if (url->target == "/" || url->target.empty()) {
        while (config.endpoint.ends_with('/')) config.endpoint.pop_back();
        config.endpoint += "/v1/traces";
    }
    auto client = BlockingHttpClient::Create({});
    if (!client) return std::unexpected(client.error());
    return std::unique_ptr<SpanExporter>(new SpanExporter(std::move(config), std::move(*client)));
}

SpanExporter::SpanExporter(SpanExporterConfig config, std::unique_ptr<BlockingHttpClient> client)
    : config_(std::move(config)), client_(std::move(client)), thread_([this] { Run(); }) {}

SpanExporter::~SpanExporter() {
    {
        const std::scoped_lock lock(mutex_);
        over_ = true;
        wake_.notify_all();
    }
    thread_.join();
}

void SpanExporter::Add(Span span) {
    const std::scoped_lock lock(mutex_);
    if (over_ || queue_.size() >= config_.queue_max) {
        ++dropped_;
        return;
    }
    queue_.push_back(std::move(span));
    if (queue_.size() == config_.batch_max) wake_.notify_all();
}

void SpanExporter::Run() {
    std::vector<Span> batch;
    int tries = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait_for(lock, config_.interval,
                       [&] { return over_ || (tries == 0 && queue_.size() >= config_.batch_max); });
        if (batch.empty()) {
            const std::size_t count = std::min(queue_.size(), config_.batch_max);
            std::move(queue_.begin(), queue_.begin() + std::ptrdiff_t(count),
                      std::back_inserter(batch));
            queue_.erase(queue_.begin(), queue_.begin() + std::ptrdiff_t(count));
        }
        const bool last = over_;
        if (batch.empty()) {
            if (last) return;
            continue;
        }
        lock.unlock();
        const bool sent = Send(batch);
        lock.lock();
        if (sent) {
            exported_ += batch.size();
        } else if (!last && ++tries < config_.tries_max) {
            continue;
        } else {
            dropped_ += batch.size();
        }
        batch.clear();
        tries = 0;
        // A collector that is away must not hold up a stop, batch after batch.
        if (last && !sent) {
            dropped_ += queue_.size();
            return;
        }
    }
}

bool SpanExporter::Send(const std::vector<Span>& batch) {
    const auto answer = client_->Send({.method = HttpMethod::kPost,
                                       .url = config_.endpoint,
                                       .headers = {{"Content-Type", "application/json"}},
                                       .body = EncodeSpans(config_, batch),
                                       .timeout = config_.timeout,
                                       .response_bytes_max = kAnswerBytesMax});
    if (answer && answer->status >= 200 && answer->status < 300) {
        troubled_ = false;
        return true;
    }
    TellTrouble(answer ? "it answered " + std::to_string(answer->status) : answer.error().detail);
    return false;
}

// Once, until it works again: a collector may be away for days.
void SpanExporter::TellTrouble(const std::string& why) {
    if (std::exchange(troubled_, true)) return;
    Log(LogLevel::kWarning, "trace", "spans cannot be sent; they are dropped until they can",
        {{"endpoint", config_.endpoint}, {"error", why}});
}

}  // namespace takt::internal
