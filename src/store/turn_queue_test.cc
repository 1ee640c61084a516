#include "store/turn_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace takt::internal {
namespace {

class TurnQueueTest : public testing::Test {
  protected:
    void Push(Partition partition, std::string name) {
        queue_.Push(partition, [this, name = std::move(name)](int*, const Error* refusal) {
            said_ += refusal ? "-" + name + " " : name + " ";
        });
    }
    void Run(int count) {
        int context = 0;
        for (int i = 0; i < count; ++i) (*queue_.Pop())(&context, nullptr);
    }

    TurnQueue<int> queue_;
    std::string said_;
};

// One namespace submits as fast as it can; two others have one commit each.
TEST_F(TurnQueueTest, EachPartitionHasItsTurnAndKeepsItsOrder) {
    for (const char* name : {"flood1", "flood2", "flood3", "flood4"}) Push(3, name);
    Push(7, "seven1");
    Push(0, "zero1");
    Push(7, "seven2");

    Run(4);
    Push(0, "zero2");
    Run(4);

    EXPECT_EQ(said_, "flood1 seven1 zero1 flood2 seven2 zero2 flood3 flood4 ");
}

TEST_F(TurnQueueTest, WhatWaitsWhenItIsClosedIsCancelled) {
    Push(0, "a");
    Push(7, "b");

    queue_.Close();

    EXPECT_EQ(said_, "-a -b ");
    EXPECT_FALSE(queue_.Pop());
}

}  // namespace
}  // namespace takt::internal
