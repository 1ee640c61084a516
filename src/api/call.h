// Call: a request that has found its route and may use it, and the reply that it waits for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/access_policy.h"
#include "api/problem.h"
#include "api/route.h"
#include "http/message.h"

namespace takt::internal {

struct Services;

// Answers once, from any thread.
class Call {
  public:
    Call(std::shared_ptr<Services> services, const Route& route, HttpRequest request,
         HttpReply reply, Principal who)
        : services_(std::move(services)),
          route_(&route),
          request_(std::move(request)),
          reply_(std::move(reply)),
          who_(std::move(who)) {}

    Services& services() const { return *services_; }
    const std::shared_ptr<Services>& shared_services() const { return services_; }
    const Route& route() const { return *route_; }
    const HttpRequest& request() const { return request_; }
    HttpRequest& request() { return request_; }
    const Principal& who() const { return who_; }

    void Send(HttpResponse response);
    // For an answer that somebody else gives. Nothing may be sent after it.
    HttpReply TakeReply() { return std::move(reply_); }
    void Json(int status, std::string body) { Send(HttpResponse::Json(status, std::move(body))); }
    void Refuse(const Problem& problem) { Send(ProblemResponse(problem, request_.request_id)); }
    // Refuses with what reading the request found wrong.
    void RefuseRequest(const Error& error) { Refuse(ProblemOfRequest(error)); }
    // Refuses with what the engine or the store answered.
    void RefuseAnswer(const Error& error) { Refuse(ProblemOfAnswer(error)); }

  private:
    std::shared_ptr<Services> services_;
    const Route* route_;
    HttpRequest request_;
    HttpReply reply_;
    Principal who_;
};

// The id in the path. Answers the call and gives nothing if it is none.
template <typename Id>
std::optional<Id> PathId(Call& call) {
    auto id = Id::Parse(call.request().Parameter("id"), "id");
    if (id) return std::move(*id);
    call.RefuseRequest(id.error());
    return std::nullopt;
}

}  // namespace takt::internal
