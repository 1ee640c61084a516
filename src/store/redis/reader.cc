// Reads of executions by id, workers, settings, logs and events.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "model/record.h"
#include "store/redis/gather.h"
#include "store/redis/rows.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {

namespace {

// Sends one command to one partition; `take` makes the part of its reply.
template <typename Part>
void ReadOne(Client& client, HashSlot slot, std::string command,
             std::function<Part(ReplyView)> take, Done<Part> done) {
    Call call{.slot = slot};
    call.commands = std::move(command);
    client.Send(std::move(call),
                [take = std::move(take), done = std::move(done)](Result<Replies> replies) mutable {
                    if (!replies) return done(std::unexpected(replies.error()));
                    done(take(replies->front().view()));
                });
}

template <typename Row, typename Order>
std::vector<Row> Merged(std::vector<std::vector<Row>> parts, Order order) {
    std::vector<Row> all;
    for (std::vector<Row>& part : parts) std::ranges::move(part, std::back_inserter(all));
    std::ranges::sort(all, {}, order);
    return all;
}

}  // namespace

void Reader::FindExecutions(Partition, std::vector<ExecutionId> ids,
                            Done<std::vector<std::optional<Execution>>> done) {
    using Rows = std::vector<std::optional<Execution>>;
    if (ids.empty()) {
        return client_.Post([done = std::move(done)]() mutable { done(Rows{}); });
    }
    const auto wanted = std::make_shared<const std::vector<ExecutionId>>(std::move(ids));
    ReadPart<Rows> read = [this, wanted](const PartitionKeys& keys, Done<Rows> part) {
        Call call{.slot = keys.slot};
        RespWriter command;
        command.Begin(1 + 2 * wanted->size());
        command.Arg("MGET");
        for (const ExecutionId& id : *wanted) {
            command.Arg(keys.Execution(id.view())).Arg(keys.State(id.view()));
        }
        call.commands = std::move(command).Take();
        client_.Send(
            std::move(call), [wanted, part = std::move(part)](Result<Replies> replies) mutable {
                if (!replies) return part(std::unexpected(replies.error()));
                const ReplyView texts = replies->front().view();
                Rows rows(wanted->size());
                for (std::size_t i = 0; i < rows.size(); ++i) {
                    if (texts[2 * i].is_nil()) continue;
                    rows[i] = ReadExecution((*wanted)[i].view(), 0, texts[2 * i], texts[2 * i + 1]);
                }
                part(std::move(rows));
            });
    };
    std::function<Rows(std::vector<Rows>)> merge = [wanted](std::vector<Rows> parts) {
        Rows rows(wanted->size());
        for (Rows& part : parts) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (part[i]) rows[i] = std::move(part[i]);
            }
        }
        return rows;
    };
    Gather<Rows, Rows>(std::move(read), std::move(merge), std::move(done));
}

void Reader::FindTask(Partition, const TaskId& id, Done<TaskRow> done) {
    using Part = std::string;  // The record, or empty.
    ReadPart<Part> read = [this, id](const PartitionKeys& keys, Done<Part> part) {
        ReadOne<Part>(
            client_, keys.slot, Resp("HGET", keys.Of("tasks"), id.view()),
            [](ReplyView record) { return std::string(record.text()); }, std::move(part));
    };
    std::function<Part(std::vector<Part>)> merge = [](std::vector<Part> parts) {
        for (Part& part : parts) {
            if (!part.empty()) return std::move(part);
        }
        return Part();
    };
    Gather<Part, Part>(std::move(read), std::move(merge),
                       [id, done = std::move(done)](Result<Part> record) mutable {
                           if (!record) return done(std::unexpected(record.error()));
                           if (record->empty()) {
                               return done(NoSuchTask(id));
                           }
                           done(DecodeTaskRow(*record));
                       });
}

