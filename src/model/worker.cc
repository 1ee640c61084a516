#include "model/worker.h"

#include <array>

#include "model/names.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 2> kLinks = {"stream", "push"};
constexpr std::array<std::string_view, 4> kStatuses = {"online", "offline", "draining",
                                                       "maintenance"};

}  // namespace

std::string_view Name(LinkKind kind) {
    return names::Find(kLinks, kind);
}
std::string_view Name(WorkerStatus status) {
    return names::Find(kStatuses, status);
}

std::optional<WorkerStatus> ParseWorkerStatus(std::string_view name) {
    return names::Parse<WorkerStatus>(kStatuses, name);
}

}  // namespace takt::internal
