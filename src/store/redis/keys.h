// Keys: the names under which things are kept. docs/stores/redis.md shows them to operators.
//
// All keys of a partition begin with {namespace:partition}: — the braces make Redis Cluster keep
// them in one slot, so that one script can change them together. What belongs to no partition
// begins with {namespace}:.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/id.h"
#include "model/status.h"
#include "store/redis/topology.h"

namespace takt::internal::redis {

// Redis' hash slot of a key or of what is between its braces.
Slot SlotOf(std::string_view tag);

// How a row stands in the sorted sets: its serial in 19 digits, so that the order of the bytes is
// the order of the serials, then its id. Scores of Redis are doubles and could not tell serials of
// 63 bits apart.
std::string SerialDigits(Serial serial);
constexpr std::size_t kSerialDigits = 19;
std::string MemberOf(Serial serial, std::string_view id);

struct PartitionKeys {
    PartitionKeys(std::string_view name_space, Partition partition);

    std::string Of(std::string_view name) const { return prefix + std::string(name); }
    std::string Execution(std::string_view id) const { return prefix + "x:" + std::string(id); }
    std::string State(std::string_view id) const { return prefix + "s:" + std::string(id); }
    std::string Log(std::string_view id) const { return prefix + "log:" + std::string(id); }
    std::string Task(std::string_view id) const { return prefix + "task:" + std::string(id); }
    std::string Worker(std::string_view id) const { return prefix + "worker:" + std::string(id); }
    std::string History(Status status) const {
        return prefix + "history:" + std::string(Name(status));
    }

    const Partition partition;
    const std::string prefix;
    const Slot slot;
};

// How rows are kept under these keys: the field `layout` of the hash `meta`. A change that this
// version could not read gets the next number.
constexpr unsigned kLayout = 2;
// `stored` is empty where nothing is stored yet. kInvalid, with a sentence for the operator, if it
// is not the layout that this version knows.
Result<void> CheckLayout(std::string_view stored);

struct GlobalKeys {
    explicit GlobalKeys(std::string_view name_space);

    const std::string prefix;
    const Slot slot;
};

}  // namespace takt::internal::redis