void Reader::ListWorkers(Partition, Done<std::vector<Worker>> done) {
    using Rows = std::vector<Worker>;
    ReadPart<Rows> read = [this](const PartitionKeys& keys, Done<Rows> part) {
        ReadOne<Rows>(client_, keys.slot, Resp("HGETALL", keys.Of("workers")), ReadWorkers,
                      std::move(part));
    };
    std::function<Rows(std::vector<Rows>)> merge = [](std::vector<Rows> parts) {
        return Merged(std::move(parts), &Worker::id);
    };
    Gather<Rows, Rows>(std::move(read), std::move(merge), std::move(done));
}

void Reader::ListSettings(Partition, const Text& key_prefix, Done<std::vector<SettingPut>> done) {
    using Rows = std::vector<SettingPut>;
    ReadPart<Rows> read = [this, key_prefix](const PartitionKeys& keys, Done<Rows> part) {
        Call call{.slot = keys.slot, .script = &kSettings};
        call.keys.Arg(keys.Of("settings"));
        call.args.Arg(key_prefix.view());
        client_.Send(std::move(call), [part = std::move(part)](Result<Replies> replies) mutable {
            if (!replies) return part(std::unexpected(replies.error()));
            part(ReadSettings(replies->front().view()));
        });
    };
    std::function<Rows(std::vector<Rows>)> merge = [](std::vector<Rows> parts) {
        return Merged(std::move(parts), &SettingPut::key);
    };
    Gather<Rows, Rows>(std::move(read), std::move(merge), std::move(done));
}

void Reader::ReadLog(Partition, const ExecutionId& execution, Serial after, std::size_t limit,
                     Done<std::vector<LogChunk>> done) {
    using Rows = std::vector<LogChunk>;
    if (after == UINT64_MAX) {
        return client_.Post([done = std::move(done)]() mutable { done(Rows()); });
    }
    ReadPart<Rows> read = [this, execution, after, limit](const PartitionKeys& keys,
                                                          Done<Rows> part) {
        ReadOne<Rows>(
            client_, keys.slot,
            Resp("XRANGE", keys.Log(execution.view()), std::to_string(after + 1), "+", "COUNT",
                 limit),
            [execution](ReplyView entries) {
                Rows rows;
                for (std::size_t i = 0; i < entries.size(); ++i) {
                    Result<LogChunk> row = ReadLogChunk(execution, entries[i]);
                    if (row) {
                        rows.push_back(std::move(*row));
                    } else {
                        Log(LogLevel::kError, "store", "a stored log chunk cannot be read",
                            {{"execution", execution}, {"error", row.error().detail}});
                    }
                }
                return rows;
            },
            std::move(part));
    };
    std::function<Rows(std::vector<Rows>)> merge = [](std::vector<Rows> parts) {
        return Merged(std::move(parts), &LogChunk::index);
    };
    Gather<Rows, Rows>(std::move(read), std::move(merge), std::move(done));
}

void Reader::ReadEvents(Partition, Serial after, std::size_t limit, Done<std::vector<Event>> done) {
    using Rows = std::vector<Event>;
    if (after == UINT64_MAX) {
        return client_.Post([done = std::move(done)]() mutable { done(Rows()); });
    }
    ReadPart<Rows> read = [this, after, limit](const PartitionKeys& keys, Done<Rows> part) {
        const std::string from = after == 0 ? "-" : StreamId(after + 1);
        ReadOne<Rows>(
            client_, keys.slot, Resp("XRANGE", keys.Of("events"), from, "+", "COUNT", limit),
            [](ReplyView entries) {
                Rows rows;
                for (std::size_t i = 0; i < entries.size(); ++i) {
                    Result<Event> row = ReadEvent(entries[i]);
                    if (row) {
                        rows.push_back(std::move(*row));
                    } else {
                        Log(LogLevel::kError, "store", "a stored event cannot be read",
                            {{"entry", entries[i][0].text()}, {"error", row.error().detail}});
                    }
                }
                return rows;
            },
            std::move(part));
    };
    std::function<Rows(std::vector<Rows>)> merge = [limit](std::vector<Rows> parts) {
        Rows rows = Merged(std::move(parts), &Event::serial);
        if (rows.size() > limit) rows.resize(limit);
        return rows;
    };
    Gather<Rows, Rows>(std::move(read), std::move(merge), std::move(done));
}

}  // namespace takt::internal::redis
