// Reader: what is stored of one partition, for any node. Its calls may come from any thread; answers
// come from the client's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/store.h"

namespace takt::internal::redis {

class Reader {
  public:
    Reader(Client& client, Keyring& keys) : client_(client), keys_(keys) {}

    // As the store's own of the same names.
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done);
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done);
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done);
    void FindTask(Partition partition, const TaskId& id, Done<TaskRow> done);
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done);
    void ListWorkers(Partition partition, Done<std::vector<Worker>> done);
    void ListSettings(Partition partition, const Text& key_prefix,
                      Done<std::vector<SettingPut>> done);
    void ReadLog(Partition partition, const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done);
    void ReadEvents(Partition partition, Serial after, std::size_t limit,
                    Done<std::vector<Event>> done);
    void ReadAudit(Partition partition, Serial before, std::size_t limit,
                   Done<std::vector<AuditRow>> done);

  private:
    struct Listing;
    struct TaskListing;
    struct Loading;

    // Asks a partition: `make` makes the call with its keys, `take` the answer of the first reply.
    template <typename T>
    void Ask(Partition partition, std::function<Call(const PartitionKeys&)> make,
             std::function<Result<T>(ReplyView)> take, Done<T> done);
    void ListMore(std::shared_ptr<Listing> listing);
    void ListTasksMore(std::shared_ptr<TaskListing> listing);
    void LoadSettings(std::shared_ptr<Loading> loading);
    void LoadTasks(std::shared_ptr<Loading> loading, const std::string& from);
    void LoadRecords(std::shared_ptr<Loading> loading, const std::string& from);
    void LoadExecutions(std::shared_ptr<Loading> loading, const std::string& from,
                        std::size_t rows_max);

    Client& client_;
    Keyring& keys_;
};

}  // namespace takt::internal::redis
