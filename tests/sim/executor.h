// SimExecutor: an executor as docs/executors.md asks for it. It remembers tokens it has taken, tells
// how an attempt ended by its answer or by callbacks, to any scheduler, until one takes it; and now and
// then it says it twice, late, or otherwise than before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/sim_push.h"

namespace takt::internal::sim {

class SimExecutor {
  public:
    SimExecutor(Cluster& cluster, int number, std::uint32_t capacity);

    void Start();
    void Crash();
    void Freeze(Micros time);
    bool running() const { return up_; }
    const std::string& name() const { return name_; }
    std::string host() const { return name_ + ":9000"; }

    bool sick = false;     // Says that it cannot work.
    double refuses = 0;    // Orders, although it is well.
    double says_more = 0;  // Than it is asked for: again, late, otherwise.

    // An operator tells the leader. `insist`: until it is done.
    void SetStatus(WorkerStatus status, bool insist);
    void Remove();
    std::size_t pending() const { return pending_; }

  private:
    struct Run {
        AttemptRef ref;
        bool running = true;
        bool telling = false;
        Said said;
        std::vector<std::string> urls;  // Of the newest order.
        int tries_left = 0;
        SimWeb::Reply open;  // Waits for the end of the attempt.
    };

    void Serve(const HttpCall& call, const SimWeb::Reply& reply);
    void TakeOrder(const HttpCall& call, const SimWeb::Reply& reply);
    void Begin(const std::string& token, const SimWeb::Reply& reply);
    void End(const std::string& token, bool success);
    void Tell(const std::string& token);
    void OnTold(const std::string& token, int status);
    void Say(const std::string& token, const Said& said, std::function<void(int)> done);
    void SayMore(const std::string& token);
    void Register();
    void Beat();
    // To the leader, if there is one; else to anybody.
    void Ask(std::function<void(PushLink&, Done<void>)> ask, Done<void> done);
    Run* Find(const std::string& token);
    void Note(std::string_view what, std::string_view about = {}, std::uint64_t number = 0) {
        cluster_.world.Note(name_, what, about, number);
    }

    Cluster& cluster_;
    ExecutorChecker& checker_;
    const std::string name_;
    const std::uint32_t capacity_;
    const bool has_health_;       // A page that tells it; else it sends heartbeats.
    const bool names_processes_;  // Each of its processes has an id.
    bool up_ = false;
    int instance_ = 0;
    std::size_t pending_ = 0;
    ProcessPtr process_ = std::make_shared<Process>();
    std::map<std::string, Run> runs_;  // By token: those of this process.
};

}  // namespace takt::internal::sim
