#include "api/alerts_call.h"

#include "api/problem.h"
#include "api/submission.h"

namespace takt::internal {

Result<WriteCondition> ReadWriteCondition(const HttpRequest& request) {
    WriteCondition condition{.absent = request.headers.Find("If-None-Match") == "*"};
    const auto header = request.headers.Find("If-Match");
    if (!header || *header == "*") return condition;
    condition.version = VersionOfETag(*header);
    if (!condition.version) return BadField("If-Match", "must be one ETag, such as \"3\"");
    return condition;
}

void RefuseWrite(Call& call, const Error& error) {
    Problem problem = ProblemOfAnswer(error);
    const auto& headers = call.request().headers;
    const bool changed = error.field == "version" && headers.Find("If-Match");
    const bool taken = error.field == "name" && headers.Find("If-None-Match");
    if (error.code == ErrorCode::kConflict && (changed || taken)) {
        problem.status = 412;
        problem.code = "precondition_failed";
        problem.field = changed ? "If-Match" : "If-None-Match";
    }
    call.Refuse(problem);
}

void SendVersioned(Call call, int status, std::string body, std::uint32_t version) {
    HttpResponse response = HttpResponse::Json(status, std::move(body));
    response.headers.emplace_back("ETag", "\"" + std::to_string(version) + "\"");
    call.Send(std::move(response));
}

}  // namespace takt::internal
