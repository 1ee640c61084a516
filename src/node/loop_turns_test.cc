#include "node/loop_turns.h"

#include <string>

#include "node/driven.h"

namespace takt::internal {
namespace {

class LoopTurnsTest : public ::testing::Test {
  protected:
    void Say(Partition partition, const std::string& what) {
        turns_.RuntimeOf(partition).Post([this, what] { said_ += what + " "; });
    }

    DrivenRuntime loop_;
    LoopTurns turns_{loop_};
    std::string said_;
};

// One namespace floods the loop. Another comes later, with one thing and then another to do.
TEST_F(LoopTurnsTest, WhoHasLittleToDoWaitsForOneActionOfWhoHasMuch) {
    for (int i = 1; i <= 5; ++i) Say(1, "flood" + std::to_string(i));
    Say(2, "a");
    Say(2, "b");
    Say(3, "c");

    loop_.Run();

    EXPECT_EQ(said_, "flood1 a c flood2 b flood3 flood4 flood5 ");
}

// The port and the lease have the same loop, and no line: they wait for one action too.
TEST_F(LoopTurnsTest, TheLoopItselfIsNotKeptWaitingByALine) {
    for (int i = 1; i <= 3; ++i) Say(1, "flood" + std::to_string(i));
    loop_.Post([&] { said_ += "port "; });

    loop_.Run();

    EXPECT_EQ(said_, "flood1 port flood2 flood3 ");
}

TEST_F(LoopTurnsTest, WhatAnActionPostsComesAfterWhatWaitedBefore) {
    turns_.RuntimeOf(1).Post([&] {
        said_ += "first ";
        Say(1, "last");
        turns_.RuntimeOf(1).Dispatch([&] { said_ += "at-once "; });
    });
    Say(1, "second");

    loop_.Run();
    Say(1, "again");
    loop_.Run();

    EXPECT_EQ(said_, "first at-once second last again ");
}

// A scheduler stops: what nobody will run any more is dropped, and may say so to whom it likes.
TEST_F(LoopTurnsTest, ActionsThatAreLeftEndWithTheLoop) {
    struct Farewell {
        Runtime& to;
        std::string& said;
        ~Farewell() {
            said += "gone ";
            to.Post([] {});
        }
    };
    {
        LoopTurns turns(loop_);
        Runtime& line = turns.RuntimeOf(1);
        line.Post([held = std::make_unique<Farewell>(line, said_)] {});
    }
    EXPECT_EQ(said_, "gone ");
    {
        LoopTurns turns(loop_);
        Runtime& first = turns.RuntimeOf(1);
        Runtime& last = turns.RuntimeOf(2);
        struct Chain {
            Runtime &back, &on;
            std::string& said;
            ~Chain() {
                back.Post([held = std::make_unique<Farewell>(on, said)] {});
            }
        };
        last.Post([held = std::make_unique<Chain>(first, last, said_)] {});
    }
    EXPECT_EQ(said_, "gone gone ") << "from one line to another and back";
}

// A loop's thread has ended, and another has its id: what it dispatches is not at home there.
TEST_F(LoopTurnsTest, AThreadThatHasEndedIsForgotten) {
    Runtime& line = turns_.RuntimeOf(1);
    Say(1, "before");
    loop_.Run();
    turns_.Ended();
    line.Dispatch([&] { said_ += "at-once "; });
    EXPECT_EQ(said_, "before ");
    loop_.Run();
    EXPECT_EQ(said_, "before at-once ");
}

}  // namespace
}  // namespace takt::internal
