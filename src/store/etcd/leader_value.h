// The values of the leader and node keys: JSON, for operators with etcdctl.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/store.h"

namespace takt::internal::etcd {

// {"node":"a","address":"http://10.0.0.5:8080","epoch":7}, or of a term that was resigned
// {"next":"b","epoch":7}. The nonce is not in the value: it is the key's mod revision, given by the
// caller as `revision`.
std::string EncodeLeader(const LeaderRow& row);
Result<LeaderRow> DecodeLeader(std::string_view json, std::int64_t revision);

// {"node":"a","address":"http://10.0.0.5:8080","version":"0.1.0","started_at_ms":1794700800000,
//  "layout":1,"namespaces":["billing"]}
std::string EncodeNode(const NodeRow& row, unsigned layout);
Result<NodeRow> DecodeNode(std::string_view json);
// The layout that the node knows; nothing if it does not say.
std::optional<unsigned> DecodeNodeLayout(std::string_view json);

}  // namespace takt::internal::etcd
