#include "http/turns.h"

#include <gmock/gmock.h>

#include <boost/asio/post.hpp>
#include <string>
#include <vector>

namespace takt::internal::http {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

class TurnsTest : public testing::Test {
  protected:
    // A client that has so many requests ready.
    struct Client final : Turns::Guest, std::enable_shared_from_this<Client> {
        Client(TurnsTest& test, std::string name, int requests)
            : test(test), name(std::move(name)), requests(requests) {}
        void OnTurn() override {
            boost::asio::post(test.io_, [self = shared_from_this()] { self->Go(); });
        }
        void Go() {
            while (requests > 0 && test.turns_->Enter(shared_from_this())) {
                --requests;
                test.served_.push_back(name);
            }
        }
        TurnsTest& test;
        std::string name;
        int requests;
    };

    void Make(std::chrono::microseconds budget) { turns_ = std::make_shared<Turns>(io_, budget); }
    std::shared_ptr<Client> Come(std::string name, int requests) {
        auto client = std::make_shared<Client>(*this, std::move(name), requests);
        client->Go();
        return client;
    }

    boost::asio::io_context io_{1};
    std::shared_ptr<Turns> turns_;
    std::vector<std::string> served_;
};

TEST_F(TurnsTest, WhoeverIsAloneDoesNotWait) {
    Make(1h);
    const auto a = Come("a", 3);
    EXPECT_THAT(served_, ElementsAre("a", "a", "a"));
}

// Two clients send requests without end; a third asks once whether the server is well.
TEST_F(TurnsTest, EachIsServedInItsTurn) {
    Make(0us);
    const auto a = Come("a", 4);
    const auto b = Come("b", 3);
    EXPECT_THAT(served_, ElementsAre("a")) << "a turn serves one at least";
    const auto c = Come("health", 1);
    io_.run();
    EXPECT_THAT(served_, ElementsAre("a", "a", "b", "health", "a", "b", "a", "b"));
}

// The loop reads a large upload between two small requests: the second need not wait for another turn.
TEST_F(TurnsTest, WhatIsNoRequestUsesNoneOfTheTurn) {
    Make(1us);
    const auto a = Come("a", 1);
    const Steady read = SteadyClock::now() + 1ms;
    while (SteadyClock::now() < read) continue;
    const auto b = Come("b", 1);
    EXPECT_THAT(served_, ElementsAre("a", "b"));

    turns_->Spend(1us);
    const auto c = Come("c", 1);
    EXPECT_THAT(served_, ElementsAre("a", "b")) << "requests have used it up";
    io_.run();
    EXPECT_THAT(served_, ElementsAre("a", "b", "c"));
}

// The loop's other work comes between two turns.
TEST_F(TurnsTest, OthersOfTheLoopComeInBetween) {
    Make(0us);
    const auto a = Come("a", 3);
    boost::asio::post(io_, [this] { served_.push_back("lease"); });
    io_.run();
    EXPECT_THAT(served_, ElementsAre("a", "lease", "a", "a"));
}

TEST_F(TurnsTest, OneThatIsGoneHoldsUpNobody) {
    Make(0us);
    const auto a = Come("a", 2);
    Come("gone", 1);
    const auto b = Come("b", 1);
    io_.run();
    EXPECT_THAT(served_, ElementsAre("a", "a", "b"));
}

}  // namespace
}  // namespace takt::internal::http
