// LogChecker: what attempts write. Lines are stored in their order, once, as they were written; a
// result that is accepted has all lines with it that its worker sent before; no leader keeps more of
// an execution than its bound. (Who follows a log is told early, and reads what is stored.)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/config.h"
#include "engine/effects.h"
#include "sim/world.h"
#include "store/memory/database.h"
#include "store/store.h"

namespace takt::internal::sim {

class LogChecker {
  public:
    using Complain = std::function<void(const std::string&)>;

    explicit LogChecker(Complain fail) : fail_(std::move(fail)) {}

    // The line that an attempt writes as its n-th, from 1 on; `size` is about its length.
    std::string Write(const AttemptRef& attempt, std::uint64_t number, std::size_t size);
    // Its worker sends it over a connection.
    void OnSent(SessionId session, const AttemptRef& attempt, std::uint64_t number) {
        sent_[{session, KeyOf(attempt)}].insert(number);
    }

    // `again`: whether somebody asked to run the execution once more.
    void OnCommit(const Batch& batch, const EngineConfig& config,
                  const std::function<bool(const ExecutionId&)>& again);
    // A scheduler lets go of its effects.
    void OnRelease(const Effects& effects);

    // The store went back to where it was when this was copied; see Checker::Recall.
    void Recall(const LogChecker& later);

    // After the heal: the store has what was committed.
    void CheckEnd(MemoryDatabase& database, Partition partition);

  private:
    // An attempt, as its lines name it.
    using Key = std::tuple<std::string, std::uint32_t, std::string>;
    static Key KeyOf(const AttemptRef& ref);

    struct Log {
        std::vector<LogChunk> chunks;
        std::map<Key, std::set<std::uint64_t>> lines;  // By number.
        std::uint64_t nonce = 0;                       // Of whose term it is kept by.
        std::uint64_t bytes = 0;                       // In that term.
        bool full = false;
        bool again = false;  // It may have been run once more, which counts anew.
    };

    void TakeChunk(Log& log, const LogChunk& chunk);
    void TakeLine(Log& log, const LogChunk& chunk, std::string_view line);

    const Complain fail_;
    std::map<ExecutionId, Log> logs_;       // As stored.
    std::map<Key, std::uint64_t> written_;  // How many.
    std::map<std::pair<SessionId, Key>, std::set<std::uint64_t>> sent_;
};

}  // namespace takt::internal::sim
