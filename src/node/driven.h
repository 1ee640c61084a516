// Parts that the node's tests drive by hand: a runtime whose time moves when told, and a store that
// answers when told, with what it is told.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/runtime.h"
#include "store/store_wrapper.h"

namespace takt::internal {

using namespace std::chrono_literals;

class DrivenRuntime final : public Runtime {
  public:
    Instant Now() override { return now_; }
    void Post(Action action) override { posted_.push_back(std::move(action)); }
    std::uint64_t After(Duration delay, Action action) override {
        timers_.emplace(std::pair(now_.steady + delay, ++last_), std::move(action));
        return last_;
    }
    void Cancel(std::uint64_t timer) override {
        std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
    }

    // Runs what is posted, until nothing is.
    void Run() {
        for (int i = 0; !posted_.empty(); ++i) {
            ASSERT_LT(i, 10'000) << "the node never rests";
            Action action = std::move(posted_.front());
            posted_.pop_front();
            action();
        }
    }

    // Lets time pass, with every timer at its time.
    void Pass(Duration time) {
        const Steady until = now_.steady + time;
        Run();
        while (!timers_.empty() && timers_.begin()->first.first <= until) {
            auto next = timers_.extract(timers_.begin());
            Set(std::max(now_.steady, next.key().first));
            next.mapped()();
            Run();
        }
        Set(until);
    }

    // The machine is suspended: time passes, and no timer is heard.
    void Sleep(Duration time) { Set(now_.steady + time); }

  private:
    void Set(Steady at) {
        now_.wall += std::chrono::floor<Duration>(at - now_.steady);
        now_.steady = at;
    }

    Instant now_{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1), Steady(1h)};
    std::deque<Action> posted_;
    std::map<std::pair<Steady, std::uint64_t>, Action> timers_;
    std::uint64_t last_ = 0;
};

// Keeps every question until the test answers it.
class DrivenStore final : public StoreWrapper {
  public:
    DrivenStore() : StoreWrapper(nullptr) {}

    StoreLimits limits_now{.changes_max = 1000, .bytes_max = 1 << 20, .pipeline_max = 1};
    std::string full;
    std::deque<std::pair<Candidate, Done<Term>>> acquires;
    // The store's words of itself: announcements succeed, and the leaders are `rows`. By hand: the
    // test answers these too.
    bool presence_by_hand = false;
    std::vector<LeaderRow> rows;
    std::vector<NodeRow> peers;                             // As Nodes gives them.
    std::deque<std::pair<Duration, Done<void>>> announces;  // With their ttl.
    std::deque<std::pair<std::pair<Term, NodeId>, Done<void>>> resigns;
    std::deque<Done<std::vector<LeaderRow>>> leaders;
    std::deque<Done<std::vector<NodeRow>>> nodes;
    std::deque<std::pair<BatchPtr, Done<void>>> commits;
    std::deque<Done<LoadPage>> loads;
    std::deque<std::pair<std::vector<ExecutionId>, Done<std::vector<std::optional<Execution>>>>>
        finds;

    // Takes the oldest question off a list and answers it.
    template <typename Questions, typename Answer>
    static void Reply(Questions& questions, Answer answer) {
        ASSERT_FALSE(questions.empty()) << "nothing was asked";
        auto question = std::move(questions.front());
        questions.pop_front();
        if constexpr (requires { question.second; }) {
            question.second(std::move(answer));
        } else {
            question(std::move(answer));
        }
    }

    // Answers the oldest Acquire with a term, which is read from then on.
    void GiveTerm(std::uint64_t epoch, std::uint64_t nonce) {
        ASSERT_FALSE(acquires.empty()) << "nobody campaigns";
        const Candidate candidate = acquires.front().first;
        std::erase_if(rows,
                      [&](const LeaderRow& row) { return row.partition == candidate.partition; });
        rows.push_back({candidate.partition, candidate.node, candidate.address, epoch, nonce});
        Reply(acquires, Result<Term>(Term{candidate.partition, epoch, nonce}));
    }

    StoreLimits limits() const override { return limits_now; }
    std::string Describe() const override { return "driven"; }
    std::string WhyFull() const override { return full; }
    void Acquire(const Candidate& candidate, Done<Term> done) override {
        acquires.emplace_back(candidate, std::move(done));
    }
    void Announce(const NodeRow&, Duration ttl, Done<void> done) override {
        if (!presence_by_hand) return done({});
        announces.emplace_back(ttl, std::move(done));
    }
    void Resign(const Term& term, const NodeId& successor, Done<void> done) override {
        resigns.emplace_back(std::pair(term, successor), std::move(done));
    }
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        if (!presence_by_hand) return done(rows);
        leaders.push_back(std::move(done));
    }
    void Nodes(Done<std::vector<NodeRow>> done) override {
        if (!presence_by_hand) return done(peers);
        nodes.push_back(std::move(done));
    }
    void Commit(BatchPtr batch, Done<void> done) override {
        commits.emplace_back(std::move(batch), std::move(done));
    }
    void Load(Partition, const std::string&, Done<LoadPage> done) override {
        loads.push_back(std::move(done));
    }
    void FindExecutions(Partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        finds.emplace_back(std::move(ids), std::move(done));
    }
    void ListSettings(Partition, const Text&, Done<std::vector<SettingPut>> done) override {
        done({});
    }
};

}  // namespace takt::internal
