// A second namespace beside that of a TestScheduler: node, events and the rest on partition 1.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "api/test_scheduler.h"

namespace takt::internal {

class TestRealm {
  public:
    TestRealm(TestScheduler& scheduler, const std::string& name, Partition partition,
              SpaceMark mark = {})
        : scheduler_(scheduler),
          name_(name),
          runtime_(loop_.io()),
          hub_({.space = name}),
          rows_(scheduler.store(), partition),
          statistics_(runtime_, rows_, {}),
          delivery_(
              runtime_, {}, [](const Channel&, const Notice&, auto done) { done({}); }, name),
          alerts_(runtime_, rows_, delivery_, {},
                  [this](const Engine& engine, Instant now, AlertReadings& readings) {
                      meters_.Read(engine, now, readings);
                  }),
          sink_({&hub_, &meters_, &statistics_, &alerts_}) {
        NodeConfig config;
        config.leadership.partition = partition;
        config.leadership.node = NodeId("node-a");
        config.leadership.address = Text(scheduler.address());
        node_ =
            std::make_unique<Node>(runtime_, scheduler.store(), config, NewRandomSeed(), &sink_);
        statistics_.Bind(*node_);
        alerts_.Bind(*node_);
        node_->Start();
        sink_.AwaitRole(Role::kLeader);
        RealmParts parts{.name = name,
                         .partition = partition,
                         .mark = mark,
                         .node = *node_,
                         .events = hub_,
                         .meters = meters_,
                         .statistics = statistics_,
                         .alerts = alerts_};
        std::promise<void> added;
        scheduler.Run([&] {
            scheduler.api().AddRealm(std::move(parts));
            added.set_value();
        });
        added.get_future().wait();
    }
    ~TestRealm() {
        std::promise<void> removed;
        scheduler_.Run([&] {
            scheduler_.api().RemoveRealm(name_);
            removed.set_value();
        });
        removed.get_future().wait();
        std::promise<void> stopped;
        node_->Stop([&] { stopped.set_value(); });
        stopped.get_future().wait();
        std::promise<void> gone;
        boost::asio::post(loop_.io(), [&] {
            node_.reset();
            gone.set_value();
        });
        gone.get_future().wait();
        // Only timers of those who look now and then are left.
        loop_.Stop();
        // The store posts its answers to the runtime, which ends here.
        scheduler_.AwaitStore();
    }

    Node& node() { return *node_; }
    TestSink& sink() { return sink_; }

  private:
    TestScheduler& scheduler_;
    const std::string name_;
    LoopThread loop_;
    AsioRuntime runtime_;
    EventHub hub_;
    Meters meters_;
    const PartitionReader rows_;
    Statistics statistics_;
    Delivery delivery_;
    Alerts alerts_;
    TestSink sink_;
    std::unique_ptr<Node> node_;
};

}  // namespace takt::internal
