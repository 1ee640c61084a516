// Load: what a new leader needs, in pages of some megabytes.
#include <algorithm>

#include "base/failpoint.h"
#include "store/embedded/reader.h"
#include "store/list_page.h"
#include "store/sql/execution_row.h"
#include "store/sql/record_row.h"

namespace takt::internal::embedded {
namespace {

// Of payloads and results in one page of Load.
constexpr std::size_t kLoadBytes = 8u << 20;

}  // namespace

void Reader::LoadBeginning(Tables& tables, LoadPage& page) {
    tables.all_settings.Int(tables.partition);
    const Rows settings(tables.all_settings);
    while (tables.all_settings.Step()) {
        const Row row = tables.all_settings.row();
        page.settings.push_back({Text(row.Bytes(0)), Text(row.Bytes(1))});
    }
    tables.list_workers.Int(tables.partition);
    const Rows workers(tables.list_workers);
    while (tables.list_workers.Step()) {
        const Row row = tables.list_workers.row();
        page.workers.push_back(sql::ReadWorker(row.Bytes(0), row.Bytes(1)));
    }
}

void Reader::LoadTasks(Tables& tables, std::string_view after, LoadPage& page) {
    Statement& load = tables.load_tasks;
    load.Text(after);
    load.Int(tables.partition);
    load.Int(static_cast<std::int64_t>(load_page_rows_) + 1);
    const Rows rows(load);
    std::string last;
    std::size_t bytes = 0;
    for (std::size_t count = 0; load.Step(); ++count) {
        const Row row = load.row();
        if (count == load_page_rows_ || bytes >= kLoadBytes) {
            page.next = "t" + last;
            break;
        }
        last = row.Bytes(0);
        bytes += row.Bytes(1).size();
        auto task = sql::ReadTaskOrTell(last, row.Bytes(1));
        if (task) page.tasks.push_back(std::move(*task));
    }
}

void Reader::LoadRecords(Tables& tables, std::uint8_t kind, std::string_view after,
                         LoadPage& page) {
    Statement& load = tables.load_records;
    load.Int(kind);
    load.Blob(after);
    load.Int(static_cast<std::int64_t>(load_page_rows_) + 1);
    const Rows rows(load);
    std::size_t bytes = 0;
    while (load.Step()) {
        const Row row = load.row();
        if (page.records.size() == load_page_rows_ || bytes >= kLoadBytes) {
            page.next = sql::RecordCursor(page.records.back());
            return;
        }
        page.records.push_back(
            {static_cast<RecordKind>(row.Int(0)), Text(row.Bytes(1)), Text(row.Bytes(2))});
        bytes += row.Bytes(2).size();
    }
}

// Runs and their children together, by serial.
void Reader::LoadExecutions(Tables& tables, Serial after, LoadPage& page) {
    const Rows live_rows(tables.load_live);
    const Rows child_rows(tables.load_children);
    std::vector<Statement*> sources;  // Each at its next row.
    for (Statement* source : {&tables.load_live, &tables.load_children}) {
        source->Int(static_cast<std::int64_t>(after));
        source->Int(static_cast<std::int64_t>(load_page_rows_) + 1);
        if (source->Step()) sources.push_back(source);
    }
    sql::ExecutionReader reader;
    std::size_t bytes = 0;
    while (!sources.empty()) {
        if (page.executions.size() == load_page_rows_ || bytes >= kLoadBytes) {
            page.next = "e" + std::to_string(page.executions.back().serial);
            if (TAKT_MUTANT("embedded.lose_between_pages")) page.executions.pop_back();
            return;
        }
        const auto next = std::ranges::min_element(
            sources, {}, [](const Statement* source) { return source->row().Int(0); });
        page.executions.push_back(reader.Read((*next)->row()));
        bytes += ListBytes(page.executions.back());
        if (!(*next)->Step()) sources.erase(next);
    }
}

}  // namespace takt::internal::embedded
