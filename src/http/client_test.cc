#include "http/client.h"

#include <poll.h>

#include <atomic>

#include "http/test_support.h"

namespace takt::internal {
namespace {

// A server in a few lines that does one wrong thing to each connection.
class RudeServer {
  public:
    explicit RudeServer(std::function<void(int)> serve)
        : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ::listen(descriptor_, 16);
        socklen_t size = sizeof address;
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this, serve = std::move(serve)] {
            for (;;) {
                const int client = ::accept(descriptor_, nullptr, nullptr);
                if (client < 0) return;
                ++accepted;
                serve(client);
                ::close(client);
            }
        });
    }
    ~RudeServer() {
        ::shutdown(descriptor_, SHUT_RDWR);
        thread_.join();
        ::close(descriptor_);
    }
    std::string Url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

    std::atomic<int> accepted = 0;

  private:
    int descriptor_;
    std::uint16_t port_;
    std::thread thread_;
};

void ReadRequest(int client) {
    std::string text;
    char byte = 0;
    while (!text.ends_with("\r\n\r\n") && ::recv(client, &byte, 1, 0) == 1) text.push_back(byte);
}

void WaitForEnd(int client) {
    char bytes[4096];
    while (::recv(client, bytes, sizeof bytes, 0) > 0) {
    }
}

bool Say(int client, std::string_view text) {
    return ::send(client, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
}

Result<HttpAnswer> Call(const std::string& url, std::chrono::milliseconds timeout = 5s) {
    const auto client = BlockingHttpClient::Create({}).value();
    return client->Send({.url = url, .timeout = timeout, .response_bytes_max = 1 << 20});
}

class ClientTest : public ServerTest {
  protected:
    std::string Url(std::string_view path) {
        return "http://127.0.0.1:" + std::to_string(server_->port()) + std::string(path);
    }
};

// The command line asks a node several things.
TEST_F(ClientTest, CallsShareOneConnection) {
    handler_->handle = [](HttpRequest request, HttpReply reply) {
        HttpResponse response = HttpResponse::Json(201, request.body);
        response.headers.emplace_back("X-Seen",
                                      std::string(Name(request.method)) + " " +
                                          std::string(request.headers.Find("X-A").value_or("")));
        reply(std::move(response));
    };
    Serve();
    const auto client = BlockingHttpClient::Create({}).value();
    for (const HttpMethod method : {HttpMethod::kPost, HttpMethod::kPut, HttpMethod::kHead}) {
        const auto answer = client->Send(
            {.method = method, .url = Url("/a"), .headers = {{"X-A", "b"}}, .body = "{}"});
        ASSERT_TRUE(answer) << answer.error().detail;
        EXPECT_EQ(answer->status, 201);
        EXPECT_EQ(answer->body, method == HttpMethod::kHead ? "" : "{}");
        EXPECT_EQ(answer->headers.Find("x-seen"), std::string(Name(method)) + " b");
    }
    EXPECT_EQ(server_->connections(), 1U);
}

// The leader pushes to an executor that takes two at a time: the others wait, none is lost.
TEST_F(ClientTest, CallsBeyondTheBoundWaitForTheirTurn) {
    Mailbox<HttpReply> replies;
    handler_->handle = [&](HttpRequest, HttpReply reply) { replies.Put(std::move(reply)); };
    Serve();
    Mailbox<Result<HttpAnswer>> answers;
    const auto client =
        HttpClient::Create(loop_.io(), {.connections_per_host_max = 2, .waiting_max = 10}).value();
    for (int i = 0; i < 20; ++i) {
        client->Send({.url = Url("/")}, [&](Result<HttpAnswer> answer) { answers.Put(answer); });
    }
    for (int i = 0; i < 8; ++i) EXPECT_EQ(answers.Take().error().code, ErrorCode::kExhausted);
    for (int i = 0; i < 12; ++i) {
        replies.Take()(HttpResponse::Text(200, "ok"));
        EXPECT_TRUE(answers.Take());
        EXPECT_LE(server_->connections(), 2U);
    }
}

// An executor redirects us to the cloud's metadata service.
TEST_F(ClientTest, RedirectIsNotFollowed) {
    handler_->handle = [](HttpRequest, HttpReply reply) {
        HttpResponse response;
        response.status = 302;
        response.headers.emplace_back("Location", "http://169.254.169.254/");
        reply(std::move(response));
    };
    Serve();
    const auto answer = Call(Url("/"));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 302);
    EXPECT_EQ(server_->requests(), 1U);
}

