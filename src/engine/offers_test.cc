// Workers that serve a lane, against asking each worker.
#include "engine/offers.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "engine/crew.h"

namespace takt::internal {
namespace {

class OffersTest : public ::testing::Test {
  protected:
    Slot& Worker(internal::Worker row) {
        Slot& slot = slots.emplace_back();
        slot.order = slots.size();
        slot.row = std::move(row);
        slot.row.id = WorkerId(Text("worker-" + std::to_string(slot.order)));
        offers.Add(slot);
        return slot;
    }
    // The workers that serve it, and that its mark is theirs.
    std::vector<Slot*> Serving(const Lane& lane) {
        const Offers::Found found = offers.WhoServes(lane);
        std::uint64_t mark = 0;
        for (const Slot* slot : found.Members()) mark ^= MarkOf(*slot);
        EXPECT_EQ(found.mark, mark);
        return found.Members();
    }

    std::deque<Slot> slots;
    Queue queue;
    Offers offers;
};

TEST_F(OffersTest, AreWhatEachWorkerWouldSay) {
    std::mt19937 random(1);
    const auto one_of = [&](const char* name, int count) {
        return Text(name + std::to_string(random() % unsigned(count)));
    };
    for (int i = 0; i < 200; ++i) {
        internal::Worker row;
        if (random() % 2 == 0) row.types = {one_of("type-", 3)};
        if (random() % 3 == 0) row.queues = {one_of("queue-", 3)};
        if (random() % 2 == 0) row.labels = {{Text("zone"), one_of("", 3)}};
        if (random() % 4 == 0) row.group = one_of("group-", 2);
        Slot& slot = Worker(std::move(row));
        if (i % 5 == 0) offers.Remove(slot);
        if (i % 10 == 0) {
            slot.row.types = {Text("type-0"), Text("type-1")};
            offers.Add(slot);
        }
    }
    for (int i = 0; i < 500; ++i) {
        Lane lane;
        queue.name = one_of("queue-", 4);
        lane.queue = &queue;
        lane.type = one_of("type-", 4);
        if (random() % 2 == 0) lane.labels = {{Text("zone"), one_of("", 4)}};
        if (random() % 3 == 0) lane.target = one_of("group-", 3);
        if (random() % 5 == 0) lane.target = one_of("worker-", 220);
        lane.runs = random() % 10 == 0;
        std::vector<Slot*> expected;
        for (Slot& slot : slots) {
            if (slot.offer && Serves(slot.row, lane)) expected.push_back(&slot);
        }
        ASSERT_EQ(Serving(lane), expected) << i;
    }
}

// A new kind of work comes up while a thousand workers are there, each labelled with its host's name.
TEST_F(OffersTest, ANewLaneIsNotHeldAgainstEachWorker) {
    for (int i = 0; i < 1'000; ++i) {
        Worker({.labels = {{Text("host"), Text(std::to_string(i))}}});
    }
    Lane plain;
    plain.queue = &queue;
    plain.type = "new";
    EXPECT_EQ(Serving(plain).size(), 1'000u);
    EXPECT_LE(offers.looked_at(), 1u);

    Lane labelled;
    labelled.queue = &queue;
    labelled.type = "new";
    labelled.labels = {{Text("host"), Text("7")}};
    EXPECT_EQ(Serving(labelled).size(), 1u);
    EXPECT_LE(offers.looked_at(), 1u);
}

}  // namespace
}  // namespace takt::internal
