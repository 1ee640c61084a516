// How a worker is chosen among those that could take an execution.
#include <algorithm>

#include "engine/history.h"

namespace takt::internal {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class StrategyTest : public History {
  protected:
    // Submits `count` one-off tasks with ids t0, t1, … and says where they went.
    std::vector<std::string> Spread(int count, std::optional<Strategy> strategy = {}) {
        assigns.clear();
        for (int i = 0; i < count; ++i) {
            At(now, Once({.id = "t" + std::to_string(i) + suffix, .strategy = strategy}));
        }
        return AssignedWorkers();
    }
    std::map<std::string, int> Count(const std::vector<std::string>& workers) {
        std::map<std::string, int> counts;
        for (const std::string& worker : workers) ++counts[worker];
        return counts;
    }
    void Workers(std::uint32_t capacity = 100) {
        for (const std::string id : {"a", "b", "c"})
            At(now, Join({.id = id, .capacity = capacity}));
    }
    Heartbeat Load(const std::string& worker, WorkerLoad load) { return {SessionOf(worker), load}; }

    Duration now = 0s;
    std::string suffix;
};

TEST_F(StrategyTest, LeastTasksKeepsTheHandsEven) {
    config.strategy = Strategy::kLeastTasks;
    Workers();
    EXPECT_THAT(Spread(4), ElementsAre("a", "b", "c", "a"));
    At(0s, Success("t1"));
    suffix = "'";
    // b has none, c has one, a has two.
    EXPECT_THAT(Spread(2), ElementsAre("b", "c"));
}

TEST_F(StrategyTest, RoundRobinTakesTurnsWhateverTheLoad) {
    config.strategy = Strategy::kRoundRobin;
    Workers();
    EXPECT_THAT(Spread(4), ElementsAre("a", "b", "c", "a"));
    At(0s, Success("t1"));
    suffix = "'";
    EXPECT_THAT(Spread(3), ElementsAre("b", "c", "a"));
}

// Of very many a strategy is shown only some, others each time.
TEST_F(StrategyTest, HundredsOfWorkersAllHaveTheirTurn) {
    for (int i = 0; i < 300; ++i) At(0s, Join({.id = "w" + std::to_string(i), .capacity = 9}));
    for (const Strategy strategy : {Strategy::kRoundRobin, Strategy::kLeastTasks}) {
        suffix = std::string(Name(strategy));
        const auto counts = Count(Spread(600, strategy));
        EXPECT_EQ(counts.size(), 300u) << suffix;
        for (const auto& [worker, count] : counts) EXPECT_EQ(count, 2) << worker << " " << suffix;
    }
}

// Of very many too, whatever else is chosen between.
TEST_F(StrategyTest, AnotherLaneTakesNobodysTurn) {
    At(0s, Join({.id = "single", .capacity = 999, .queues = {Text("one")}}));
    for (int i = 0; i < 200; ++i) {
        At(0s, Join({.id = "w" + std::to_string(i), .capacity = 9, .queues = {Text("many")}}));
    }
    for (int i = 0; i < 200; ++i) {
        At(0s, Once({.id = "m" + std::to_string(i), .queue = "many"}));
        At(0s, Once({.id = "o" + std::to_string(i), .queue = "one"}));
    }
    EXPECT_EQ(Count(AssignedWorkers()).size(), 201u);
}

// One machine is five times as large as another.
TEST_F(StrategyTest, WeightsHoldExactlyOverARoundAndWithoutBursts) {
    config.strategy = Strategy::kWeightedRoundRobin;
    At(0s, Join({.id = "a", .capacity = 100, .weight = 5}));
    At(0s, Join({.id = "b", .capacity = 100, .weight = 1}));
    At(0s, Join({.id = "c", .capacity = 100, .weight = 1}));

    EXPECT_THAT(Spread(7), ElementsAre("a", "a", "b", "a", "c", "a", "a"));
    suffix = "'";
    EXPECT_THAT(Count(Spread(70)),
                UnorderedElementsAre(Pair("a", 50), Pair("b", 10), Pair("c", 10)));
}

TEST_F(StrategyTest, RandomReachesEverybodyAndIsRepeatable) {
    config.strategy = Strategy::kRandom;
    Workers(1000);
    const auto first = Count(Spread(600));
    for (const auto& [worker, count] : first) EXPECT_NEAR(count, 200, 60) << worker;
    EXPECT_EQ(first.size(), 3u);
}

// Caches on the workers are warm for the tasks they had before.
TEST_F(StrategyTest, ConsistentHashMovesOnlyWhatItMust) {
    config.strategy = Strategy::kConsistentHash;
    Workers(1000);
    const auto place = [&] {
        // By task id: the same 300 ids, made again.
        auto placed = Spread(300);
        for (int i = 0; i < 300; ++i) At(now, Success("t" + std::to_string(i)));
        store.executions.clear();
        return placed;
    };
    const auto before = place();
    for (const auto& [worker, count] : Count(before)) EXPECT_NEAR(count, 100, 40) << worker;
    now = 1s;
    At(now, Bye("b"));
    const auto without = place();
    At(now, Join({.id = "d", .capacity = 1000}));
    const auto with_another = place();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != "b") EXPECT_EQ(without[i], before[i]);
        if (with_another[i] != "d") EXPECT_EQ(with_another[i], without[i]);
    }
    EXPECT_NEAR(Count(with_another)["d"], 100, 40);
}

