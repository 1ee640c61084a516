#include "http/event_stream.h"

#include "http/test_support.h"

namespace takt::internal {
namespace {

// A log line with a line break must stay one event.
TEST(FormatEvent, KeepsLineBreaksInsideTheData) {
    EXPECT_EQ(FormatEvent({.event = "log", .data = "a\nb\r\nc", .id = "7"}),
              "id: 7\nevent: log\ndata: a\ndata: b\ndata: c\n\n");
    EXPECT_EQ(FormatEvent({.event = "", .data = "", .id = ""}), "data: \n\n");
    EXPECT_EQ(FormatEvent({.event = "x\ndata: forged", .data = "1", .id = ""}),
              "event: x\ndata: 1\n\n");
}

class EventStreamTest : public ServerTest {
  protected:
    void ServeStreams() {
        handler_->handle = [this](HttpRequest, HttpReply reply) {
            HttpResponse response;
            response.event_stream = std::make_shared<EventStreamOptions>();
            response.event_stream->buffer_bytes_max = 64 << 10;
            response.event_stream->heartbeat = heartbeat_;
            response.event_stream->overflow = overflow_;
            response.event_stream->on_open = [this](std::shared_ptr<EventStream> stream) {
                opened_.Put(std::move(stream));
            };
            response.event_stream->on_close = [this] { closed_.Put(true); };
            reply(std::move(response));
        };
        Serve();
    }
    std::shared_ptr<EventStream> Open(RawClient& client) {
        client.Send(Get("/events"));
        const std::string head = client.ReadUntil("\r\n\r\n");
        EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
        return opened_.Take();
    }

    std::chrono::milliseconds heartbeat_ = 15s;
    EventStreamOptions::Overflow overflow_ = EventStreamOptions::Overflow::kClose;
    Mailbox<std::shared_ptr<EventStream>> opened_;
    Mailbox<bool> closed_;
};

// A monitor asks with HEAD whether the address is there. It gets the head, not events as a body of
// what has none.
TEST_F(EventStreamTest, HeadGetsTheHeadOnly) {
    ServeStreams();
    RawClient client(server_->port());
    client.Send("HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string head = client.ReadUntil("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
    EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
    EXPECT_TRUE(closed_.Take());
    EXPECT_TRUE(opened_.empty());
    // The connection goes on.
    Open(client)->Close();
}

// The console follows executions live; events come from the node's thread.
TEST_F(EventStreamTest, EventsReachTheClientInOrder) {
    ServeStreams();
    RawClient client(server_->port());
    const auto stream = Open(client);
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(stream->Write({.event = "e", .data = std::to_string(i), .id = ""}));
    }
    stream->Close();
    EXPECT_FALSE(stream->Write({.event = "", .data = "late", .id = ""}));
    std::string expected;
    for (int i = 0; i < 100; ++i) expected += "event: e\ndata: " + std::to_string(i) + "\n\n";
    EXPECT_EQ(client.ReadAll(), expected);
    client.Close();
    EXPECT_TRUE(closed_.Take());
}

// A laptop lid closes: whoever feeds the stream is told.
TEST_F(EventStreamTest, LeavingClientIsNoticed) {
    ServeStreams();
    RawClient client(server_->port());
    const auto stream = Open(client);
    client.Close();
    EXPECT_TRUE(closed_.Take());
    EXPECT_FALSE(stream->Write({.event = "", .data = "x", .id = ""}));
}

// A tab in the background does not read. It must not make the node's memory grow.
TEST_F(EventStreamTest, SlowConsumerIsDisconnected) {
    ServeStreams();
    RawClient client(server_->port());
    const auto stream = Open(client);
    const std::string data(8 << 10, 'x');
    std::size_t taken = 0;
    // The kernel's buffers take some megabytes before ours fills.
    while (taken < 64'000 && stream->Write({.event = "", .data = data, .id = ""})) ++taken;
    EXPECT_LT(taken, 64'000U);
    EXPECT_TRUE(closed_.Take());
}

// The same for values of which only the last matters.
TEST_F(EventStreamTest, SlowConsumerMayLoseEventsInstead) {
    overflow_ = EventStreamOptions::Overflow::kDrop;
    ServeStreams();
    RawClient client(server_->port());
    const auto stream = Open(client);
    const std::string data(8 << 10, 'x');
    for (int i = 0; i < 64'000 && stream->Write({.event = "", .data = data, .id = ""}); ++i) {
    }
    EXPECT_GE(stream->dropped(), 1U);
    EXPECT_TRUE(closed_.empty());
    // As long as there is no room, there is something to read.
    while (!stream->Write({.event = "last", .data = "1", .id = ""})) client.ReadBytes(1 << 12);
    EXPECT_NE(client.ReadUntil("event: last\n").find("event: last"), std::string::npos);
}

// A proxy closes what is silent for a minute.
TEST_F(EventStreamTest, SilenceIsFilledWithComments) {
    heartbeat_ = 20ms;
    options_.head_timeout = 40ms;  // Sweeps are as frequent as the shortest deadline asks.
    ServeStreams();
    RawClient client(server_->port());
    const auto stream = Open(client);
    EXPECT_EQ(client.ReadBytes(6), ":\n\n:\n\n");
}

// The node stops while consoles are open.
TEST_F(EventStreamTest, StopEndsTheStreams) {
    ServeStreams();
    RawClient client(server_->port());
    const auto stream = Open(client);
    std::promise<void> stopped;
    server_->Stop(10s, [&] { stopped.set_value(); });
    EXPECT_EQ(client.ReadAll(), "");
    client.Close();
    EXPECT_EQ(stopped.get_future().wait_for(10s), std::future_status::ready);
    EXPECT_TRUE(closed_.Take());
}

}  // namespace
}  // namespace takt::internal
