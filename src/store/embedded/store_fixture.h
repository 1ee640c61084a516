// An embedded store in a directory of the test's, with a term, on a disk that can be made to fail.
#pragma once

#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "store/conformance/suite.h"
#include "store/embedded/fault_vfs.h"
#include "store/embedded/store.h"
#include "store/embedded/temporary_directory.h"
#include "store/lead.h"

namespace takt::internal::embedded {

using conformance::Await;
using conformance::Finished;
using conformance::RowMaker;

class EmbeddedStoreTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        Open();
    }
    void TearDown() override {
        vfs_write_code = 0;
        vfs_sync_code = 0;
        vfs_unreadable_at = -1;
        vfs_log_is_well = false;
    }

    void Open(EmbeddedOptions options = {}) {
        options.directory = directory_.path();
        options.vfs = FaultVfs();
        auto store = OpenEmbedded(options);
        ASSERT_TRUE(store) << store.error().detail;
        store_ = std::move(*store);
        auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}});
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
    }
    Result<void> Commit(std::uint64_t sequence, std::vector<Change> changes) {
        const auto batch =
            std::make_shared<const Batch>(Batch{term_, sequence, 0, std::move(changes)});
        return Await<void>([&](Done<void> done) { store_->Commit(batch, std::move(done)); });
    }
    std::size_t Settings() {
        using Rows = std::vector<SettingPut>;
        return Await<Rows>([&](Done<Rows> done) {
                   store_->ListSettings(kDefaultPartition, "", std::move(done));
               })
            ->size();
    }

    TemporaryDirectory directory_;
    std::unique_ptr<Store> store_;
    Term term_;
};

}  // namespace takt::internal::embedded
