#include "http/name_lookup.h"

#include <latch>

#include "http/client.h"
#include "http/test_support.h"

namespace takt::internal::http {
namespace {

class NameLookupTest : public testing::Test {
  protected:
    // "slow…" is found when `slow_` is counted down, everything else at once.
    NameLookupOptions Options() {
        return {.find = [this](const std::string& host) -> Result<HostAddresses> {
            asked_.Put(host);
            if (host.starts_with("slow")) slow_.wait();
            return HostAddresses{boost::asio::ip::make_address("10.0.0.1")};
        }};
    }
    void TearDown() override { loop_.Join(); }

    static NameLookup::Done To(Mailbox<bool>& found) {
        return [&found](const Result<HostAddresses>& result) { found.Put(result.has_value()); };
    }

    std::latch slow_{1};
    Mailbox<std::string> asked_;
    Mailbox<bool> fast_found_;
    Mailbox<bool> slow_found_;
    LoopThread loop_;
};

// The name server of one executor's domain does not answer. The other executors have others.
TEST_F(NameLookupTest, NameThatHangsHoldsUpNoOther) {
    NameLookup names(loop_.io(), Options());
    names.Ask("slow.example", To(slow_found_));
    EXPECT_EQ(asked_.Take(), "slow.example");
    names.Ask("fast.example", To(fast_found_));
    EXPECT_TRUE(fast_found_.Take());
    EXPECT_TRUE(slow_found_.empty());
    slow_.count_down();
    EXPECT_TRUE(slow_found_.Take());
}

// A hundred calls to the same host share one lookup, and once it hangs nobody waits for it.
TEST_F(NameLookupTest, OneNameTakesOneThread) {
    NameLookupOptions options = Options();
    options.threads_max = 2;
    options.hang_max = 0ms;
    NameLookup names(loop_.io(), options);
    names.Ask("slow.example", To(slow_found_));
    EXPECT_EQ(asked_.Take(), "slow.example");
    for (int i = 0; i < 100; ++i) names.Ask("slow.example", To(slow_found_));
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(slow_found_.Take()) << "told at once";
    names.Ask("fast.example", To(fast_found_));
    EXPECT_TRUE(fast_found_.Take());
    slow_.count_down();
    EXPECT_TRUE(slow_found_.Take());
}

// More names than threads: they come one after the other.
TEST_F(NameLookupTest, NamesBeyondTheThreadsWaitTheirTurn) {
    NameLookupOptions options = Options();
    options.threads_max = 1;
    NameLookup names(loop_.io(), options);
    names.Ask("slow.example", To(slow_found_));
    EXPECT_EQ(asked_.Take(), "slow.example");
    names.Ask("fast.example", To(fast_found_));
    names.Ask("fast.example", To(fast_found_));
    EXPECT_TRUE(asked_.empty());
    slow_.count_down();
    EXPECT_TRUE(slow_found_.Take());
    EXPECT_TRUE(fast_found_.Take());
    EXPECT_TRUE(fast_found_.Take());
}

// The scheduler stops while a name is being looked up: it does not wait for the name server.
TEST_F(NameLookupTest, StoppingDoesNotWaitForALookup) {
    const auto finished = std::make_shared<Mailbox<bool>>();
    const auto slow = std::make_shared<std::latch>(1);
    {
        boost::asio::io_context io;
        NameLookup names(io,
                         {.find = [slow, finished](const std::string&) -> Result<HostAddresses> {
                             slow->wait();
                             finished->Put(true);
                             return HostAddresses{};
                         }});
        names.Ask("slow.example",
                  [](const Result<HostAddresses>&) { ADD_FAILURE() << "nobody is there"; });
    }
    slow->count_down();
    EXPECT_TRUE(finished->Take());
}

// The system's own lookup, through a client.
TEST_F(NameLookupTest, ClientFindsLocalhostAndMissesWhatDoesNotExist) {
    EXPECT_TRUE(SystemLookup("localhost"));
    const auto client = BlockingHttpClient::Create({}).value();
    const auto missing = client->Send({.url = "http://nobody.invalid/", .timeout = 10s});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
    slow_.count_down();
}

}  // namespace
}  // namespace takt::internal::http
