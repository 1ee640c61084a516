#include "worker/executor.h"

namespace takt::internal {

Result<void> ExecutorRegistry::Add(std::shared_ptr<Executor> executor) {
    std::string type(executor->Type());
    if (type.empty()) return Fail(ErrorCode::kInvalid, "an executor must name its type", "type");
    const auto [entry, is_new] = executors_.try_emplace(type, std::move(executor));
    if (is_new) return {};
    return Fail(ErrorCode::kConflict, "type '" + type + "' has an executor already (" +
                                          std::string(entry->second->Protocol()) + ")");
}

Result<void> ExecutorRegistry::AddFunction(std::string type, TaskFunction function) {
    return Add(std::make_shared<LocalExecutor>(std::move(type), std::move(function)));
}

Executor* ExecutorRegistry::Find(std::string_view type) const {
    auto found = executors_.find(type);
    if (found == executors_.end()) found = executors_.find("*");
    return found == executors_.end() ? nullptr : found->second.get();
}

std::vector<std::string> ExecutorRegistry::Types() const {
    std::vector<std::string> types;
    for (const auto& [type, executor] : executors_) {
        if (type == "*") return {};
        types.push_back(type);
    }
    return types;
}

}  // namespace takt::internal
