// Whom strategies choose of very many workers, without an engine around them.
#include "engine/free_index.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

#include "base/check.h"

namespace takt::internal {
namespace {

class FreeIndexTest : public ::testing::Test {
  protected:
    Slot& Worker(std::uint32_t weight = 1) {
        Slot& slot = slots.emplace_back();
        slot.order = slots.size();
        slot.row.id = WorkerId(Text("worker-" + std::to_string(slot.order)));
        slot.row.weight = weight;
        return slot;
    }

    std::deque<Slot> slots;
    HashRing ring;
    WeightedTurns turns;
};

std::string Id(int task) {
    return "task-" + std::to_string(task);
}

// Caches on the workers are warm for the tasks they had before.
TEST_F(FreeIndexTest, AWorkerThatComesOrGoesMovesOnlyWhatItWinsOrHad) {
    for (int i = 0; i < 200; ++i) ring.Add(Worker());
    std::map<int, const Slot*> before;
    for (int task = 0; task < 5'000; ++task) before[task] = &ring.Find(Id(task));
    Slot& gone = slots[70];
    ring.Remove(gone);
    for (const auto& [task, slot] : before) {
        if (slot != &gone) EXPECT_EQ(&ring.Find(Id(task)), slot);
    }
    ring.Add(gone);
    Slot& comes = Worker();
    ring.Add(comes);

    for (const auto& [task, slot] : before) {
        const Slot* now = &ring.Find(Id(task));
        if (now != &comes) EXPECT_EQ(now, slot);
    }
}

TEST_F(FreeIndexTest, AllGetAboutAsMuchOfTheRing) {
    for (int i = 0; i < 100; ++i) ring.Add(Worker());
    std::map<const Slot*, int> count;
    for (int task = 0; task < 100'000; ++task) ++count[&ring.Find(Id(task))];

    EXPECT_EQ(count.size(), 100u);
    for (const auto& [slot, tasks] : count) EXPECT_LE(tasks, 1'300) << slot->order;
}

TEST_F(FreeIndexTest, WeightsHoldOverARoundAndWithoutBursts) {
    for (const std::uint32_t weight : {1, 4, 1}) turns.Add(Worker(weight));
    std::map<std::uint64_t, int> count;
    int in_a_row = 0;
    int in_a_row_most = 0;
    for (int i = 0; i < 600; ++i) {
        const std::uint64_t order = turns.Take().order;
        ++count[order];
        in_a_row = order == 2 ? in_a_row + 1 : 0;
        in_a_row_most = std::max(in_a_row_most, in_a_row);
    }

    EXPECT_NEAR(count[1], 100, 1);
    EXPECT_NEAR(count[2], 400, 2);
    EXPECT_NEAR(count[3], 100, 1);
    EXPECT_LE(in_a_row_most, 5);
}

// It was full for an hour. What the others did meanwhile is not its to make up for.
TEST_F(FreeIndexTest, AWorkerThatHadNoRoomTakesItsTurnLikeTheOthers) {
    Slot& a = Worker();
    Slot& b = Worker();
    turns.Add(a);
    turns.Add(b);
    turns.Remove(b);
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(&turns.Take(), &a);
    turns.Add(b);
    int of_b = 0;
    for (int i = 0; i < 100; ++i) of_b += &turns.Take() == &b ? 1 : 0;

    EXPECT_NEAR(of_b, 50, 1);
}

}  // namespace
}  // namespace takt::internal
