#include "store/redis/index_check.h"

#include <algorithm>
#include <utility>

#include "store/redis/scripts.h"
#include "store/wait.h"

namespace takt::internal::redis {
namespace {

// A pattern of SCAN that means the text itself.
std::string Literally(std::string_view text) {
    std::string pattern;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").contains(c)) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

// The command that mends it, by what kind of key its index is.
const char* CommandOf(const PartitionKeys& keys, const IndexFault& fault) {
    const std::string_view name = NameOf(keys, fault.index);
    const bool add = fault.mend == IndexFault::Mend::kAdd;
    if (name == kSettingGroups) return add ? "SADD" : "SREM";
    if (name == kRuns) return add ? "HSET" : "HDEL";
    if (name == kEnded) return "LREM";
    return add ? "ZADD" : "ZREM";
}

}  // namespace

IndexCheck::IndexCheck(Client& client, const std::vector<Partition>& partitions)
    : client_(client),
      reader_(client),
      ended_(reader_),
      executions_(reader_, ended_),
      names_(reader_) {
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
        auto checked = names_.Check(keys);
        if (checked) checked = ended_.Check(keys);
        if (!checked) return std::unexpected(checked.error());
    }
    return reader_.TakeFaults();
}

Result<void> IndexCheck::Scan(const PartitionKeys& keys, const std::string& like) {
    std::string cursor = "0";
    do {
        const auto page =
            reader_.Ask(keys, Resp("SCAN", cursor, "MATCH", like, "COUNT", kIndexRowsAtOnce), 1);
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
        names_.Found(keys, name);
        if (!ListsExecutions(name)) continue;
        if (auto checked = executions_.CheckMembers(keys, key); !checked) return checked;
    }
    return executions_.CheckRows(keys, ids);
}

Result<void> IndexCheck::Mend(const Term& term, const std::vector<IndexFault>& faults) {
    const PartitionKeys& keys = partitions_.at(term.partition);
    for (std::size_t first = 0; first < faults.size(); first += kIndexRowsAtOnce) {
        Call call{.lane = Lane::kCommit,
                  .slot = keys.slot,
                  .wait_replicas = client_.options().wait_replicas,
                  .script = &kMendIndexes};
        call.keys.Arg(keys.Of("fence"));
        call.args.Arg(term.epoch).Arg(term.nonce);
        for (std::size_t i = first; i < std::min(first + kIndexRowsAtOnce, faults.size()); ++i) {
            const IndexFault& fault = faults[i];
            call.keys.Arg(fault.index);
            call.args.Arg(CommandOf(keys, fault));
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
