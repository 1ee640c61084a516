// How a row of {namespace}:leaders is spelled: "7 1234567890 node-a http://10.0.0.5:8080", epoch, nonce
// (0: resigned), node ("-": none) and address.
#pragma once

#include <string>
#include <string_view>

#include "store/store.h"

namespace takt::internal::redis {

std::string LeaderText(const LeaderRow& row);

// Of an epoch of 0 if there is none, or none of ours.
LeaderRow ParseLeader(Partition partition, std::string_view text);

}  // namespace takt::internal::redis
