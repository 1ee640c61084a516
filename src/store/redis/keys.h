// Keys: the names under which things are kept. docs/stores/redis.md shows them to operators.
//
// All keys of a partition begin with {prefix:partition}: — the braces make Redis Cluster keep
// them in one slot, so that one script can change them together. What belongs to no partition
// begins with {prefix}:.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/id.h"
#include "model/status.h"
#include "store/redis/topology.h"

namespace takt::internal::redis {

// Redis' hash slot of a key or of what is between its braces.
HashSlot HashSlotOf(std::string_view tag);

// How a row stands in the sorted sets: its serial in 19 digits, so that the order of the bytes is
// the order of the serials, then its id. Scores of Redis are doubles and could not tell serials of
// 63 bits apart.
std::string SerialDigits(Serial serial);
constexpr std::size_t kSerialDigits = 19;
std::string MemberOf(Serial serial, std::string_view id);

// "123-45", the id under which an event stands in the stream: milliseconds of Unix time and the
// rest of the serial. And back; kInvalid if `id` is none.
std::string StreamId(Serial serial);
Result<Serial> SerialOfStreamId(std::string_view id);

// The part of a setting's name up to its first slash, which has a hash of its own; empty if there is no
// slash.
std::string SettingGroup(std::string_view name);

// Whether an execution stands for itself or is part of a run.
enum class Kin : std::uint8_t { kOwn, kChild };
// What the keys of its indexes begin with, behind the partition's.
constexpr std::string_view KinText(Kin kin) {
    return kin == Kin::kChild ? "child:" : "";
}

struct PartitionKeys {
    PartitionKeys(std::string_view installation, Partition partition);

    std::string Of(std::string_view name) const { return prefix + std::string(name); }
    std::string Execution(std::string_view id) const { return prefix + "x:" + std::string(id); }
    std::string State(std::string_view id) const { return prefix + "s:" + std::string(id); }
    // An execution's output; before layout 4 it was a stream, `log:`, which is read too.
    std::string Lines(std::string_view id) const { return prefix + "lines:" + std::string(id); }
    std::string LogStream(std::string_view id) const { return prefix + "log:" + std::string(id); }
    // Executions that are part of a run stand in indexes of their own, so that neither lists of the
    // others nor the retention walk over them. `kin` says of which.
    std::string Live(Kin kin) const { return Of(kin, "live"); }
    std::string History(Kin kin, Status status) const {
        return Of(kin, "history:") + std::string(Name(status));
    }
    std::string Task(Kin kin, std::string_view id) const {
        return Of(kin, "task:") + std::string(id);
    }
    std::string Worker(Kin kin, std::string_view id) const {
        return Of(kin, "worker:") + std::string(id);
    }
    std::string Children(std::string_view run) const {
        return prefix + "children:" + std::string(run);
    }

    const Partition partition;
    const std::string prefix;
    const HashSlot slot;

  private:
    std::string Of(Kin kin, std::string_view name) const {
        return prefix + std::string(KinText(kin)) + std::string(name);
    }
};

struct GlobalKeys {
    explicit GlobalKeys(std::string_view installation);

    const std::string prefix;
    const HashSlot slot;
};

// The keys of one installation. Belongs to the client's thread.
class Keyring {
  public:
    explicit Keyring(std::string installation)
        : global(installation), installation_(std::move(installation)) {}

    // Entries stay where they are.
    const PartitionKeys& Of(Partition partition) {
        return partitions_.try_emplace(partition, installation_, partition).first->second;
    }

    const GlobalKeys global;

  private:
    const std::string installation_;
    std::map<Partition, PartitionKeys> partitions_;
};

}  // namespace takt::internal::redis
