// How the kits' reports are told: protocol-test and executor-test.
#pragma once

#include <vector>

#include "kit/report.h"

namespace takt::internal::cli {

// One rule, as soon as it was tested.
void PrintRuleReport(const kit::RuleReport& report);

// The sum, or all as JSON. kFailed if a rule is broken.
int EndKit(const std::vector<kit::RuleReport>& reports, bool json);

}  // namespace takt::internal::cli
