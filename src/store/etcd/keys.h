// Keys: where in etcd everything is. The layout is described for operators in docs/stores/etcd.md.
//
//   {prefix}/layout                           the number of this layout; a new leader compares it
//   {prefix}/partitions/{p}                   which partitions there are
//   {prefix}/nodes/{node}                     presence of schedulers, with a lease each
//   {prefix}/leaders/{p}                      the last term of a partition, p in three digits; its
//                                             mod revision is the fence
//   {prefix}/ids/{id}                         serial of an execution whose id somebody chose
//   {prefix}/logs/{execution}/{index}         both of partition 0; others: {prefix}/{p}/ids, logs
//   {prefix}/0/leader                         of a scheduler from before there was leaders/
//   {prefix}/{p}/epoch                        of the last term
//   {prefix}/{p}/sequence                     epoch and sequence of the last batch applied
//   {prefix}/{p}/last_serial
//   {prefix}/{p}/pages/live/{newest}          executions that are not finished, of a range of serials
//                                             from this one on (page.h)
//   {prefix}/{p}/pages/history/{newest}       pointers to the finished ones of them in their packs
//   {prefix}/{p}/live/{newest}/{id}           an execution that is not finished and in no page
//   {prefix}/{p}/history/{newest}/{id}        pointer to a finished one that is in no page
//   {prefix}/{p}/children/live/…, history/…   the same of executions that are part of a run, so that
//                                             neither lists nor the retention walk over them
//   {prefix}/{p}/runs/{run}/children/{newest}/{id}  which those are; the value: see ChildMark
//   {prefix}/{p}/runs/{run}/packs/{epoch}-{sequence}  the children of it that one commit finished
//   {prefix}/{p}/payloads/{newest}/{id}       a large payload, apart from its row
//   {prefix}/{p}/payloads/{newest}/{id}/override  the parameters of a trigger beside it
//   {prefix}/{p}/task_payloads/{id}/{epoch}-{sequence}  a recurring task's, by the commit that
//                                             wrote it; the task's row names that
//   {prefix}/{p}/packs/{epoch}-{sequence}     the executions that one commit finished
//   {prefix}/{p}/events/{serial}              the events of one commit, by the last one's serial
//   {prefix}/{p}/audit/{newest}               a row of the audit
//   {prefix}/{p}/tasks/{id}, workers/{id}, settings/{key}, records/{kind}/{key}
//
// Numbers are 16 hexadecimal digits. {newest} is a serial counted down from the highest number, so
// that the order of the keys is newest first: etcd reads a range backwards only by reading all of
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "model/change.h"

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

// Whether an execution stands for itself or is part of a run.
enum class Kin : std::uint8_t { kOwn, kChild };

// The part of a page that it holds of the executions of its range.
enum class PageSide : std::uint8_t { kLive, kHistory };

// What is kept under an id that somebody chose.
struct IdValue {
    Serial serial = 0;
    Kin kin = Kin::kOwn;
};
std::string EncodeIdValue(IdValue value);
std::optional<IdValue> ParseIdValue(std::string_view text);

struct ExecutionKey {
    Serial serial = 0;
    std::string_view id;
};

std::string Hex(std::uint64_t number);
std::optional<Serial> ParseNewest(std::string_view text);
std::optional<std::uint64_t> ParseHex(std::string_view text);  // Of 16 digits.
// The serial that SerialText spelled so, if it is such a text.
std::optional<Serial> ParseSerialText(std::string_view text);

KeyRange WithPrefix(std::string prefix);

class Keys {
  public:
    explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}

    std::string Layout() const { return prefix_ + "/layout"; }
    std::string PartitionMark(Partition p) const;
    std::string Node(std::string_view id) const { return prefix_ + "/nodes/" + std::string(id); }
    KeyRange Nodes() const { return WithPrefix(prefix_ + "/nodes/"); }
    std::string Id(Partition p, std::string_view id) const;
    std::string Log(Partition p, std::string_view execution, Serial index) const;
    KeyRange Logs(Partition p, std::string_view execution) const;

    std::string LeaderRow(Partition p) const;
    KeyRange LeaderRows() const { return WithPrefix(prefix_ + "/leaders/"); }
    std::string OlderLeader() const { return In(0, "leader"); }
    std::string Epoch(Partition p) const { return In(p, "epoch"); }
    std::string Sequence(Partition p) const { return In(p, "sequence"); }
    std::string LastSerial(Partition p) const { return In(p, "last_serial"); }

    std::string Live(Partition p, Kin kin, ExecutionKey key) const;
    std::string History(Partition p, Kin kin, ExecutionKey key) const;
    std::string Payload(Partition p, ExecutionKey key) const;
    std::string Override(Partition p, ExecutionKey key) const {
        return Payload(p, key) + "/override";
    }
    // Serials in [from, below); below of 0 is open.
    KeyRange LiveRange(Partition p, Kin kin, Serial from, Serial below) const;
    KeyRange HistoryRange(Partition p, Kin kin, Serial from, Serial below) const;

    // Pages, by their first serials.
    std::string Page(Partition p, PageSide side, Serial first) const;
    KeyRange Pages(Partition p, PageSide side, Serial from, Serial below) const;

    std::string Pack(Partition p, PackName name) const;

    // A run and the executions that are part of it.
    std::string Child(Partition p, std::string_view run, ExecutionKey key) const;
    KeyRange ChildRange(Partition p, std::string_view run, Serial from, Serial below) const;
    std::string RunPack(Partition p, std::string_view run, PackName name) const;
    KeyRange Run(Partition p, std::string_view run) const;  // All that is kept of its children.

    std::string Events(Partition p, Serial last) const { return In(p, "events/") + Hex(last); }
    // Packs of events of which some may be above `after`.
    KeyRange EventsAfter(Partition p, Serial after) const;
    std::string Task(Partition p, std::string_view id) const;
    KeyRange Tasks(Partition p) const { return WithPrefix(In(p, "tasks/")); }
    std::string TaskPayload(Partition p, std::string_view task, PackName name) const;
    std::string Worker(Partition p, std::string_view id) const;
    KeyRange Workers(Partition p) const { return WithPrefix(In(p, "workers/")); }
    std::string Setting(Partition p, std::string_view key) const;
    std::string Record(Partition p, RecordKind kind, std::string_view key) const;
    KeyRange Records(Partition p) const { return WithPrefix(In(p, "records/")); }
    // What Record put behind the begin of Records.
    static std::optional<std::pair<RecordKind, std::string_view>> ParseRecord(
        std::string_view rest);
    std::string Audit(Partition p, Serial serial) const;
    KeyRange AuditRange(Partition p, Serial from, Serial below) const;

    // All rows of a partition that is not 0: everything but its term.
    std::vector<KeyRange> Rows(Partition p) const;

    const std::string& prefix() const { return prefix_; }

  private:
    std::string ByKin(Partition p, Kin kin, std::string_view rest) const;
    std::string In(Partition p, std::string_view rest) const;

    std::string prefix_;
};

// The part after the last slash; the whole key if there is none.
std::string_view LastPart(std::string_view key);
// Of a key of Live, History or Child.
std::optional<ExecutionKey> ParseExecutionKey(std::string_view key);
// The first serial of a key of Page.
std::optional<Serial> ParsePageKey(std::string_view key);
// "{epoch}-{sequence}", as in the key of a pack.
constexpr std::size_t kPackTextBytes = 33;
std::string PackText(PackName name);
std::optional<PackName> ParsePackText(std::string_view text);
// Of a key of Pack.
std::optional<PackName> ParsePackKey(std::string_view key);

}  // namespace takt::internal::etcd
