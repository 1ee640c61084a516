// Shared by the tests of this folder: a running server, and a client that can misbehave.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/server.h"

namespace takt::internal {

using namespace std::chrono_literals;

// Events on other threads, for a test to wait for.
template <typename T>
class Mailbox {
  public:
    void Put(T value) {
        const std::lock_guard lock(mutex_);
        values_.push_back(std::move(value));
        changed_.notify_all();
    }
    // Fails the test when nothing comes in ten seconds.
    T Take() {
        std::unique_lock lock(mutex_);
        const bool came = changed_.wait_for(lock, 10s, [&] { return !values_.empty(); });
        if (!came) throw std::runtime_error("nothing came in time");
        T value = std::move(values_.front());
        values_.pop_front();
        return value;
    }
    bool empty() {
        const std::lock_guard lock(mutex_);
        return values_.empty();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> values_;
};

class LambdaHandler : public HttpHandler {
  public:
    std::function<void(HttpRequest, HttpReply)> handle = [](HttpRequest, HttpReply reply) {
        reply(HttpResponse::Text(200, "ok"));
    };
    std::function<void(const HttpRequest&, HttpHeadVerdict&)> on_head;
    std::function<bool(const HttpRequest&, std::string_view)> on_body;  // Empty: bodies come whole.

    void Handle(HttpRequest request, HttpReply reply) override {
        handle(std::move(request), std::move(reply));
    }
    std::unique_ptr<HttpExchange> OnHead(const HttpRequest& request,
                                         HttpHeadVerdict& verdict) override {
        if (on_head) on_head(request, verdict);
        return on_body ? std::make_unique<Exchange>(*this, request.path) : nullptr;
    }

  private:
    class Exchange final : public HttpExchange {
      public:
        Exchange(LambdaHandler& handler, std::string path) : handler_(handler) {
            head_.path = std::move(path);
        }
        bool reads_body() const override { return true; }
        bool OnBody(std::string_view piece) override { return handler_.on_body(head_, piece); }
        void OnEnd(HttpRequest request, HttpReply reply) override {
            handler_.handle(std::move(request), std::move(reply));
        }

      private:
        LambdaHandler& handler_;
        HttpRequest head_;
    };
};

// A loop on a thread of its own.
class LoopThread {
  public:
    LoopThread() : work_(boost::asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {}
    ~LoopThread() { Join(); }

    boost::asio::io_context& io() { return io_; }
    // Ends at once: what waits for a timer does not run any more.
    void Stop() {
        io_.stop();
        Join();
    }
    // Lets what is under way come to its end.
    void Join() {
        work_.reset();
        if (thread_.joinable()) thread_.join();
    }

  private:
    boost::asio::io_context io_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::thread thread_;
};

class ServerTest : public testing::Test {
  protected:
    // Not in the destructor: callbacks use members of derived fixtures, which die before it.
    void TearDown() override {
        server_.reset();  // Posts its abort before the loop may end.
        loop_.Join();
    }

    void Serve() {
        if (!options_.log) {
            options_.log = [this](HttpLogLevel, std::string_view message) {
                logged_.Put(std::string(message));
            };
        }
        auto server = HttpServer::Listen(loop_.io(), options_, handler_);
        ASSERT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
    }
    void StopAndWait(std::chrono::milliseconds drain) {
        std::promise<void> stopped;
        server_->Stop(drain, [&] { stopped.set_value(); });
        ASSERT_EQ(stopped.get_future().wait_for(10s), std::future_status::ready);
    }

    HttpServerOptions options_;
    std::shared_ptr<LambdaHandler> handler_ = std::make_shared<LambdaHandler>();
    Mailbox<std::string> logged_;
    LoopThread loop_;
    std::unique_ptr<HttpServer> server_;
};

// A blocking socket that sends whatever it is told. Reads give up after ten seconds.
class RawClient {
  public:
    explicit RawClient(std::uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        timeval limit{.tv_sec = 10, .tv_usec = 0};
        setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ =
            ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    ~RawClient() { Close(); }
    RawClient(RawClient&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)),
          connected_(other.connected_),
          read_(std::move(other.read_)) {}
    RawClient& operator=(RawClient&&) = delete;

    bool connected() const { return connected_; }
    int descriptor() const { return descriptor_; }
    void Close() {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    }

    // False when the server has closed.
    bool Send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    // Up to and with `end`; what there is when the connection ends before.
    std::string ReadUntil(std::string_view end) {
        std::size_t at = 0;
        while ((at = read_.find(end)) == std::string::npos) {
            if (!Receive()) return std::exchange(read_, "");
        }
        std::string text = read_.substr(0, at + end.size());
        read_.erase(0, text.size());
        return text;
    }
    std::string ReadBytes(std::size_t count) {
        while (read_.size() < count && Receive()) {
        }
        std::string bytes = read_.substr(0, count);
        read_.erase(0, bytes.size());
        return bytes;
    }
    // One answer with a Content-Length: head and body.
    std::string ReadAnswer() {
        std::string answer = ReadUntil("\r\n\r\n");
        const std::size_t at = answer.find("Content-Length: ");
        if (at == std::string::npos) return answer;
        return answer + ReadBytes(std::stoul(answer.substr(at + 16)));
    }
    std::string ReadAll() {
        while (Receive()) {
        }
        return std::exchange(read_, "");
    }
    bool timed_out() const { return timed_out_; }

  private:
    bool Receive() {
        char buffer[65536];
        const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, 0);
        timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (got <= 0) return false;
        read_.append(buffer, static_cast<std::size_t>(got));
        return true;
    }

    int descriptor_;
    bool connected_ = false;
    bool timed_out_ = false;
    std::string read_;
};

inline std::string Get(std::string_view target) {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

}  // namespace takt::internal
