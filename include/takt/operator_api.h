// OperatorApi: what those ask a scheduler who keep it running: queues, locks, alerts, statistics,
// namespaces, the audit. Scheduler and Client have all of it, beside SchedulerApi, whose rules hold
// here too: every call blocks, may be made from several threads, and may fail with kUnavailable,
// kUnknown and kInvalid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "takt/alert.h"
#include "takt/audit.h"
#include "takt/error.h"
#include "takt/execution.h"
#include "takt/export.h"
#include "takt/name_space.h"
#include "takt/queue.h"
#include "takt/statistics.h"

namespace takt {

class Calls;        // How questions travel.
struct LockRecord;  // takt/lock.h

class TAKT_EXPORT OperatorApi {
  public:
    virtual ~OperatorApi();
    OperatorApi(const OperatorApi&) = delete;
    OperatorApi& operator=(const OperatorApi&) = delete;

    // --- Queues ---------------------------------------------------------------------------------

    Result<std::vector<Queue>> ListQueues();
    // kNotFound: nothing was ever put into it.
    Result<Queue> GetQueue(std::string_view name);
    // A queue need not be there before its limits are.
    Result<Queue> SetQueueLimits(std::string_view name, const QueueLimits& limits);
    // Nothing more starts from it; what runs goes on. And back.
    Result<Queue> PauseQueue(std::string_view name);
    Result<Queue> ResumeQueue(std::string_view name);
    // Why nothing of it runs, in one sentence. kNotFound.
    Result<std::string> ExplainQueue(std::string_view name);

    // --- Locks ----------------------------------------------------------------------------------

    // Locks that somebody holds, waits for, or that have a size of their own, by name. In takt/lock.h.
    Result<Page<LockRecord>> ListLocks(std::size_t limit = 100, std::string_view cursor = {});
    // A lock that nobody knows is free.
    Result<LockRecord> GetLock(std::string_view name);
    // How many may hold it at once.
    Result<LockRecord> SetLockPermits(std::string_view name, std::uint32_t permits);
    // Takes a lock away from one holder, or from all. They are told, but may be at work.
    Result<LockRecord> TakeLockAway(std::string_view name, std::string_view lock_id = {});

    // --- Alerts ---------------------------------------------------------------------------------

    Result<std::vector<AlertRuleRecord>> ListAlertRules();
    Result<AlertRuleRecord> GetAlertRule(std::string_view name);
    // Makes a rule, or puts another in its place.
    Result<AlertRuleRecord> PutAlertRule(const AlertRule& rule);
    // Changes a rule that still has this version; else kConflict, also if it is gone.
    Result<AlertRuleRecord> PutAlertRule(const AlertRule& rule, std::uint32_t version);
    // kNotFound; kConflict for one that is built in or configured: disable it instead.
    Result<void> DeleteAlertRule(std::string_view name);
    // Its alerts are told to nobody for so long; 0 ends that. kNotFound.
    Result<AlertRuleRecord> SilenceAlertRule(std::string_view name, Duration duration);
    // Newest first: those that are pending or firing, or all in one state.
    Result<std::vector<Alert>> ListAlerts(std::optional<AlertState> state = {});
    // Says that somebody looks after it. kNotFound.
    Result<Alert> AcknowledgeAlert(std::string_view id, std::string_view note = {});
    // The names that a rule may watch.
    Result<std::vector<AlertMetric>> ListAlertMetrics();
    Result<std::vector<AlertChannel>> ListAlertChannels();
    // Tells a channel that this is a test; an error says what became of it. kNotFound.
    Result<void> TestAlertChannel(std::string_view name);

    // --- Statistics -----------------------------------------------------------------------------

    Result<std::vector<StatisticsLine>> GetStatistics(const StatisticsQuery& query = {});
    // The last 1 to 360 minutes.
    Result<Series> GetSeries(std::uint32_t minutes = 60);

    // --- Namespaces -----------------------------------------------------------------------------

    Result<std::vector<NamespaceRecord>> ListNamespaces();
    // kNotFound.
    Result<NamespaceRecord> GetNamespace(std::string_view name);
    // kConflict: there is one of this name.
    Result<NamespaceRecord> CreateNamespace(const Namespace& space);
    // Its quotas and settings are these from now on. kNotFound.
    Result<NamespaceRecord> UpdateNamespace(const Namespace& space);
    // With all of its tasks, executions and logs, for good; it is gone when everything in it has ended.
    // kNotFound.
    Result<NamespaceRecord> DeleteNamespace(std::string_view name);

    // --- Audit ----------------------------------------------------------------------------------

    // Newest first. Needs the role admin once there are tokens.
    Result<Page<AuditEntry>> ListAudit(const AuditFilter& filter = {});

    // --- Anything else --------------------------------------------------------------------------

    // Any address of the REST API (docs/api.md), as text: CallRest("GET", "/api/v1/tokens"). The method
    // is GET, POST, PUT, PATCH or DELETE; the answer is the body, JSON if there is one.
    Result<std::string> CallRest(std::string_view method, std::string_view path,
                                 std::string_view body = {});

  protected:
    explicit OperatorApi(std::shared_ptr<Calls> calls);
    const std::shared_ptr<Calls> calls_;
};

}  // namespace takt
