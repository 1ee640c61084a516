// Tasks, workers, settings, logs, events and the audit.
#include <fmt/format.h>

#include "store/mysql/reader.h"
#include "store/mysql/values.h"
#include "store/sql/record_row.h"

namespace takt::internal::mysql {

Result<TaskRow> Reader::FindTask(Partition partition, const TaskId& id) {
    const auto found =
        From(partition, std::optional<Result<TaskRow>>(), [&](const std::string& prefix) {
            Rows row = QueryOne(fmt::format("SELECT record FROM {}tasks WHERE id = {}", prefix,
                                            TextLiteral(id.view())));
            std::optional<Result<TaskRow>> task;
            if (row.Next()) task = sql::ReadTask(id.view(), row.Bytes(0));
            return task;
        });
    if (!*found) return NoSuchTask(id);
    return **found;
}

Result<std::vector<TaskRow>> Reader::ListTasks(const TaskFilter& filter) {
    return From(filter.partition, std::vector<TaskRow>(), [&](const std::string& prefix) {
        Rows rows = QueryOne(Render(
            {fmt::format("SELECT id, record FROM {}tasks WHERE id > ? AND {} ORDER BY id LIMIT ?",
                         prefix, sql::Mysql(prefix).contains("name")),
             {Text(filter.after), filter.name_contains, std::int64_t(filter.limit)}}));
        std::vector<TaskRow> found;
        while (rows.Next()) {
            auto task = sql::ReadTaskOrTell(rows.Bytes(0), rows.Bytes(1));
            if (task) found.push_back(std::move(*task));
        }
        return found;
    });
}

Result<std::vector<Worker>> Reader::ListWorkers(Partition partition) {
    return From(partition, std::vector<Worker>(), [&](const std::string& prefix) {
        Rows rows = QueryOne(
            fmt::format("SELECT id, record FROM {}workers WHERE partition_id = {} ORDER BY id",
                        prefix, partition));
        std::vector<Worker> found;
        while (rows.Next()) found.push_back(sql::ReadWorker(rows.Bytes(0), rows.Bytes(1)));
        return found;
    });
}

Result<std::vector<SettingPut>> Reader::ListSettings(Partition partition, const Text& key_prefix) {
    return From(partition, std::vector<SettingPut>(), [&](const std::string& prefix) {
        std::string query = fmt::format(
            "SELECT name, value FROM {}settings WHERE partition_id = {} AND name >= ", prefix,
            partition);
        AppendBinary(query, key_prefix);
        if (const auto end = sql::EndOfPrefix(key_prefix)) {
            query += " AND name < ";
            AppendBinary(query, *end);
        }
        Rows rows = QueryOne(query + " ORDER BY name");
        std::vector<SettingPut> found;
        while (rows.Next()) found.push_back({Text(rows.Bytes(0)), Text(rows.Bytes(1))});
        return found;
    });
}

Result<std::vector<LogChunk>> Reader::ReadLog(Partition partition, const ExecutionId& execution,
                                              Serial after, std::size_t limit) {
    return From(partition, std::vector<LogChunk>(), [&](const std::string& prefix) {
        Rows rows = QueryOne(fmt::format(
            "SELECT chunk, attempt, at_ms, content FROM {}logs WHERE execution = {} AND "
            "chunk > {} ORDER BY chunk LIMIT {}",
            prefix, TextLiteral(execution.view()), after, limit));
        std::vector<LogChunk> found;
        while (rows.Next()) {
            found.push_back({execution, rows.Unsigned(0), static_cast<std::uint32_t>(rows.Int(1)),
                             Time(Duration(rows.Int(2))), Text(rows.Bytes(3))});
        }
        return found;
    });
}

Result<std::vector<Event>> Reader::ReadEvents(Partition partition, Serial after,
                                              std::size_t limit) {
    return From(partition, std::vector<Event>(), [&](const std::string& prefix) {
        Rows rows = QueryOne(fmt::format(
            "SELECT serial, record FROM {}events WHERE serial > {} ORDER BY serial LIMIT {}",
            prefix, after, limit));
        std::vector<Event> found;
        while (rows.Next()) found.push_back(sql::ReadEvent(rows.Unsigned(0), rows.Bytes(1)));
        return found;
    });
}

Result<std::vector<AuditRow>> Reader::ReadAudit(Partition partition, Serial before,
                                                std::size_t limit) {
    return From(partition, std::vector<AuditRow>(), [&](const std::string& prefix) {
        Rows rows =
            QueryOne(fmt::format("SELECT serial, at_ms, body FROM {}audit WHERE serial < {} ORDER "
                                 "BY serial DESC LIMIT {}",
                                 prefix, before == 0 ? Serial{INT64_MAX} : before, limit));
        std::vector<AuditRow> found;
        while (rows.Next()) {
            found.push_back({rows.Unsigned(0), Time(Duration(rows.Int(1))), Text(rows.Bytes(2))});
        }
        return found;
    });
}

}  // namespace takt::internal::mysql
