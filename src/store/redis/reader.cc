// Reads of executions by id, tasks by id, workers, settings, logs, events and the audit.
#include "store/redis/reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "model/record.h"
#include "store/redis/rows.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {
namespace {

Call CommandCall(const PartitionKeys& keys, std::string command) {
    Call call{.slot = keys.slot};
    call.commands = std::move(command);
    return call;
}

// The rows that `read` makes of the entries; one that cannot be read is left out, and the log names
// it.
template <typename Row>
std::vector<Row> ReadEntries(ReplyView entries, std::string_view what,
                             const std::function<Result<Row>(ReplyView)>& read) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Result<Row> row = read(entries[i]);
        if (row) {
            rows.push_back(std::move(*row));
        } else {
            Log(LogLevel::kError, "store", "a stored row cannot be read",
                {{"kind", what}, {"place", i}, {"error", row.error().detail}});
        }
    }
    return rows;
}

}  // namespace

template <typename T>
void Reader::Ask(Partition partition, std::function<Call(const PartitionKeys&)> make,
                 std::function<Result<T>(ReplyView)> take, Done<T> done) {
    client_.Post([this, partition, make = std::move(make), take = std::move(take),
                  done = std::move(done)]() mutable {
        client_.Send(make(keys_.Of(partition)), [take = std::move(take), done = std::move(done)](
                                                    Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            done(take(replies->front().view()));
        });
    });
}

void Reader::FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                            Done<std::vector<std::optional<Execution>>> done) {
    using Rows = std::vector<std::optional<Execution>>;
    if (ids.empty()) {
        return client_.Post([done = std::move(done)]() mutable { done(Rows{}); });
    }
    const auto wanted = std::make_shared<const std::vector<ExecutionId>>(std::move(ids));
    Ask<Rows>(
        partition,
        [wanted](const PartitionKeys& keys) {
            RespWriter command;
            command.Begin(1 + 2 * wanted->size());
            command.Arg("MGET");
            for (const ExecutionId& id : *wanted) {
                command.Arg(keys.Execution(id.view())).Arg(keys.State(id.view()));
            }
            return CommandCall(keys, std::move(command).Take());
        },
        [wanted](ReplyView texts) {
            Rows rows(wanted->size());
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (texts[2 * i].is_nil()) continue;
                rows[i] = ReadExecution((*wanted)[i].view(), 0, texts[2 * i], texts[2 * i + 1]);
            }
            return rows;
        },
        std::move(done));
}

void Reader::FindTask(Partition partition, const TaskId& id, Done<TaskRow> done) {
    Ask<TaskRow>(
        partition,
        [id](const PartitionKeys& keys) {
            return CommandCall(keys, Resp("HGET", keys.Of("tasks"), id.view()));
        },
        [id](ReplyView record) -> Result<TaskRow> {
            if (record.is_nil()) return NoSuchTask(id);
            return DecodeTaskRow(record.text());
        },
        std::move(done));
}

void Reader::ListWorkers(Partition partition, Done<std::vector<Worker>> done) {
    Ask<std::vector<Worker>>(
        partition,
        [](const PartitionKeys& keys) {
            return CommandCall(keys, Resp("HGETALL", keys.Of("workers")));
        },
        ReadWorkers, std::move(done));
}

void Reader::ListSettings(Partition partition, const Text& key_prefix,
                          Done<std::vector<SettingPut>> done) {
    Ask<std::vector<SettingPut>>(
        partition,
        [key_prefix](const PartitionKeys& keys) {
            Call call{.slot = keys.slot, .script = &kSettings};
            call.keys.Arg(keys.Of("settings")).Arg(keys.Of("setting_groups"));
            call.args.Arg(keys.prefix).Arg(key_prefix.view());
            return call;
        },
        ReadSettings, std::move(done));
}

void Reader::ReadLog(Partition partition, const ExecutionId& execution, Serial after,
                     std::size_t limit, Done<std::vector<LogChunk>> done) {
    using Rows = std::vector<LogChunk>;
    if (after == UINT64_MAX) {
        return client_.Post([done = std::move(done)]() mutable { done(Rows()); });
    }
    Ask<Rows>(
        partition,
        [execution, after, limit](const PartitionKeys& keys) {
            Call call{.slot = keys.slot, .script = &kLog};
            call.keys.Arg(keys.LogStream(execution.view())).Arg(keys.Lines(execution.view()));
            call.args.Arg(SerialDigits(after + 1)).Arg(after + 1).Arg(limit);
            return call;
        },
        [execution](ReplyView entries) {
            Rows rows = ReadEntries<LogChunk>(
                entries[0], "log", [&](ReplyView entry) { return ReadLogChunk(execution, entry); });
            Rows later = ReadEntries<LogChunk>(entries[1], "log", [&](ReplyView entry) {
                return ReadChunkText(execution, entry.text());
            });
            std::ranges::move(later, std::back_inserter(rows));
            return rows;
        },
        std::move(done));
}

void Reader::ReadEvents(Partition partition, Serial after, std::size_t limit,
                        Done<std::vector<Event>> done) {
    using Rows = std::vector<Event>;
    if (after == UINT64_MAX) {
        return client_.Post([done = std::move(done)]() mutable { done(Rows()); });
    }
    Ask<Rows>(
        partition,
        [after, limit](const PartitionKeys& keys) {
            const std::string from = after == 0 ? "-" : StreamId(after + 1);
            return CommandCall(keys, Resp("XRANGE", keys.Of("events"), from, "+", "COUNT", limit));
        },
        [](ReplyView entries) { return ReadEntries<Event>(entries, "event", ReadEvent); },
        std::move(done));
}

void Reader::ReadAudit(Partition partition, Serial before, std::size_t limit,
                       Done<std::vector<AuditRow>> done) {
    Ask<std::vector<AuditRow>>(
        partition,
        [before, limit](const PartitionKeys& keys) {
            const std::string upper = before == 0 ? "+" : "(" + SerialDigits(before);
            return CommandCall(
                keys, Resp("ZREVRANGEBYLEX", keys.Of("audit"), upper, "-", "LIMIT", 0, limit));
        },
        [](ReplyView members) {
            return ReadEntries<AuditRow>(
                members, "audit", [](ReplyView member) { return ReadAuditText(member.text()); });
        },
        std::move(done));
}

}  // namespace takt::internal::redis
