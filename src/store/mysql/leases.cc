#include "store/mysql/leases.h"

#include <fmt/core.h>

#include <algorithm>

#include "store/mysql/presence_sql.h"
#include "store/mysql/values.h"
#include "store/name_list.h"
#include "store/renewal.h"
#include "store/sql/execution_row.h"

namespace takt::internal::mysql {
namespace {

// The server closes a session that is silent for twice the ttl, so that a scheduler that was stopped
// does not keep its lock for the default of eight hours.
std::int64_t WaitTimeout(Duration ttl) {
    constexpr std::int64_t kSecondsMax = 28'800;
    return std::clamp<std::int64_t>(2 * ttl.count() / 1000 + 1, 2, kSecondsMax);
}

}  // namespace

Leases::Leases(const MysqlOptions& options, LockWatch& watch)
    : options_(options), watch_(watch), session_(options, "") {}

// The library counts whole seconds.
void Leases::LimitTime(Duration ttl) {
    const auto limit = std::clamp(std::chrono::floor<std::chrono::seconds>(RenewalTime(ttl)),
                                  std::chrono::seconds(1), options_.timeout);
    if (limit == session_.timeout()) return;
    session_.set_timeout(limit);
    // A connection keeps the limit that it was made with. One that holds a lock is not given up for
    // that.
    if (locked_ != session_.generation()) session_.Drop();
}

Result<void> Leases::Announce(const NodeRow& node, Duration ttl) {
    if (ttl > Duration(0)) LimitTime(ttl);
    return session_.Retry([&](Connection& connection) -> Result<void> {
        if (ttl <= Duration(0)) return Withdraw(connection, node.node);
        const std::string id = TextLiteral(node.node.view());
        const std::string lock = LockName(options_, id);
        // The lock is gone if its session has ended, or if a proxy hands sessions around. Then the row
        // says so, and others wait for the ttl again.
        const std::string has_lock = fmt::format("(IS_USED_LOCK({}) <=> CONNECTION_ID())", lock);
        const std::string values =
            fmt::format("{}, {}, {}, {}, {}, {}, {}, {}", id, TextLiteral(node.address),
                        TextLiteral(node.version), sql::Ms(node.started_at),
                        TextLiteral(JoinNames(node.namespaces)), ttl.count(), has_lock, After(ttl));
        connection.Run(fmt::format(
            "SET SESSION wait_timeout = {0};DO IF({1}, 1, GET_LOCK({2}, 0));"
            "INSERT INTO {3}schedulers (node, address, version, started_at_ms, namespaces, ttl_ms, "
            "locked, expires) VALUES ({4}) ON DUPLICATE KEY UPDATE address = VALUES(address), "
            "version = VALUES(version), started_at_ms = VALUES(started_at_ms), "
            "namespaces = VALUES(namespaces), ttl_ms = VALUES(ttl_ms), locked = VALUES(locked), "
            "expires = VALUES(expires);"
            // Schedulers that crashed do not withdraw themselves.
            "DELETE FROM {3}schedulers WHERE expires <= UTC_TIMESTAMP(3)",
            WaitTimeout(ttl), has_lock, lock, options_.prefix, values));
        locked_ = session_.generation();
        return {};
    });
}

Result<void> Leases::Withdraw(Connection& connection, const NodeId& node) {
    const std::string id = TextLiteral(node.view());
    connection.Run(fmt::format("DELETE FROM {}schedulers WHERE node = {};DO RELEASE_LOCK({})",
                               options_.prefix, id, LockName(options_, id)));
    return {};
}

Result<std::vector<LeaderRow>> Leases::Leaders() {
    return session_.Retry([&](Connection& connection) -> Result<std::vector<LeaderRow>> {
        // A leader from before there was the table of schedulers renews its row of `leases`.
        Rows row = connection.Query(fmt::format(
            "SELECT l.partition_id, l.node, l.address, l.epoch, l.nonce, "
            "l.expires > UTC_TIMESTAMP(3), s.node IS NOT NULL, s.left_ms, s.ttl_ms, s.is_free "
            "FROM {}leases l LEFT JOIN ({}) s ON s.node = l.node WHERE l.epoch > 0 "
            "ORDER BY l.partition_id",
            options_.prefix, AnnouncedQuery(options_)));
        std::vector<LeaderRow> rows;
        while (row.Next()) {
            LeaderRow leader{.partition = static_cast<Partition>(row.Int(0)),
                             .node = NodeId(Text(row.Bytes(1))),
                             .address = Text(row.Bytes(2)),
                             .epoch = row.Unsigned(3),
                             .nonce = row.Unsigned(4),
                             .announced = row.Int(5) != 0};
            if (row.Int(6) != 0) {
                leader.announced = !watch_.Gone({.node = leader.node.text().str(),
                                                 .left = Duration(row.Int(7)),
                                                 .ttl = Duration(row.Int(8)),
                                                 .free = row.Int(9) != 0});
            }
            rows.push_back(std::move(leader));
        }
        return rows;
    });
}

}  // namespace takt::internal::mysql
