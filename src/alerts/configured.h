// ConfiguredAlerts: the rules and channels that stand in the configuration.
//
// Read as a whole, before anything starts: who mends one mistake wants to hear of the others too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "alerts/channel.h"
#include "alerts/rule.h"
#include "base/mistakes.h"

namespace takt::internal {

struct ConfiguredAlerts {
    std::vector<AlertRule> rules;
    std::vector<Channel> channels;  // The first is "log", which is always there.
};

// `alerts.rules` and `alerts.channels`, each a list of fields by name. All that is wrong is added to
// `mistakes`, with a field such as "alerts.rules[0]". Where the channels could not be read at all
// (`channels_known` is false), it is not asked whether those that rules name are there.
using FieldLists = std::vector<std::map<std::string, std::string>>;
ConfiguredAlerts ReadConfiguredAlerts(const FieldLists& rules, const FieldLists& channels,
                                      bool channels_known, Mistakes& mistakes);

}  // namespace takt::internal
