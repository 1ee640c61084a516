#include "store/redis/ended_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace takt::internal::redis {
namespace {

constexpr std::size_t kEndedAtOnce = 5'000;  // Short entries of one list.

// The member in an entry; nothing if it is none of EndedText.
std::optional<std::string_view> MemberOfEnded(std::string_view entry) {
    std::int64_t time = 0;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), time);
    entry.remove_prefix(static_cast<std::size_t>(end - entry.data()));
    if (error != std::errc() || !entry.starts_with(' ')) return std::nullopt;
    entry.remove_prefix(1);
    if (entry.size() <= kSerialDigits + 1 || entry[kSerialDigits] != ':') return std::nullopt;
    return entry;
}

}  // namespace

Result<EndedList::Places> EndedList::Read(const PartitionKeys& keys) {
    Places places;
    // From its end: what a scheduler appends meanwhile makes entries come twice, what it trims makes
    // none be passed over.
    for (std::int64_t newest = -1;;) {
        const auto oldest = newest + 1 - static_cast<std::int64_t>(kEndedAtOnce);
        const auto page = reader_.Ask(keys, Resp("LRANGE", keys.Of(kEnded), oldest, newest), 1);
        if (!page) return std::unexpected(page.error());
        const ReplyView entries = page->front().view();
        const auto size = static_cast<std::int64_t>(entries.size());
        for (std::int64_t i = 0; i < size; ++i) {
            const std::string_view entry = entries[static_cast<std::size_t>(i)].text();
            places.try_emplace(std::string(entry), newest + 1 - size + i);
        }
        if (entries.size() < kEndedAtOnce) return places;
        newest -= size;
    }
}

Result<bool> EndedList::Contains(const PartitionKeys& keys, const std::string& entry) {
    auto found = read_.find(keys.partition);
    if (found == read_.end()) {
        auto places = Read(keys);
        if (!places) return std::unexpected(places.error());
        found = read_.emplace(keys.partition, std::move(*places)).first;
    }
    return found->second.contains(entry);
}

Result<std::vector<std::string>> EndedList::Doubt(const PartitionKeys& keys, const Places& places) {
    std::vector<std::string> doubted;
    std::vector<std::string> entries;
    std::vector<std::string> ids;
    const auto look = [&]() -> Result<void> {
        if (ids.empty()) return {};
        const auto rows = reader_.Rows(keys, ids);
        if (!rows) return std::unexpected(rows.error());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto& row = (*rows)[i];
            // One that cannot be read may have any serial.
            const bool same = row && (IsUndecodable(*row) ||
                                      MemberOf(row->serial, ids[i]) == *MemberOfEnded(entries[i]));
            if (!same) doubted.push_back(entries[i]);
        }
        entries.clear();
        ids.clear();
        return {};
    };
    for (const auto& [entry, place] : places) {
        const auto member = MemberOfEnded(entry);
        if (!member) {
            doubted.push_back(entry);
            continue;
        }
        entries.push_back(entry);
        ids.push_back(IdOf(*member));
        if (ids.size() < kIndexRowsAtOnce) continue;
        if (auto looked = look(); !looked) return std::unexpected(looked.error());
    }
    if (auto looked = look(); !looked) return std::unexpected(looked.error());
    return doubted;
}

Result<void> EndedList::Check(const PartitionKeys& keys) {
    const auto before = Read(keys);
    if (!before) return std::unexpected(before.error());
    const auto doubted = Doubt(keys, *before);
    if (!doubted) return std::unexpected(doubted.error());
    if (doubted->empty()) return {};
    // A purge takes row and entry at once: one whose row was gone is no longer in the list then.
    const auto after = Read(keys);
    if (!after) return std::unexpected(after.error());
    std::vector<std::pair<std::int64_t, std::string>> wrong;
    for (const std::string& entry : *doubted) {
        const auto place = after->find(entry);
        if (place != after->end()) wrong.emplace_back(place->second, entry);
    }
    // The oldest first: taking one out moves none of those behind it.
    std::ranges::sort(wrong);
    for (const auto& [place, entry] : wrong) {
        const auto member = MemberOfEnded(entry);
        reader_.Note(
            {.partition = keys.partition,
             .text =
                 member ? fmt::format("ended names execution {}, which is not there", IdOf(*member))
                        : fmt::format("ended has an entry that cannot be read, number {} from "
                                      "its end",
                                      -place),
             .mend = IndexFault::Mend::kRemove,
             .index = keys.Of(kEnded),
             .entry = entry,
             .order = std::to_string(place)});
    }
    return {};
}

}  // namespace takt::internal::redis