TEST_F(StrategyTest, LeastConnectionsGoesByWhatWorkersReport) {
    config.strategy = Strategy::kLeastConnections;
    Workers();
    At(0s, Load("a", {.connections = 9}));
    At(0s, Load("b", {.connections = 2}));
    At(0s, Load("c", {.connections = 9}));
    EXPECT_THAT(Spread(2), Each("b"));
    // The work that it has in hand counts as well, until it reports again.
    suffix = "'";
    EXPECT_THAT(Count(Spread(7)), UnorderedElementsAre(Pair("b", 7)));
    suffix = "''";
    EXPECT_THAT(Spread(1), ElementsAre(::testing::AnyOf("a", "c")));
}

TEST_F(StrategyTest, CapacityBasedFillsWhereTheMostRoomIs) {
    config.strategy = Strategy::kCapacityBased;
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Join({.id = "b", .capacity = 6}));
    EXPECT_THAT(Spread(4), Each("b"));
    suffix = "'";
    EXPECT_THAT(Count(Spread(4)), UnorderedElementsAre(Pair("a", 2), Pair("b", 2)));
}

// A model of many gigabytes is loaded on the worker that ran the task last.
TEST_F(StrategyTest, StickyStaysWithTheLastWorkerWhileThatHasRoom) {
    At(0s, Join({.id = "a", .capacity = 1}));
    At(0s, Join({.id = "b", .capacity = 1}));
    At(0s, Set("a", WorkerStatus::kDraining));
    At(0s, Put({.every = 1h, .options = {.strategy = Strategy::kSticky}}));
    At(0s, TriggerOf("report"));  // Only b has room.
    At(1s, Set("a", WorkerStatus::kOnline));
    At(1s, Join({.id = "c", .capacity = 1}));
    for (std::size_t i = 0; i < 4; ++i) {
        At(2s, Success(RunOf("report", i)));
        At(2s, TriggerOf("report"));
    }
    EXPECT_THAT(AssignedWorkers(), Each("b"));
    assigns.clear();
    // It is away for once: another one takes over, and keeps it.
    At(3s, Success(RunOf("report", 4)));
    At(3s, Set("b", WorkerStatus::kDraining));
    At(3s, TriggerOf("report"));
    At(4s, Success(RunOf("report", 5)));
    At(4s, Set("b", WorkerStatus::kOnline));
    At(4s, TriggerOf("report"));

    EXPECT_THAT(AssignedWorkers(), ElementsAre("c", "c"));
}

TEST_F(StrategyTest, ResourceAwareGoesByProcessorMemoryAndRoom) {
    config.strategy = Strategy::kResourceAware;
    Workers();
    At(0s, Load("a", {.cpu = 0.9f, .memory = 0.1f}));
    At(0s, Load("b", {.cpu = 0.2f, .memory = 0.9f}));
    At(0s, Load("c", {.cpu = 0.2f, .memory = 0.3f}));
    EXPECT_THAT(Spread(3), Each("c"));
}

TEST_F(StrategyTest, ATaskMayNameItsOwnStrategy) {
    config.strategy = Strategy::kRoundRobin;
    Workers();
    At(0s, Load("a", {.connections = 1}));
    At(0s, Load("b", {.connections = 1}));
    EXPECT_THAT(Spread(1, Strategy::kLeastConnections), ElementsAre("c"));
    suffix = "'";
    EXPECT_THAT(Spread(3), ElementsAre("a", "b", "c"));
}

// An operator switches while everything runs; the next leader knows.
TEST_F(StrategyTest, ASwitchIsRememberedByTheNextLeader) {
    Workers();
    At(0s, Use(Strategy::kConsistentHash));
    EXPECT_TRUE(LastReply());
    Restart(1s);

    EXPECT_EQ(engine().strategy(), Strategy::kConsistentHash);
}

// The operator takes the switch back: from now on the configuration counts again.
TEST_F(StrategyTest, WithoutAChoiceItIsTheConfiguredOneAgain) {
    config.strategy = Strategy::kSticky;
    Workers();
    At(0s, Use(Strategy::kConsistentHash));
    At(1s, SetStrategy{});
    EXPECT_EQ(engine().strategy(), Strategy::kSticky);
    config.strategy = Strategy::kRandom;
    Restart(2s);

    EXPECT_EQ(engine().strategy(), Strategy::kRandom);
}

