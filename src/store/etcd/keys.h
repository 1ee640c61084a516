// Keys: where in etcd everything is. The layout is described for operators in docs/stores/etcd.md.
//
//   {prefix}/layout                           the number of this layout; a new leader compares it
//   {prefix}/partitions/{p}                   which partitions there are
//   {prefix}/nodes/{node}                     presence of schedulers, with leases
//   {prefix}/ids/{id}                         serial of an execution whose id somebody chose
//   {prefix}/logs/{execution}/{index}
//   {prefix}/{p}/leader                       with a lease; its create revision is the fence
//   {prefix}/{p}/epoch                        of the last term
//   {prefix}/{p}/sequence                     epoch and sequence of the last batch applied
//   {prefix}/{p}/last_serial
//   {prefix}/{p}/live/{newest}/{id}           an execution that is not finished
//   {prefix}/{p}/history/{newest}/{id}        pointer to a finished one in its pack
//   {prefix}/{p}/payloads/{newest}/{id}       a large payload, apart from its row
//   {prefix}/{p}/payloads/{newest}/{id}/override  the parameters of a trigger beside it
//   {prefix}/{p}/task_payloads/{id}/{epoch}-{sequence}  a recurring task's, by the commit that
//                                             wrote it; the task's row names that
//   {prefix}/{p}/packs/{epoch}-{sequence}     the executions that one commit finished
//   {prefix}/{p}/events/{serial}              the events of one commit, by the last one's serial
//   {prefix}/{p}/tasks/{id}, workers/{id}, settings/{key}
//
// Numbers are 16 hexadecimal digits. {newest} is a serial counted down from the highest number, so
// that the order of the keys is newest first: etcd reads a range backwards only by reading all of
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"

namespace takt::internal::etcd {

// All keys that begin with it.
struct KeyRange {
    std::string begin;
    std::string end;  // Exclusive.
};

struct PackName {
    std::uint64_t epoch = 0;
    std::uint64_t sequence = 0;

    friend auto operator<=>(const PackName&, const PackName&) = default;
};

struct ExecutionKey {
    Serial serial = 0;
    std::string_view id;
};

std::string Hex(std::uint64_t number);
std::optional<std::uint64_t> ParseHex(std::string_view text);  // Of 16 digits.
// The serial that SerialText spelled so, if it is such a text.
std::optional<Serial> ParseSerialText(std::string_view text);
Partition PartitionOf(Serial serial);

KeyRange WithPrefix(std::string prefix);

class Keys {
  public:
    explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string Layout() const { return prefix_ + "/layout"; }
    std::string PartitionMark(Partition p) const;
    KeyRange PartitionMarks() const { return WithPrefix(prefix_ + "/partitions/"); }
    std::string Node(std::string_view id) const { return prefix_ + "/nodes/" + std::string(id); }
    KeyRange Nodes() const { return WithPrefix(prefix_ + "/nodes/"); }
    std::string Id(std::string_view id) const { return prefix_ + "/ids/" + std::string(id); }
    std::string Log(std::string_view execution, Serial index) const;
    KeyRange Logs(std::string_view execution) const;

    std::string Leader(Partition p) const { return In(p, "leader"); }
    std::string Epoch(Partition p) const { return In(p, "epoch"); }
    std::string Sequence(Partition p) const { return In(p, "sequence"); }
    std::string LastSerial(Partition p) const { return In(p, "last_serial"); }

    // The partition of an execution is in its serial.
    std::string Live(Serial serial, std::string_view id) const;
    std::string History(Serial serial, std::string_view id) const;
    std::string Payload(Serial serial, std::string_view id) const;
    std::string Override(Serial serial, std::string_view id) const {
        return Payload(serial, id) + "/override";
    }
    // Serials in [from, below); below of 0 is open.
    KeyRange LiveRange(Partition p, Serial from, Serial below) const;
    KeyRange HistoryRange(Partition p, Serial from, Serial below) const;

    std::string Pack(Partition p, PackName name) const;
    KeyRange Packs(Partition p) const { return WithPrefix(In(p, "packs/")); }
    std::string Events(Partition p, Serial last) const { return In(p, "events/") + Hex(last); }
    // Packs of events of which some may be above `after`.
    KeyRange EventsAfter(Partition p, Serial after) const;
    std::string Task(Partition p, std::string_view id) const;
    KeyRange Tasks(Partition p) const { return WithPrefix(In(p, "tasks/")); }
    std::string TaskPayload(Partition p, std::string_view task, PackName name) const;
    std::string Worker(Partition p, std::string_view id) const;
    KeyRange Workers(Partition p) const { return WithPrefix(In(p, "workers/")); }
    std::string Setting(Partition p, std::string_view key) const;

    const std::string& prefix() const { return prefix_; }

  private:
    std::string In(Partition p, std::string_view rest) const;

    std::string prefix_;
};

// What follows the last slash; the whole key if there is none.
std::string_view LastPart(std::string_view key);
// Of a key of Live or History.
std::optional<ExecutionKey> ParseExecutionKey(std::string_view key);
// "{epoch}-{sequence}", as in the key of a pack.
constexpr std::size_t kPackTextBytes = 33;
std::string PackText(PackName name);
std::optional<PackName> ParsePackText(std::string_view text);
// Of a key of Pack.
std::optional<PackName> ParsePackKey(std::string_view key);

}  // namespace takt::internal::etcd
