#include "store/etcd/keys.h"

#include <charconv>
#include <limits>

namespace takt::internal::etcd {
namespace {

constexpr std::size_t kHexDigits = 16;

std::string Newest(Serial serial) {
    return Hex(std::numeric_limits<Serial>::max() - serial);
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

Partition PartitionOf(Serial serial) {
    return static_cast<Partition>(serial >> 14);
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

std::string Keys::Log(std::string_view execution, Serial index) const {
    return Logs(execution).begin + Hex(index);
}

KeyRange Keys::Logs(std::string_view execution) const {
    return WithPrefix(prefix_ + "/logs/" + std::string(execution) + "/");
}

std::string Keys::Live(Serial serial, std::string_view id) const {
    return In(PartitionOf(serial), "live/") + Newest(serial) + "/" + std::string(id);
}

std::string Keys::History(Serial serial, std::string_view id) const {
    return In(PartitionOf(serial), "history/") + Newest(serial) + "/" + std::string(id);
}

std::string Keys::Payload(Serial serial, std::string_view id) const {
    return In(PartitionOf(serial), "payloads/") + Newest(serial) + "/" + std::string(id);
}

KeyRange Keys::LiveRange(Partition p, Serial from, Serial below) const {
    return SerialRange(In(p, "live/"), from, below);
}

KeyRange Keys::HistoryRange(Partition p, Serial from, Serial below) const {
    return SerialRange(In(p, "history/"), from, below);
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

std::string_view LastPart(std::string_view key) {
    const std::size_t slash = key.rfind('/');
    return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

std::optional<ExecutionKey> ParseExecutionKey(std::string_view key) {
    const std::string_view id = LastPart(key);
    if (key.size() < id.size() + 1 + kHexDigits) return std::nullopt;
    const auto newest = ParseHex(key.substr(key.size() - id.size() - 1 - kHexDigits, kHexDigits));
    if (!newest || id.empty()) return std::nullopt;
    return ExecutionKey{std::numeric_limits<Serial>::max() - *newest, id};
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
