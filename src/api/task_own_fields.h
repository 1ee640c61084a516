// The fields of a task that have rules of their own, each a line of the table in task_fields.cc.
#pragma once

#include "api/task_field_kinds.h"

namespace takt::internal::task_field {

constexpr std::size_t kKeyBytesMax = 200;

TaskField IdField();
TaskField NameField(Head head, Text Task::* place);  // Of a name that many tasks share.
TaskField QueueField();
TaskField PriorityField();
TaskField PayloadField();
TaskField TimeoutField();
TaskField MaxRetryField();
TaskField RetryPolicyField();
TaskField StrategyField();
TaskField RateField();
TaskField LocksField();
TaskField CronField();
TaskField TimeZoneField();
TaskField ExcludedDatesField();
TaskField EnabledField();
TaskField TraceParentField();
TaskField TraceStateField();

}  // namespace takt::internal::task_field
