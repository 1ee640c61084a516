// IndexCheck: whether all that Takt keeps in Redis to find its rows by is true to these, both ways: the
// sets of executions, the names of definitions, records, settings and runs, the list of retention.
// All calls block and come from a command's thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/redis/ended_list.h"
#include "store/redis/execution_index.h"
#include "store/redis/index_reader.h"
#include "store/redis/name_index.h"

namespace takt::internal::redis {

class IndexCheck {
  public:
    IndexCheck(Client& client, const std::vector<Partition>& partitions);

    Result<std::vector<IndexFault>> Run();
    Result<void> Mend(const Term& term, const std::vector<IndexFault>& faults);

  private:
    // All keys that look like that, a page at a time, on the server that has `keys`. Those of
    // partitions that are not asked for are passed over.
    Result<void> Scan(const PartitionKeys& keys, const std::string& like);
    Result<void> CheckKeys(const PartitionKeys& keys, const std::vector<std::string>& names);

    Client& client_;
    std::map<Partition, PartitionKeys> partitions_;
    IndexReader reader_;
    EndedList ended_;
    ExecutionIndex executions_;
    NameIndex names_;
};

}  // namespace takt::internal::redis
