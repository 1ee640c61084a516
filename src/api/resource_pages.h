// The tables of docs/ that are made from the tables of resources. A test compares; it writes them
// anew when it is told to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace takt::internal {

struct ResourcePage {
    std::string_view file;   // In docs/.
    std::string_view title;  // "a task": it stands behind <!-- The fields of a task: … -->
    std::string text;
};
std::vector<ResourcePage> ResourcePages();

// Beside the routes of each.
std::string TaskFieldsPage();
std::string QueuePage();
std::string TokenPage();
std::string ExecutorPage();
std::string AlertRulePage();
std::string AlertChannelPage();

}  // namespace takt::internal
