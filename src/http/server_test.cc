#include "http/server.h"

#include "http/gunzip_testing.h"
#include "http/test_support.h"

namespace takt::internal {
namespace {

using testing::Test;

// A browser asks several things over one connection.
TEST_F(ServerTest, ConnectionIsKeptForTheNextRequest) {
    handler_->handle = [](HttpRequest request, HttpReply reply) {
        reply(HttpResponse::Text(200, request.path + " " + request.body));
    };
    Serve();
    RawClient client(server_->port());
    client.Send(Get("/one"));
    EXPECT_TRUE(client.ReadAnswer().ends_with("\r\n\r\n/one "));
    client.Send("POST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_TRUE(client.ReadAnswer().ends_with("\r\n\r\n/two body"));
    client.Send(
        "POST /3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n");
    EXPECT_TRUE(client.ReadAnswer().ends_with("\r\n\r\n/3 ab"));
    EXPECT_EQ(server_->requests(), 3U);
}

// A load generator sends a hundred requests at once; some handlers take longer than others.
TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
    std::vector<std::thread> threads;
    std::mutex mutex;
    handler_->handle = [&](HttpRequest request, HttpReply reply) {
        if (request.path.back() % 2 == 0) return reply(HttpResponse::Text(200, request.path));
        const std::lock_guard lock(mutex);
        threads.emplace_back([path = request.path, reply = std::move(reply)]() mutable {
            reply(HttpResponse::Text(200, path));
        });
    };
    Serve();
    RawClient client(server_->port());
    std::string all;
    for (int i = 0; i < 100; ++i) all += Get("/" + std::to_string(i));
    client.Send(all);
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(client.ReadAnswer().ends_with("\r\n\r\n/" + std::to_string(i))) << i;
    }
    for (std::thread& thread : threads) thread.join();
}

// A monitor asks only whether the page is there.
TEST_F(ServerTest, HeadHasTheLengthAndNoBody) {
    Serve();
    RawClient client(server_->port());
    client.Send("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string answer = client.ReadAll();
    EXPECT_NE(answer.find("Content-Length: 2\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

// curl asks before it sends a larger body.
TEST_F(ServerTest, ClientThatExpectsContinueIsToldTo) {
    handler_->handle = [](HttpRequest request, HttpReply reply) {
        reply(HttpResponse::Text(200, request.body));
    };
    Serve();
    RawClient client(server_->port());
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.Send("hi");
    EXPECT_TRUE(client.ReadAnswer().ends_with("hi"));
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: miracles\r\n\r\n");
    EXPECT_TRUE(client.ReadAnswer().starts_with("HTTP/1.1 417 "));
}

// An operator follows one request through proxy, API and log.
TEST_F(ServerTest, RequestIdIsEchoedOrMade) {
    std::vector<std::string> seen;
    options_.access_log = [&](const HttpAccess& access) {
        seen.push_back(std::string(access.request_id) + " " + std::string(access.target) + " " +
                       std::to_string(access.status) + " " + std::string(access.remote_address));
    };
    Serve();
    RawClient client(server_->port());
    client.Send("GET /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc-1\r\n\r\n");
    EXPECT_NE(client.ReadAnswer().find("X-Request-Id: abc-1\r\n"), std::string::npos);
    client.Send("GET /b HTTP/1.1\r\nHost: x\r\nX-Request-Id: <script>\r\n\r\n");
    const std::string answer = client.ReadAnswer();
    EXPECT_EQ(answer.find("script"), std::string::npos);
    EXPECT_NE(answer.find("X-Request-Id: "), std::string::npos);
    StopAndWait(0ms);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0], "abc-1 /a 200 127.0.0.1");
}

// A console loads a long list over a slow line.
TEST_F(ServerTest, LargeTextIsCompressedForThoseWhoAccept) {
    const std::string list(50'000, 'a');
    handler_->handle = [&](HttpRequest request, HttpReply reply) {
        reply(HttpResponse::Json(200, request.path == "/small" ? "{}" : list));
    };
    Serve();
    RawClient client(server_->port());
    client.Send("GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
    const std::string packed = client.ReadAnswer();
    EXPECT_NE(packed.find("Content-Encoding: gzip\r\n"), std::string::npos);
    EXPECT_NE(packed.find("Vary: Accept-Encoding\r\n"), std::string::npos);
    EXPECT_EQ(Gunzip(packed.substr(packed.find("\r\n\r\n") + 4)), list);
    client.Send(Get("/"));
    EXPECT_TRUE(client.ReadAnswer().ends_with(list));
    client.Send("GET /small HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
    EXPECT_TRUE(client.ReadAnswer().ends_with("{}"));
}

// A script of the last century, and one that says it is done.
TEST_F(ServerTest, ConnectionIsClosedWhenTheClientSaysSo) {
    Serve();
    RawClient old(server_->port());
    old.Send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(old.ReadAll().ends_with("ok"));
    RawClient done(server_->port());
    done.Send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_NE(done.ReadAll().find("Connection: close\r\n"), std::string::npos);
}

// A handler has a bug: it forgets its client, throws, or lets user text into a header.
TEST_F(ServerTest, BuggyHandlerStillGivesAnAnswer) {
    handler_->handle = [](HttpRequest request, HttpReply reply) {
        if (request.path == "/throw") throw std::runtime_error("oops");
        if (request.path == "/forget") return;
        HttpResponse response = HttpResponse::Text(200, "ok");
        response.headers = {{"Location", "a\r\nSet-Cookie: evil=1"}, {"Content-Length", "9"}};
        reply(std::move(response));
    };
    Serve();
    RawClient client(server_->port());
    client.Send(Get("/forget") + Get("/split") + Get("/throw"));
    EXPECT_TRUE(client.ReadAnswer().starts_with("HTTP/1.1 500 "));
    const std::string split = client.ReadAnswer();
    EXPECT_EQ(split.find("evil"), std::string::npos);
    EXPECT_TRUE(split.ends_with("\r\n\r\nok"));
    EXPECT_TRUE(client.ReadAll().starts_with("HTTP/1.1 500 "));
}

// Two threads serve one port: connections go to one after the other, and each is answered by the
// handler of its own thread.
TEST_F(ServerTest, LoopsShareAPort) {
    LoopThread second_loop;
    const auto second = std::make_shared<LambdaHandler>();
    handler_->handle = [](HttpRequest, HttpReply reply) { reply(HttpResponse::Text(200, "one")); };
    second->handle = [](HttpRequest, HttpReply reply) { reply(HttpResponse::Text(200, "two")); };
    options_.connections_max = 3;
    auto server =
        HttpServer::Listen({{loop_.io(), handler_}, {second_loop.io(), second}}, options_);
    ASSERT_TRUE(server) << server.error().detail;
    server_ = std::move(*server);
    std::vector<RawClient> clients;
    std::map<std::string, int> answered;
    for (int i = 0; i < 3; ++i) {
        clients.emplace_back(server_->port()).Send(Get("/"));
        const std::string answer = clients.back().ReadAnswer();
        ++answered[answer.substr(answer.size() - 3)];
        clients.back().Send(Get("/"));
        clients.back().ReadAnswer();
    }
    EXPECT_EQ(answered, (std::map<std::string, int>{{"one", 2}, {"two", 1}}));
    EXPECT_EQ(server_->connections(), 3u) << "on both together";
    EXPECT_EQ(server_->requests(), 6u);
    RawClient fourth(server_->port());
    EXPECT_TRUE(fourth.ReadAnswer().starts_with("HTTP/1.1 503 ")) << "the bound is for both";
    StopAndWait(1s);
    EXPECT_EQ(server_->connections(), 0u);
    server_.reset();
    second_loop.Join();
}

// A bulk upload is parsed while it arrives, so little at once that others need not wait for it, and
// given up when it turns out to be nonsense.
TEST_F(ServerTest, BodyCanBeTakenInPieces) {
    std::size_t bytes = 0;
    std::size_t largest = 0;
    handler_->on_head = [&](const HttpRequest&, HttpHeadVerdict& verdict) {
        verdict.body_bytes_max = 8 << 20;
        bytes = 0;
    };
    handler_->on_body = [&](const HttpRequest& request, std::string_view piece) {
        bytes += piece.size();
        largest = std::max(largest, piece.size());
        return request.path != "/stop";
    };
    handler_->handle = [&](HttpRequest request, HttpReply reply) {
        EXPECT_TRUE(request.body.empty());
        reply(HttpResponse::Text(200, std::to_string(bytes)));
    };
    Serve();
    const std::string body(4 << 20, 'x');
    const std::string head = " HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\n\r\n";
    RawClient client(server_->port());
    client.Send("POST /bulk" + head + body);
    EXPECT_TRUE(client.ReadAnswer().ends_with("\r\n\r\n4194304"));
    EXPECT_LE(largest, 16u << 10);
    client.Send("POST /stop" + head + body.substr(0, 1000));
    EXPECT_NE(client.ReadAnswer().find("Connection: close"), std::string::npos);
}

// A request without a token is refused before its body is taken in.
TEST_F(ServerTest, HandlerMayRefuseAfterTheHead) {
    handler_->on_head = [](const HttpRequest&, HttpHeadVerdict& verdict) {
        verdict.refusal = std::make_unique<HttpResponse>(HttpResponse::Text(401, "no"));
    };
    Serve();
    RawClient client(server_->port());
    client.Send(Get("/"));
    EXPECT_TRUE(client.ReadAnswer().ends_with("no"));
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    EXPECT_NE(client.ReadAnswer().find("Connection: close"), std::string::npos);
}

// A deployment replaces the node while a request is being worked on.
TEST_F(ServerTest, StopLetsARunningRequestFinish) {
    Mailbox<HttpReply> replies;
    handler_->handle = [&](HttpRequest, HttpReply reply) { replies.Put(std::move(reply)); };
    Serve();
    RawClient busy(server_->port());
    RawClient idle(server_->port());
    busy.Send(Get("/"));
    HttpReply reply = replies.Take();
    std::promise<void> stopped;
    server_->Stop(10s, [&] { stopped.set_value(); });
    EXPECT_EQ(idle.ReadAll(), "");
    reply(HttpResponse::Text(200, "done"));
    const std::string answer = busy.ReadAll();
    EXPECT_TRUE(answer.ends_with("done"));
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
    EXPECT_EQ(stopped.get_future().wait_for(10s), std::future_status::ready);
    EXPECT_FALSE(RawClient(server_->port()).connected());
}

// The request never ends: the node must not wait for ever.
TEST_F(ServerTest, StopCutsWhatOutlastsTheDrain) {
    Mailbox<HttpReply> replies;
    handler_->handle = [&](HttpRequest, HttpReply reply) { replies.Put(std::move(reply)); };
    options_.head_timeout = 100ms;  // Sweeps are as frequent as the shortest deadline asks.
    Serve();
    RawClient client(server_->port());
    client.Send(Get("/"));
    HttpReply reply = replies.Take();
    StopAndWait(20ms);
    EXPECT_EQ(client.ReadAll(), "");
    reply(HttpResponse::Text(200, "too late"));  // And must do no harm.
}

// Two nodes are configured with one port.
TEST_F(ServerTest, PortThatIsTakenIsReported) {
    Serve();
    HttpServerOptions options;
    options.port = server_->port();
    const auto second = HttpServer::Listen(loop_.io(), options, handler_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    options.host = "not an address";
    EXPECT_EQ(HttpServer::Listen(loop_.io(), options, handler_).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace takt::internal
