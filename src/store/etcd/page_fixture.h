// Shared by the tests of pages: rows that come together, and what is read of them.
#pragma once

#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {

using conformance::Show;

class EtcdPageTest : public EtcdLeaderTest {
  protected:
    std::vector<Execution> Insert(std::size_t count, std::size_t noise = 0) {
        std::vector<Execution> rows;
        std::vector<Change> changes;
        for (std::size_t i = 0; i < count; ++i) {
            Execution row = make_.OneOff("t-" + std::to_string(i));
            row.id = ExecutionId(Text(SerialText(row.serial)));
            row.payload = Noise(noise);
            if (noise > 0) {  // And little else.
                NewTaskPtr task(new Task(*row.task));
                task->options = {};
                row.task = task;
            }
            rows.push_back(row);
            changes.push_back(ExecutionChange{Place::kNone, Place::kLive, row});
        }
        Put(std::move(changes));
        return rows;
    }
    // Bytes that no compression makes smaller.
    Text Noise(std::size_t size) {
        std::string bytes(size, '\0');
        for (char& c : bytes) {
            state_ = state_ * 6364136223846793005u + 1442695040888963407u;
            c = static_cast<char>(state_ >> 56);
        }
        return Text(bytes);
    }
    Execution Update(Execution row) {
        Put({ExecutionChange{Place::kLive, Place::kLive, row}});
        return row;
    }
    void Finish(const std::vector<Execution>& rows) {
        std::vector<Change> changes;
        for (const Execution& row : rows) {
            changes.push_back(
                ExecutionChange{Place::kLive, Place::kHistory, conformance::Finished(row)});
        }
        Put(std::move(changes));
    }
    void PurgeAll() { Put({Purge{.finished_before = make_.now() + Duration(3'600'000)}}); }
    std::string Found(const ExecutionId& id) {
        using Rows = std::vector<std::optional<Execution>>;
        const auto found = Await<Rows>([&](Done<Rows> done) {
            store_->FindExecutions(kDefaultPartition, {id}, std::move(done));
        });
        EXPECT_TRUE(found) << found.error().detail;
        return found && found->front() ? Show(*found->front()) : "none";
    }
    std::vector<Execution> Loaded() {
        const auto page = Await<LoadPage>(
            [&](Done<LoadPage> done) { store_->Load(kDefaultPartition, {}, std::move(done)); });
        EXPECT_TRUE(page) << page.error().detail;
        return page ? page->executions : std::vector<Execution>();
    }

    std::uint64_t state_ = 7;
};

}  // namespace takt::internal::etcd
