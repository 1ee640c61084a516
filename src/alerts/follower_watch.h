// FollowerWatch: a follower that sees from the store that nobody fires what is due, and says so.
//
// The rule about runs that did not happen is worth little if it dies with the leader. So each
// follower reads the due times of recurring tasks now and then. When one has passed for longer than
// the rule allows, and the leader had its chance to tell, one follower (TellerChoice) tells the
// channels itself, marked with its name. The alert's id is made from rule, task and due time:
// whoever tells it again, the next leader for one, tells the same alert. Who told that it fires
// also tells that it is over, as a leader too, unless a leader has that very alert by then.
//
// While the leader stands whose rows were read last, and nothing that they say can be late yet, they
// are not read again for ten minutes: there may be hundreds of namespaces in which nothing happens.
//
// A silence counts as it does for the leader: what still fires when it ends is told then, and only
// who was told that it fires is told that it is over.
//
// A follower writes nothing to the store, so its alerts are in no list. On the node's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "alerts/delivery.h"
#include "alerts/evaluator.h"
#include "alerts/rule_book.h"
#include "alerts/teller_choice.h"
#include "node/home.h"
#include "node/runtime.h"
#include "node/sink.h"
#include "store/partition_reader.h"

namespace takt::internal {

struct FollowerWatchConfig {
    bool enabled = true;
    NodeId node;
    Duration interval{15'000};
    // The time that a leader, old or new, is given to fire what is due, or to tell that it did not.
    Duration grace{30'000};
    std::vector<AlertRule> rules = {};  // Of the configuration.
};

class FollowerWatch final : public Sink {
  public:
    // All must outlive it.
    FollowerWatch(Runtime& runtime, PartitionReader rows, Delivery& delivery,
                  FollowerWatchConfig config);
    ~FollowerWatch() override;

    // Sink. On the node's thread.
    void Release(const Effects&) override {}
    void OnRole(Role role) override;

  private:
    struct View {
        bool tells = false;  // It is for this node to tell what fires.
        std::vector<SettingPut> settings;
        std::vector<TaskRow> tasks;
    };
    // The rows said, when they were read, that nothing was late.
    struct Calm {
        Term leader;   // Of whoever led then.
        Time until{};  // The first due time by which something can be late.
        Steady read_at{};
    };
    void LookLater();
    Flow<> Look(Stay term);
    Flow<Result<TellerChoice::Rows>> ReadNodes(Stay term);
    Flow<Result<std::vector<TaskRow>>> ReadTasks(Stay term);
    bool IsCalm(const std::optional<LeaderRow>& leader);
    bool NoteCalm(const std::vector<TaskRow>& tasks, const std::optional<LeaderRow>& leader);
    void Judge(const View& view);
    void TellFiring(const View& view);
    void TellResolved(const View& view);
    static const SettingPut* RowOf(const View& view, const Alert& alert);
    bool IsSilenced(const Alert& alert) const;
    void Send(const Alert& alert);
    void Forget();

    Runtime& runtime_;
    const PartitionReader rows_;
    Delivery& delivery_;
    const FollowerWatchConfig config_;
    AlertEvaluator evaluator_{config_.interval};
    TellerChoice choice_;
    RuleBook book_;
    // By id: what channels were told that it fires, and not yet that it is over.
    std::map<std::string, Alert> told_;
    std::optional<Calm> calm_;
    bool watching_ = false;
    bool following_ = false;
    std::uint64_t timer_ = 0;
    Home home_{runtime_};  // Its terms are the times between two roles.
};

}  // namespace takt::internal
