#include "worker/run_tracer.h"

#include "base/random.h"

namespace takt::internal {

Result<std::shared_ptr<RunTracer>> RunTracer::Start(const std::string& endpoint,
                                                    const std::string& worker,
                                                    const std::string& space) {
    auto exporter =
        SpanExporter::Start({.endpoint = endpoint, .service = "takt-worker", .instance = worker});
    if (!exporter) return std::unexpected(exporter.error());
    return std::shared_ptr<RunTracer>(new RunTracer(std::move(*exporter), worker, space));
}

std::unique_ptr<Span> RunTracer::Begin(AssignedTask& task) const {
    auto parent = ParseTraceParent(task.traceparent);
    if (!parent || !parent->sampled) return nullptr;
    auto span = std::make_unique<Span>(Span{.trace = parent->trace,
                                            .parent = parent->span,
                                            .name = "run",
                                            .kind = SpanKind::kConsumer,
                                            .start = ReadClocks().wall});
    span->attributes = {{"takt.execution_id", task.execution_id},
                        {"takt.task_id", task.task_id},
                        {"takt.task_name", task.task_name},
                        {"takt.type", task.type},
                        {"takt.queue", task.queue},
                        {"takt.attempt", std::to_string(task.attempt)},
                        {"takt.worker_id", worker_}};
    if (!space_.empty()) span->attributes.emplace_back("takt.namespace", space_);
    Random(NewRandomSeed()).Fill(span->id);
    parent->span = span->id;
    task.traceparent = FormatTraceParent(*parent);
    return span;
}

void RunTracer::End(std::unique_ptr<Span> span, const TaskResult& result) {
    if (!span) return;
    span->end = ReadClocks().wall;
    span->failed = !result.success();
    if (span->failed) span->message = result.message;
    exporter_->Add(std::move(*span));
}

}  // namespace takt::internal
