// A scheduler as the server makes it, but without its port, in simulated time: tests say when time
// passes, and count what the store is asked meanwhile.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/driven.h"
#include "server/realms.h"
#include "server/settings.h"
#include "store/memory/store.h"
#include "store/recent_cluster.h"

namespace takt::internal {

using Asked = std::map<std::string, int>;

// Counts what is asked, by operation.
class CountingStore final : public StoreWrapper {
  public:
    CountingStore(Store* inner, Asked& asked) : StoreWrapper(inner), asked_(asked) {}

    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        ++asked_["Announce"];
        StoreWrapper::Announce(node, ttl, std::move(done));
    }
    void Nodes(Done<std::vector<NodeRow>> done) override {
        ++asked_["Nodes"];
        StoreWrapper::Nodes(std::move(done));
    }
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        ++asked_["Leaders"];
        StoreWrapper::Leaders(std::move(done));
    }
    void Acquire(const Candidate& candidate, Done<Term> done) override {
        ++asked_["Acquire"];
        StoreWrapper::Acquire(candidate, std::move(done));
    }
    void Commit(BatchPtr batch, Done<void> done) override {
        ++asked_["Commit"];
        StoreWrapper::Commit(std::move(batch), std::move(done));
    }
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        ++asked_["ListExecutions"];
        StoreWrapper::ListExecutions(filter, std::move(done));
    }
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        ++asked_["ListTasks"];
        StoreWrapper::ListTasks(filter, std::move(done));
    }
    void ListWorkers(Partition partition, Done<std::vector<Worker>> done) override {
        ++asked_["ListWorkers"];
        StoreWrapper::ListWorkers(partition, std::move(done));
    }
    void ListSettings(Partition partition, const Text& key_prefix,
                      Done<std::vector<SettingPut>> done) override {
        ++asked_["ListSettings " + key_prefix.str()];
        StoreWrapper::ListSettings(partition, key_prefix, std::move(done));
    }
    void ReadEvents(Partition partition, Serial after, std::size_t limit,
                    Done<std::vector<Event>> done) override {
        ++asked_["ReadEvents"];
        StoreWrapper::ReadEvents(partition, after, limit, std::move(done));
    }

  private:
    Asked& asked_;
};

// A scheduler as the server makes it, without its port.
class DrivenScheduler {
  public:
    DrivenScheduler(DrivenRuntime& runtime, std::shared_ptr<MemoryDatabase> database,
                    std::string name, Asked& asked)
        : id_(name),
          memory_(std::move(database), [&](auto work) { runtime.Post(std::move(work)); }),
          store_(&memory_, asked),
          recent_(&store_, [&] { return runtime.Now().steady; }),
          settings_(*ReadServerSettings(config_)) {
        loops_.emplace_back(&runtime);
        presence_ = std::make_unique<Presence>(runtime, recent_.reader(),
                                               PresenceConfig{.row = {.node = id_}},
                                               RandomSeed{static_cast<std::uint8_t>(name[0])});
        ground_.emplace(RealmGround{.config = config_,
                                    .node = id_,
                                    .address = address_,
                                    .settings = settings_,
                                    .store = store_,
                                    .recent = recent_,
                                    .presence = *presence_,
                                    .mailer = mailer_,
                                    .commons = std::make_shared<const Commons>()});
        realms_ = std::make_unique<Realms>(
            *ground_, loops_,
            RealmsEvents{.on_made = [](const auto&) {}, .on_gone = [](const auto&) {}});
        EXPECT_TRUE(realms_->MakeDefault(nullptr));
        presence_->Start();
        realms_->Follow();
    }
    ~DrivenScheduler() { realms_->Dismantle(); }

    void Poll() { loops_.front().io().poll(); }

  private:
    const NodeId id_;
    const Config config_;
    const std::string address_ = "http://10.0.0.5:8080";
    std::deque<WorkLoop> loops_;
    MemoryStore memory_;
    CountingStore store_;
    RecentCluster recent_;
    const ServerSettings settings_;
    Mailer mailer_;
    std::unique_ptr<Presence> presence_;
    std::optional<RealmGround> ground_;
    std::unique_ptr<Realms> realms_;
};

}  // namespace takt::internal
