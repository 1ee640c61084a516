// RecentCluster: a store in whose answers to Nodes and Leaders a second more or less does not matter.
//
// Hundreds of namespaces of a process each look now and then which schedulers there are. They share one
// answer, which is a second old at most, and the reading of the next: so their number costs the store
// nothing. Not for those who decide by it who leads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/store_wrapper.h"

namespace takt::internal {

class RecentCluster final : public StoreWrapper {
  public:
    static constexpr Duration kAgeMax{1'000};

    // `inner` outlives this. Answers may come after its end.
    explicit RecentCluster(Store* inner, std::function<Steady()> clock = &SteadyClock::now)
        : StoreWrapper(inner),
          clock_(std::move(clock)),
          nodes_(std::make_shared<Shared<NodeRow>>()),
          leaders_(std::make_shared<Shared<LeaderRow>>()) {}

    void Nodes(Done<std::vector<NodeRow>> done) override {
        Ask(nodes_, std::move(done), [this](auto then) { StoreWrapper::Nodes(std::move(then)); });
    }
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        Ask(leaders_, std::move(done),
            [this](auto then) { StoreWrapper::Leaders(std::move(then)); });
    }

  private:
    template <typename Row>
    struct Shared {
        std::mutex mutex;
        std::vector<Row> rows;
        Steady read_at{};  // When they were asked for; never at first.
        std::vector<Done<std::vector<Row>>> waiting;
    };

    template <typename Row, typename Read>
    void Ask(const std::shared_ptr<Shared<Row>>& shared, Done<std::vector<Row>> done, Read read) {
        const Steady now = clock_();
        {
            std::unique_lock lock(shared->mutex);
            if (shared->read_at != Steady{} && now - shared->read_at < kAgeMax) {
                std::vector<Row> rows = shared->rows;
                lock.unlock();
                return done(std::move(rows));
            }
            shared->waiting.push_back(std::move(done));
            if (shared->waiting.size() > 1) return;
        }
        read([shared, now](Result<std::vector<Row>> result) {
            std::unique_lock lock(shared->mutex);
            if (result) {
                shared->rows = *result;
                shared->read_at = now;
            }
            auto waiting = std::exchange(shared->waiting, {});
            lock.unlock();
            for (auto& one : waiting) one(result);
        });
    }

    const std::function<Steady()> clock_;
    const std::shared_ptr<Shared<NodeRow>> nodes_;
    const std::shared_ptr<Shared<LeaderRow>> leaders_;
};

}  // namespace takt::internal
