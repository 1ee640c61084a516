// A node on the embedded store with a loop and a thread of its own, and a worker in the same
// process, for benchmarks in which neither network nor handlers are in the figures.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "node/asio_runtime.h"
#include "node/node.h"
#include "store/embedded/store.h"

namespace takt::internal {

// A worker in this process. A class that derives from it says what it does with effects.
class LocalWorker : public Sink {
  public:
    void Bind(Node& node) { node_ = &node; }

    void OnRole(Role role) override {
        const std::scoped_lock lock(mutex_);
        leading_ = role == Role::kLeader;
        changed_.notify_all();
    }
    void WaitUntilLeading() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return leading_; });
    }

  protected:
    // Reports success of each assignment at once.
    void Succeed(const Effects& effects) {
        std::vector<Input> results;
        results.reserve(effects.assigns.size());
        for (const Assign& assign : effects.assigns) {
            const Execution& row = assign.execution;
            results.push_back(Report{.session = assign.session,
                                     .attempt = {row.id, row.attempt, row.token},
                                     .success = true});
        }
        if (!results.empty()) node_->Tell(std::move(results));
    }

    std::mutex mutex_;
    std::condition_variable changed_;

  private:
    Node* node_ = nullptr;
    bool leading_ = false;
};

// Leads when it is constructed. REQUIRES: `worker` outlives it.
class RunningNode {
  public:
    RunningNode(const std::string& directory, const EngineConfig& engine, LocalWorker& worker)
        : store_(*OpenEmbedded({.directory = directory})), work_(loop_.get_executor()) {
        node_ = std::make_unique<Node>(
            runtime_, *store_,
            NodeConfig{.leadership = {.node = NodeId("bench"), .address = "http://127.0.0.1:0"},
                       .engine = engine},
            NewRandomSeed(), &worker);
        worker.Bind(*node_);
        node_->Start();
        thread_ = std::thread([this] { loop_.run(); });
        worker.WaitUntilLeading();
    }
    ~RunningNode() {
        node_->Stop([this] {
            node_.reset();
            work_.reset();
            loop_.stop();
        });
        thread_.join();
    }

    Node& node() { return *node_; }

    // Its session is 1.
    void AttachWorker(std::uint32_t capacity) {
        Worker row;
        row.id = WorkerId("w-1");
        row.capacity = capacity;
        node_->Tell(Attach{.session = 1, .worker = row});
    }

  private:
    std::unique_ptr<Store> store_;
    boost::asio::io_context loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    AsioRuntime runtime_{loop_};
    std::unique_ptr<Node> node_;
    std::thread thread_;
};

}  // namespace takt::internal
