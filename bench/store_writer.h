// StoreWriter: the only leader of a store, which commits lifecycles one batch at a time, for
// benchmarks of stores.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/lifecycles.h"
#include "store/lead.h"
#include "store/store.h"

namespace takt::internal {

// Waits for the answer of an operation; an error ends the program, since no figure would mean
// anything after it.
template <typename T>
T Await(const std::function<void(Done<T>)>& begin) {
    std::promise<Result<T>> answer;
    begin([&](Result<T> result) { answer.set_value(std::move(result)); });
    Result<T> result = answer.get_future().get();
    if (!result) {
        fmt::print(stderr, "the store failed: {}\n", result.error().detail);
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class StoreWriter {
  public:
    // For an hour, longer than any benchmark.
    explicit StoreWriter(Store& store)
        : store_(store),
          term_(*TakeLead(store, {.node = {.node = NodeId("bench")}, .ttl = Duration(3'600'000)})) {
    }

    void Insert(std::size_t rows) { Commit(lives_.Ahead(rows)); }

    // So much ahead that no batch of `changes` has two changes of one row.
    void Prepare(std::size_t changes) {
        Insert(changes + 1);
        Commit(lives_.StartAhead(changes / 2 + 1));
    }
    void CommitNext(std::size_t changes) {
        std::vector<Change> next;
        next.reserve(changes);
        for (std::size_t i = 0; i < changes; ++i) next.push_back(lives_.Next());
        Commit(std::move(next));
    }

  private:
    void Commit(std::vector<Change> changes) {
        const auto batch = std::make_shared<const Batch>(
            Batch{term_, ++sequence_, lives_.last_serial(), std::move(changes)});
        Await<void>([&](Done<void> done) { store_.Commit(batch, std::move(done)); });
    }

    Store& store_;
    const Term term_;
    Lifecycles lives_;
    std::uint64_t sequence_ = 0;
};

}  // namespace takt::internal
