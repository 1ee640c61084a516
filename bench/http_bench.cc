// A bare server for measuring the HTTP layer by hand:
//
//     http_bench serve 8090 &  wrk -t1 -c64 -d5s http://127.0.0.1:8090/
//     http_bench idle ws 10000     memory of that many idle WebSockets (or: idle sse, idle http)
#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <fstream>
#include <string>
#include <thread>

#include "http/event_stream.h"
#include "http/server.h"
#include "http/websocket.h"

namespace {

namespace asio = boost::asio;

class BenchHandler : public takt::internal::HttpHandler {
  public:
    void Handle(takt::internal::HttpRequest request, takt::internal::HttpReply reply) override {
        if (request.path == "/ws") {
            takt::internal::HttpResponse response;
            response.websocket = std::make_shared<takt::internal::WebSocketCallbacks>();
            return reply(std::move(response));
        }
        if (request.path == "/sse") {
            takt::internal::HttpResponse response;
            response.event_stream = std::make_shared<takt::internal::EventStreamOptions>();
            return reply(std::move(response));
        }
        reply(takt::internal::HttpResponse::Json(200, R"({"status":"ok","id":"0123456789abc"})"));
    }
};

long ResidentKilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0;
}

std::string RequestFor(std::string_view kind) {
    if (kind == "ws") {
        return "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    }
    return fmt::format("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", kind);
}

// Clients are raw descriptors in this process: they cost it kernel memory only.
int Idle(takt::internal::HttpServer& server, std::string_view kind, int count) {
    asio::io_context io;
    const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), server.port());
    std::vector<asio::ip::tcp::socket> clients;
    clients.reserve(static_cast<std::size_t>(count));
    const std::string request = RequestFor(kind);
    std::string answer(1024, '\0');
    const auto open = [&] {
        asio::ip::tcp::socket& client = clients.emplace_back(io);
        client.connect(endpoint);
        asio::write(client, asio::buffer(request));
        client.read_some(asio::buffer(answer));
    };
    for (int i = 0; i < 100; ++i) open();  // Pools and caches are filled once, not per connection.
    const long before = ResidentKilobytes();
    for (int i = 100; i < count; ++i) open();
    const long after = ResidentKilobytes();
    fmt::print("{} idle {} connections: {:.2f} KB each (client sockets of this process included)\n",
               count, kind, static_cast<double>(after - before) / (count - 100));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if ((mode != "serve" || argc != 3) && (mode != "idle" || argc != 4)) {
        fmt::print(stderr, "usage: http_bench serve PORT | http_bench idle ws|sse|http COUNT\n");
        return 2;
    }
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    asio::io_context io(1);
    takt::internal::HttpServerOptions options;
    if (mode == "serve") options.port = static_cast<std::uint16_t>(std::stoi(argv[2]));
    auto server = takt::internal::HttpServer::Listen(io, options, std::make_shared<BenchHandler>());
    if (!server) {
        fmt::print(stderr, "{}\n", server.error().detail);
        return 1;
    }
    if (mode == "serve") {
        io.run();
        return 0;
    }
    std::jthread loop([&] { io.run(); });
    const int code = Idle(**server, argv[2], std::stoi(argv[3]));
    (*server)->Stop(std::chrono::milliseconds(0), {});
    return code;
}
