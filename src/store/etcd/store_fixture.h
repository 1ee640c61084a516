// Shared by the tests of the etcd store: a server, a store, and calls that wait for their answers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/conformance/rows.h"
#include "store/conformance/suite.h"
#include "store/etcd/store.h"
#include "store/lead.h"
#include "store/testing/etcd_server.h"

namespace takt::internal::etcd {

using conformance::Await;

class EtcdTest : public testing::Test {
  protected:
    void StartServer(EtcdServer::Options options = {}) {
        auto server = EtcdServer::Start(std::move(options));
        ASSERT_TRUE(server) << server.error().detail;
        server_ = std::move(*server);
    }
    // `rest` follows the hosts: "/prefix?timeout=1s".
    void OpenStore(const std::string& rest = {}) { store_ = MakeStore(server_->url(rest)); }
    static std::unique_ptr<Store> MakeStore(const std::string& url) {
        const Result<EtcdOptions> options = ParseEtcdUrl(url);
        EXPECT_TRUE(options) << options.error().detail;
        auto store = OpenEtcd(*options);
        EXPECT_TRUE(store) << store.error().detail;
        return std::move(*store);
    }

    Result<Term> Acquire(std::string_view node = "node-a", Duration ttl = Duration(600'000)) {
        return TakeLead(*store_,
                        {.node = {.node = NodeId(Text(node)), .address = "http://a"}, .ttl = ttl});
    }
    Result<void> Announce(std::string_view node = "node-a", Duration ttl = Duration(600'000)) {
        const NodeRow row{.node = NodeId(Text(node)), .address = "http://a"};
        return Await<void>([&](Done<void> d) { store_->Announce(row, ttl, std::move(d)); });
    }
    std::vector<LeaderRow> Leaders() {
        using Rows = std::vector<LeaderRow>;
        const auto rows = Await<Rows>([&](Done<Rows> d) { store_->Leaders(std::move(d)); });
        EXPECT_TRUE(rows) << rows.error().detail;
        return rows ? *rows : Rows{};
    }
    Result<void> Commit(const Term& term, std::uint64_t sequence, std::vector<Change> changes) {
        const auto batch = std::make_shared<const Batch>(
            Batch{term, sequence, make_.last_serial(), std::move(changes)});
        return Await<void>([&](Done<void> d) { store_->Commit(batch, std::move(d)); });
    }
    // As a node does it: the very same batch again until it is answered.
    Result<void> CommitUntilDone(const Term& term, std::uint64_t sequence,
                                 const std::vector<Change>& changes) {
        Result<void> done;
        for (int i = 0; i < 20; ++i) {
            done = Commit(term, sequence, changes);
            if (done || (done.error().code != ErrorCode::kUnknown &&
                         done.error().code != ErrorCode::kUnavailable)) {
                break;
            }
        }
        return done;
    }
    Result<std::vector<SettingPut>> Settings() {
        return Await<std::vector<SettingPut>>([&](Done<std::vector<SettingPut>> d) {
            store_->ListSettings(kDefaultPartition, "", std::move(d));
        });
    }
    Result<std::vector<Execution>> List(const ExecutionFilter& filter) {
        return Await<std::vector<Execution>>(
            [&](Done<std::vector<Execution>> d) { store_->ListExecutions(filter, std::move(d)); });
    }

    std::size_t KeysUnder(const std::string& prefix) {
        const Result<std::string> keys =
            server_->Ctl({"get", "--prefix", "--keys-only", "/takt/" + prefix});
        EXPECT_TRUE(keys) << keys.error().detail;
        // Each key has a line, and an empty one for the value left out.
        return static_cast<std::size_t>(std::count(keys->begin(), keys->end(), '\n') / 2);
    }

    std::unique_ptr<EtcdServer> server_;
    std::unique_ptr<Store> store_;
    conformance::RowMaker make_;
};

// With a server, and a leader that commits one batch after the other.
class EtcdLeaderTest : public EtcdTest {
  protected:
    void SetUp() override {
        StartServer();
        OpenStore();
        Lead();
    }
    // A new term.
    void Lead() {
        const Result<Term> term = Acquire();
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
        sequence_ = 0;
    }
    void Put(std::vector<Change> changes) {
        const Result<void> done = Commit(term_, ++sequence_, std::move(changes));
        ASSERT_TRUE(done) << done.error().detail;
    }

    Term term_;
    std::uint64_t sequence_ = 0;
};

}  // namespace takt::internal::etcd
