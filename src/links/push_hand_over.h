// The word that a leader leaves for the next one about the calls that it made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "links/push_instance.h"
#include "links/service_report.h"
#include "model/change.h"

namespace takt::internal {

// Settings of a hand-over; there are none but between two terms.
constexpr std::string_view kLeftPrefix = "executor-calls/";

// As settings, each of a bounded size; and back, from settings of which some may be others.
std::vector<SettingPut> WriteLeftAttempts(const LeftAttempts& left);
LeftAttempts ReadLeftAttempts(const std::vector<SettingPut>& settings);

// The body of a callback that says the same.
std::string CallbackText(const ServiceReport& report);

}  // namespace takt::internal
