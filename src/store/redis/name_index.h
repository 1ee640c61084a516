// NameIndex: whether definitions, records, groups of settings and runs stand where their names are
// listed, and each name there has what it names. All calls block and come from a command's thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/index_reader.h"

namespace takt::internal::redis {

constexpr const char* kSettingGroups =
    "setting_groups";                  // A set without scores, unlike the others.
constexpr const char* kRuns = "runs";  // A hash.

class NameIndex {
  public:
    explicit NameIndex(IndexReader& reader) : reader_(reader) {}

    // A key that a scan has found: of a group of settings, of a run's children, or of neither.
    void Found(const PartitionKeys& keys, std::string_view name);
    // After all keys of the partition were found. A fault is noted if it is there at a second look too.
    Result<void> Check(const PartitionKeys& keys);

  private:
    // Fields of a hash against the members of the sorted set that lists them.
    Result<std::vector<IndexFault>> Compare(const PartitionKeys& keys, const char* hash,
                                            const char* set, const char* what);
    Result<void> CheckListed(const PartitionKeys& keys, const char* hash, const char* set,
                             const char* what);
    Result<void> CheckGroups(const PartitionKeys& keys);
    Result<void> CheckRuns(const PartitionKeys& keys);
    // The names that stand in only one of the two: `found`, and those that `scan` (HSCAN, SSCAN) pages
    // through at `key`, each with so many texts.
    struct Listed {
        const char* scan;
        std::string key;
        std::size_t texts;
    };
    Result<std::vector<std::string>> Doubt(const PartitionKeys& keys, const Listed& listed,
                                           const std::set<std::string>& found);

    IndexReader& reader_;
    std::map<Partition, std::set<std::string>> groups_;
    std::map<Partition, std::set<std::string>> runs_;
};

}  // namespace takt::internal::redis
