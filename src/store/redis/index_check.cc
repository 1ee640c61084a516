#include "store/redis/index_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "store/redis/rows.h"
#include "store/redis/scripts.h"
#include "store/wait.h"

namespace takt::internal::redis {
namespace {

// Of keys, rows and members that are looked at in one call: some milliseconds of Redis.
constexpr std::size_t kAtOnce = 500;
constexpr std::string_view kGroupKey = "settings:";
constexpr const char* kGroups = "setting_groups";  // A set without scores, unlike the others.
constexpr std::size_t kEndedAtOnce = 5'000;        // Short entries of one list.

// A pattern of SCAN that means the text itself.
std::string Literally(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").contains(c)) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

// The name of a set without the partition's prefix, as docs/stores/redis.md has it.
std::string_view NameOf(const PartitionKeys& keys, std::string_view key) {
    return key.substr(keys.prefix.size());
}

// Whether its members are executions.
bool ListsExecutions(std::string_view name) {
    if (name.starts_with("child:")) name.remove_prefix(6);
    return name == "live" || name == "finished" || name.starts_with("history:") ||
           name.starts_with("task:") || name.starts_with("worker:") ||
           name.starts_with("children:");
}

bool IsUndecodable(const Execution& row) {
    return row.outcome && row.outcome->reason == Reason::kUndecodable;
}

std::string IdOf(std::string_view member) {
    return std::string(member.substr(std::min(member.size(), kSerialDigits + 1)));
}

}  // namespace

IndexCheck::IndexCheck(Client& client, const std::vector<Partition>& partitions) : client_(client) {
    for (const Partition partition : partitions) {
        partitions_.try_emplace(partition, client.options().prefix, partition);
    }
}

Result<std::vector<IndexFault>> IndexCheck::Run() {
    for (const auto& [partition, keys] : partitions_) {
        // One server has the keys of all: they are gone through once.
        const bool alone = client_.options().deployment == Deployment::kCluster;
        if (alone || partition == partitions_.begin()->first) {
            const std::string like =
                alone ? Literally(keys.prefix) : "{" + Literally(client_.options().prefix + ":");
            if (auto scanned = Scan(keys, like + "*"); !scanned) {
                return std::unexpected(scanned.error());
            }
        }
        auto listed = CheckListed(keys, "tasks", "task_ids", "task");
        if (listed) listed = CheckListed(keys, "records", "record_ids", "record");
        if (listed) listed = CheckGroups(keys);
        if (!listed) return std::unexpected(listed.error());
    }
    return std::move(faults_);
}

Result<Replies> IndexCheck::Ask(const PartitionKeys& keys, std::string commands,
                                std::size_t replies) {
    return AskStore<Replies>([&](Done<Replies> done) {
        client_.Post([&, done = std::move(done)]() mutable {
            Call call{.slot = keys.slot};
            call.commands = std::move(commands);
            call.replies = replies;
            client_.Send(std::move(call), std::move(done));
        });
    });
}

Result<void> IndexCheck::Scan(const PartitionKeys& keys, const std::string& like) {
    std::string cursor = "0";
    do {
        const auto page = Ask(keys, Resp("SCAN", cursor, "MATCH", like, "COUNT", kAtOnce), 1);
        if (!page) return std::unexpected(page.error());
        cursor = page->front().view()[0].text();
        std::map<Partition, std::vector<std::string>> names;
        const ReplyView found = page->front().view()[1];
        for (std::size_t i = 0; i < found.size(); ++i) {
            for (const auto& [partition, of] : partitions_) {
                if (found[i].text().starts_with(of.prefix)) {
                    names[partition].emplace_back(found[i].text());
                }
            }
        }
        for (const auto& [partition, of] : names) {
            auto checked = CheckKeys(partitions_.at(partition), of);
            if (!checked) return checked;
        }
    } while (cursor != "0" && !cursor.empty());
    return {};
}

Result<void> IndexCheck::CheckKeys(const PartitionKeys& keys,
                                   const std::vector<std::string>& names) {
    std::vector<std::string> ids;
    for (const std::string& key : names) {
        const std::string_view name = NameOf(keys, key);
        if (name.starts_with("x:")) ids.emplace_back(name.substr(2));
        if (name.starts_with(kGroupKey)) {
            groups_[keys.partition].emplace(name.substr(kGroupKey.size()));
        }
        if (!ListsExecutions(name)) continue;
        if (auto checked = CheckMembers(keys, key); !checked) return checked;
    }
    return CheckRows(keys, ids);
}

IndexCheck::Places IndexCheck::PlacesOf(const PartitionKeys& keys, const Execution& row) {
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
        places.push_back({keys.Of("finished"), member, std::to_string(at), true});
    }
    return places;
}

Result<std::vector<std::optional<Execution>>> IndexCheck::Rows(
    const PartitionKeys& keys, const std::vector<std::string>& ids) {
    RespWriter command;
    command.Begin(1 + 2 * ids.size());
    command.Arg("MGET");
    for (const std::string& id : ids) command.Arg(keys.Execution(id)).Arg(keys.State(id));
    const auto replies = Ask(keys, std::move(command).Take(), 1);
    if (!replies) return std::unexpected(replies.error());
    const ReplyView texts = replies->front().view();
    std::vector<std::optional<Execution>> rows(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (texts[2 * i].is_nil()) continue;
        rows[i] = ReadExecution(ids[i], 0, texts[2 * i], texts[2 * i + 1]);
    }
    return rows;
}

Result<void> IndexCheck::CheckRows(const PartitionKeys& keys, const std::vector<std::string>& ids,
                                   bool again) {
    if (ids.empty()) return {};
    if (again) ended_.erase(keys.partition);  // More may have ended since it was read.
    const auto rows = Rows(keys, ids);
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
    const auto scores = Ask(keys, std::move(commands), asked.size());
    if (!scores) return std::unexpected(scores.error());
    std::vector<std::string> doubted;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& [row, place] = asked[i];
        if (!(*scores)[i].view().is_nil()) continue;
        if (place.end) {
            const auto ended = HasEnded(keys, place.member);
            if (!ended) return std::unexpected(ended.error());
            if (*ended) continue;
        }
        if (!again) {
            if (doubted.empty() || doubted.back() != ids[row]) doubted.push_back(ids[row]);
            continue;
        }
        faults_.push_back({.partition = keys.partition,
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

Result<bool> IndexCheck::HasEnded(const PartitionKeys& keys, const std::string& member) {
    const auto [found, is_new] = ended_.try_emplace(keys.partition);
    for (std::size_t at = 0, size = kEndedAtOnce; is_new && size == kEndedAtOnce; at += size) {
        const auto page = Ask(keys, Resp("LRANGE", keys.Of("ended"), at, at + kEndedAtOnce - 1), 1);
        if (!page) return std::unexpected(page.error());
        const ReplyView entries = page->front().view();
        size = entries.size();
        for (std::size_t i = 0; i < size; ++i) {
            const std::string_view entry = entries[i].text();
            found->second.emplace(entry.substr(std::min(entry.size(), entry.find(' ') + 1)));
        }
    }
    return found->second.contains(member);
}

Result<void> IndexCheck::CheckMembers(const PartitionKeys& keys, const std::string& key) {
    std::string cursor = "0";
    do {
        const auto page = Ask(keys, Resp("ZSCAN", key, cursor, "COUNT", kAtOnce), 1);
        if (!page) return std::unexpected(page.error());
        cursor = page->front().view()[0].text();
        const ReplyView found = page->front().view()[1];
        std::vector<std::string> members;
        for (std::size_t i = 0; i < found.size(); i += 2) members.emplace_back(found[i].text());
        if (auto checked = CheckMembersPage(keys, key, members); !checked) return checked;
    } while (cursor != "0" && !cursor.empty());
    return {};
}

Result<void> IndexCheck::CheckMembersPage(const PartitionKeys& keys, const std::string& key,
                                          const std::vector<std::string>& members, bool again) {
    if (members.empty()) return {};
    std::vector<std::string> ids;
    for (const std::string& member : members) ids.push_back(IdOf(member));
    const auto rows = Rows(keys, ids);
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
        const auto scores = Ask(keys, std::move(commands), doubted.size());
        if (!scores) return std::unexpected(scores.error());
        std::vector<std::string> still;
        for (std::size_t i = 0; i < doubted.size(); ++i) {
            if (!(*scores)[i].view().is_nil()) still.push_back(doubted[i]);
        }
        return CheckMembersPage(keys, key, still, true);
    }
    for (const std::string& member : doubted) {
        faults_.push_back({.partition = keys.partition,
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

Result<std::vector<IndexFault>> IndexCheck::Compare(const PartitionKeys& keys, const char* hash,
                                                    const char* set, const char* what) {
    const auto replies =
        Ask(keys, Resp("HKEYS", keys.Of(hash)) + Resp("ZRANGE", keys.Of(set), 0, -1), 2);
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

Result<void> IndexCheck::CheckListed(const PartitionKeys& keys, const char* hash, const char* set,
                                     const char* what) {
    const auto first = Compare(keys, hash, set, what);
    if (!first) return std::unexpected(first.error());
    if (first->empty()) return {};
    // A scheduler may have made or deleted some between the two questions.
    const auto second = Compare(keys, hash, set, what);
    if (!second) return std::unexpected(second.error());
    for (const IndexFault& fault : *second) {
        if (std::ranges::find(*first, fault.text, &IndexFault::text) != first->end()) {
            faults_.push_back(fault);
        }
    }
    return {};
}

Result<void> IndexCheck::CheckGroups(const PartitionKeys& keys) {
    const std::string set = keys.Of(kGroups);
    const auto listed = Ask(keys, Resp("SMEMBERS", set), 1);
    if (!listed) return std::unexpected(listed.error());
    const ReplyView names = listed->front().view();
    std::set<std::string> members;
    for (std::size_t i = 0; i < names.size(); ++i) members.emplace(names[i].text());
    std::vector<std::string> doubted;
    std::ranges::set_symmetric_difference(groups_[keys.partition], members,
                                          std::back_inserter(doubted));
    if (doubted.empty()) return {};
    // A scheduler may have begun or emptied a group since the scan.
    std::string commands;
    for (const std::string& group : doubted) {
        commands += Resp("EXISTS", keys.Of(kGroupKey) + group) + Resp("SISMEMBER", set, group);
    }
    const auto replies = Ask(keys, std::move(commands), 2 * doubted.size());
    if (!replies) return std::unexpected(replies.error());
    for (std::size_t i = 0; i < doubted.size(); ++i) {
        const bool exists = (*replies)[2 * i].view().number() == 1u;
        const bool named = (*replies)[2 * i + 1].view().number() == 1u;
        if (exists == named) continue;
        const std::string group = "group of settings " + doubted[i];
        faults_.push_back(
            {.partition = keys.partition,
             .text = exists ? fmt::format("{} is missing from {}", group, kGroups)
                            : fmt::format("{} names {}, which is not there", kGroups, group),
             .mend = exists ? IndexFault::Mend::kAdd : IndexFault::Mend::kRemove,
             .index = set,
             .entry = doubted[i],
             .order = {}});
    }
    return {};
}

Result<void> IndexCheck::Mend(const Term& term, const std::vector<IndexFault>& faults) {
    const PartitionKeys& keys = partitions_.at(term.partition);
    for (std::size_t first = 0; first < faults.size(); first += kAtOnce) {
        Call call{.lane = Lane::kCommit,
                  .slot = keys.slot,
                  .wait_replicas = client_.options().wait_replicas,
                  .script = &kMendIndexes};
        call.keys.Arg(keys.Of("fence"));
        call.args.Arg(term.epoch).Arg(term.nonce);
        for (std::size_t i = first; i < std::min(first + kAtOnce, faults.size()); ++i) {
            const IndexFault& fault = faults[i];
            call.keys.Arg(fault.index);
            const bool add = fault.mend == IndexFault::Mend::kAdd;
            const bool sorted = fault.index != keys.Of(kGroups);
            call.args.Arg(sorted ? (add ? "ZADD" : "ZREM") : (add ? "SADD" : "SREM"));
            call.args.Arg(fault.order).Arg(fault.entry);
        }
        const auto replies = AskStore<Replies>([&](Done<Replies> done) {
            client_.Post([&, done = std::move(done)]() mutable {
                client_.Send(std::move(call), std::move(done));
            });
        });
        if (!replies) return std::unexpected(replies.error());
        if (replies->front().view().number() != 1u) {
            return Fail(ErrorCode::kFenced, "the term has ended");
        }
        if (auto kept = client_.CheckReplicas(*replies); !kept) return kept;
    }
    return {};
}

}  // namespace takt::internal::redis
