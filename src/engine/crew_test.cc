// Crews of workers, and the lane that is next with them, against the plain way of keeping it.
#include "engine/crew.h"

#include <gmock/gmock.h>

#include <deque>
#include <random>
#include <set>

namespace takt::internal {
namespace {

using ::testing::ElementsAre;

class CrewTest : public ::testing::Test {
  protected:
    Slot& Worker(bool can_take = true) {
        Slot& slot = slots.emplace_back();
        slot.order = slots.size();
        slot.can_take = can_take;
        return slot;
    }
    Queue& NewQueue() {
        Queue& queue = queues.emplace_back();
        queue.number = queues.size();
        return queue;
    }
    Lane& NewLane(Queue& queue, const std::vector<Slot*>& members = {}) {
        Lane& lane = lanes.emplace_back();
        lane.number = lanes.size();
        lane.queue = &queue;
        crews.Place(lane, members);
        return lane;
    }
    Live& Wait(Lane& lane, std::uint8_t priority) {
        auto task = NewTaskPtr(new Task);
        task->priority = priority;
        Live& live = lives.emplace_back();
        live.row.serial = lives.size();
        live.row.task = task;
        live.lane = &lane;
        lane.Add(live);
        return live;
    }

    std::deque<Slot> slots;
    std::deque<Queue> queues;
    std::deque<Lane> lanes;
    std::deque<Live> lives;
    Crews crews;
};

TEST_F(CrewTest, LanesThatTheSameWorkersServeShareACrew) {
    Slot& a = Worker();
    Slot& b = Worker();
    Queue& queue = NewQueue();
    Lane& one = NewLane(queue, {&a, &b});
    Lane& two = NewLane(queue, {&a});
    EXPECT_NE(&one.crew(), &two.crew());

    crews.Toggle(b, {&two});

    EXPECT_EQ(&one.crew(), &two.crew());
    EXPECT_THAT(one.crew().members(), ElementsAre(&a, &b));
    EXPECT_EQ(a.crews.size(), 1u) << "the crew that has no lane any more is forgotten";
    EXPECT_EQ(queue.bays.size(), 1u);
}

TEST_F(CrewTest, TheNextIsTheMostUrgentOfAnOpenQueue) {
    Slot& a = Worker();
    Queue& closed = NewQueue();
    closed.limits.paused = true;
    Lane& urgent = NewLane(closed, {&a});
    Lane& plain = NewLane(NewQueue(), {&a});
    Wait(urgent, 9);
    Live& first = Wait(plain, 5);
    Crew& crew = *a.crews.front();
    EXPECT_EQ(crew.First(Steady()), &first);

    plain.Remove(first);
    EXPECT_EQ(crew.First(Steady()), nullptr);

    closed.limits.paused = false;
    closed.Reopen();
    EXPECT_EQ(crew.First(Steady())->lane, &urgent);
}

TEST_F(CrewTest, ThoseWithRoomAreShownFromTheOneWhoseTurnIsNext) {
    for (int i = 0; i < 200; ++i) Worker(i % 50 == 0);
    std::vector<Slot*> all;
    for (Slot& slot : slots) all.push_back(&slot);
    const Lane& lane = NewLane(NewQueue(), all);
    std::vector<Slot*> found;

    lane.crew().FindFree(/*after=*/51, 3, found);

    EXPECT_THAT(found, ElementsAre(&slots[100], &slots[150], &slots[0]));
    EXPECT_EQ(lane.crew().free(), 4u);
}

// One more of a thousand alike. What is meant for one of them only is no business of the other.
TEST_F(CrewTest, AWorkerJoinsTheCrewsOfItsLikeAndLeavesThem) {
    Slot& a = Worker();
    Queue& queue = NewQueue();
    Lane& plain = NewLane(queue, {&a});
    Lane& aimed = NewLane(queue);
    aimed.target = "a";
    crews.Toggle(a, {&aimed});
    crews.Remove(aimed);
    crews.Place(aimed, {&a});
    Slot& b = Worker();

    crews.Join(b, a, [](const Lane& lane) { return lane.target.empty(); });

    EXPECT_THAT(plain.crew().members(), ElementsAre(&a, &b));
    EXPECT_EQ(plain.crew().free(), 2u);
    EXPECT_THAT(aimed.crew().members(), ElementsAre(&a));
    crews.Leave(a);
    EXPECT_THAT(plain.crew().members(), ElementsAre(&b));
    EXPECT_THAT(aimed.crew().members(), ElementsAre());
    EXPECT_TRUE(a.crews.empty());
}

// Workers come, go and change what they serve, lanes fill and empty; after each step everything is as
// if it were worked out anew.
TEST_F(CrewTest, IsWhatAPlainBookSays) {
    std::mt19937 random(1);
    const auto pick = [&](std::size_t count) { return std::size_t(random() % count); };
    for (int i = 0; i < 3; ++i) NewQueue();
    for (int i = 0; i < 70; ++i) Worker(random() % 2 == 0);
    for (int i = 0; i < 12; ++i) NewLane(queues[pick(3)]);
    std::vector<std::set<std::uint64_t>> book(lanes.size());  // Orders of workers, by lane.
    const auto check = [&] {
        std::set<const Crew*> seen;
        std::set<std::set<std::uint64_t>> kinds(book.begin(), book.end());
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const Crew& crew = lanes[i].crew();
            seen.insert(&crew);
            std::set<std::uint64_t> orders;
            std::size_t free = 0;
            for (const Slot* slot : crew.members()) {
                orders.insert(slot->order);
                free += slot->can_take ? 1 : 0;
                ASSERT_EQ(std::ranges::count(slot->crews, &crew), 1);
            }
            ASSERT_EQ(orders, book[i]);
            ASSERT_EQ(crew.free(), free);
            std::vector<Slot*> with_room;
            std::vector<Slot*> found;
            for (Slot* slot : crew.members()) {
                if (slot->can_take) with_room.push_back(slot);
            }
            crew.FindFree(0, SIZE_MAX, found);
            ASSERT_EQ(found, with_room);
        }
        ASSERT_EQ(seen.size(), kinds.size());
        for (Slot& slot : slots) {
            const Lane* best = nullptr;
            for (std::size_t i = 0; i < lanes.size(); ++i) {
                const Lane& lane = lanes[i];
                if (!book[i].contains(slot.order) || lane.empty()) continue;
                if (!best || lane.urgency() < best->urgency()) best = &lane;
            }
            const Lane* first = nullptr;
            for (Crew* crew : slot.crews) {
                const Live* live = crew->First(Steady());
                if (live && (!first || live->lane->urgency() < first->urgency()))
                    first = live->lane;
            }
            ASSERT_EQ(first, best);
        }
    };
    for (int round = 0; round < 400; ++round) {
        Slot& slot = slots[pick(slots.size())];
        Lane& lane = lanes[pick(lanes.size())];
        switch (random() % 5) {
            case 4:
                crews.Leave(slot);
                for (auto& orders : book) orders.erase(slot.order);
                break;
            case 0: {
                std::vector<Lane*> toggled;
                const std::size_t of = 1 + pick(3);
                for (std::size_t i = 0; i < lanes.size(); ++i) {
                    if (i % of != 0) continue;
                    toggled.push_back(&lanes[i]);
                    if (!book[i].insert(slot.order).second) book[i].erase(slot.order);
                }
                crews.Toggle(slot, std::move(toggled));
                break;
            }
            case 1:
                slot.can_take = !slot.can_take;
                for (Crew* crew : slot.crews) crew->Refresh(slot);
                break;
            case 2:
                Wait(lane, std::uint8_t(pick(kPriorityMax + 1)));
                break;
            default:
                if (!lane.empty()) lane.Remove(*lane.front());
        }
        ASSERT_NO_FATAL_FAILURE(check());
    }
}

}  // namespace
}  // namespace takt::internal
