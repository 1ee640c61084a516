// ApiExchange: one request on its way through the API. Its head is routed and judged once; what was
// learnt there (the route, who asks, a reader of the body) goes with it to the end.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "api/bulk_reader.h"
#include "api/route.h"
#include "api/services.h"
#include "http/message.h"

namespace takt::internal {

class ApiExchange final : public HttpExchange {
  public:
    // Finds the route. The gate lives as long as the exchange.
    ApiExchange(std::shared_ptr<Gate> gate, const HttpRequest& request);

    // Says how much of a body may come, or refuses it. `held` is what bodies that are read as they
    // come take together.
    void JudgeHead(const HttpRequest& request, const std::shared_ptr<BulkHeld>& held,
                   HttpHeadVerdict& verdict);

    bool reads_body() const override { return learnt_.reader != nullptr; }
    bool OnBody(std::string_view piece) override { return learnt_.reader->Feed(piece); }
    void OnEnd(HttpRequest request, HttpReply reply) override;

    // Facts that the head told.
    struct Learnt {
        RouteTable::Match match;
        std::optional<Principal> who;        // Nothing: the tokens have to be read first.
        Steady judged_at{};                  // When that was.
        std::unique_ptr<BulkReader> reader;  // Null unless the body is read as it comes.
    };

  private:
    const std::shared_ptr<Gate> gate_;
    Learnt learnt_;
};

}  // namespace takt::internal
