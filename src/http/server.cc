#include "http/server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "http/server_core.h"

namespace takt::internal {

using http::Admission;
using http::ServerCore;

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(boost::asio::io_context& io,
                                                       HttpServerOptions options,
                                                       std::shared_ptr<HttpHandler> handler) {
    return Listen({HttpLoop{io, std::move(handler)}}, std::move(options));
}

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(std::vector<HttpLoop> loops,
                                                       HttpServerOptions options) {
    const auto admission = std::make_shared<Admission>(
        Admission::Limits{.connections_max = options.connections_max,
                          .per_address_max = options.connections_per_address_max,
                          .per_loopback_max = options.connections_per_loopback_max});
    options.body_bytes_total_max /= loops.size();
    std::vector<std::shared_ptr<ServerCore>> cores;
    for (HttpLoop& loop : loops) {
        auto& core = cores.emplace_back(
            std::make_shared<ServerCore>(loop.io, options, std::move(loop.handler), admission));
        if (auto loaded = core->LoadTls(); !loaded) return std::unexpected(loaded.error());
    }
    if (auto opened = cores[0]->Open(); !opened) return std::unexpected(opened.error());
    for (const auto& core : cores) core->Start();
    cores[0]->Accept({cores.begin(), cores.end()});
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(cores)));
}

HttpServer::~HttpServer() {
    for (const auto& core : cores_) boost::asio::post(core->io(), [core] { core->Abort(); });
}

std::uint16_t HttpServer::port() const {
    return cores_[0]->port();
}

void HttpServer::Stop(std::chrono::milliseconds drain, std::move_only_function<void()> stopped) {
    // Called when the last core has let go of it.
    const std::shared_ptr<std::move_only_function<void()>> last(
        new std::move_only_function<void()>(std::move(stopped)), [](auto* all_stopped) {
            if (*all_stopped) (*all_stopped)();
            delete all_stopped;
        });
    for (const auto& core : cores_) {
        boost::asio::post(core->io(), [core, drain, last] { core->Stop(drain, [last] {}); });
    }
}

void HttpServer::ReloadTls() {
    for (const auto& core : cores_) boost::asio::post(core->io(), [core] { core->ReloadTls(); });
}

std::size_t HttpServer::connections() const {
    return cores_[0]->connections();
}
std::uint64_t HttpServer::requests() const {
    std::uint64_t sum = 0;
    for (const auto& core : cores_) sum += core->requests();
    return sum;
}
std::uint64_t HttpServer::refused_connections() const {
    return cores_[0]->refused();
}

}  // namespace takt::internal
