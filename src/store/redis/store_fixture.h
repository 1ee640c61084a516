// For the tests of this folder: a store over a real server, and calls that wait.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/conformance/suite.h"
#include "store/lead.h"
#include "store/redis/check.h"
#include "store/redis/client.h"
#include "store/redis/store.h"
#include "store/testing/redis_server.h"

namespace takt::internal::redis {

using conformance::Await;
using conformance::RowMaker;
using conformance::Show;

inline std::unique_ptr<RedisServer> StartServer(const std::vector<std::string>& arguments = {}) {
    auto server = RedisServer::Start(arguments);
    EXPECT_TRUE(server) << server.error().detail;
    return server ? std::move(*server) : nullptr;
}

inline Result<std::unique_ptr<Store>> TryStoreAt(const std::string& url) {
    const Result<RedisOptions> options = ParseRedisUrl(url);
    if (!options) return std::unexpected(options.error());
    return OpenRedis(*options);
}

inline std::unique_ptr<Store> OpenStoreAt(const std::string& url) {
    auto store = TryStoreAt(url);
    EXPECT_TRUE(store) << store.error().detail;
    return store ? std::move(*store) : nullptr;
}

// ServerCheck's word on the server: its verdict and its warnings.
struct Checked {
    Result<void> verdict;
    std::vector<std::string> warnings;
};
inline Checked CheckServerAt(const std::string& url) {
    auto client = Client::Make(*ParseRedisUrl(url));
    const Schema schema;
    Keyring keys((*client)->options().prefix);
    ServerCheck check(**client, keys, schema);
    Checked checked;
    checked.verdict = Await<void>([&](Done<void> done) {
        (*client)->Post(
            [&check, done = std::move(done)]() mutable { check.Ensure(std::move(done)); });
    });
    checked.warnings = check.warnings();
    client->reset();  // Its thread uses what is above.
    return checked;
}

inline Result<Term> Acquire(Store& store, const char* node, Partition partition = 0,
                            Duration ttl = Duration(3'600'000)) {
    return TakeLead(store, {.node = {.node = NodeId(node), .address = "http://x"},
                            .ttl = ttl,
                            .partition = partition});
}

// As a scheduler does: reads again and asks again if what it read was not the last term.
inline Result<Term> AcquireSoon(Store& store, const char* node) {
    Result<Term> term = Acquire(store, node);
    return !term && term.error().code == ErrorCode::kConflict ? Acquire(store, node) : term;
}

inline Result<void> Resign(Store& store, const Term& term) {
    return Await<void>([&](Done<void> done) { store.Resign(term, {}, std::move(done)); });
}

inline std::vector<LeaderRow> Leaders(Store& store) {
    using Rows = std::vector<LeaderRow>;
    const auto rows = Await<Rows>([&](Done<Rows> done) { store.Leaders(std::move(done)); });
    EXPECT_TRUE(rows) << rows.error().detail;
    return rows ? *rows : Rows{};
}

inline Result<void> Commit(Store& store, const Term& term, std::uint64_t sequence,
                           std::vector<Change> changes) {
    const auto batch =
        std::make_shared<const Batch>(Batch{term, sequence, sequence, std::move(changes)});
    return Await<void>([&](Done<void> done) { store.Commit(batch, std::move(done)); });
}

inline std::vector<Change> Insert(const Execution& row) {
    return {ExecutionChange{Place::kNone, Place::kLive, row}};
}

inline Result<std::vector<Execution>> List(Store& store, const ExecutionFilter& filter = {}) {
    using Rows = std::vector<Execution>;
    return Await<Rows>([&](Done<Rows> done) { store.ListExecutions(filter, std::move(done)); });
}

inline Result<void> Announce(Store& store, const char* node, Duration ttl) {
    const NodeRow row{.node = NodeId(node), .address = "http://x", .version = "1"};
    return Await<void>([&](Done<void> done) { store.Announce(row, ttl, std::move(done)); });
}

inline std::string Code(const Result<void>& result) {
    return result ? "success" : std::string(Name(result.error().code));
}

}  // namespace takt::internal::redis
