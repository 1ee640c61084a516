#include "archive/row_reader.h"

#include <algorithm>
#include <deque>
#include <future>
#include <utility>

#include "store/list_page.h"
#include "store/many_logs.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

constexpr std::size_t kPage = 1'000;
// Logs are asked for by execution, most of which have none: many questions at once.
constexpr std::size_t kLogsAsked = 64;
// The same of a store that is asked for many in one question.
constexpr std::size_t kLogsOfPortion = 100;
constexpr std::size_t kPortionsAsked = 4;

using Chunks = std::vector<LogChunk>;

std::future<Result<Chunks>> AskLog(Store& store, Partition partition, const ExecutionId& id,
                                   Serial after) {
    return BeginAsk<Chunks>(
        [&](auto done) { store.ReadLog(partition, id, after, kPage, std::move(done)); });
}

// A log of which `page` is the beginning.
Result<void> PassLog(Store& store, Partition partition, const ExecutionId& id, LogBeginning page,
                     const RowSink& sink) {
    while (true) {
        const Serial last = page.chunks.empty() ? 0 : page.chunks.back().index;
        for (LogChunk& chunk : page.chunks) {
            if (auto passed = sink(LogAppend{std::move(chunk)}); !passed) return passed;
        }
        if (!page.more) return {};
        auto next = AskLog(store, partition, id, last).get();
        if (!next) return std::unexpected(next.error());
        const bool more = !next->empty();
        page = {std::move(*next), more};
    }
}

Result<void> ReadLogsOneByOne(Store& store, Partition partition,
                              const std::vector<ExecutionId>& ids, const RowSink& sink) {
    std::deque<std::future<Result<Chunks>>> asked;
    std::size_t next = 0;
    for (const ExecutionId& id : ids) {
        while (next < ids.size() && asked.size() < kLogsAsked) {
            asked.push_back(AskLog(store, partition, ids[next++], 0));
        }
        auto first = asked.front().get();
        asked.pop_front();
        if (!first) return std::unexpected(first.error());
        const bool more = !first->empty();
        auto passed = PassLog(store, partition, id, {std::move(*first), more}, sink);
        if (!passed) return passed;
    }
    return {};
}

Result<void> ReadLogs(Store& store, Partition partition, const std::vector<ExecutionId>& ids,
                      const RowSink& sink) {
    auto* many = dynamic_cast<ReadsManyLogs*>(&store);
    if (!many) return ReadLogsOneByOne(store, partition, ids, sink);
    using Beginnings = std::vector<LogBeginning>;
    std::deque<std::future<Result<Beginnings>>> asked;
    std::size_t next = 0;
    for (std::size_t done = 0; done < ids.size();) {
        while (next < ids.size() && asked.size() < kPortionsAsked) {
            const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(next);
            next = std::min(ids.size(), next + kLogsOfPortion);
            std::vector<ExecutionId> portion(begin,
                                             ids.begin() + static_cast<std::ptrdiff_t>(next));
            asked.push_back(BeginAsk<Beginnings>([&](auto answer) {
                many->ReadLogs(partition, std::move(portion), std::move(answer));
            }));
        }
        auto pages = asked.front().get();
        asked.pop_front();
        if (!pages) return std::unexpected(pages.error());
        for (LogBeginning& page : *pages) {
            auto passed = PassLog(store, partition, ids[done++], std::move(page), sink);
            if (!passed) return passed;
        }
    }
    return {};
}

// The sink that also notes whose logs are to be read.
RowSink Noting(std::vector<ExecutionId>& ids, const RowSink& sink) {
    return [&ids, &sink](Change change) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            ids.push_back(execution->row.id);
        }
        return sink(std::move(change));
    };
}

Result<void> ReadEventRows(Store& store, Partition partition, const RowSink& sink) {
    Serial after = 0;
    while (true) {
        auto rows = AskStore<std::vector<Event>>(
            [&](auto done) { store.ReadEvents(partition, after, kPage, std::move(done)); });
        if (!rows) return std::unexpected(rows.error());
        if (rows->empty()) return {};
        after = rows->back().serial;
        for (Event& row : *rows) {
            if (auto passed = sink(EventAppend{std::move(row)}); !passed) return passed;
        }
    }
}

