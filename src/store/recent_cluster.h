// RecentCluster: a store in whose answers to Nodes and Leaders some seconds more or less do not matter.
//
// Hundreds of namespaces of a process each look now and then which schedulers there are. They are told
// what the process's Presence, who decides by it who leads, has read through `reader()` a moment ago;
// only if that is too old they read themselves, and share the answer. So they cost the store nothing.
#pragma once

#include <atomic>
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
    static constexpr Duration kLeadersAgeMax{1'000};
    static constexpr Duration kNodesAgeMax{10'000};  // Presence reads them every six seconds or so.

    // `inner` outlives this. Answers may come after its end.
    explicit RecentCluster(Store* inner, std::function<Steady()> clock = &SteadyClock::now)
        : StoreWrapper(inner), clock_(std::move(clock)), reader_(inner, *this) {}

    // Asks the store each time. What it is answered the others are told too.
    Store& reader() { return reader_; }

    // From now on the store is asked for everybody: whoever stops has to know who is left.
    void AskAlways() { always_ = true; }

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
        explicit Shared(Duration age_max) : age_max(age_max) {}

        void Keep(const Result<std::vector<Row>>& result, Steady asked_at) {
            const std::lock_guard lock(mutex);
            if (!result || asked_at < read_at) return;
            rows = *result;
            read_at = asked_at;
        }

        const Duration age_max;
        std::mutex mutex;
        std::vector<Row> rows;
        Steady read_at{};  // When they were asked for; never at first.
        std::vector<Done<std::vector<Row>>> waiting;
    };

    class Reader final : public StoreWrapper {
      public:
        Reader(Store* inner, const RecentCluster& outer) : StoreWrapper(inner), outer_(outer) {}
        void Nodes(Done<std::vector<NodeRow>> done) override {
            StoreWrapper::Nodes(outer_.Keeping(outer_.nodes_, std::move(done)));
        }
        void Leaders(Done<std::vector<LeaderRow>> done) override {
            StoreWrapper::Leaders(outer_.Keeping(outer_.leaders_, std::move(done)));
        }

      private:
        const RecentCluster& outer_;
    };

    template <typename Row>
    Done<std::vector<Row>> Keeping(const std::shared_ptr<Shared<Row>>& shared,
                                   Done<std::vector<Row>> done) const {
        return [shared, now = clock_(),
                done = std::move(done)](Result<std::vector<Row>> result) mutable {
            shared->Keep(result, now);
            done(std::move(result));
        };
    }

    template <typename Row, typename Read>
    void Ask(const std::shared_ptr<Shared<Row>>& shared, Done<std::vector<Row>> done, Read read) {
        const Steady now = clock_();
        {
            std::unique_lock lock(shared->mutex);
            const bool fresh =
                shared->read_at != Steady{} && now - shared->read_at < shared->age_max;
            if (fresh && !always_) {
                std::vector<Row> rows = shared->rows;
                lock.unlock();
                return done(std::move(rows));
            }
            shared->waiting.push_back(std::move(done));
            if (shared->waiting.size() > 1) return;
        }
        read([shared, now](const Result<std::vector<Row>>& result) {
            shared->Keep(result, now);
            std::unique_lock lock(shared->mutex);
            auto waiting = std::exchange(shared->waiting, {});
            lock.unlock();
            for (auto& one : waiting) one(result);
        });
    }

    const std::function<Steady()> clock_;
    std::atomic<bool> always_ = false;
    const std::shared_ptr<Shared<NodeRow>> nodes_ = std::make_shared<Shared<NodeRow>>(kNodesAgeMax);
    const std::shared_ptr<Shared<LeaderRow>> leaders_ =
        std::make_shared<Shared<LeaderRow>>(kLeadersAgeMax);
    Reader reader_;
};

}  // namespace takt::internal
