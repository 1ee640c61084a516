#include <sys/resource.h>

#include "http/server.h"
#include "http/test_support.h"

namespace takt::internal {
namespace {

// Sends bytes and gives what comes back until the server closes.
std::string Exchange(std::uint16_t port, std::string_view bytes) {
    RawClient client(port);
    client.Send(bytes);
    return client.ReadAll();
}

// A proxy in front and we must agree where a request ends; when in doubt the connection goes.
TEST_F(ServerTest, SmuggledRequestIsNotServed) {
    Serve();
    for (const std::string_view lines :
         {"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
          "Content-Length: 6\r\nContent-Length: 0\r\n", "Transfer-Encoding: identity\r\n"}) {
        const std::string answer =
            Exchange(server_->port(), "POST / HTTP/1.1\r\nHost: x\r\n" + std::string(lines) +
                                          "\r\n0\r\n\r\n" + Get("/admin"));
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 501 "))
            << lines;
        EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos) << lines;
    }
}

// Somebody uploads a film. The refusal must arrive although he is still sending.
TEST_F(ServerTest, BodyOverTheLimitIsRefusedBeforeItIsRead) {
    options_.body_bytes_max = 1000;
    handler_->on_head = [](const HttpRequest& request, HttpHeadVerdict& verdict) {
        if (request.path == "/bulk") verdict.body_bytes_max = 5000;
    };
    Serve();
    const std::string body(3000, 'x');
    const std::string sized = " HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n";
    const std::string chunked =
        " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n" + body +
        "\r\n0\r\n\r\n";
    EXPECT_TRUE(
        Exchange(server_->port(), "POST /" + sized + "\r\n" + body).starts_with("HTTP/1.1 413 "));
    EXPECT_TRUE(Exchange(server_->port(), "POST /" + chunked).starts_with("HTTP/1.1 413 "));
    // Not even asked for.
    EXPECT_TRUE(Exchange(server_->port(), "POST /" + sized + "Expect: 100-continue\r\n\r\n")
                    .starts_with("HTTP/1.1 413 "));
    RawClient bulk(server_->port());
    bulk.Send("POST /bulk" + chunked);
    EXPECT_TRUE(bulk.ReadAnswer().starts_with("HTTP/1.1 200 "));
}

// Many clients upload at once; together they must not exhaust the memory.
TEST_F(ServerTest, BodiesOfAllClientsTogetherAreBounded) {
    options_.body_bytes_total_max = 1500;
    Mailbox<HttpReply> replies;
    handler_->handle = [&](HttpRequest, HttpReply reply) { replies.Put(std::move(reply)); };
    Serve();
    const std::string post =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x');
    RawClient first(server_->port());
    first.Send(post);
    HttpReply reply = replies.Take();
    EXPECT_TRUE(Exchange(server_->port(), post).starts_with("HTTP/1.1 503 "));
    reply(HttpResponse::Text(200, "ok"));
    EXPECT_TRUE(first.ReadAnswer().ends_with("ok"));
    first.Send(post);  // What the first one held is free again.
    replies.Take()(HttpResponse::Text(200, "again"));
    EXPECT_TRUE(first.ReadAnswer().ends_with("again"));
}

// The API's callers read JSON. What the port refuses by itself comes in the same form.
TEST_F(ServerTest, RefusalsLookAsTheOwnerWants) {
    options_.body_bytes_max = 1000;
    options_.connections_max = 1;
    options_.refusal = [](int status, std::string_view reason) {
        return HttpResponse::Json(status, "{" + std::string(reason) + "}");
    };
    Serve();
    RawClient client(server_->port());
    client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    const std::string answer = client.ReadAnswer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 413 ")) << answer;
    EXPECT_TRUE(answer.ends_with("{body is larger than 1000 bytes}")) << answer;
    RawClient second(server_->port());
    const std::string refused = second.ReadAnswer();
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
    EXPECT_TRUE(refused.ends_with("{too many connections}")) << refused;
}

// Somebody without a token opens many uploads and finishes none. Those who have one still get in.
TEST_F(ServerTest, StrangersLeaveRoomForOthers) {
    options_.body_bytes_total_max = 4000;
    handler_->on_head = [](const HttpRequest& request, HttpHeadVerdict& verdict) {
        verdict.stranger = request.path == "/callback";
    };
    Serve();
    const auto post = [](std::string_view path, std::size_t length, std::size_t sent) {
        return "POST " + std::string(path) +
               " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" +
               std::string(sent, 'x');
    };
    {
        RawClient stranger(server_->port());
        stranger.Send(post("/callback", 1000, 900));
        // Another's is taken until the first one's is there.
        const std::string more =
            post("/callback", 200, 200)
                .insert(sizeof "POST /callback HTTP/1.1\r\n" - 1, "Connection: close\r\n");
        std::string answer = "HTTP/1.1 200 ";
        for (int i = 0; i < 10'000 && answer.starts_with("HTTP/1.1 200 "); ++i) {
            answer = Exchange(server_->port(), more);
        }
        EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
        RawClient known(server_->port());
        known.Send(post("/tasks", 3000, 3000));
        EXPECT_TRUE(known.ReadAnswer().starts_with("HTTP/1.1 200 "));
        stranger.Send(std::string(100, 'x'));
        EXPECT_TRUE(stranger.ReadAnswer().starts_with("HTTP/1.1 200 "));
    }
    RawClient next(server_->port());
    next.Send(post("/callback", 1000, 1000));
    EXPECT_TRUE(next.ReadAnswer().starts_with("HTTP/1.1 200 ")) << "what was held is free again";
}

// A cookie that grew, a chunk header that never ends.
TEST_F(ServerTest, HeadAndChunkHeaderAreBounded) {
    Serve();
    const std::string filler(20'000, 'a');
    EXPECT_TRUE(Exchange(server_->port(), "GET /" + filler).starts_with("HTTP/1.1 431 "));
    EXPECT_TRUE(
        Exchange(server_->port(), "GET / HTTP/1.1\r\nHost: x\r\nCookie: " + filler + "\r\n\r\n")
            .starts_with("HTTP/1.1 431 "));
    EXPECT_TRUE(
        Exchange(server_->port(),
                 "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + filler)
            .starts_with("HTTP/1.1 400 "));
}

// Slowloris: heads and bodies that never become complete, connections that ask nothing.
TEST_F(ServerTest, SlowClientsAreTurnedAway) {
    options_.head_timeout = options_.body_timeout = options_.idle_timeout = 80ms;
    Serve();
    EXPECT_TRUE(Exchange(server_->port(), "GET / HTTP/1.1\r\nHost:").starts_with("HTTP/1.1 408 "));
    EXPECT_TRUE(
        Exchange(server_->port(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
            .starts_with("HTTP/1.1 408 "));
    EXPECT_EQ(Exchange(server_->port(), ""), "");
    RawClient idle(server_->port());
    idle.Send(Get("/"));
    EXPECT_TRUE(idle.ReadAnswer().ends_with("ok"));
    EXPECT_EQ(idle.ReadAll(), "");
    EXPECT_FALSE(idle.timed_out());
}

// A byte now and then keeps a connection busy but earns it no more time.
TEST_F(ServerTest, DrippingHeadDoesNotExtendItsDeadline) {
    options_.head_timeout = 150ms;
    Serve();
    RawClient client(server_->port());
    timeval pace{.tv_sec = 0, .tv_usec = 5'000};
    setsockopt(client.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &pace, sizeof pace);
    std::string answer;
    // Waits for an answer for the length of the pace, sends a byte, and so on.
    for (int i = 0; i < 2'000 && answer.empty(); ++i) {
        client.Send("a");
        answer = client.ReadUntil("\r\n\r\n");
    }
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
}

// A client asks for a large export and stops reading.
TEST_F(ServerTest, ClientThatTakesNothingIsCutOff) {
    options_.write_timeout = 80ms;
    handler_->handle = [](HttpRequest, HttpReply reply) {
        reply(HttpResponse::Text(200, std::string(32 << 20, 'x')));
    };
    Serve();
    RawClient client(server_->port());
    client.Send(Get("/"));
    client.ReadUntil("\r\n\r\n");
    while (server_->connections() > 0) std::this_thread::yield();
    client.ReadAll();
    EXPECT_FALSE(client.timed_out());
}

// A handler hangs: its client gets an answer, and the late reply must not go to the next request.
TEST_F(ServerTest, ReplyThatNeverComesIsReplaced) {
    options_.reply_timeout = 60ms;
    Mailbox<HttpReply> replies;
    handler_->handle = [&](HttpRequest, HttpReply reply) { replies.Put(std::move(reply)); };
    Serve();
    EXPECT_TRUE(Exchange(server_->port(), Get("/")).starts_with("HTTP/1.1 503 "));
    replies.Take()(HttpResponse::Text(200, "late"));
}

// A client opens connections in a loop.
TEST_F(ServerTest, ConnectionsBeyondTheCapAreRefused) {
    options_.connections_per_loopback_max = 3;
    Serve();
    std::vector<RawClient> clients;
    for (int i = 0; i < 3; ++i) {
        clients.emplace_back(server_->port()).Send(Get("/"));
        EXPECT_TRUE(clients.back().ReadAnswer().ends_with("ok"));
    }
    EXPECT_TRUE(Exchange(server_->port(), "").starts_with("HTTP/1.1 503 "));
    EXPECT_EQ(server_->refused_connections(), 1U);
    clients.pop_back();
    while (server_->connections() == 3) std::this_thread::yield();
    RawClient next(server_->port());
    next.Send(Get("/"));
    EXPECT_TRUE(next.ReadAnswer().ends_with("ok"));
}

TEST_F(ServerTest, ConnectionsInAllAreCapped) {
    options_.connections_max = 2;
    Serve();
    std::vector<RawClient> clients;
    for (int i = 0; i < 2; ++i) {
        clients.emplace_back(server_->port()).Send(Get("/"));
        EXPECT_TRUE(clients.back().ReadAnswer().ends_with("ok"));
    }
    EXPECT_TRUE(Exchange(server_->port(), "").starts_with("HTTP/1.1 503 "));
}

// A fleet of two thousand pollers.
TEST_F(ServerTest, TwoThousandConnectionsAreServed) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    ASSERT_GE(files.rlim_cur, 4'200U) << "raise ulimit -n";
    Serve();
    std::vector<RawClient> clients;
    for (int i = 0; i < 2'000; ++i) clients.emplace_back(server_->port()).Send(Get("/"));
    for (RawClient& client : clients) ASSERT_TRUE(client.ReadAnswer().ends_with("ok"));
    for (RawClient& client : clients) client.Send(Get("/again"));
    for (RawClient& client : clients) ASSERT_TRUE(client.ReadAnswer().ends_with("ok"));
    EXPECT_EQ(server_->connections(), 2'000U);
}

// A leak elsewhere eats all descriptors. New clients are refused quickly, and served again as soon
// as there are descriptors: no restart.
TEST_F(ServerTest, RecoversWhenDescriptorsAreFreeAgain) {
    Serve();
    RawClient before(server_->port());
    before.Send(Get("/"));
    EXPECT_TRUE(before.ReadAnswer().ends_with("ok"));

    // Client and server live in one process: the client's descriptor exists before the drought.
    std::vector<int> spare;
    for (int i = 0; i < 3; ++i) spare.push_back(::dup(0));
    rlimit usual{};
    getrlimit(RLIMIT_NOFILE, &usual);
    const rlimit low{.rlim_cur = static_cast<rlim_t>(spare.back()) + 1, .rlim_max = usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    ::close(spare.back());
    spare.pop_back();
    {
        RawClient refused(server_->port());  // Takes the last descriptor.
        ASSERT_TRUE(refused.connected());
        EXPECT_TRUE(refused.ReadAll().starts_with("HTTP/1.1 503 "));
        EXPECT_NE(logged_.Take().find("out of file descriptors"), std::string::npos);
        before.Send(Get("/"));  // Those who are in are served as ever.
        EXPECT_TRUE(before.ReadAnswer().ends_with("ok"));
    }
    setrlimit(RLIMIT_NOFILE, &usual);
    RawClient after(server_->port());
    after.Send(Get("/"));
    EXPECT_TRUE(after.ReadAnswer().ends_with("ok"));
    for (const int descriptor : spare) ::close(descriptor);
}

}  // namespace
}  // namespace takt::internal
