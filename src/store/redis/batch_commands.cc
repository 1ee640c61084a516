#include "store/redis/batch_commands.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/failpoint.h"
#include "model/record.h"
#include "store/redis/rows.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {
namespace {

class BatchWriter {
  public:
    BatchWriter(const PartitionKeys& keys, const RedisOptions& options)
        : keys_(keys), options_(options) {}

    void operator()(const ExecutionChange& change) {
        const Execution& row = change.row;
        const std::string member = MemberOf(row.serial, row.id.view());
        const bool live_before = change.before == Place::kLive;
        const bool live_after = change.after == Place::kLive;
        row_keys_.Arg(live_before ? keys_.State(row.id.view()) : keys_.Execution(row.id.view()));
        row_texts_.Arg(live_before ? StateText(row) : ExecutionText(row));
        const Kin kin = row.parent.empty() ? Kin::kOwn : Kin::kChild;
        if (change.before == Place::kHistory) {
            first_.Own("redrive", row.id.view(), member, KinText(kin));
            // Which of its two ends counts is told by the time in its state.
            if (!live_after) {
                row_keys_.Arg(keys_.State(row.id.view()));
                row_texts_.Arg(StateText(row));
            }
        }
        if (change.before == Place::kNone) IndexNew(row, kin, member);
        if (live_after && !live_before) Add(keys_.Live(kin), "0", member);
        if (live_before && !live_after) Remove(keys_.Live(kin), member);
        if (live_after) return;
        Add(keys_.History(kin, row.status), "0", member);
        // Only executions without a parent are in the order of retention. One that comes finished may
        // have ended at any time before, in a restore the newest first: it goes where it is sorted.
        if (kin == Kin::kOwn && change.before == Place::kNone) {
            const auto ended = row.finished_at.time_since_epoch().count();
            Add(keys_.Of("finished"), std::to_string(ended), member);
        } else if (kin == Kin::kOwn) {
            ended_.emplace_back(row.finished_at, member);
        }
        if (!row.worker.empty()) Add(keys_.Worker(kin, row.worker.view()), "0", member);
    }
    void operator()(const TaskPut& change) {
        const std::string_view id = change.row.task->id.view();
        hash_puts_["tasks"].Arg(id).Arg(EncodeTaskRow(change.row));
        Add(keys_.Of("task_ids"), "0", id);
    }
    void operator()(const TaskDelete& change) {
        hash_deletes_["tasks"].Arg(change.id.view());
        Remove(keys_.Of("task_ids"), change.id.view());
    }
    void operator()(const WorkerPut& change) {
        const std::string_view id = change.row.id.view();
        hash_puts_["workers"].Arg(id).Arg(EncodeWorker(change.row));
        const bool online = change.row.status == WorkerStatus::kOnline;
        (online ? online_ : offline_).Arg(id);
    }
    void operator()(const WorkerDelete& change) {
        hash_deletes_["workers"].Arg(change.id.view());
        offline_.Arg(change.id.view());
    }
    void operator()(const SettingPut& change) {
        const std::string group = SettingGroup(change.key.view());
        const std::string hash = group.empty() ? "settings" : "settings:" + group;
        if (!group.empty()) groups_.insert(group);
        if (change.value.empty()) {
            hash_deletes_[hash].Arg(change.key.view());
        } else {
            hash_puts_[hash].Arg(change.key.view()).Arg(change.value.view());
        }
    }
    void operator()(const RecordPut& change) {
        const std::string id = RecordId(change.kind, change.key);
        if (change.value.empty()) {
            hash_deletes_["records"].Arg(id);
            Remove(keys_.Of("record_ids"), id);
        } else {
            hash_puts_["records"].Arg(id).Arg(change.value.view());
            Add(keys_.Of("record_ids"), "0", id);
        }
    }
    void operator()(const AuditAppend& change) {
        Add(keys_.Of("audit"), "0", AuditText(change.row));
    }
    void operator()(const EventAppend& change) { events_.push_back(&change.row); }
    void operator()(const LogAppend& change) { chunks_.push_back(&change.row); }
    void operator()(const Purge& change) {
        const Serial end = SerialAt(change.events_before);
        const Serial audit_end = SerialAt(change.audit_before);
        first_.Own("purge", change.finished_before.time_since_epoch().count(),
                   end == 0 ? std::string() : StreamId(end - 1),
                   audit_end == 0 ? std::string() : "(" + SerialDigits(audit_end),
                   std::min(change.count_max, kPurgeMax));
    }

