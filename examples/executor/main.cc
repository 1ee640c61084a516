// An HTTP executor in C++: registers itself, takes POST /execute, works on a thread, calls back.
//
//     example_executor http://localhost:8080 9090
//
// The same as executor.py. docs/executors.md describes what is sent.
#include <unistd.h>
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json/value.hpp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "http/client.h"
#include "http/server.h"

namespace {

using namespace takt::internal;
using namespace std::chrono_literals;

constexpr std::size_t kRememberedMax = 10'000;  // Tokens, so that an attempt sent twice runs once.
constexpr int kRoundsMax = 8;

struct Order {
    std::string type;
    std::string parameters;
    std::vector<std::string> callback_urls;  // Of any scheduler: each passes it on to the leader.
    std::string token;
};

// An attempt that was taken. It comes again after a change of leaders, with the addresses of then.
struct Attempt {
    std::mutex mutex;
    Order order;         // The newest.
    std::string report;  // How it ended; empty while it runs.
    bool telling = false;
};

std::optional<Order> ReadOrder(const std::string& body) {
    const auto value = ParseJson(body, {.bytes_max = body.size()});
    if (!value || !value->is_object()) return std::nullopt;
    Order order;
    std::string callback_url;
    for (const auto& [key, to] : {std::pair{"type", &order.type},
                                  {"callback_url", &callback_url},
                                  {"callback_token", &order.token}}) {
        const auto* text = value->get_object().if_contains(key);
        if (!text || !text->is_string()) return std::nullopt;
        *to = text->get_string();
    }
    const auto* urls = value->get_object().if_contains("callback_urls");
    if (urls && urls->is_array()) {
        for (const auto& url : urls->get_array()) {
            if (url.is_string()) order.callback_urls.emplace_back(url.get_string());
        }
    }
    if (order.callback_urls.empty()) order.callback_urls.push_back(callback_url);
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
        Take(std::move(*order));
        reply(HttpResponse::Json(202, R"({"status":"accepted"})"));
    }

    // Tells any of the schedulers that `urls` names. One may be restarting, or gone: all are tried,
    // again and again for two minutes.
    void Tell(const std::function<std::vector<std::string>()>& urls, const std::string& body,
              HttpHeaderList headers) {
        headers.emplace_back("Content-Type", "application/json");
        if (const char* token = std::getenv("TAKT_TOKEN")) {
            headers.emplace_back("Authorization", std::string("Bearer ") + token);
        }
        auto pause = 500ms;
        for (int i = 0; i < kRoundsMax; ++i, pause = std::min(pause * 2, 30'000ms)) {
            for (const std::string& url : urls()) {
                const auto answer = client_->Send(
                    {.method = HttpMethod::kPost, .url = url, .headers = headers, .body = body});
                if (!answer || answer->status >= 500) continue;
                std::printf("%s: %d\n", url.c_str(), answer->status);
                return;
            }
            std::this_thread::sleep_for(pause);
        }
    }

    boost::asio::thread_pool& pool() { return pool_; }

  private:
    // Runs each attempt once. One that comes again is a new leader's, which cannot know that it was
    // taken: the work goes on, and what it says goes to the newest addresses.
    void Take(Order order) {
        auto& attempt = attempts_[order.token];
        if (!attempt) {
            attempt = std::make_shared<Attempt>();
            attempt->order = std::move(order);
            order_of_attempts_.push_back(attempt->order.token);
            boost::asio::post(pool_, [this, attempt] { Run(*attempt); });
            if (order_of_attempts_.size() > kRememberedMax) {
                attempts_.erase(order_of_attempts_.front());
                order_of_attempts_.pop_front();
            }
            return;
        }
        const std::scoped_lock lock(attempt->mutex);
        attempt->order = std::move(order);
        if (attempt->report.empty() || std::exchange(attempt->telling, true)) return;
        boost::asio::post(pool_, [this, attempt] { TellResult(*attempt); });
    }

    void Run(Attempt& attempt) {
        std::unique_lock lock(attempt.mutex);
        const Order order = attempt.order;
        lock.unlock();
        std::string report = Work(order);
        lock.lock();
        attempt.report = std::move(report);
        attempt.telling = true;
        lock.unlock();
        TellResult(attempt);
    }

    void TellResult(Attempt& attempt) {
        const auto urls = [&] {
            const std::scoped_lock lock(attempt.mutex);
            return attempt.order.callback_urls;
        };
        Tell(urls, attempt.report, {{"X-Takt-Token", attempt.order.token}});
        const std::scoped_lock lock(attempt.mutex);
        attempt.telling = false;
    }

    boost::asio::thread_pool pool_{4};
    std::unique_ptr<BlockingHttpClient> client_;
    std::map<std::string, std::shared_ptr<Attempt>> attempts_;  // By token; on the server's thread.
    std::deque<std::string> order_of_attempts_;
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
        const auto urls = [&] {
            return std::vector<std::string>{scheduler + "/api/v1/executors/register"};
        };
        executor->Tell(urls, Registration(base_url), {});
    });
    loop.run();
}
