// SchedulerSpans: makes spans of what the node releases. See trace/execution_trace.h for their
// shape.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/text.h"
#include "node/sink.h"
#include "trace/execution_trace.h"
#include "trace/span_exporter.h"

namespace takt::internal {

class SchedulerSpans final : public Sink {
  public:
    // `is_push`: whether a session is an HTTP executor's, whose runs nobody else tells of. The
    // exporter must outlive it.
    SchedulerSpans(TracePolicy policy, SpanExporter& exporter,
                   std::function<bool(SessionId)> is_push, std::string space)
        : policy_(policy),
          exporter_(exporter),
          is_push_(std::move(is_push)),
          space_(std::move(space)) {}

    void Release(const Effects& effects) override;
    // An attempt is told of by the leader that sees its end; one that did not end is left out.
    void OnRole(Role role) override;

  private:
    // An attempt under way.
    struct Open {
        ExecutionTrace trace;
        Execution execution;
        Time assigned_at{};
        Time started_at{};  // 0: not yet.
        bool push = false;
    };
    struct Ending {
        Time at{};
        bool failed = false;
        std::string_view message;
    };

    void OnSubmitted(const Execution& execution, Time now);
    void OnAssigned(const Assign& assign, Time now);
    void OnEvent(const Event& event);
    void End(const Open& open, const Ending& ending);
    Span SpanFor(const ExecutionTrace& trace, const Execution& execution,
                 std::string_view name) const;

    const TracePolicy policy_;
    SpanExporter& exporter_;
    const std::function<bool(SessionId)> is_push_;
    const std::string space_;  // The namespace of all of it.
    boost::unordered_flat_map<Text, Open, TextHash, TextEqual> open_;  // By execution.
};

}  // namespace takt::internal