    Call Finish(const Batch& batch) {
        Call call{.lane = Lane::kCommit,
                  .slot = keys_.slot,
                  .repeatable = false,
                  .wait_replicas = options_.wait_replicas,
                  .script = &kCommit};
        call.keys.Arg(keys_.Of("fence"));
        call.args.Arg(batch.term.epoch).Arg(batch.term.nonce).Arg(batch.sequence);
        call.args.Arg(SerialDigits(batch.last_serial)).Arg(keys_.prefix);
        call.args.Append(first_.args);
        if (row_keys_.count() > 0) {
            call.keys.Append(row_keys_);
            call.args.Arg("rows").Arg(row_texts_.count());
            call.args.Append(row_texts_);
        }
        Commands rest;
        for (const auto& [key, members] : removes_) rest.Command("ZREM", key, members);
        for (const auto& [key, members] : adds_) rest.Command("ZADD", key, members);
        for (const auto& [name, fields] : hash_deletes_) {
            rest.Command("HDEL", keys_.Of(name), fields);
        }
        for (const std::string_view run : runs_) hash_puts_["runs"].Arg(run).Arg("");
        for (const auto& [name, fields] : hash_puts_) rest.Command("HSET", keys_.Of(name), fields);
        if (!groups_.empty()) {
            rest.args.Arg("groups").Arg(groups_.size());
            for (const std::string& group : groups_) rest.args.Arg(group);
        }
        WriteEnded(rest);
        if (online_.count() > 0) rest.Command("SADD", keys_.Of("workers:online"), online_);
        if (offline_.count() > 0) rest.Command("SREM", keys_.Of("workers:online"), offline_);
        WriteChunks(rest);
        WriteEvents(rest);
        call.keys.Append(rest.keys);
        call.args.Append(rest.args);
        return call;
    }

  private:
    // In the form that the commit script reads.
    struct Commands {
        RespWriter keys, args;

        void Command(std::string_view name, std::string_view key, const RespWriter& arguments) {
            keys.Arg(key);
            args.Arg(name).Arg(arguments.count());
            args.Append(arguments);
        }
        template <typename... Args>
        void Own(std::string_view name, const Args&... arguments) {
            args.Arg(name).Arg(sizeof...(Args));
            (args.Arg(arguments), ...);
        }
    };

    // In the indexes that it stands in as long as it is stored.
    void IndexNew(const Execution& row, Kin kin, std::string_view member) {
        if (row.task->id.view() != row.id.view()) {
            Add(keys_.Task(kin, row.task->id.view()), "0", member);
        }
        if (kin == Kin::kOwn) return;
        Add(keys_.Children(row.parent.view()), "0", member);
        runs_.insert(row.parent.view());
    }
    void Add(std::string key, std::string_view score, std::string_view member) {
        adds_[std::move(key)].Arg(score).Arg(member);
    }
    void Remove(std::string key, std::string_view member) { removes_[std::move(key)].Arg(member); }

    // The order of retention: that of their ends. The script appends what is not before those that
    // are there, and sorts in the others.
    void WriteEnded(Commands& to) {
        if (ended_.empty()) return;
        std::ranges::sort(ended_);
        fields_.Clear();
        for (const auto& [time, member] : ended_) fields_.Arg(EndedText(time, member));
        if (TAKT_MUTANT("redis.one_order")) return to.Command("RPUSH", keys_.Of("ended"), fields_);
        to.Command("ended", keys_.Of("ended"), fields_);
        to.keys.Arg(keys_.Of("finished"));
    }
    void WriteChunks(Commands& to) {
        std::ranges::sort(chunks_, {}, [](const LogChunk* chunk) { return chunk->index; });
        for (const LogChunk* chunk : chunks_) {
            fields_.Clear();
            fields_.Arg(ChunkText(*chunk));
            to.Command("RPUSH", keys_.Lines(chunk->execution.view()), fields_);
        }
    }
    // Streams take entries by rising id only, and a batch has no order.
    void WriteEvents(Commands& to) {
        std::ranges::sort(events_, {}, [](const Event* event) { return event->serial; });
        std::string message;
        for (const Event* event : events_) {
            fields_.Clear();
            fields_.Arg(StreamId(event->serial));
            WriteEvent(*event, fields_);
            to.Command("event", keys_.Of("events"), fields_);
            if (!options_.publish) continue;
            if (!message.empty()) message += '\n';
            AppendEventJson(message, *event);
        }
        if (events_.empty()) return;
        fields_.Clear();
        fields_.Arg("MAXLEN").Arg("~").Arg(options_.events_max);
        to.Command("XTRIM", keys_.Of("events"), fields_);
        if (!message.empty()) to.Own("publish", keys_.Of("events"), message);
    }

    const PartitionKeys& keys_;
    const RedisOptions& options_;
    RespWriter fields_;
    Commands first_;  // What must look at rows before they change.
    RespWriter row_keys_, row_texts_;
    std::map<std::string, RespWriter, std::less<>> adds_, removes_;  // By key of the sorted set.
    std::map<std::string, RespWriter, std::less<>> hash_puts_, hash_deletes_;
    std::set<std::string> groups_;  // Of settings that change.
    std::vector<std::pair<Time, std::string>> ended_;
    std::set<std::string_view> runs_;  // That get children.
    RespWriter online_, offline_;
    std::vector<const Event*> events_;
    std::vector<const LogChunk*> chunks_;
};

}  // namespace

Call MakeCommit(const Batch& batch, const PartitionKeys& keys, const RedisOptions& options) {
    BatchWriter writer(keys, options);
    for (const Change& change : batch.changes) std::visit(writer, change);
    return writer.Finish(batch);
}

}  // namespace takt::internal::redis