TEST_F(StrategyTest, AResetForgetsTurns) {
    config.strategy = Strategy::kRoundRobin;
    Workers();
    EXPECT_THAT(Spread(1), ElementsAre("a"));
    At(0s, Use(Strategy::kRoundRobin));
    suffix = "'";
    EXPECT_THAT(Spread(1), ElementsAre("b"));
    At(0s, SetStrategy{.reset = true});
    suffix = "''";
    EXPECT_THAT(Spread(1), ElementsAre("a"));
}

// A reset is no choice: whoever configures another strategy later gets that one.
TEST_F(StrategyTest, AResetLeavesTheStrategyToTheConfiguration) {
    config.strategy = Strategy::kRoundRobin;
    At(0s, SetStrategy{.reset = true});
    EXPECT_EQ(engine().strategy(), Strategy::kRoundRobin);
    config.strategy = Strategy::kRandom;
    Restart(1s);

    EXPECT_EQ(engine().strategy(), Strategy::kRandom);
}

class LastOne final : public Balancer {
  public:
    std::size_t Pick(const Execution&, std::uint64_t, std::span<const Choice> choices) override {
        return choices.size() - 1;
    }
};

// A program brings a strategy of its own.
TEST_F(StrategyTest, AStrategyOfTheProgramIsUsedByItsName) {
    config.balancers["last"] = [] { return std::make_unique<LastOne>(); };
    Workers();
    At(0s, Use(Strategy::kCustom, "first"));
    ASSERT_FALSE(LastReply());
    EXPECT_EQ(LastReply().error().field, "strategy");
    EXPECT_EQ(engine().strategy(), Strategy::kLeastTasks);
    At(0s, Once({.id = "own", .strategy = Strategy::kCustom, .strategy_name = "last"}));
    EXPECT_EQ(Row("own").worker.view(), "c");
    At(0s, Use(Strategy::kCustom, "last"));
    EXPECT_THAT(Spread(3), Each("c"));
    Restart(1s);
    EXPECT_EQ(engine().strategy(), Strategy::kCustom);
    EXPECT_EQ(engine().strategy_name(), "last");
    // The next leader is another program, which does not have it: tasks still go somewhere.
    config.balancers.clear();
    now = 2s;
    Restart(now);
    Workers();
    At(now, Once({.id = "late"}));

    EXPECT_EQ(StatusOf("late"), Status::kScheduled);
}

// The program's own strategy is the one it starts with; an operator may choose another.
TEST_F(StrategyTest, AStrategyOfTheProgramCanBeTheStandardOne) {
    config.balancers["last"] = [] { return std::make_unique<LastOne>(); };
    config.strategy = Strategy::kCustom;
    config.strategy_name = "last";
    Workers();
    EXPECT_THAT(Spread(3), Each("c"));
    At(0s, Use(Strategy::kRoundRobin));
    Restart(1s);

    EXPECT_EQ(engine().strategy(), Strategy::kRoundRobin);
    EXPECT_EQ(engine().strategy_name(), "");
}

// --- Ageing -------------------------------------------------------------------------------------

// Urgent work never ends; the nightly job has to start all the same.
TEST_F(StrategyTest, WithAgeingWhatWaitsLongOvertakesWhatIsMoreUrgent) {
    config.ageing = 1min;
    At(0s, Once({.id = "low", .priority = 2}));
    At(3min, Once({.id = "normal", .priority = 5}));
    At(6min, Once({.id = "urgent", .priority = 9}));
    At(6min, Once({.id = "other", .type = "else", .priority = 8}));
    At(6min, Join({.id = "a"}));
    for (const std::string id : {"urgent", "normal", "low"}) At(6min, Success(id));

    // 9; 5 + 3, as urgent as 2 + 6 but more so from the start; 8, younger than both.
    EXPECT_THAT(AssignedIds(), ElementsAre("urgent", "normal", "low", "other"));
}

// An execution that waited for a lock is ready in the moment in which a worker has room again;
// something more urgent has waited for that worker, in another lane of it.
TEST_F(StrategyTest, TheMostUrgentGoesFirstWhicheverLaneOfAWorkerItWaitsIn) {
    At(0s, Join({.id = "a", .capacity = 2}));
    At(0s, Once({.id = "first", .locks = {{.name = "l"}}}));
    At(0s, Once({.id = "second", .priority = 2, .locks = {{.name = "l"}}}));
    At(1s, Once({.id = "third"}));
    At(2s, Once({.id = "urgent", .type = "mail", .priority = 9}));
    At(3s, Success("first"));
    EXPECT_THAT(AssignedIds(), ElementsAre("first", "third", "urgent"));
    At(4s, Success("third"));

    EXPECT_THAT(AssignedIds(), ElementsAre("first", "third", "urgent", "second"));
}

TEST_F(StrategyTest, WithoutAgeingPriorityIsAllThatCounts) {
    At(0s, Once({.id = "low", .priority = 2}));
    At(10h, Once({.id = "high", .priority = 7}));
    At(10h, Join({.id = "a"}));

    EXPECT_THAT(AssignedIds(), ElementsAre("high"));
}

}  // namespace
}  // namespace takt::internal