// An executor answers with far more than a result.
TEST_F(ClientTest, AnswerThatIsTooLargeIsNotRead) {
    handler_->handle = [](HttpRequest, HttpReply reply) {
        reply(HttpResponse::Text(200, std::string(5 << 20, 'x')));
    };
    Serve();
    EXPECT_EQ(Call(Url("/")).error().code, ErrorCode::kExhausted);
    // And one that does not say how much will come.
    RudeServer endless([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 200 OK\r\n\r\n");
        while (Say(client, std::string(10'000, 'x'))) {
        }
    });
    EXPECT_EQ(Call(endless.Url()).error().code, ErrorCode::kExhausted);
}

// Who only asks whether it was taken is not kept from hearing so by what comes behind the status.
TEST_F(ClientTest, AStatusThatIsAllThatMattersIsToldWhateverFollows) {
    handler_->handle = [](HttpRequest, HttpReply reply) {
        reply(HttpResponse::Text(200, std::string(1 << 20, 'x')));
    };
    Serve();
    RudeServer dripping([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 202 OK\r\nContent-Length: 1000000\r\n\r\nx");
        WaitForEnd(client);
    });
    RudeServer torn([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 503 Busy\r\nContent-Length: 1000000\r\n\r\nx");
    });
    RudeServer wordless([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 100 Continue\r\n\r\n");
    });
    const auto client = BlockingHttpClient::Create({}).value();
    const auto ask = [&](const std::string& url) {
        return client->Send(
            {.url = url, .timeout = 100ms, .response_bytes_max = 10, .status_only = true});
    };
    const auto status_of = [&](const std::string& url) {
        const auto answer = ask(url);
        return answer ? answer->status : 0;
    };
    EXPECT_EQ(status_of(Url("/")), 200);
    EXPECT_EQ(status_of(dripping.Url()), 202);
    EXPECT_EQ(status_of(torn.Url()), 503);
    EXPECT_EQ(ask(wordless.Url()).error().code, ErrorCode::kUnknown);
}

// Servers that never come to an end, each in its own way.
TEST_F(ClientTest, DeadlineEndsWhateverTheServerDoes) {
    RudeServer silent([](int client) { WaitForEnd(client); });
    EXPECT_EQ(Call(silent.Url(), 100ms).error().code, ErrorCode::kUnknown);
    RudeServer dripping([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        pollfd wait{.fd = client, .events = POLLRDHUP, .revents = 0};
        while (Say(client, "x") && ::poll(&wait, 1, 5) == 0) {
        }
    });
    EXPECT_EQ(Call(dripping.Url(), 100ms).error().code, ErrorCode::kUnknown);
    RudeServer interim([](int client) {
        while (Say(client, "HTTP/1.1 103 Early Hints\r\n\r\n")) {
        }
    });
    EXPECT_EQ(Call(interim.Url()).error().code, ErrorCode::kUnknown);
}

// Whether a call may have had an effect decides what the scheduler does next.
TEST_F(ClientTest, ErrorsTellWhetherSomethingWasSent) {
    EXPECT_EQ(Call("http://127.0.0.1:1/").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(Call("http://no-such-host.invalid/").error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(Call("ftp://a/").error().code, ErrorCode::kInvalid);
    RudeServer hangs_up([](int client) { ReadRequest(client); });
    EXPECT_EQ(Call(hangs_up.Url()).error().code, ErrorCode::kUnknown);
    RudeServer cut([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    });
    EXPECT_EQ(Call(cut.Url()).error().code, ErrorCode::kUnknown);
    for (const std::string_view answer :
         {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
          "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "SSH-2.0-OpenSSH\r\n\r\n"}) {
        RudeServer wrong([&](int client) {
            ReadRequest(client);
            Say(client, answer);
        });
        EXPECT_EQ(Call(wrong.Url()).error().code, ErrorCode::kUnknown) << answer;
    }
    const auto client = BlockingHttpClient::Create({}).value();
    EXPECT_EQ(
        client->Send({.url = "http://127.0.0.1:1/", .headers = {{"A", "b\r\nC: d"}}}).error().code,
        ErrorCode::kInvalid);
}

// An old server ends its answer by closing.
TEST_F(ClientTest, AnswerMayEndWithTheConnection) {
    RudeServer old([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.0 200 OK\r\n\r\nall there is");
    });
    EXPECT_EQ(Call(old.Url())->body, "all there is");
}

// The server closes an idle connection just when we use it again.
TEST_F(ClientTest, DeadPooledConnectionIsReplaced) {
    RudeServer closing([](int client) {
        ReadRequest(client);
        Say(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    const auto client = BlockingHttpClient::Create({}).value();
    for (int i = 0; i < 5; ++i) {
        const auto answer = client->Send({.url = closing.Url()});
        ASSERT_TRUE(answer) << answer.error().detail;
        EXPECT_EQ(answer->body, "ok");
    }
    EXPECT_EQ(closing.accepted, 5);
}

// An executor's name resolves to this machine: the check sees the address, not the name.
TEST_F(ClientTest, AddressIsCheckedAfterResolving) {
    Serve();
    std::vector<std::string> seen;
    const auto client = BlockingHttpClient::Create({.allow_address = [&](const IpAddress& address) {
                            seen.push_back(address.Text());
                            return ReachOf(address) != AddressReach::kLoopback;
                        }}).value();
    const std::string port = std::to_string(server_->port());
    for (const std::string host : {"localhost", "127.0.0.1", "[::ffff:127.0.0.1]"}) {
        const auto answer = client->Send({.url = "http://" + host + ":" + port + "/"});
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, ErrorCode::kInvalid) << host;
    }
    EXPECT_FALSE(seen.empty());
    EXPECT_EQ(server_->requests(), 0U);
}

// One caller may call this machine, and another, who uses the same client, may not.
TEST_F(ClientTest, AnOpenConnectionIsNotLentToWhoMayNotCallItsAddress) {
    Serve();
    const auto client = BlockingHttpClient::Create({}).value();
    ASSERT_TRUE(client->Send({.url = Url("/")}));
    const auto refused = client->Send({.url = Url("/"), .allow_address = [](const IpAddress& to) {
                                           return ReachOf(to) != AddressReach::kLoopback;
                                       }});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(server_->requests(), 1U);
    EXPECT_TRUE(client->Send({.url = Url("/"), .allow_address = [](const IpAddress& to) {
                                  return ReachOf(to) == AddressReach::kLoopback;
                              }}));
}

// The node stops while calls are under way and waiting.
TEST_F(ClientTest, CloseCancelsWhatIsPending) {
    Mailbox<HttpReply> replies;
    handler_->handle = [&](HttpRequest, HttpReply reply) { replies.Put(std::move(reply)); };
    Serve();
    Mailbox<Result<HttpAnswer>> answers;
    const auto client = HttpClient::Create(loop_.io(), {.connections_per_host_max = 1}).value();
    for (int i = 0; i < 2; ++i) {
        client->Send({.url = Url("/")}, [&](Result<HttpAnswer> answer) { answers.Put(answer); });
    }
    HttpReply reply = replies.Take();
    client->Close();
    EXPECT_EQ(answers.Take().error().code, ErrorCode::kCancelled);
    EXPECT_EQ(answers.Take().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace takt::internal
