#include "api/execution_reads.h"

#include <utility>

#include "api/execution_json.h"

namespace takt::internal {
namespace {

// In one read. Enough to make the way there cheap, few enough that the first does not wait long for
// the last.
constexpr std::size_t kReadMax = 64;

HttpResponse AnswerWith(const ExecutionId& id, const std::string& request_id,
                        const std::optional<Execution>& row) {
    if (!row) {
        return ProblemResponse(
            ProblemOfAnswer(
                {ErrorCode::kNotFound, "there is no execution '" + id.text().str() + "'", "id"}),
            request_id);
    }
    std::string body;
    JsonWriter json(body);
    WriteExecution(json, *row, ExecutionDetail::kFull);
    return HttpResponse::Json(200, std::move(body));
}

}  // namespace

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
    services->store.FindExecutions(
        std::move(ids), [services, wanted = std::move(wanted)](auto found) mutable {
            // Written on the reader's thread, sent on the server's: it is woken once for all.
            std::vector<HttpResponse> answers;
            answers.reserve(wanted.size());
            for (std::size_t i = 0; found && i < wanted.size(); ++i) {
                answers.push_back(
                    AnswerWith(wanted[i].id, wanted[i].call.request().request_id, (*found)[i]));
            }
            services->post([services, wanted = std::move(wanted), answers = std::move(answers),
                            found = std::move(found)]() mutable {
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    if (!found) {
                        wanted[i].call.RefuseAnswer(found.error());
                    } else {
                        wanted[i].call.Send(std::move(answers[i]));
                    }
                }
            });
        });
}

}  // namespace takt::internal
