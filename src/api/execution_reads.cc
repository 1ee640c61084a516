#include "api/execution_reads.h"

#include <utility>

#include "api/execution_json.h"
#include "api/forward.h"
#include "trace/execution_trace.h"

namespace takt::internal {
namespace {

// In one read. Enough to make the way there cheap, few enough that the first does not wait long for
// the last.
constexpr std::size_t kReadMax = 64;

HttpResponse MissingAnswer(const ExecutionId& id, const std::string& request_id) {
    return ProblemResponse(ProblemOfAnswer(NoSuchExecution(id)), request_id);
}

// How far a running one is, the leader knows. Nobody waits for one that cannot be reached: what the
// store says is good without it.
void SendRunning(Call call, Execution execution) {
    const std::shared_ptr<Services> services = call.shared_services();
    const NodeStatus status = services->node.status();
    if (status.role == Role::kLeader) {
        return services->node.Look([call = std::move(call), execution = std::move(execution)](
                                       const Engine* engine) mutable {
            const ProgressView* progress = engine ? engine->FindProgress(execution.id) : nullptr;
            call.Send(ExecutionAnswer(call.services(), execution, progress));
        });
    }
    if (CanPassOn(call, status, services->gate->forward)) {
        return services->post([call = std::move(call), status]() mutable {
            const std::shared_ptr<Services> services = call.shared_services();
            PassOn(std::move(call), status, services->gate->forward);
        });
    }
    call.Send(ExecutionAnswer(*services, execution, nullptr));
}

}  // namespace

HttpResponse ExecutionAnswer(const Services& services, const Execution& execution,
                             const ProgressView* progress) {
    std::string body;
    JsonWriter json(body);
    const auto trace = TraceOf(services.config.tracing, execution);
    const std::string trace_id = trace ? TraceIdText(trace->trace) : "";
    WriteExecution(json, {execution, ExecutionDetail::kWhole, progress, trace_id});
    return HttpResponse::Json(200, std::move(body));
}

void ExecutionReads::Get(Call call, ExecutionId id) {
    const std::shared_ptr<Services> services = call.shared_services();
    wanted_.push_back({std::move(id), std::move(call)});
    if (wanted_.size() >= kReadMax) return Read(services);
    // Behind whatever else this turn of the loop brings.
    if (wanted_.size() == 1) services->post([this, services] { Read(services); });
}

void ExecutionReads::Read(const std::shared_ptr<Services>& services) {
    std::vector<Wanted> wanted = std::exchange(wanted_, {});
    if (wanted.empty()) return;  // It was read when there were many.
    std::vector<ExecutionId> ids;
    ids.reserve(wanted.size());
    for (const Wanted& one : wanted) ids.push_back(one.id);
    services->rows.FindExecutions(
        std::move(ids), [services, wanted = std::move(wanted)](auto found) mutable {
            // Written on the reader's thread, sent on the server's: it is woken once for all.
            std::vector<HttpResponse> answers;
            answers.reserve(wanted.size());
            for (std::size_t i = 0; found && i < wanted.size(); ++i) {
                const std::optional<Execution>& row = (*found)[i];
                answers.push_back(
                    !row ? MissingAnswer(wanted[i].id, wanted[i].call.request().request_id)
                    : row->status == Status::kRunning ? HttpResponse()
                                                      : ExecutionAnswer(*services, *row, nullptr));
            }
            services->post([services, wanted = std::move(wanted), answers = std::move(answers),
                            found = std::move(found)]() mutable {
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    if (!found) {
                        wanted[i].call.RefuseAnswer(found.error());
                    } else if ((*found)[i] && (*found)[i]->status == Status::kRunning) {
                        SendRunning(std::move(wanted[i].call), std::move(*(*found)[i]));
                    } else {
                        wanted[i].call.Send(std::move(answers[i]));
                    }
                }
            });
        });
}

}  // namespace takt::internal
