// Who may write next to a connection that several partitions share.
#include "store/redis/turns.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt::internal::redis {
namespace {

struct Wish {
    Turns::Party party;
    std::size_t bytes;
};

class TurnsTest : public testing::Test {
  protected:
    void Ask(Turns::Party party, std::size_t bytes = 100) {
        turns_.Note(party, now_);
        waiting_.push_back({party, bytes});
    }
    // The parties that may write now, in their order.
    std::vector<Turns::Party> Write() {
        std::vector<Turns::Party> written;
        while (const auto next = turns_.Next(waiting_, now_)) {
            const Wish wish = waiting_[*next];
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*next));
            turns_.Begin(wish.party, wish.bytes);
            written.push_back(wish.party);
        }
        return written;
    }
    using Parties = std::vector<Turns::Party>;

    Turns turns_;
    Turns::Now now_{std::chrono::hours(1)};
    std::deque<Wish> waiting_;
};

// Most installations have one namespace: its commits are pipelined as ever.
TEST_F(TurnsTest, OnePartyAloneWritesAllAtOnce) {
    for (int i = 0; i < 4; ++i) Ask(5, 8 << 20);
    EXPECT_EQ(Write(), (Parties{5, 5, 5, 5}));
}

// One floods, another comes now and then: it waits for one batch of the flood.
TEST_F(TurnsTest, OnceAnotherComesEachHasOneUnderWay) {
    for (int i = 0; i < 4; ++i) Ask(5);
    Write();
    for (int i = 0; i < 3; ++i) Ask(5);
    Ask(9);
    EXPECT_EQ(Write(), Parties{9}) << "right behind what was written before";
    for (int i = 0; i < 4; ++i) turns_.EndOldest();
    EXPECT_EQ(Write(), Parties{5});
    Ask(9);
    EXPECT_EQ(Write(), Parties{}) << "its first is under way";
    turns_.EndOldest();  // Of 9.
    EXPECT_EQ(Write(), Parties{9});
}

// Three that flood get the same share.
TEST_F(TurnsTest, TheyTakeTurns) {
    for (int i = 0; i < 3; ++i) {
        for (const Turns::Party party : {1u, 2u, 3u}) Ask(party);
    }
    Parties all;
    for (int i = 0; i < 9; ++i) {
        for (const Turns::Party party : Write()) all.push_back(party);
        turns_.EndOldest();
    }
    EXPECT_EQ(all, (Parties{1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

// Many large batches of many: beside the oldest one there is a megabyte under way.
TEST_F(TurnsTest, BytesBesideTheOldestAreBounded) {
    for (const Turns::Party party : {1u, 2u, 3u, 4u}) Ask(party, 600 << 10);
    Ask(5, 10);
    EXPECT_EQ(Write(), (Parties{1, 2, 5})) << "and a small one finds its place";
    turns_.EndOldest();
    EXPECT_EQ(Write(), Parties{3});
}

// The other has gone: after a second the connection is one party's again.
TEST_F(TurnsTest, AloneAgainAfterAWhile) {
    Ask(9);
    Ask(5);
    Write();
    turns_.EndAll();
    now_ += Turns::kSharedFor;
    Ask(5);
    Ask(5);
    EXPECT_EQ(Write(), (Parties{5, 5}));
}

}  // namespace
}  // namespace takt::internal::redis
