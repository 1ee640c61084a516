// The tables of an executor: what it says of itself when it registers and in heartbeats, how an
// operator sets its status, and what is told of it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "api/resource_table.h"
#include "base/json_view.h"
#include "engine/views.h"
#include "links/push_link.h"
#include "links/service_policy.h"
#include "model/worker.h"

namespace takt::internal {

constexpr std::size_t kExecutorTasksMax = 1'000;

// A registration that is being read.
struct ExecutorDraft {
    const ServicePolicy& policy;
    Worker worker = {};
    std::optional<JsonView> tasks = {};  // Read last: they need the name.
};

// The tasks that a registration brought: their names and ids.
using BroughtTasks = std::vector<std::pair<Text, Text>>;

struct ExecutorAnswer {
    const WorkerView& worker;
    const std::optional<PushView>& view;
    const BroughtTasks& brought;
};

const ResourceTable<ExecutorDraft, ExecutorAnswer>& ExecutorTable();

// Of a heartbeat; each may be left out.
const RequestTable<WorkerLoad>& ExecutorLoadFields();

struct ExecutorStatusChange {
    WorkerStatus status{};
    Text reason;
};
const RequestTable<ExecutorStatusChange>& ExecutorStatusFields();

}  // namespace takt::internal
