// Many worker sessions on one thread, for takt bench: what a large fleet is to a scheduler, without
// the threads that a fleet has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/bench_ledger.h"

namespace takt::internal::cli {

struct BenchSessionsOptions {
    std::string server;
    std::string space;  // The namespace that it serves; empty: `default`.
    std::string token;
    std::string id;  // Of session 1 it is id-1.
    std::size_t sessions = 0;
    std::uint32_t capacity = 1;  // Of each.
};

class BenchSessions {
  public:
    // Opens all of them and returns when they are attached; the handlers only write into the
    // ledger. kUnavailable if they are not in time. A session that breaks afterwards ends the
    // process: nothing it had would be measured.
    static Result<std::unique_ptr<BenchSessions>> Open(BenchSessionsOptions options,
                                                       BenchLedger& ledger);
    // Says goodbye.
    ~BenchSessions();

  private:
    struct State;
    explicit BenchSessions(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace takt::internal::cli
