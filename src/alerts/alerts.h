// Alerts: watches the numbers, remembers what is wrong, and has it told.
//
// Each alert is told once when it fires and once when it is over, never again in between. While its
// rule is silenced nothing is told; what still fires when the silence ends is told then, and who
// was not told that something fires is not told that it is over.
//
// The leader reads all metrics every few seconds and steps the evaluator. Each transition is one
// batch: the alert's row and an event. So a new leader takes over exactly the alerts that were told
// of. Channels are told after that batch, and at least once: if a leader dies in between, the next
// one tells; the alert's id and state are the same.
//
// A follower has the rule about runs that did not happen on its mind too: see FollowerWatch.
//
// Rules come from the program, from the configuration and from operators, each stronger than the
// one before. Runs on the node's thread; Bind it before the node starts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "alerts/delivery.h"
#include "alerts/evaluator.h"
#include "alerts/failed_runs.h"
#include "alerts/late_runs.h"
#include "alerts/rule_book.h"
#include "node/home.h"
#include "node/node.h"
#include "node/runtime.h"
#include "node/sink.h"
#include "store/partition_reader.h"

namespace takt::internal {

struct AlertsConfig {
    bool enabled = true;
    Duration interval{5'000};           // Between two looks.
    std::vector<AlertRule> rules = {};  // Of the configuration.
    std::size_t resolved_max = 200;     // Alerts that are over and still listed.
};

// The condition of writing a rule or a channel: that it has this version, or is not there.
struct WriteCondition {
    std::optional<std::uint32_t> version;
    bool absent = false;
};

class Alerts final : public Sink {
  public:
    // Reads all that the engine shows, but for the lateness of runs, which is watched here.
    using ReadMetrics = std::function<void(const Engine&, Instant, AlertReadings&)>;

    // The runtime, the store and the delivery must outlive it.
    Alerts(Runtime& runtime, PartitionReader rows, Delivery& delivery, AlertsConfig config,
           ReadMetrics read);
    void Bind(Node& node) { node_ = &node; }

    // Sink. On the node's thread.
    void OnCommit(const Committed& committed) override;
    void Release(const Effects&) override {}
    void OnRole(Role role) override;

    // From any thread: runs `look` on the node's thread. All below is for use there.
    void With(std::move_only_function<void(Alerts&)> look);
    // The same for `change`, which changes a rule or a channel, or refuses to: it begins when those
    // before it are stored. So each is judged by what they left: a rule names no channel that goes.
    void InTurn(std::move_only_function<void(Alerts&)> change);

    // kUnavailable until what an earlier leader left is read.
    Result<void> Ready() const;

    // Newest first: those that are active, then those that are over.
    std::vector<const Alert*> alerts() const;
    const RuleBook& rules() const { return book_; }
    Delivery& delivery() { return delivery_; }
    const std::map<std::string, double>& values() const { return values_; }
    // The worst state among the alerts of a rule; nothing if it has none.
    std::optional<AlertState> StateOf(const std::string& rule) const;

    // Changes, each answered when it is stored. `by` says who asks and what changes; null: nobody.
    // kConflict if the condition does not hold, with the field `version` or `name`.
    // REQUIRES for rules and channels: called by what InTurn runs.
    void PutRule(AlertRule rule, const WriteCondition& condition, ActPtr by, Done<void> done);
    // kConflict for one that is not an operator's: it can only be disabled.
    void DeleteRule(const std::string& name, const WriteCondition& condition, ActPtr by,
                    Done<void> done);
    // kConflict also for a channel of the configuration, and one that a rule names.
    void PutChannel(Channel channel, const WriteCondition& condition, ActPtr by, Done<void> done);
    void DeleteChannel(const std::string& name, const WriteCondition& condition, ActPtr by,
                       Done<void> done);
    // `until` 0 ends it.
    void Silence(const std::string& rule, Time until, ActPtr by, Done<void> done);
    void Acknowledge(const std::string& id, Acknowledgement by, ActPtr act, Done<Alert> done);

    // Looks now. For tests, and now and then by itself.
    void Look();

  private:
    // While the term lasts: reads what an earlier leader left, then looks every few seconds.
    Flow<> Watch(Stay term);
    Flow<std::vector<SettingPut>> ReadRows(Stay term);
    void TakeOver(const std::vector<SettingPut>& rows);
    void Judge(const Engine& engine);
    void Post(const Alert& alert);
    void Bury(Alert& alert);
    void ForgetOldest();
    std::vector<const Alert*> Owed() const;
    bool IsOwed(const Alert& alert, Time now) const;
    void TellOwed();
    void TellGroup(const std::vector<const Alert*>& alerts);
    void OnHeard(const std::string& id, AlertState state, const std::string& channel);
    void OnTold(const std::string& id, AlertState state);
    void Keep(const Alert& alert);
    void StoreThenApply(SettingPut row, ActPtr by, Done<void> done);
    void TakeTurns();
    Alert* FindAlert(std::string_view id);
    static Text AlertKey(const Alert& alert) { return Text(std::string(kAlertPrefix) + alert.id); }

    Runtime& runtime_;
    const PartitionReader rows_;
    Delivery& delivery_;
    const AlertsConfig config_;
    const ReadMetrics read_;
    Node* node_ = nullptr;
    AlertEvaluator evaluator_{config_.interval};
    LateRuns late_;
    FailedRuns failed_;
    RuleBook book_;
    std::deque<Alert> over_;               // Newest first.
    std::map<std::string, Alert> unkept_;  // The store did not take them yet.
    // Alerts that are being told. Outlives a term: what waits for a slow channel still goes out.
    std::set<std::pair<std::string, AlertState>> telling_;
    std::set<std::string> partly_told_;  // Alerts of which a channel has heard since the last look.
    std::map<std::string, double>
        values_;  // By rule: the last one seen, the worst of its subjects.
    std::deque<std::move_only_function<void(Alerts&)>> changes_;  // Wait for their turn.
    std::size_t storing_ = 0;  // Rules and channels that are being stored: one at most, in turn.
    bool taking_turns_ = false;
    bool leading_ = false;
    bool loaded_ = false;
    Home home_{runtime_};  // Its terms are those that this node leads in.
};

}  // namespace takt::internal
