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

TEST_F(Evaluation, AStoreThatIsNearlyFullIsToldOfAtOnce) {
    EXPECT_TRUE(Look(ReadingsOf(StoreRoom{84u << 20, 100u << 20, "maxmemory"})).empty());
    const auto changed = Look(ReadingsOf(StoreRoom{86u << 20, 100u << 20, "maxmemory"}));
    ASSERT_EQ(changed.size(), 1u);
    EXPECT_EQ(changed[0].rule, "store_nearly_full");
    EXPECT_EQ(changed[0].state, AlertState::kFiring);
    EXPECT_EQ(
        changed[0].message,
        "no store holds 86 MB of the 100 MB of maxmemory (store_used_ratio is 0.86, above 0.85)");
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
