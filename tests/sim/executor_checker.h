// ExecutorChecker: what executors are promised, and what must hold of the work that they have: as the
// committed rows, the orders that arrive and the answers to callbacks show it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "links/push_link.h"
#include "sim/limit_checker.h"
#include "sim/world.h"
#include "store/store.h"

namespace takt::internal::sim {

class Checker;

// How an executor says that an attempt ended.
struct Said {
    bool success = false;
    std::string text;  // The result, or the error.

    static Said Of(const ServiceReport& report);
    friend bool operator==(const Said&, const Said&) = default;
};

class ExecutorChecker {
  public:
    ExecutorChecker(World& world, Checker& checker) : world_(world), checker_(checker) {}

    // Whether an executor was given the attempt with this token.
    bool Has(const std::string& token) const { return attempts_.contains(token); }

    void OnCommit(const Batch& batch, const std::vector<RowMove>& moves,
                  const EngineConfig& config);
    // A term of this epoch begins.
    void OnTerm(std::uint64_t epoch) { terms_.emplace(epoch, world_.now()); }
    // A scheduler sends an order in one of its terms, and hears what became of it.
    void OnOrderSent(const std::string& token, std::uint64_t epoch);
    void OnOrderAnswered(const std::string& token, std::uint64_t epoch,
                         const Result<HttpAnswer>& answer);
    // It arrives at a process of the executor's. Whether it is the first of its attempt.
    bool OnOrder(const std::string& token, std::uint64_t epoch, const ProcessPtr& process);
    // An operator says that it is to go, or nothing good is heard of it: what it has may be given to
    // others.
    void OnDoubted(const std::string& worker) { doubted_[worker] = world_.now(); }
    // The executor says so, by an answer or by a callback that is on its way.
    void OnSaid(const std::string& token, const Said& said);
    bool SaidSuccess(const std::string& token) const;
    // A leader takes a callback in its hands.
    void OnCallback(const std::string& token, std::uint64_t epoch);
    void OnCallbackAnswered(const std::string& token, const Said& said,
                            CallbackAnswer::Verdict verdict);

    std::size_t orders() const { return orders_; }

  private:
    enum class Kind : std::uint8_t { kSuccess, kFailed, kTimeout, kReturned, kOther };
    // As it is stored.
    struct End {
        Kind kind = Kind::kOther;
        std::string text;

        bool Is(const Said& said) const {
            return kind == (said.success ? Kind::kSuccess : Kind::kFailed) && text == said.text;
        }
    };
    struct InTerm {
        std::optional<Steady> ordered;  // First sent.
        std::optional<Steady> told;     // By the executor, how it ended.
        bool arrived = false;
    };
    struct Attempt {
        AttemptRef ref;
        std::uint64_t epoch = 0;  // Of the leader that gave it.
        Duration timeout{};
        std::vector<Said> said;
        std::optional<Steady>
            call_failed;  // An order may have been taken, and was not answered so.
        std::map<std::uint64_t, InTerm> terms;
        ProcessPtr taken_by;  // The last that took it.
        Steady sent_at{};
        std::optional<End> end;
    };

    static End EndOf(const RowMove& move);
    void Judge(const Attempt& attempt, const Batch& batch, const WorkerId& worker);
    bool HadEndedInTime(const Attempt& attempt, std::uint64_t epoch) const;
    bool WasDoubted(const Attempt& attempt, const WorkerId& worker) const;
    void Fail(const Attempt& attempt, const std::string& what);

    World& world_;
    Checker& checker_;
    std::map<std::string, Attempt> attempts_;  // By token.
    std::map<std::uint64_t, Steady> terms_;    // When they began.
    std::map<std::string, Steady> doubted_;    // Executors, when they last were.
    std::size_t orders_ = 0;
};

}  // namespace takt::internal::sim
