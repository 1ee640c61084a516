// The stream link with a real node, a real port and workers that speak the protocol by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/support/stack.h"
#include "worker.pb.h"

namespace takt::internal::testing_support {

class StreamLinkTest : public testing::Test {
  protected:
    void SetUp() override { Begin({}); }
    void Begin(StackOptions options) {
        stack_.reset();
        stack_ = std::make_unique<Stack>(std::move(options));
        ASSERT_TRUE(stack_->watcher.AwaitRole(Role::kLeader));
    }
    std::unique_ptr<RawWorker> Connect() { return std::make_unique<RawWorker>(stack_->url()); }
    std::unique_ptr<RawWorker> Attached(const worker::v1::WorkerFrame& hello) {
        auto worker = Connect();
        EXPECT_TRUE(worker->Send(hello));
        EXPECT_TRUE(worker->Next().has_welcome());
        return worker;
    }
    static worker::v1::WorkerFrame ResultOf(const worker::v1::Attempt& attempt) {
        worker::v1::WorkerFrame frame;
        auto& result = *frame.add_results();
        *result.mutable_attempt() = attempt;
        result.set_success(true);
        result.set_data(R"({"sum":3})");
        return frame;
    }

    std::unique_ptr<Stack> stack_;
};

}  // namespace takt::internal::testing_support
