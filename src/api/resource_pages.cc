#include "api/resource_pages.h"

namespace takt::internal {

std::vector<ResourcePage> ResourcePages() {
    return {{"api.md", "a task", TaskFieldsPage()},
            {"api.md", "a queue", QueuePage()},
            {"api.md", "a token", TokenPage()},
            {"executors.md", "an executor", ExecutorPage()},
            {"alerts.md", "an alert rule", AlertRulePage()},
            {"alerts.md", "an alert channel", AlertChannelPage()}};
}

}  // namespace takt::internal
