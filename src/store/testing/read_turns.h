// Whether reads of a partition wait behind all that another one has asked: for stores that read on
// threads of their own, one of which the test holds meanwhile.
#pragma once

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace takt::internal::testing_support {

// Asks for executions of partition 1, again and again, and once of partition 2: in which order they are
// answered. REQUIRES: one thread answers them.
inline std::string OrderOfReads(Store& store) {
    constexpr int kReads = 10;
    std::promise<void> held, release;
    std::promise<std::string> all;
    std::string order;  // Of the thread that reads.
    const auto read = [&](Partition partition, Done<std::vector<std::optional<Execution>>> done) {
        store.FindExecutions(partition, {ExecutionId("e")}, std::move(done));
    };
    read(1, [&](const auto&) {
        held.set_value();
        release.get_future().wait();
    });
    held.get_future().wait();
    const auto note = [&](Partition partition) {
        order += std::to_string(unsigned{partition});
        if (order.size() == kReads + 1) all.set_value(order);
    };
    for (int i = 0; i < kReads; ++i) read(1, [&](const auto&) { note(1); });
    read(2, [&](const auto&) { note(2); });
    release.set_value();
    return all.get_future().get();
}

}  // namespace takt::internal::testing_support
