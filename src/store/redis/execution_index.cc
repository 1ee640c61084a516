#include "store/redis/execution_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/redis/rows.h"

namespace takt::internal::redis {

bool ListsExecutions(std::string_view name) {
    if (name.starts_with("child:")) name.remove_prefix(6);
    return name == "live" || name == "finished" || name.starts_with("history:") ||
           name.starts_with("task:") || name.starts_with("worker:") ||
           name.starts_with("children:");
}

ExecutionIndex::Places ExecutionIndex::PlacesOf(const PartitionKeys& keys, const Execution& row) {
    const Kin kin = row.parent.empty() ? Kin::kOwn : Kin::kChild;
    const std::string member = MemberOf(row.serial, row.id.view());
    Places places;
    const auto add = [&](std::string key) { places.push_back({std::move(key), member}); };
    if (row.task->id.view() != row.id.view()) add(keys.Task(kin, row.task->id.view()));
    if (kin == Kin::kChild) add(keys.Children(row.parent.view()));
    if (!IsTerminal(row.status)) {
        add(keys.Live(kin));
        return places;
    }
    add(keys.History(kin, row.status));
    if (!row.worker.empty()) add(keys.Worker(kin, row.worker.view()));
    if (kin == Kin::kOwn) {
        const auto at = row.finished_at.time_since_epoch().count();
        places.push_back(
            {keys.Of("finished"), member, std::to_string(at), EndedText(row.finished_at, member)});
    }
    return places;
}

Result<void> ExecutionIndex::CheckRows(const PartitionKeys& keys,
                                       const std::vector<std::string>& ids, bool again) {
    if (ids.empty()) return {};
    if (again) ended_.Forget(keys);  // More may have ended since it was read.
    const auto rows = reader_.Rows(keys, ids);
    if (!rows) return std::unexpected(rows.error());
    std::string commands;
    std::vector<std::pair<std::size_t, Place>> asked;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!(*rows)[i] || IsUndecodable(*(*rows)[i])) continue;
        for (Place& place : PlacesOf(keys, *(*rows)[i])) {
            commands += Resp("ZSCORE", place.key, place.member);
            asked.emplace_back(i, std::move(place));
        }
    }
    if (asked.empty()) return {};
    const auto scores = reader_.Ask(keys, std::move(commands), asked.size());
    if (!scores) return std::unexpected(scores.error());
    std::vector<std::string> doubted;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& [row, place] = asked[i];
        if (!(*scores)[i].view().is_nil()) continue;
        if (!place.end.empty()) {
            const auto ended = ended_.Contains(keys, place.end);
            if (!ended) return std::unexpected(ended.error());
            if (*ended) continue;
        }
        if (!again) {
            if (doubted.empty() || doubted.back() != ids[row]) doubted.push_back(ids[row]);
            continue;
        }
        reader_.Note({.partition = keys.partition,
                      .text = fmt::format("execution {} is missing from {}", ids[row],
                                          NameOf(keys, place.key)),
                      .mend = IndexFault::Mend::kAdd,
                      .index = place.key,
                      .entry = place.member,
                      .order = place.score});
    }
    // A scheduler may have moved them between the two questions.
    return again ? Result<void>() : CheckRows(keys, doubted, true);
}

Result<void> ExecutionIndex::CheckMembers(const PartitionKeys& keys, const std::string& key) {
    std::string cursor = "0";
    do {
        const auto page =
            reader_.Ask(keys, Resp("ZSCAN", key, cursor, "COUNT", kIndexRowsAtOnce), 1);
        if (!page) return std::unexpected(page.error());
        cursor = page->front().view()[0].text();
        const ReplyView found = page->front().view()[1];
        std::vector<std::string> members;
        for (std::size_t i = 0; i < found.size(); i += 2) members.emplace_back(found[i].text());
        if (auto checked = CheckPage(keys, key, members, false); !checked) return checked;
    } while (cursor != "0" && !cursor.empty());
    return {};
}

Result<void> ExecutionIndex::CheckPage(const PartitionKeys& keys, const std::string& key,
                                       const std::vector<std::string>& members, bool again) {
    if (members.empty()) return {};
    std::vector<std::string> ids;
    for (const std::string& member : members) ids.push_back(IdOf(member));
    const auto rows = reader_.Rows(keys, ids);
    if (!rows) return std::unexpected(rows.error());
    std::vector<std::string> doubted;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto& row = (*rows)[i];
        // One that cannot be read may belong anywhere.
        if (row && IsUndecodable(*row)) continue;
        const Places places = row ? PlacesOf(keys, *row) : Places();
        const bool belongs = std::ranges::any_of(places, [&](const Place& place) {
            return place.key == key && place.member == members[i];
        });
        if (!belongs) doubted.push_back(members[i]);
    }
    if (doubted.empty()) return {};
    if (!again) {
        // Those that a scheduler has taken out since are not asked about again.
        std::string commands;
        for (const std::string& member : doubted) commands += Resp("ZSCORE", key, member);
        const auto scores = reader_.Ask(keys, std::move(commands), doubted.size());
        if (!scores) return std::unexpected(scores.error());
        std::vector<std::string> still;
        for (std::size_t i = 0; i < doubted.size(); ++i) {
            if (!(*scores)[i].view().is_nil()) still.push_back(doubted[i]);
        }
        return CheckPage(keys, key, still, true);
    }
    for (const std::string& member : doubted) {
        reader_.Note({.partition = keys.partition,
                      .text = fmt::format("{} names execution {}, which is not there or "
                                          "belongs elsewhere",
                                          NameOf(keys, key), IdOf(member)),
                      .mend = IndexFault::Mend::kRemove,
                      .index = key,
                      .entry = member,
                      .order = {}});
    }
    return {};
}

}  // namespace takt::internal::redis
