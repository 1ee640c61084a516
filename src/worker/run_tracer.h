// RunTracer: one span for each attempt that a worker runs.
#pragma once

#include <memory>
#include <string>

#include "trace/span_exporter.h"
#include "worker/task_context.h"

namespace takt::internal {

class RunTracer {
  public:
    // kInvalid for an endpoint that is no URL.
    static Result<std::shared_ptr<RunTracer>> Start(const std::string& endpoint,
                                                    const std::string& worker,
                                                    const std::string& space);

    // Begins the span of an attempt: what the handler does from now on belongs to it, so the task's
    // traceparent becomes the span's own. Nothing if the attempt is not traced.
    std::unique_ptr<Span> Begin(AssignedTask& task) const;
    void End(std::unique_ptr<Span> span, const TaskResult& result);

    const SpanExporter& exporter() const { return *exporter_; }

  private:
    RunTracer(std::unique_ptr<SpanExporter> exporter, std::string worker, std::string space)
        : exporter_(std::move(exporter)), worker_(std::move(worker)), space_(std::move(space)) {}

    const std::unique_ptr<SpanExporter> exporter_;
    const std::string worker_;
    const std::string space_;  // As it was told to serve; empty: its token's, else `default`.
};

}  // namespace takt::internal
