#include "store/redis/name_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace takt::internal::redis {
namespace {

constexpr std::string_view kGroupKey = "settings:";
constexpr std::string_view kChildrenKey = "children:";

}  // namespace

void NameIndex::Found(const PartitionKeys& keys, std::string_view name) {
    if (name.starts_with(kGroupKey)) {
        groups_[keys.partition].emplace(name.substr(kGroupKey.size()));
    } else if (name.starts_with(kChildrenKey)) {
        runs_[keys.partition].emplace(name.substr(kChildrenKey.size()));
    }
}

Result<void> NameIndex::Check(const PartitionKeys& keys) {
    auto checked = CheckListed(keys, "tasks", "task_ids", "task");
    if (checked) checked = CheckListed(keys, "records", "record_ids", "record");
    if (checked) checked = CheckGroups(keys);
    if (checked) checked = CheckRuns(keys);
    return checked;
}

Result<std::vector<IndexFault>> NameIndex::Compare(const PartitionKeys& keys, const char* hash,
                                                   const char* set, const char* what) {
    const auto replies =
        reader_.Ask(keys, Resp("HKEYS", keys.Of(hash)) + Resp("ZRANGE", keys.Of(set), 0, -1), 2);
    if (!replies) return std::unexpected(replies.error());
    const auto texts = [](ReplyView list) {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < list.size(); ++i) all.emplace_back(list[i].text());
        std::ranges::sort(all);
        return all;
    };
    const auto fields = texts((*replies)[0].view());
    const auto members = texts((*replies)[1].view());
    std::vector<IndexFault> faults;
    const auto note = [&](const std::string& id, IndexFault::Mend mend, std::string text) {
        faults.push_back({.partition = keys.partition,
                          .text = std::move(text),
                          .mend = mend,
                          .index = keys.Of(set),
                          .entry = id,
                          .order = "0"});
    };
    for (const std::string& id : fields) {
        if (std::ranges::binary_search(members, id)) continue;
        note(id, IndexFault::Mend::kAdd, fmt::format("{} {} is missing from {}", what, id, set));
    }
    for (const std::string& id : members) {
        if (std::ranges::binary_search(fields, id)) continue;
        note(id, IndexFault::Mend::kRemove,
             fmt::format("{} names {} {}, which is not there", set, what, id));
    }
    return faults;
}

Result<void> NameIndex::CheckListed(const PartitionKeys& keys, const char* hash, const char* set,
                                    const char* what) {
    const auto first = Compare(keys, hash, set, what);
    if (!first) return std::unexpected(first.error());
    if (first->empty()) return {};
    // A scheduler may have made or deleted some between the two questions.
    const auto second = Compare(keys, hash, set, what);
    if (!second) return std::unexpected(second.error());
    for (const IndexFault& fault : *second) {
        if (std::ranges::find(*first, fault.text, &IndexFault::text) != first->end()) {
            reader_.Note(fault);
        }
    }
    return {};
}

Result<std::vector<std::string>> NameIndex::Doubt(const PartitionKeys& keys, const Listed& listed,
                                                  const std::set<std::string>& found) {
    std::set<std::string> names;
    std::string cursor = "0";
    do {
        const auto page =
            reader_.Ask(keys, Resp(listed.scan, listed.key, cursor, "COUNT", kIndexRowsAtOnce), 1);
        if (!page) return std::unexpected(page.error());
        cursor = page->front().view()[0].text();
        const ReplyView texts = page->front().view()[1];
        for (std::size_t i = 0; i < texts.size(); i += listed.texts) names.emplace(texts[i].text());
    } while (cursor != "0" && !cursor.empty());
    std::vector<std::string> doubted;
    std::ranges::set_symmetric_difference(found, names, std::back_inserter(doubted));
    return doubted;
}

Result<void> NameIndex::CheckGroups(const PartitionKeys& keys) {
    const std::string set = keys.Of(kSettingGroups);
    const auto doubted = Doubt(keys, {"SSCAN", set, 1}, groups_[keys.partition]);
    if (!doubted) return std::unexpected(doubted.error());
    // A scheduler may have begun or emptied a group since the scan.
    for (const std::string& group : *doubted) {
        const auto replies = reader_.Ask(
            keys, Resp("EXISTS", keys.Of(kGroupKey) + group) + Resp("SISMEMBER", set, group), 2);
        if (!replies) return std::unexpected(replies.error());
        const bool exists = (*replies)[0].view().number() == 1u;
        const bool named = (*replies)[1].view().number() == 1u;
        if (exists == named) continue;
        const std::string what = "group of settings " + group;
        reader_.Note(
            {.partition = keys.partition,
             .text = exists ? fmt::format("{} is missing from {}", what, kSettingGroups)
                            : fmt::format("{} names {}, which is not there", kSettingGroups, what),
             .mend = exists ? IndexFault::Mend::kAdd : IndexFault::Mend::kRemove,
             .index = set,
             .entry = group,
             .order = {}});
    }
    return {};
}

Result<void> NameIndex::CheckRuns(const PartitionKeys& keys) {
    const std::string hash = keys.Of(kRuns);
    const auto doubted = Doubt(keys, {"HSCAN", hash, 2}, runs_[keys.partition]);
    if (!doubted) return std::unexpected(doubted.error());
    for (const std::string& run : *doubted) {
        const auto replies =
            reader_.Ask(keys,
                        Resp("EXISTS", keys.Children(run)) + Resp("EXISTS", keys.Execution(run)) +
                            Resp("HEXISTS", hash, run),
                        3);
        if (!replies) return std::unexpected(replies.error());
        const bool parts = (*replies)[0].view().number() == 1u;
        // A purge takes a run after its parts, maybe with the next commit.
        const bool row = (*replies)[1].view().number() == 1u;
        const bool named = (*replies)[2].view().number() == 1u;
        if (named ? parts || row : !parts) continue;
        reader_.Note({.partition = keys.partition,
                      .text = named ? fmt::format("{} names run {}, which is not there", kRuns, run)
                                    : fmt::format("run {} is missing from {}", run, kRuns),
                      .mend = named ? IndexFault::Mend::kRemove : IndexFault::Mend::kAdd,
                      .index = hash,
                      .entry = run,
                      .order = {}});
    }
    return {};
}

}  // namespace takt::internal::redis
