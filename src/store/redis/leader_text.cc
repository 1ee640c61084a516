#include "store/redis/leader_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"

namespace takt::internal::redis {
namespace {

std::string_view TakeWord(std::string_view& text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

}  // namespace

std::string LeaderText(const LeaderRow& row) {
    return fmt::format("{} {} {} {}", row.epoch, row.nonce,
                       row.node.empty() ? std::string_view("-") : row.node.view(),
                       row.address.view());
}

LeaderRow ParseLeader(Partition partition, std::string_view text) {
    LeaderRow row{.partition = partition};
    row.epoch = ParseNumber<std::uint64_t>(TakeWord(text)).value_or(0);
    row.nonce = ParseNumber<std::uint64_t>(TakeWord(text)).value_or(0);
    const std::string_view node = TakeWord(text);
    if (node != "-") row.node = NodeId(Text(node));
    row.address = Text(text);
    return row;
}

}  // namespace takt::internal::redis
