// A worker with an HTTP port of its own, which the scheduler calls: any HTTP server will do, here
// it is Boost.Beast. docs/executors.md says what is sent and answered.
//
//     example_http_worker [SCHEDULER_URL] [PORT]
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "takt/client.h"

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using Request = http::request<http::string_body>;

// Tasks come to POST /execute, as JSON; the answer says how they ended.
std::string Answer(const Request& request, http::status& status) {
    if (request.target() == "/health") return R"({"status": "ok"})";
    if (request.target() == "/execute" && request.method() == http::verb::post) {
        std::cout << "processing " << request.body() << std::endl;
        return R"({"status": "completed", "result": {"rows": 42}})";
    }
    status = http::status::not_found;
    return R"({"error": "there is nothing here"})";
}

void Serve(tcp::socket socket) {
    boost::beast::tcp_stream stream(std::move(socket));
    boost::beast::flat_buffer buffer;
    boost::beast::error_code error;
    bool more = true;
    while (more) {
        Request request;
        http::read(stream, buffer, request, error);
        if (error) return;
        http::response<http::string_body> response(http::status::ok, request.version());
        http::status status = http::status::ok;
        response.body() = Answer(request, status);
        response.result(status);
        response.set(http::field::content_type, "application/json");
        response.keep_alive(more = request.keep_alive());
        response.prepare_payload();
        http::write(stream, response, error);
        if (error) return;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const auto port = static_cast<unsigned short>(argc > 2 ? std::atoi(argv[2]) : 9090);
    boost::asio::io_context io;
    tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), port});
    const std::string address =
        "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
    std::jthread server([&] {
        while (true) std::thread(Serve, acceptor.accept()).detach();
    });

    takt::Client scheduler({.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:8080"},
                            .patience = std::chrono::seconds(30)});
    const auto worker = scheduler.RegisterWorker({.id = "worker-001",
                                                  .address = address,
                                                  .types = {"data_processing", "image_resize"},
                                                  .capacity = 10,
                                                  .health_check_url = address + "/health"});
    if (!worker) {
        std::cerr << worker.error().message << "\n";
        std::quick_exit(1);  // The server's thread never ends by itself.
    }
    std::cout << worker->id << " listening on " << address << std::endl;
    server.join();
}
