// RedisStore: the store in Redis 6 or later: one server, a primary behind Sentinel, or a cluster.
//
// What it adds to the store's contract: durable as far as Redis is. A primary that dies before its
// replicas or its disk have the last writes takes them along; ?wait=N makes a commit succeed only
// once N replicas have it. docs/stores/redis.md says what is kept where and what can be lost.
//
// A term that Redis has forgotten writes of, after a failover, is answered with kFenced: its leader
// knows more than the store, so somebody must load afresh.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/store.h"

namespace takt::internal {

class RedisStore final : public Store {
  public:
    // Connects and checks the server, at most `timeout` for each step. kInvalid: the URL is wrong,
    // Redis does not let us in, is too old, or would evict rows (unless ?unsafe=1); `detail` says
    // what to do. kUnavailable: it cannot be reached.
    static Result<std::unique_ptr<RedisStore>> Open(std::string_view url);
    ~RedisStore() override;

    // How the server is set up to lose data, a sentence each; also in the log. For people.
    const std::vector<std::string>& warnings() const { return warnings_; }

    StoreLimits limits() const override;
    std::string Describe() const override;

    void Acquire(const Candidate& candidate, Done<Term> done) override;
    void Renew(const Term& term, Duration ttl, Done<void> done) override;
    void Resign(const Term& term, Done<void> done) override;
    void Leader(Partition partition, Done<std::optional<LeaderRow>> done) override;
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override;
    void Nodes(Done<std::vector<NodeRow>> done) override;
    void Commit(BatchPtr batch, Done<void> done) override;
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override;
    void FindExecutions(std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override;
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override;
    void FindTask(const TaskId& id, Done<TaskRow> done) override;
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override;
    void ListWorkers(Done<std::vector<Worker>> done) override;
    void ListSettings(const Text& key_prefix, Done<std::vector<SettingPut>> done) override;
    void ReadLog(const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override;
    void ReadEvents(Serial after, std::size_t limit, Done<std::vector<Event>> done) override;

  private:
    using Keys = redis::PartitionKeys;
    struct Listing;
    struct TaskListing;
    struct Loading;
    // One partition's part of a read.
    template <typename Part>
    using ReadPart = std::function<void(const Keys&, Done<Part>)>;

    explicit RedisStore(std::unique_ptr<redis::Client> client);
    Result<void> Check();
    Result<redis::Replies> Ask(redis::Call call);  // Waits for the answer.
    Result<std::string> Info();
    void CheckPersistence(const std::string& info);
    Result<void> CheckEviction(const std::string& info);
    // Of the data that is there already.
    Result<void> CheckStoredLayout();

    // In the client's thread.
    const Keys& KeysOf(Partition partition);
    void TakeTerm(const Candidate& candidate, Done<Term> done);
    Result<void> CommitAnswer(const Batch& batch, const redis::Replies& replies);
    Result<void> Replicated(const redis::Replies& replies) const;
    // Reads all partitions, also those that other nodes have begun: the list of them is read along.
    template <typename Part, typename Whole>
    void Gather(ReadPart<Part> read, std::function<Whole(std::vector<Part>)> merge,
                Done<Whole> done);
    void ListMore(std::shared_ptr<Listing> listing);
    void ListTasksMore(std::shared_ptr<TaskListing> listing);
    void LoadTasks(std::shared_ptr<Loading> loading, const std::string& from);
    void LoadExecutions(std::shared_ptr<Loading> loading, const std::string& from,
                        std::size_t rows_max);

    std::vector<std::string> warnings_;
    const redis::GlobalKeys global_;
    Random random_;
    std::map<Partition, Keys> partitions_;  // Those seen so far. Entries stay where they are.
    struct Acknowledged {
        Term term;
        std::uint64_t sequence = 0;
    };
    std::map<Partition, Acknowledged> acknowledged_;
    std::unique_ptr<redis::Client> client_;  // Last: its thread uses everything above.
};

}  // namespace takt::internal
