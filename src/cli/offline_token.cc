#include "cli/offline_token.h"

#include <algorithm>
#include <memory>

#include "base/random.h"
#include "model/audit.h"
#include "model/namespace.h"
#include "store/lead.h"
#include "store/open.h"
#include "store/wait.h"

namespace takt::internal::cli {
namespace {

// Long enough for two writes to a slow store; a crash in between keeps others out no longer.
constexpr Duration kTerm{10'000};

Error LedBy(Store& store, Error error) {
    const auto rows =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    const auto leader = rows ? LeaderOf(*rows, 0) : std::nullopt;
    if (!leader) return error;
    const std::string address = leader->address.str();
    error.detail = "scheduler " + std::string(leader->node.view()) +
                   " leads this store: stop it, or ask it with --server " + address +
                   " instead of --store";
    return error;
}

Result<void> Write(Store& store, const Term& term, const AccessToken& token) {
    // Commit writes down the last serial as well; it must not fall.
    const auto page = AskStore<LoadPage>([&](auto done) { store.Load(0, "", std::move(done)); });
    if (!page) return std::unexpected(page.error());
    auto batch = std::make_shared<Batch>();
    batch->term = term;
    batch->sequence = 1;
    batch->last_serial = SerialSource(kDefaultPartition, page->last_serial).Next(token.created_at);
    batch->changes.push_back(SettingPut{.key = Text(std::string(kTokenSettingPrefix) + token.id),
                                        .value = Text(EncodeToken(token))});
    // Opening the store needs no token: all that is known is what was done.
    const AuditEntry entry{
        .act = {.who = "store",
                .action = "takt_token_create",
                .space = std::string(kDefaultNamespace),
                .change = {.target = {"token", token.id},
                           .after = FieldsDocument({{"id", token.id},
                                                    {"name", token.name},
                                                    {"role", Name(token.role)},
                                                    {"namespace", token.space}})}}};
    batch->changes.push_back(AuditAppend{{.serial = batch->last_serial,
                                          .at = token.created_at,
                                          .body = Text(EncodeAuditEntry(entry))}});
    return AskStore<void>([&](auto done) { store.Commit(batch, std::move(done)); });
}

}  // namespace

Result<NewToken> CreateOfflineToken(const std::string& store_url, TokenRequest wanted) {
    if (store_url.starts_with("memory:")) {
        return Fail(ErrorCode::kInvalid, "a token in memory: would be gone with this command");
    }
    auto opened = OpenStore(store_url);
    if (!opened) return std::unexpected(opened.error());
    Store& store = **opened;
    const auto existing = AskStore<std::vector<SettingPut>>([&](auto done) {
        store.ListSettings(kDefaultPartition, Text(kTokenSettingPrefix), std::move(done));
    });
    if (!existing) return std::unexpected(existing.error());
    const bool first = std::ranges::all_of(*existing, [](const SettingPut& row) {
        return row.key.view().ends_with(kTokenUsedSuffix);
    });
    if (first && wanted.role != AccessRole::kAdmin) {
        return Fail(ErrorCode::kInvalid, "the first token must have --role admin");
    }
    if (first && wanted.expires_in > Duration(0)) {
        return Fail(ErrorCode::kInvalid,
                    "the first token must not expire: nobody could come in after that; leave "
                    "--expires-in out");
    }
    Random random(NewRandomSeed());
    NewToken made = MakeRequested(std::move(wanted), ReadClocks().wall, random);
    const auto node = NodeId::Parse("token-" + made.token.id, "node");
    // The name is no namespace's: schedulers that see it for a moment leave nothing to it.
    const NodeRow row{
        .node = *node, .address = Text("http://127.0.0.1"), .namespaces = {Text("-")}};
    const auto leave = [&] {
        return AskStore<void>([&](auto done) { store.Announce(row, {}, std::move(done)); });
    };
    Result<Term> term = TakeLead(store, {.node = row, .ttl = kTerm});
    // The row that was read may not be the one that stands; the store has then put it right.
    if (!term && term.error().code == ErrorCode::kConflict) {
        term = TakeLead(store, {.node = row, .ttl = kTerm});
    }
    if (!term) {
        static_cast<void>(leave());
        if (term.error().code != ErrorCode::kConflict) return std::unexpected(term.error());
        return std::unexpected(LedBy(store, term.error()));
    }
    const auto written = Write(store, *term, made.token);
    const auto resigned =
        AskStore<void>([&](auto done) { store.Resign(*term, {}, std::move(done)); });
    static_cast<void>(leave());
    if (!written) return std::unexpected(written.error());
    // The token is there; that the term ends by its ttl only delays the next scheduler.
    static_cast<void>(resigned);
    return made;
}

}  // namespace takt::internal::cli
