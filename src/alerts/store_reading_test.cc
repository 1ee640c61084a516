#include "alerts/store_reading.h"

#include <gtest/gtest.h>

#include "alerts/evaluation_fixture.h"
#include "store/store_wrapper.h"

namespace takt::internal {
namespace {

class CountingStore final : public StoreWrapper, public CountsRoom {
  public:
    explicit CountingStore(std::optional<StoreRoom> room) : StoreWrapper(nullptr), room_(room) {}
    std::optional<StoreRoom> Room() const override { return room_; }

  private:
    const std::optional<StoreRoom> room_;
};

AlertReadings ReadingsOf(std::optional<StoreRoom> room) {
    AlertReadings readings;
    ReadStoreRoom(CountingStore(std::move(room)), readings);
    return readings;
}

TEST_F(Evaluation, AStoreThatIsNearlyFullIsToldOf) {
    const StoreRoom calm{84u << 20, 100u << 20, "maxmemory"};
    const StoreRoom full{86u << 20, 100u << 20, "maxmemory"};
    Hold(5min, ReadingsOf(calm));
    EXPECT_TRUE(history.empty());
    Hold(2min, ReadingsOf(full));
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history[1].rule, "store_nearly_full");
    EXPECT_EQ(history[1].state, AlertState::kFiring);
    EXPECT_EQ(history[1].message,
              "no store holds 86 MB; 86 % of maxmemory is in use (store_used_ratio is 0.86, above "
              "0.85 for 1m)");
}

// A small store on a disk that others have filled.
TEST(StoreReading, ADiskIsAsFullAsAllHaveMadeIt) {
    const auto readings =
        ReadingsOf(StoreRoom{.bytes = 20u << 20, .bytes_max = 25u << 20, .used = 0.99});
    ASSERT_EQ(readings.size(), 1u);
    EXPECT_EQ(readings[0].value, 0.99);
}

TEST(StoreReading, AStoreWithoutABoundIsNeverNearlyFull) {
    EXPECT_TRUE(ReadingsOf(StoreRoom{86u << 20, 0, "maxmemory is not set"}).empty());
    EXPECT_TRUE(ReadingsOf(std::nullopt).empty());
    AlertReadings readings;
    ReadStoreRoom(StoreWrapper(nullptr), readings);
    EXPECT_TRUE(readings.empty()) << "it does not count";
}

}  // namespace
}  // namespace takt::internal
