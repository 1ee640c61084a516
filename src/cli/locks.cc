// takt locks: who holds them, who waits; sizes; taking them away.
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/fleet_view.h"
#include "cli/output.h"
#include "cli/parts.h"

namespace takt::internal::cli {
namespace {

struct LocksOptions {
    ClientOptions client;
    std::string name;
    std::uint32_t permits = 1;
};

std::string HolderText(const boost::json::value& holder) {
    const std::string execution = Member(holder, "execution_id");
    return execution.empty() ? Member(holder, "owner") : execution;
}

// One line for each holder; a lock that nobody holds has one, too.
Table LockTable(const boost::json::value& page) {
    Table table({"LOCK", "PERMITS", "WAITING", "HOLDER", "HAS", "ID", "TOKEN", "SINCE", "UNTIL"});
    for (const auto* lock : ListMember(page, "items")) {
        const std::string permits = Member(*lock, "taken") + "/" + Member(*lock, "permits");
        const auto holders = ListMember(*lock, "holders");
        if (holders.empty()) {
            table.Add({Member(*lock, "name"), permits, Member(*lock, "waiting"), "-", "-", "-", "-",
                       "-", "-"});
        }
        for (const auto* holder : holders) {
            const std::string until = Member(*holder, "expires_at");
            table.Add({Member(*lock, "name"), permits, Member(*lock, "waiting"),
                       HolderText(*holder), Member(*holder, "permits"), Member(*holder, "lock_id"),
                       Member(*holder, "token"), Member(*holder, "since"),
                       until.empty() ? "its attempt ends" : until});
        }
    }
    return table;
}

Result<int> ShowLock(const LocksOptions& options, const Result<ClientAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (PrintedAsJson(options.client, *answer)) return kOk;
    boost::json::object page;
    page["items"] = boost::json::array{answer->value};
    LockTable(page).Print();
    const auto waiters = ListMember(answer->value, "waiters");
    if (waiters.empty()) return kOk;
    Table line({"WAITS", "FOR", "SINCE", "UNTIL"});
    for (const auto* waiter : waiters) {
        const std::string until = Member(*waiter, "until");
        line.Add({HolderText(*waiter), Member(*waiter, "permits"), Member(*waiter, "since"),
                  until.empty() ? "it has it" : until});
    }
    std::printf("\n");
    line.Print();
    return kOk;
}

Result<int> ListLocks(Client& client, const LocksOptions& options) {
    return ShowPage(options.client, client.Get("/api/v1/locks?limit=1000"), LockTable,
                    "nobody holds a lock or waits for one");
}

// The lock that somebody holds under this id; empty if nobody does.
Result<std::string> FindLockOf(Client& client, const std::string& id) {
    std::string cursor;
    do {
        const auto page =
            client.Get(WithQuery("/api/v1/locks", {{"limit", "1000"}, {"cursor", cursor}}));
        if (!page) return std::unexpected(page.error());
        for (const auto* lock : ListMember(page->value, "items")) {
            for (const auto* holder : ListMember(*lock, "holders")) {
                if (Member(*holder, "lock_id") == id) return Member(*lock, "name");
            }
        }
        cursor = Member(page->value, "next_cursor");
    } while (!cursor.empty());
    return std::string();
}

// By the name of a lock all who hold it, by the id of a holder that one.
Result<int> ReleaseLocks(Client& client, const LocksOptions& options) {
    const auto lock = client.Get(PathOf("locks", options.name));
    if (!lock) return std::unexpected(lock.error());
    if (!ListMember(lock->value, "holders").empty()) {
        return ShowLock(options, client.Call(HttpMethod::kDelete, PathOf("locks", options.name)));
    }
    const auto name = FindLockOf(client, options.name);
    if (!name) return std::unexpected(name.error());
    if (name->empty()) {
        return Fail(ErrorCode::kNotFound,
                    "nobody holds a lock '" + options.name +
                        "', and no holder has this id; takt locks lists both");
    }
    return ShowLock(options,
                    client.Call(HttpMethod::kDelete,
                                WithQuery(PathOf("locks", *name), {{"lock_id", options.name}})));
}

Result<int> SizeLock(Client& client, const LocksOptions& options) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("permits", options.permits).EndObject();
    return ShowLock(options,
                    client.Call(HttpMethod::kPut, PathOf("locks", options.name), std::move(body)));
}

}  // namespace

void AddLocks(CLI::App& app, Context& context) {
    PartedCommand<LocksOptions> locks(app, context, {"locks", "Locks; alone it lists them"},
                                      ListLocks);
    LocksOptions& options = locks.options();
    locks.Add({"list", "Lists locks and who holds them"}, ListLocks);
    locks
        .Add({"get", "Shows a lock, who holds it and who waits"},
             [](Client& client, const LocksOptions& given) {
                 return ShowLock(given, client.Get(PathOf("locks", given.name)));
             })
        ->add_option("name", options.name, "Lock")
        ->required();
    locks.Add({"release", "Takes a lock away from its holders"}, ReleaseLocks)
        ->add_option("name", options.name, "Lock, or the id of one holder")
        ->required();
    CLI::App* size = locks.Add({"size", "Says how many permits a lock has"}, SizeLock);
    size->add_option("name", options.name, "Lock")->required();
    size->add_option("permits", options.permits, "How many")->required();
    locks.command().footer(
        "examples:\n"
        "  takt locks\n"
        "  takt locks release ledger\n"
        "  takt locks size gpu 4\n"
        "  takt lock ledger -- ./reconcile.sh\n");
}

}  // namespace takt::internal::cli
