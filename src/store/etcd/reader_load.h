// Loader: what a new leader needs, in pages.
//
// Live keys are newest first, and Load gives the oldest first. So executions are read in windows of
// serials, upwards; the width of a window follows what the one before held, and is in the cursor:
// "e<from>,<width>". etcd walks the whole index of a range for every read of it, whatever the
// limit, so reading all in pages would take longer with every row.
#pragma once

#include <string>
#include <vector>

#include "store/etcd/snapshot.h"
#include "store/store.h"

namespace takt::internal::etcd {

// Good for one page.
class Loader {
  public:
    Loader(Client& client, const Keys& keys, Partition partition, std::size_t page_rows)
        : keys_(keys), partition_(partition), page_rows_(page_rows), snapshot_(client) {}

    Async<Result<LoadPage>> Load(std::string cursor);

  private:
    struct Window {
        Serial from = 0;
        Serial width = Serial{1} << 63;  // At first everything: most often that is one page.
    };

    Async<Result<void>> AddBeginning(LoadPage& page);
    // False if there are more tasks than fit.
    Async<Result<bool>> AddTasks(std::string after, LoadPage& page);
    // Likewise, of records. `after` is what follows the begin of their keys.
    Async<Result<bool>> AddRecords(std::string after, LoadPage& page);
    Async<Result<void>> AddExecutions(Window window, LoadPage& page);
    struct LiveRow {
        Serial serial = 0;
        std::string id;
        Result<std::string> value;
    };
    struct LiveRows {
        std::vector<LiveRow> rows;  // By rising serial.
        bool more = false;          // There are more than asked for; these are the newest.
    };

    // The live rows of the window: with keys of their own, in pages, of runs' children.
    Async<Result<LiveRows>> ReadWindow(Serial from, Serial below, std::size_t rows_max);
    // Rows in pages. False: there are more pages.
    Async<Result<bool>> AddPaged(Serial from, Serial below, std::size_t pages_max, LiveRows& rows);
    // Adds rows until the page has bytes enough. The serial of the first that is left, if one is.
    Async<Result<std::optional<Serial>>> AddRows(const LiveRows& rows, LoadPage& page);
    static std::string CursorOf(const Window& window);
    static std::optional<Window> ParseCursor(std::string_view cursor);

    const Keys& keys_;
    const Partition partition_;
    const std::size_t page_rows_;
    Snapshot snapshot_;
    std::size_t bytes_ = 0;  // Of payloads and results in the page.
};

}  // namespace takt::internal::etcd
