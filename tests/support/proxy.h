// A TCP proxy that loses connections on demand.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <list>
#include <memory>
#include <string>

#include "tests/support/stack.h"

namespace takt::internal::testing_support {

class TcpProxy {
  public:
    explicit TcpProxy(std::uint16_t target)
        : target_(boost::asio::ip::address_v4::loopback(), target),
          acceptor_(io_.loop, {boost::asio::ip::address_v4::loopback(), 0}) {
        port_ = acceptor_.local_endpoint().port();
        io_.Run([this] { Accept(); });
    }
    ~TcpProxy() { io_.Join(); }

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    // Closes every connection, and each new one at once.
    void Cut() {
        io_.Run([this] {
            mode_ = Mode::kCut;
            for (const auto& pair : pairs_) pair->Close();
            pairs_.clear();
        });
    }
    // Forwards nothing; nobody is told.
    void Freeze() {
        io_.Run([this] { mode_ = Mode::kFrozen; });
    }
    void Restore() {
        io_.Run([this] {
            mode_ = Mode::kOpen;
            marker_.clear();
            for (const auto& pair : pairs_) pair->Close();
            pairs_.clear();
        });
    }
    // Once the server has sent `marker`, forwards that and nothing more from the server.
    void HoldAnswersAfter(std::string marker) {
        io_.Run([&] { marker_ = std::move(marker); });
    }

  private:
    using Socket = boost::asio::ip::tcp::socket;
    enum class Mode { kOpen, kCut, kFrozen };
    struct Pair {
        Socket client;
        Socket server;
        bool held = false;
        void Close() {
            boost::system::error_code ignored;
            client.close(ignored);
            server.close(ignored);
        }
    };

    void Accept() {
        acceptor_.async_accept([this](const boost::system::error_code& error, Socket client) {
            if (error) return;
            Accept();
            if (mode_ == Mode::kCut) return;
            auto pair = std::make_shared<Pair>(std::move(client), Socket(io_.loop));
            boost::system::error_code failed;
            pair->server.connect(target_, failed);
            if (failed) return;
            pairs_.push_back(pair);
            Pump(pair, false);
            Pump(pair, true);
        });
    }
    void Pump(const std::shared_ptr<Pair>& pair, bool from_server) {
        auto buffer = std::make_shared<std::string>(64 << 10, '\0');
        Socket& from = from_server ? pair->server : pair->client;
        from.async_read_some(
            boost::asio::buffer(*buffer),
            [=, this](const boost::system::error_code& error, std::size_t size) {
                if (error) return pair->Close();
                Socket& to = from_server ? pair->client : pair->server;
                const bool dropped = mode_ == Mode::kFrozen || (from_server && pair->held);
                boost::system::error_code failed;
                if (!dropped) boost::asio::write(to, boost::asio::buffer(*buffer, size), failed);
                if (failed) return pair->Close();
                if (from_server && !marker_.empty() &&
                    std::string_view(*buffer).substr(0, size).contains(marker_)) {
                    pair->held = true;
                }
                Pump(pair, from_server);
            });
    }

    LoopThread io_;
    const boost::asio::ip::tcp::endpoint target_;
    boost::asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    Mode mode_ = Mode::kOpen;
    std::string marker_;
    std::list<std::shared_ptr<Pair>> pairs_;
};

}  // namespace takt::internal::testing_support
