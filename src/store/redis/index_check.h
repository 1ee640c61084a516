// IndexCheck: whether each execution, definition, record and group of settings stands in the sets by
// which it is found, and each member of those has its row. All calls block and come from a command's
// thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "store/index_check.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"

namespace takt::internal::redis {

class IndexCheck {
  public:
    IndexCheck(Client& client, const std::vector<Partition>& partitions);

    Result<std::vector<IndexFault>> Run();
    Result<void> Mend(const Term& term, const std::vector<IndexFault>& faults);

  private:
    // Where an execution has to stand. Of one that has ended and has no parent `end` is the member of
    // the order of retention, which a list may have instead.
    struct Place {
        std::string key;
        std::string member;
        std::string score = "0";
        bool end = false;
    };
    using Places = std::vector<Place>;

    static Places PlacesOf(const PartitionKeys& keys, const Execution& row);

    Result<Replies> Ask(const PartitionKeys& keys, std::string commands, std::size_t replies);
    // All keys that look like that, a page at a time, on the server that has `keys`. Those of
    // partitions that are not asked for are passed over.
    Result<void> Scan(const PartitionKeys& keys, const std::string& like);
    Result<void> CheckKeys(const PartitionKeys& keys, const std::vector<std::string>& names);
    // The rows of ids; nothing for one that is not there, one with kUndecodable for one that cannot be
    // read.
    Result<std::vector<std::optional<Execution>>> Rows(const PartitionKeys& keys,
                                                       const std::vector<std::string>& ids);
    Result<void> CheckRows(const PartitionKeys& keys, const std::vector<std::string>& ids,
                           bool again = false);
    Result<void> CheckMembers(const PartitionKeys& keys, const std::string& key);
    Result<void> CheckMembersPage(const PartitionKeys& keys, const std::string& key,
                                  const std::vector<std::string>& members, bool again = false);
    // Fields of a hash against the members of the sorted set that lists them, once and, in doubt,
    // twice.
    Result<std::vector<IndexFault>> Compare(const PartitionKeys& keys, const char* hash,
                                            const char* set, const char* what);
    Result<void> CheckListed(const PartitionKeys& keys, const char* hash, const char* set,
                             const char* what);
    // Hashes of settings, as the scan has found them, against the set that names their groups.
    Result<void> CheckGroups(const PartitionKeys& keys);
    Result<bool> HasEnded(const PartitionKeys& keys, const std::string& member);

    Client& client_;
    std::map<Partition, PartitionKeys> partitions_;
    std::vector<IndexFault> faults_;
    std::map<Partition, std::unordered_set<std::string>> ended_;
    std::map<Partition, std::set<std::string>> groups_;  // Of settings, those that have a hash.
};

}  // namespace takt::internal::redis
