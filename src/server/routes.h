// Routes of the API that belong to other parts of the server.
#pragma once

#include <memory>

#include "api/route.h"
#include "http/message.h"

namespace takt::internal {

// GET /api/v1/workers/attach: a worker opens its session.
Route AttachRoute();

// The port is bound before the API can be made, since the API tells the address; the loop runs only
// when both are there.
class HandlerRelay final : public HttpHandler {
  public:
    // Before the first request is served.
    void Set(std::shared_ptr<HttpHandler> handler) { handler_ = std::move(handler); }

    std::unique_ptr<HttpExchange> OnHead(const HttpRequest& request,
                                         HttpHeadVerdict& verdict) override {
        return handler_->OnHead(request, verdict);
    }
    void Handle(HttpRequest request, HttpReply reply) override {
        handler_->Handle(std::move(request), std::move(reply));
    }

  private:
    std::shared_ptr<HttpHandler> handler_;
};

}  // namespace takt::internal
