// IndexReader: the questions that the checks of indexes ask of Redis, and the faults that they find.
// All calls block and come from a command's thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/index_check.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"

namespace takt::internal::redis {

// Of keys, rows and members that are looked at in one call: some milliseconds of Redis.
constexpr std::size_t kIndexRowsAtOnce = 500;

class IndexReader {
  public:
    explicit IndexReader(Client& client) : client_(client) {}

    Result<Replies> Ask(const PartitionKeys& keys, std::string commands, std::size_t replies);
    // The rows of ids; nothing for one that is not there, one with kUndecodable for one that cannot be
    // read.
    Result<std::vector<std::optional<Execution>>> Rows(const PartitionKeys& keys,
                                                       const std::vector<std::string>& ids);

    void Note(IndexFault fault) { faults_.push_back(std::move(fault)); }
    std::vector<IndexFault> TakeFaults() { return std::move(faults_); }

  private:
    Client& client_;
    std::vector<IndexFault> faults_;
};

// The name of a key without the partition's prefix, as docs/stores/redis.md has it.
inline std::string_view NameOf(const PartitionKeys& keys, std::string_view key) {
    return key.substr(keys.prefix.size());
}

// The execution that a member stands for.
inline std::string IdOf(std::string_view member) {
    return std::string(member.substr(std::min(member.size(), kSerialDigits + 1)));
}

inline bool IsUndecodable(const Execution& row) {
    return row.outcome && row.outcome->reason == Reason::kUndecodable;
}

}  // namespace takt::internal::redis
