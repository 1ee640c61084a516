// Drills: one thing goes wrong at a time, with several namespaces, so that more can be asked than when
// everything does: what each namespace notices of it, and for how long.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulation.h"
#include "sim/space.h"

namespace takt::internal::sim {

class Drills {
  public:
    using Hosts = std::vector<std::unique_ptr<SimHost>>;
    using Spaces = std::vector<std::unique_ptr<Space>>;
    using Complain = std::function<void(const std::string&)>;

    Drills(World& world, SimDatabase& database, Hosts& hosts, Spaces& spaces, Complain fail)
        : world_(world),
          database_(database),
          hosts_(hosts),
          spaces_(spaces),
          fail_(std::move(fail)) {}

    // The namespace for which the store is slow, or does not answer. Of three that two schedulers lead
    // it shares its own with the first.
    static constexpr Partition kPoor = 2;

    // Begins when everything runs; goes on until End.
    void Begin(Drill drill);
    void End();

    // How many namespaces changed their leader in the drill.
    std::size_t moves() const { return moves_; }

  private:
    void WatchLater();
    void Watch();
    void WatchLead(const Space& space);
    void After(Micros delay, void (Drills::*step)());

    void KillOne();
    void PutRight();
    void ComeAndGo();
    void StopOne();
    void SlowDown();
    void AskPromptly();

    World& world_;
    SimDatabase& database_;
    Hosts& hosts_;
    Spaces& spaces_;
    const Complain fail_;
    Drill drill_ = Drill::kNone;
    bool settled_ = false;  // All was led once.
    int turn_ = 0;
    std::size_t victim_ = 0;
    std::size_t moves_ = 0;
    std::map<Partition, Steady> led_at_;
    std::map<Partition, const SimHost*> leaders_;
};

}  // namespace takt::internal::sim
