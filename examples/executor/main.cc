// An HTTP executor in C++: registers itself, takes POST /execute, works on a thread, calls back.
//
//     example_executor http://localhost:8080 9090
//
// The same as executor.py. docs/executors.md describes what is sent.
#include <unistd.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/json.h"
#include "base/time.h"
#include "http/client.h"
#include "http/server.h"

namespace {

using namespace takt::internal;
using namespace std::chrono_literals;

constexpr std::size_t kRememberedMax = 10'000;  // Tokens, so that an attempt sent twice runs once.
constexpr int kCallbackTriesMax = 8;

struct Order {
    std::string type;
    std::string parameters;
    std::string callback_url;
    std::string token;
};

std::optional<Order> ReadOrder(const std::string& body) {
    const auto value = ParseJson(body, {.bytes_max = body.size()});
    if (!value || !value->is_object()) return std::nullopt;
    Order order;
    for (const auto& [key, to] : {std::pair{"type", &order.type},
                                  {"callback_url", &order.callback_url},
                                  {"callback_token", &order.token}}) {
        const auto* text = value->get_object().if_contains(key);
        if (!text || !text->is_string()) return std::nullopt;
        *to = text->get_string();
    }
    const auto* parameters = value->get_object().if_contains("parameters");
    if (parameters) AppendJson(order.parameters, *parameters);
    return order;
}

// Does the work; the JSON of a report.
std::string Work(const Order& order) {
    std::string report;
    JsonWriter json(report);
    json.BeginObject().Field("status", "success").Key("result").BeginObject();
    json.Field("rows", 42).Key("parameters");
    order.parameters.empty() ? json.Null() : json.Raw(order.parameters);
    json.EndObject().EndObject();
    return report;
}

class Executor final : public HttpHandler {
  public:
    Executor() {
        auto client = BlockingHttpClient::Create({});
        if (!client) throw std::runtime_error(client.error().detail);
        client_ = std::move(*client);
    }

    void Handle(HttpRequest request, HttpReply reply) override {
        if (request.path == "/health") return reply(HttpResponse::Json(200, R"({"status":"ok"})"));
        if (request.path != "/execute" || request.method != HttpMethod::kPost) {
            return reply(HttpResponse::Text(404, "no such page"));
        }
        auto order = ReadOrder(request.body);
        if (!order) return reply(HttpResponse::Text(400, "not an execution"));
        if (order->type != "daily_report" && order->type != "hourly_sync") {
            return reply(HttpResponse::Text(404, "unknown type"));
        }
        // A scheduler that took over cannot know whether we have it already, and sends it again.
        if (Remember(order->token)) {
            boost::asio::post(pool_, [this, order = std::move(*order)] { Run(order); });
        }
        reply(HttpResponse::Json(202, R"({"status":"accepted"})"));
    }

    // A scheduler may be restarting: tried again for about a minute, then given up.
    bool Tell(const std::string& url, const std::string& body, HttpHeaderList headers) {
        headers.emplace_back("Content-Type", "application/json");
        if (const char* token = std::getenv("TAKT_TOKEN")) {
            headers.emplace_back("Authorization", std::string("Bearer ") + token);
        }
        auto pause = 500ms;
        for (int i = 0; i < kCallbackTriesMax; ++i, pause *= 2) {
            const auto answer = client_->Send(
                {.method = HttpMethod::kPost, .url = url, .headers = headers, .body = body});
            if (answer && answer->status < 500) {
                std::printf("%s: %d\n", url.c_str(), answer->status);
                return answer->status == 200;
            }
            std::this_thread::sleep_for(pause);
        }
        return false;
    }

    boost::asio::thread_pool& pool() { return pool_; }

  private:
    bool Remember(const std::string& token) {
        if (!seen_.insert(token).second) return false;
        order_of_seen_.push_back(token);
        if (order_of_seen_.size() > kRememberedMax) {
            seen_.erase(order_of_seen_.front());
            order_of_seen_.pop_front();
        }
        return true;
    }
    void Run(const Order& order) {
        Tell(order.callback_url, Work(order), {{"X-Takt-Token", order.token}});
    }

    boost::asio::thread_pool pool_{4};
    std::unique_ptr<BlockingHttpClient> client_;
    std::set<std::string> seen_;  // On the server's thread.
    std::deque<std::string> order_of_seen_;
};

std::string Registration(const std::string& base_url) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("name", "data-processor").Field("instance_id", "executor-cpp");
    json.Field("process_id", std::string_view(std::to_string(getpid())));
    json.Field("base_url", std::string_view(base_url));
    json.Field("health_check_url", std::string_view(base_url + "/health"));
    json.Key("tasks").BeginArray();
    json.BeginObject().Field("task_name", "daily_report").Field("cron", "0 0 2 * * *");
    json.Field("timeout", 300).EndObject();
    json.BeginObject().Field("task_name", "hourly_sync").EndObject();
    json.EndArray().EndObject();
    return body;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string scheduler = argc > 1 ? argv[1] : "http://localhost:8080";
    const int port = argc > 2 ? std::atoi(argv[2]) : 9090;
    boost::asio::io_context loop{1};
    const auto executor = std::make_shared<Executor>();
    auto server = HttpServer::Listen(loop, {.port = static_cast<std::uint16_t>(port)}, executor);
    if (!server) {
        std::fprintf(stderr, "%s\n", server.error().detail.c_str());
        return 1;
    }
    const std::string base_url = "http://localhost:" + std::to_string((*server)->port());
    std::printf("listening on %s\n", base_url.c_str());
    boost::asio::post(executor->pool(), [&] {
        executor->Tell(scheduler + "/api/v1/executors/register", Registration(base_url), {});
    });
    loop.run();
}
