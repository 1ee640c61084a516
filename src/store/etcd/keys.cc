#include "store/etcd/keys.h"

#include <charconv>
#include <limits>

#include "base/number.h"

namespace takt::internal::etcd {
namespace {

constexpr std::size_t kHexDigits = 16;

std::string Newest(Serial serial) {
    return Hex(std::numeric_limits<Serial>::max() - serial);
}

std::string Show(ExecutionKey key) {
    return Newest(key.serial) + "/" + std::string(key.id);
}

// A serial s comes before t in the order of keys if s > t, so the range is turned around.
KeyRange SerialRange(const std::string& base, Serial from, Serial below) {
    return {base + (below == 0 ? Hex(0) : Newest(below - 1)),
            from == 0 ? WithPrefix(base).end : base + Newest(from - 1)};
}

}  // namespace

std::string Hex(std::uint64_t number) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(kHexDigits, '0');
    for (std::size_t i = kHexDigits; number != 0; number >>= 4) text[--i] = kDigits[number & 15];
    return text;
}

std::optional<std::uint64_t> ParseHex(std::string_view text) {
    std::uint64_t number = 0;
    if (text.size() != kHexDigits) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// A child's serial is followed by its mark: its rows are under other keys.
constexpr char kChildMark = 'c';

std::string EncodeIdValue(IdValue value) {
    std::string text = Hex(value.serial);
    if (value.kin == Kin::kChild) text += kChildMark;
    return text;
}

std::optional<IdValue> ParseIdValue(std::string_view text) {
    const bool child = text.ends_with(kChildMark) && text.size() == kHexDigits + 1;
    const auto serial = ParseHex(child ? text.substr(0, kHexDigits) : text);
    if (!serial) return std::nullopt;
    return IdValue{*serial, child ? Kin::kChild : Kin::kOwn};
}

std::optional<Serial> ParseSerialText(std::string_view text) {
    static constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
    if (text.size() != 13) return std::nullopt;
    Serial serial = 0;
    for (const char c : text) {
        const std::size_t digit = kDigits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        serial = serial << 5 | digit;
    }
    if (SerialText(serial) != text) return std::nullopt;  // Above 64 bits.
    return serial;
}

KeyRange WithPrefix(std::string prefix) {
    std::string end = prefix;
    while (!end.empty() && end.back() == '\xFF') end.pop_back();
    if (end.empty()) {
        end.assign(1, '\0');  // etcd's spelling of "to the very end".
    } else {
        end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
    }
    return {std::move(prefix), std::move(end)};
}

std::optional<Serial> ParseNewest(std::string_view text) {
    const auto newest = ParseHex(text);
    if (!newest) return std::nullopt;
    return std::numeric_limits<Serial>::max() - *newest;
}

std::string Keys::ByKin(Partition p, Kin kin, std::string_view rest) const {
    return In(p, kin == Kin::kChild ? "children/" : "") + std::string(rest);
}

std::string Keys::LeaderRow(Partition p) const {
    const std::string digits = std::to_string(p);
    return prefix_ + "/leaders/" + std::string(3 - digits.size(), '0') + digits;
}

std::string Keys::In(Partition p, std::string_view rest) const {
    std::string key = prefix_;
    key += '/';
    key += std::to_string(p);
    key += '/';
    key += rest;
    return key;
}

std::string Keys::PartitionMark(Partition p) const {
    return prefix_ + "/partitions/" + std::to_string(p);
}

std::string Keys::Id(Partition p, std::string_view id) const {
    return (p == kDefaultPartition ? prefix_ + "/ids/" : In(p, "ids/")) + std::string(id);
}

std::string Keys::Log(Partition p, std::string_view execution, Serial index) const {
    return Logs(p, execution).begin + Hex(index);
}

KeyRange Keys::Logs(Partition p, std::string_view execution) const {
    return WithPrefix((p == kDefaultPartition ? prefix_ + "/logs/" : In(p, "logs/")) +
                      std::string(execution) + "/");
}

std::string Keys::Live(Partition p, Kin kin, ExecutionKey key) const {
    return ByKin(p, kin, "live/") + Show(key);
}

std::string Keys::History(Partition p, Kin kin, ExecutionKey key) const {
    return ByKin(p, kin, "history/") + Show(key);
}

std::string Keys::Payload(Partition p, ExecutionKey key) const {
    return In(p, "payloads/") + Show(key);
}

KeyRange Keys::LiveRange(Partition p, Kin kin, Serial from, Serial below) const {
    return SerialRange(ByKin(p, kin, "live/"), from, below);
}

KeyRange Keys::HistoryRange(Partition p, Kin kin, Serial from, Serial below) const {
    return SerialRange(ByKin(p, kin, "history/"), from, below);
}

std::string Keys::Page(Partition p, PageSide side, Serial first) const {
    return In(p, side == PageSide::kLive ? "pages/live/" : "pages/history/") + Newest(first);
}

KeyRange Keys::Pages(Partition p, PageSide side, Serial from, Serial below) const {
    return SerialRange(In(p, side == PageSide::kLive ? "pages/live/" : "pages/history/"), from,
                       below);
}

std::string Keys::Child(Partition p, std::string_view run, ExecutionKey key) const {
    return Run(p, run).begin + "children/" + Show(key);
}

KeyRange Keys::ChildRange(Partition p, std::string_view run, Serial from, Serial below) const {
    return SerialRange(Run(p, run).begin + "children/", from, below);
}

std::string Keys::RunPack(Partition p, std::string_view run, PackName name) const {
    return Run(p, run).begin + "packs/" + PackText(name);
}

KeyRange Keys::Run(Partition p, std::string_view run) const {
    return WithPrefix(In(p, "runs/") + std::string(run) + "/");
}

std::string Keys::Pack(Partition p, PackName name) const {
    return In(p, "packs/") + PackText(name);
}

KeyRange Keys::EventsAfter(Partition p, Serial after) const {
    KeyRange range = WithPrefix(In(p, "events/"));
    range.begin += Hex(after + 1);
    return range;
}

std::string Keys::Task(Partition p, std::string_view id) const {
    return In(p, "tasks/") + std::string(id);
}

std::string Keys::TaskPayload(Partition p, std::string_view task, PackName name) const {
    return In(p, "task_payloads/") + std::string(task) + "/" + PackText(name);
}

std::string Keys::Worker(Partition p, std::string_view id) const {
    return In(p, "workers/") + std::string(id);
}

std::string Keys::Setting(Partition p, std::string_view key) const {
    return In(p, "settings/") + std::string(key);
}

std::string Keys::Record(Partition p, RecordKind kind, std::string_view key) const {
    // Three digits, so that the order of the keys is that of the kinds.
    const std::string digits = std::to_string(1000 + static_cast<int>(kind));
    return In(p, "records/") + digits.substr(1) + "/" + std::string(key);
}

std::optional<std::pair<RecordKind, std::string_view>> Keys::ParseRecord(std::string_view rest) {
    const auto kind = ParseNumber<std::uint8_t>(rest.substr(0, 3));
    if (!kind || rest.size() < 4 || rest[3] != '/') return std::nullopt;
    return std::pair(static_cast<RecordKind>(*kind), rest.substr(4));
}

std::string Keys::Audit(Partition p, Serial serial) const {
    return In(p, "audit/") + Newest(serial);
}

KeyRange Keys::AuditRange(Partition p, Serial from, Serial below) const {
    return SerialRange(In(p, "audit/"), from, below);
}

std::vector<KeyRange> Keys::Rows(Partition p) const {
    std::vector<KeyRange> ranges;
    for (const std::string_view name :
         {"pages/", "live/", "history/", "children/", "runs/", "packs/", "payloads/",
          "task_payloads/", "tasks/", "workers/", "settings/", "records/", "events/", "audit/",
          "logs/", "ids/"}) {
        ranges.push_back(WithPrefix(In(p, name)));
    }
    return ranges;
}

std::string_view LastPart(std::string_view key) {
    const std::size_t slash = key.rfind('/');
    return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

std::optional<ExecutionKey> ParseExecutionKey(std::string_view key) {
    const std::string_view id = LastPart(key);
    if (key.size() < id.size() + 1 + kHexDigits) return std::nullopt;
    const auto serial =
        ParseNewest(key.substr(key.size() - id.size() - 1 - kHexDigits, kHexDigits));
    if (!serial || id.empty()) return std::nullopt;
    return ExecutionKey{*serial, id};
}

std::optional<Serial> ParsePageKey(std::string_view key) {
    return ParseNewest(LastPart(key));
}

std::string PackText(PackName name) {
    return Hex(name.epoch) + "-" + Hex(name.sequence);
}

std::optional<PackName> ParsePackText(std::string_view text) {
    if (text.size() != kPackTextBytes) return std::nullopt;
    const auto epoch = ParseHex(text.substr(0, kHexDigits));
    const auto sequence = ParseHex(text.substr(kHexDigits + 1));
    if (!epoch || !sequence) return std::nullopt;
    return PackName{*epoch, *sequence};
}

std::optional<PackName> ParsePackKey(std::string_view key) {
    return ParsePackText(LastPart(key));
}

}  // namespace takt::internal::etcd