Result<void> ReadAuditRows(Store& store, Partition partition, const RowSink& sink) {
    Serial before = 0;
    while (true) {
        auto rows = AskStore<std::vector<AuditRow>>(
            [&](auto done) { store.ReadAudit(partition, before, kPage, std::move(done)); });
        if (!rows) return std::unexpected(rows.error());
        if (rows->empty()) return {};
        before = rows->back().serial;
        for (AuditRow& row : *rows) {
            if (auto passed = sink(AuditAppend{std::move(row)}); !passed) return passed;
        }
    }
}

template <typename Row, typename Make>
Result<void> PassAll(std::vector<Row>& rows, const RowSink& sink, Make make) {
    for (Row& row : rows) {
        if (auto passed = sink(make(std::move(row))); !passed) return passed;
    }
    return {};
}

Result<void> PassPage(LoadPage page, const RowSink& sink) {
    auto passed = PassAll(page.settings, sink, [](SettingPut row) { return Change(row); });
    if (passed) {
        passed = PassAll(page.workers, sink, [](Worker row) { return WorkerPut{std::move(row)}; });
    }
    if (passed) {
        passed = PassAll(page.tasks, sink, [](TaskRow row) { return TaskPut{std::move(row)}; });
    }
    if (passed) passed = PassAll(page.records, sink, [](RecordPut row) { return Change(row); });
    if (passed) {
        passed = PassAll(page.executions, sink, [](Execution row) {
            return ExecutionChange{Place::kNone, Place::kLive, std::move(row)};
        });
    }
    return passed;
}

}  // namespace

Result<std::vector<PartitionHead>> ReadHeads(Store& store) {
    const auto leaders =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    if (!leaders) return std::unexpected(leaders.error());
    std::vector<PartitionHead> heads;
    PartitionHead last;
    for (const LeaderRow& row : *leaders) {
        if (row.partition == kDefaultPartition) {
            last.epoch = row.epoch;
        } else {
            heads.push_back({row.partition, 0, row.epoch});
        }
    }
    heads.push_back(last);
    for (PartitionHead& head : heads) {
        const auto page =
            AskStore<LoadPage>([&](auto done) { store.Load(head.partition, "", std::move(done)); });
        if (!page) return std::unexpected(page.error());
        head.last_serial = page->last_serial;
    }
    return heads;
}

Result<void> ReadHistory(Store& store, Partition partition, bool brief, const RowSink& sink) {
    ExecutionFilter filter{
        .partition = partition,
        .children = true,
        .statuses = {Status::kSuccess, Status::kFailed, Status::kCancelled, Status::kSkipped},
        .limit = kPage,
        .brief = brief};
    const auto ask = [&] {
        return BeginAsk<std::vector<Execution>>(
            [&](auto done) { store.ListExecutions(filter, std::move(done)); });
    };
    // The next page is under way while this one is passed on.
    for (auto asked = ask();;) {
        auto rows = asked.get();
        if (!rows) return std::unexpected(rows.error());
        const bool more = !rows->empty() && MoreMayFollow(filter, *rows);
        if (more) {
            filter.before = rows->back().serial;
            asked = ask();
        }
        for (Execution& row : *rows) {
            auto passed = sink(ExecutionChange{Place::kNone, Place::kHistory, std::move(row)});
            if (!passed) return passed;
        }
        if (!more) return {};
    }
}

Result<void> ReadLoaded(Store& store, Partition partition, const RowSink& sink) {
    std::string cursor;
    do {
        auto page =
            AskStore<LoadPage>([&](auto done) { store.Load(partition, cursor, std::move(done)); });
        if (!page) return std::unexpected(page.error());
        cursor = page->next;
        if (auto passed = PassPage(std::move(*page), sink); !passed) return passed;
    } while (!cursor.empty());
    return {};
}

Result<void> ReadRows(Store& store, Partition partition, const RowSink& sink) {
    // The logs of a page of executions follow it: their ids are not kept for longer.
    std::vector<ExecutionId> ids;
    const RowSink noting = Noting(ids, sink);
    const RowSink with_logs = [&](Change change) -> Result<void> {
        if (ids.size() >= kPage) {
            const auto page = std::exchange(ids, {});
            if (auto read = ReadLogs(store, partition, page, sink); !read) return read;
        }
        return noting(std::move(change));
    };
    auto read = ReadHistory(store, partition, false, with_logs);
    if (read) read = ReadEventRows(store, partition, sink);
    if (read) read = ReadAuditRows(store, partition, sink);
    if (read) read = ReadLoaded(store, partition, with_logs);
    if (read) read = ReadLogs(store, partition, ids, sink);
    return read;
}

}  // namespace takt::internal
