// MemoryStore in the conformance suite, with a clock that the suite moves.
#include "store/conformance/suite.h"
#include "store/memory/store.h"

namespace takt::internal::conformance {
namespace {

class MemoryTestDatabase final : public Database {
  public:
    Result<std::unique_ptr<Store>> Open() override {
        return std::make_unique<MemoryStore>(database_);
    }
    // The shared rows are the disk here; a handle is the process that dies.
    Result<std::unique_ptr<Store>> Crash(std::unique_ptr<Store> store) override {
        store.reset();
        return Open();
    }
    bool Advance(Duration time) override {
        now_ += std::chrono::microseconds(time).count();
        return true;
    }

  private:
    std::atomic<std::int64_t> now_ = 0;
    std::shared_ptr<MemoryDatabase> database_ = std::make_shared<MemoryDatabase>(
        MemoryDatabase::Options{.clock = [this] { return Steady(std::chrono::microseconds(now_)); },
                                .load_page_rows = 100});
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreConformance,
                         testing::Values(Backend{
                             .name = "memory",
                             .create = []() -> Result<std::unique_ptr<Database>> {
                                 return std::make_unique<MemoryTestDatabase>();
                             },
                             .load_page_rows = 100,
                             .encodes = false}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace takt::internal::conformance
