#include "worker/handler.h"

namespace takt::internal {

Result<void> HandlerRegistry::Add(std::shared_ptr<TaskHandler> handler) {
    std::string type(handler->Type());
    if (type.empty()) return Fail(ErrorCode::kInvalid, "a handler must name its type", "type");
    const auto [entry, is_new] = handlers_.try_emplace(type, std::move(handler));
    if (is_new) return {};
    return Fail(ErrorCode::kConflict, "type '" + type + "' has a handler already (" +
                                          std::string(entry->second->Protocol()) + ")");
}

Result<void> HandlerRegistry::AddFunction(std::string type, TaskFunction function) {
    return Add(std::make_shared<LocalTaskHandler>(std::move(type), std::move(function)));
}

TaskHandler* HandlerRegistry::Find(std::string_view type) const {
    auto found = handlers_.find(type);
    if (found == handlers_.end()) found = handlers_.find("*");
    return found == handlers_.end() ? nullptr : found->second.get();
}

std::vector<std::string> HandlerRegistry::Types() const {
    std::vector<std::string> types;
    for (const auto& [type, handler] : handlers_) {
        if (type == "*") return {};
        types.push_back(type);
    }
    return types;
}

}  // namespace takt::internal
