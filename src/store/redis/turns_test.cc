// Who may write next to a connection that several partitions share.
#include "store/redis/turns.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <vector>

#include "store/redis/store_fixture.h"

namespace takt::internal::redis {
namespace {

struct Wish {
    Turns::Party party;
    std::size_t bytes;
};

class TurnsTest : public testing::Test {
  protected:
    void Ask(Turns::Party party, std::size_t bytes = 100 << 10) {
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

// A namespace that submits little has several small commits under way between two large ones.
TEST_F(TurnsTest, SmallOnesGoTogether) {
    Ask(5);
    Ask(5);
    for (int i = 0; i < 3; ++i) Ask(9, 20 << 10);
    Ask(9, 20 << 10);
    EXPECT_EQ(Write(), (Parties{5, 9, 9, 9})) << "as many as are small together";
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

// The other has gone: after a while the connection is one party's again.
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

// A whole store: one namespace has its pipeline full, another commits twice. It is served between
// the other's batches and not behind them.
TEST(RedisTurns, ANamespaceThatFloodsIsNotServedFirst) {
    const auto server = StartServer();
    const auto store = OpenStoreAt(server->url());
    ASSERT_TRUE(store);
    const auto flood = Acquire(*store, "node-a", 1);
    const auto quiet = Acquire(*store, "node-a", 2);
    ASSERT_TRUE(flood && quiet);
    std::mutex mutex;
    std::string order;
    std::promise<void> all;
    const auto commit = [&](const Term& term, std::uint64_t sequence, char name) {
        const auto batch = std::make_shared<const Batch>(
            Batch{term, sequence, 0, {SettingPut{"a", Text(std::string(70'000, 'x'))}}});
        store->Commit(batch, [&, name](Result<void> done) {
            const std::lock_guard lock(mutex);
            order += done ? name : '!';
            if (order.size() == 6) all.set_value();
        });
    };
    server->process().Pause();
    commit(*flood, 1, 'f');
    commit(*quiet, 1, 'q');
    for (std::uint64_t sequence = 2; sequence <= 4; ++sequence) commit(*flood, sequence, 'f');
    commit(*quiet, 2, 'q');
    // Answered by the client's thread alone, after it has seen the commits.
    EXPECT_FALSE(Await<LoadPage>([&](Done<LoadPage> d) { store->Load(1, "?", std::move(d)); }));
    server->process().Continue();

    ASSERT_EQ(all.get_future().wait_for(conformance::kAnswerMax), std::future_status::ready);
    EXPECT_EQ(order, "fqfqff");
}

}  // namespace
}  // namespace takt::internal::redis
