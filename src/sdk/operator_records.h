// The things that operators look at and change, between their structs and the REST API's JSON.
#pragma once

#include <string>

#include "sdk/json_fields.h"
#include "takt/alert.h"
#include "takt/audit.h"
#include "takt/lock.h"
#include "takt/name_space.h"
#include "takt/queue.h"
#include "takt/statistics.h"

namespace takt {

Queue ReadQueue(const JsonFields& fields);
LockRecord ReadLock(const JsonFields& fields);
AlertRuleRecord ReadAlertRule(const JsonFields& fields);
Alert ReadAlert(const JsonFields& fields);
AlertChannel ReadAlertChannel(const JsonFields& fields);
StatisticsLine ReadStatistics(const JsonFields& fields);
Series ReadSeries(const JsonFields& fields);
NamespaceRecord ReadNamespace(const JsonFields& fields);
AuditEntry ReadAuditEntry(const JsonFields& fields);

std::string JsonOf(const QueueLimits& limits);
std::string JsonOf(const AlertRule& rule);
// A change has no name: the address has it.
enum class NamespaceBody : std::uint8_t { kWhole, kChange };
std::string JsonOf(const Namespace& space, NamespaceBody body);

}  // namespace takt
