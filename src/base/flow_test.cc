#include "base/flow.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace takt::internal {
namespace {

using Callback = std::move_only_function<void(int)>;

class FlowTest : public ::testing::Test {
  protected:
    using Ask = std::function<FlowStart<int, std::function<void(FlowWait<int>::Callback)>>()>;

    // Waits for the next answer of the test.
    auto Asked() {
        return Wait<int>(std::function<void(FlowWait<int>::Callback)>(
            [this](auto done) { asked_.emplace_back(std::move(done)); }));
    }
    void Answer(int value) {
        Callback done = std::move(asked_.front());
        asked_.erase(asked_.begin());
        done(value);
    }

    std::vector<Callback> asked_;
    std::vector<std::string> seen_;
};

// Says when the locals of a flow are destroyed.
struct Farewell {
    std::vector<std::string>* seen;
    std::string name;
    Farewell(std::vector<std::string>& seen, std::string name)
        : seen(&seen), name(std::move(name)) {}
    Farewell(const Farewell&) = delete;
    Farewell& operator=(const Farewell&) = delete;
    ~Farewell() { seen->push_back(name); }
};

// A handler asks twice and answers: each answer comes in a later turn.
TEST_F(FlowTest, GoesOnFromWaitToWait) {
    const auto flow = [](auto asked, std::vector<std::string>* seen) -> Flow<> {
        const int first = co_await asked();
        seen->push_back("first " + std::to_string(first));
        const int second = co_await asked();
        seen->push_back("second " + std::to_string(second));
    };
    Launch(flow([this] { return Asked(); }, &seen_));
    EXPECT_TRUE(seen_.empty());
    Answer(1);
    EXPECT_EQ(seen_, std::vector<std::string>{"first 1"});
    Answer(2);
    EXPECT_EQ(seen_, (std::vector<std::string>{"first 1", "second 2"}));
}

// The node is in this process and knows at once: the callback comes before the wait has begun.
TEST_F(FlowTest, AnAnswerThatComesAtOnceIsTaken) {
    const auto flow = [](std::vector<std::string>* seen) -> Flow<> {
        for (int i = 0; i < 3; ++i) {
            const int value = co_await Wait<int>([i](auto done) { done(i); });
            seen->push_back(std::to_string(value));
        }
    };
    Launch(flow(&seen_));
    EXPECT_EQ(seen_, (std::vector<std::string>{"0", "1", "2"}));
}

// A part of a handler waits too: it is a flow of its own, and gives its value to the whole.
TEST_F(FlowTest, AFlowWaitsForAnother) {
    struct Parts {
        static Flow<std::unique_ptr<int>> Sum(Ask asked) {
            const int a = co_await asked();
            const int b = co_await asked();
            co_return std::make_unique<int>(a + b);
        }
        static Flow<> Whole(Ask asked, std::vector<std::string>* seen) {
            const std::unique_ptr<int> sum = co_await Sum(asked);
            seen->push_back(std::to_string(*sum));
        }
    };
    Launch(Parts::Whole([this] { return Asked(); }, &seen_));
    Answer(40);
    Answer(2);
    EXPECT_EQ(seen_, std::vector<std::string>{"42"});
}

// The term is over: whoever was to answer forgets the question. The flow ends where it stands, with
// everything that waits for it, the innermost locals first.
TEST_F(FlowTest, EndsWhereItWaitsWhenItsCallbackIsDropped) {
    struct Parts {
        static Flow<> Inner(Ask asked, std::vector<std::string>* seen) {
            const Farewell farewell(*seen, "inner");
            co_await asked();
            seen->push_back("must not go on");
        }
        static Flow<> Outer(Ask asked, std::vector<std::string>* seen) {
            const Farewell farewell(*seen, "outer");
            co_await Inner(asked, seen);
            seen->push_back("must not go on");
        }
    };
    Launch(Parts::Outer([this] { return Asked(); }, &seen_));
    EXPECT_TRUE(seen_.empty());
    asked_.clear();
    EXPECT_EQ(seen_, (std::vector<std::string>{"inner", "outer"}));
}

TEST_F(FlowTest, EndsWhenItsCallbackIsNotEvenKept) {
    const auto flow = [](std::vector<std::string>* seen) -> Flow<> {
        const Farewell farewell(*seen, "gone");
        co_await Wait<int>([](auto) {});
        seen->push_back("must not go on");
    };
    Launch(flow(&seen_));
    EXPECT_EQ(seen_, std::vector<std::string>{"gone"});
}

// A part that throws: the whole may catch it, and otherwise whoever resumed the flow sees it.
TEST_F(FlowTest, WhatEscapesReachesWhoeverResumed) {
    struct Parts {
        static Flow<> Inner(Ask asked) {
            const int value = co_await asked();
            throw std::runtime_error("broken " + std::to_string(value));
        }
        static Flow<> Outer(Ask asked, std::vector<std::string>* seen) {
            const Farewell farewell(*seen, "gone");
            try {
                co_await Inner(asked);
            } catch (const std::runtime_error& error) {
                seen->push_back(error.what());
            }
            co_await Inner(asked);
        }
    };
    Launch(Parts::Outer([this] { return Asked(); }, &seen_));
    Answer(1);
    EXPECT_EQ(seen_, std::vector<std::string>{"broken 1"});
    EXPECT_THROW(Answer(2), std::runtime_error);
    EXPECT_EQ(seen_.back(), "gone");
}

TEST_F(FlowTest, AFlowThatWasNeverLaunchedDoesNothing) {
    const auto flow = [](std::vector<std::string>* seen) -> Flow<> {
        seen->push_back("must not run");
        co_return;
    };
    {
        const Flow<> never = flow(&seen_);
    }
    EXPECT_TRUE(seen_.empty());
}

}  // namespace
}  // namespace takt::internal
