// Loader: what a new leader needs, in pages.
//
// Live keys are newest first, and Load gives the oldest first. So when there are more than one page
// of them, the first call walks their names once and puts the serials where pages begin into the
// cursor: "e<serial>,<serial>,…", 17 bytes for each page of 1000.
#pragma once

#include <string>
#include <vector>

#include "store/etcd/snapshot.h"
#include "store/store.h"

namespace takt::etcd {

// Good for one page.
class Loader {
  public:
    Loader(Client& client, const Keys& keys, Partition partition, std::size_t page_rows)
        : keys_(keys), partition_(partition), page_rows_(page_rows), snapshot_(client) {}

    Async<Result<LoadPage>> Load(std::string cursor);

  private:
    Async<Result<void>> AddBeginning(LoadPage& page);
    // False if there are more tasks than fit.
    Async<Result<bool>> AddTasks(std::string after, LoadPage& page);
    Async<Result<void>> AddFirstExecutions(LoadPage& page);
    // Turns them around: the oldest first.
    Async<Result<void>> AddRows(const Rows& rows, LoadPage& page);
    // Rows with serials from the first bound up to the second; then the cursor names the rest.
    Async<Result<void>> AddExecutions(std::vector<Serial> bounds, LoadPage& page);

    const Keys& keys_;
    const Partition partition_;
    const std::size_t page_rows_;
    Snapshot snapshot_;
};

}  // namespace takt::etcd
