#include "store/redis/redis_store.h"

#include <fmt/format.h>

#include <future>
#include <utility>

#include "store/redis/batch_commands.h"
#include "store/redis/scripts.h"
#include "store/renewal.h"

namespace takt::internal {

using redis::Call;
using redis::Lane;
using redis::Replies;
using redis::ReplyView;

namespace {

// A script holds up everybody else: 1,000 changes take Redis some 20 ms. Also far from the 8,000
// values that Lua lets one call have.
constexpr std::size_t kChangesMax = 1000;
// Well below Redis' client-query-buffer-limit (1 GB) and proto-max-bulk-len; sent in under 0.1 s.
constexpr std::size_t kBytesMax = 8 << 20;
// Enough to keep Redis busy while answers travel.
constexpr std::size_t kPipelineMax = 4;
// Lua counts in doubles: above, two epochs could not be told apart.
constexpr std::uint64_t kEpochMax = (std::uint64_t{1} << 53) - 2;

Call LeaseCall(const redis::PartitionKeys& keys, const redis::Script& script, bool repeatable) {
    Call call{.lane = Lane::kLease, .slot = keys.slot, .repeatable = repeatable};
    call.script = &script;
    call.keys.Arg(keys.Of("fence")).Arg(keys.Of("lease"));
    return call;
}

std::unexpected<Error> Odd(std::string_view what) {
    return Fail(ErrorCode::kUnknown, fmt::format("Redis gave an odd answer to {}", what));
}

}  // namespace

RedisStore::RedisStore(std::unique_ptr<redis::Client> client)
    : global_(client->options().name_space), random_(NewRandomSeed()), client_(std::move(client)) {
    KeysOf(0);
}

RedisStore::~RedisStore() = default;

StoreLimits RedisStore::limits() const {
    return {.changes_max = kChangesMax,
            .bytes_max = kBytesMax,
            .pipeline_max = kPipelineMax,
            .purge_max = redis::kPurgeMax};
}

std::string RedisStore::Describe() const {
    return redis::Describe(client_->options());
}

const redis::PartitionKeys& RedisStore::KeysOf(Partition partition) {
    return partitions_.try_emplace(partition, client_->options().name_space, partition)
        .first->second;
}

// --- Leadership --------------------------------------------------------------------------------

void RedisStore::Acquire(const Candidate& candidate, Done<Term> done) {
    client_->Post([this, candidate, done = std::move(done)]() mutable {
        if (candidate.epoch_floor > kEpochMax) {
            return done(Fail(ErrorCode::kInvalid, "the epoch floor is too high for Redis"));
        }
        // Readers find partitions by this set, so it comes before the first row. And nobody leads
        // over rows that a newer version wrote, also if that one came while this one ran.
        const std::string meta = global_.prefix + "meta";
        Call call{.lane = Lane::kLease, .slot = global_.slot};
        call.commands = redis::Resp("HSETNX", meta, "layout", redis::kLayout) +
                        redis::Resp("HGET", meta, "layout") +
                        redis::Resp("SADD", global_.prefix + "partitions", candidate.partition);
        call.replies = 3;
        client_->Send(std::move(call), [this, candidate,
                                        done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            const Result<void> known = redis::CheckLayout((*replies)[1].view().text());
            if (!known) return done(std::unexpected(known.error()));
            TakeTerm(candidate, std::move(done));
        });
    });
}

void RedisStore::TakeTerm(const Candidate& candidate, Done<Term> done) {
    const std::uint64_t nonce = random_.Next();
    Call call = LeaseCall(KeysOf(candidate.partition), redis::kAcquire, false);
    call.args.Arg(nonce).Arg(candidate.node.view()).Arg(candidate.address.view());
    call.args.Arg(std::max<Duration::rep>(candidate.ttl.count(), 1)).Arg(candidate.epoch_floor);
    call.wait_replicas = client_->options().wait_replicas;
    client_->Send(std::move(call), [this, partition = candidate.partition, nonce,
                                    done = std::move(done)](Result<Replies> replies) mutable {
        if (!replies) return done(std::unexpected(replies.error()));
        const ReplyView answer = replies->front().view();
        if (answer.size() == 2) {
            return done(Fail(ErrorCode::kConflict, fmt::format("{} leads", answer[1].text())));
        }
        const auto epoch = answer[0].number();
        if (!epoch) return done(Odd("Acquire"));
        if (Result<void> copied = Replicated(*replies); !copied) {
            return done(std::unexpected(copied.error()));
        }
        const Term term{partition, *epoch, nonce};
        acknowledged_[partition] = {term, 0};
        done(term);
    });
}

void RedisStore::Renew(const Term& term, Duration ttl, Done<void> done) {
    client_->Post([this, term, ttl, done = std::move(done)]() mutable {
        Call call = LeaseCall(KeysOf(term.partition), redis::kRenew, true);
        call.timeout_max = RenewalTime(ttl);
        call.args.Arg(term.epoch).Arg(term.nonce).Arg(std::max<Duration::rep>(ttl.count(), 1));
        client_->Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            if (replies->front().view().number() == 1u) return done({});
            done(Fail(ErrorCode::kFenced, "the term is over"));
        });
    });
}

void RedisStore::Resign(const Term& term, Done<void> done) {
    client_->Post([this, term, done = std::move(done)]() mutable {
        Call call = LeaseCall(KeysOf(term.partition), redis::kResign, true);
        call.args.Arg(term.epoch).Arg(term.nonce);
        client_->Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            done({});
        });
    });
}

void RedisStore::Leader(Partition partition, Done<std::optional<LeaderRow>> done) {
    client_->Post([this, partition, done = std::move(done)]() mutable {
        // A partition that nobody has led yet is not remembered for it.
        const redis::PartitionKeys keys(client_->options().name_space, partition);
        client_->Send(LeaseCall(keys, redis::kLeader, true),
                      [done = std::move(done)](Result<Replies> replies) mutable {
                          if (!replies) return done(std::unexpected(replies.error()));
                          const ReplyView row = replies->front().view();
                          const auto epoch = row[2].number();
                          if (row.size() != 3 || !epoch) return done(std::nullopt);
                          done(LeaderRow{NodeId(Text(row[0].text())), Text(row[1].text()), *epoch});
                      });
    });
}

void RedisStore::Announce(const NodeRow& node, Duration ttl, Done<void> done) {
    client_->Post([this, node, ttl, done = std::move(done)]() mutable {
        Call call{.lane = Lane::kLease, .slot = global_.slot};
        call.script = &redis::kAnnounce;
        call.keys.Arg(global_.prefix + "nodes");
        call.keys.Arg(global_.prefix + "node:" + node.node.text().str());
        call.args.Arg(node.node.view()).Arg(std::max<Duration::rep>(ttl.count(), 0));
        call.args.Arg(node.address.view()).Arg(node.version.view());
        call.args.Arg(node.started_at.time_since_epoch().count()).Arg(global_.prefix + "node:");
        client_->Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            done({});
        });
    });
}

void RedisStore::Nodes(Done<std::vector<NodeRow>> done) {
    client_->Post([this, done = std::move(done)]() mutable {
        Call call{.slot = global_.slot};
        call.script = &redis::kNodes;
        call.keys.Arg(global_.prefix + "nodes");
        call.args.Arg(global_.prefix + "node:");
        client_->Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            const ReplyView rows = replies->front().view();
            std::vector<NodeRow> nodes;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const ReplyView row = rows[i];
                const Duration started(static_cast<Duration::rep>(row[3].number().value_or(0)));
                nodes.push_back({NodeId(Text(row[0].text())), Text(row[1].text()),
                                 Text(row[2].text()), Time(started)});
            }
            done(std::move(nodes));
        });
    });
}

// --- Writing -----------------------------------------------------------------------------------

void RedisStore::Commit(BatchPtr batch, Done<void> done) {
    client_->Post([this, batch = std::move(batch), done = std::move(done)]() mutable {
        Call call = redis::MakeCommit(*batch, KeysOf(batch->term.partition), client_->options());
        client_->Send(std::move(call), [this, batch = std::move(batch),
                                        done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            done(CommitAnswer(*batch, *replies));
        });
    });
}

Result<void> RedisStore::CommitAnswer(const Batch& batch, const Replies& replies) {
    const ReplyView answer = replies.front().view();
    const std::string_view what = answer[0].text();
    if (what == "fenced") return Fail(ErrorCode::kFenced, "the term is over");
    Acknowledged& last = acknowledged_[batch.term.partition];
    if (what == "gap") {
        const auto have = answer[1].number();
        // Redis said before that it has more: a failover has taken it away, together with rows that
        // this term believes in.
        if (have && last.term == batch.term && *have < last.sequence) {
            return Fail(ErrorCode::kFenced,
                        fmt::format("Redis has lost batches {} to {} of this term, which it had "
                                    "acknowledged: a failover to a replica that was behind",
                                    *have + 1, last.sequence));
        }
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    }
    if (what != "applied") return Odd("Commit");
    if (Result<void> copied = Replicated(replies); !copied) return copied;
    if (last.term != batch.term) last = {batch.term, 0};
    last.sequence = std::max(last.sequence, batch.sequence);
    return {};
}

// Whether as many replicas have it as the options ask for.
Result<void> RedisStore::Replicated(const Replies& replies) const {
    const std::uint64_t wanted = client_->options().wait_replicas;
    if (wanted == 0) return {};
    const std::uint64_t have = replies.back().view().number().value_or(0);
    if (have >= wanted) return {};
    return Fail(
        ErrorCode::kUnknown,
        fmt::format("{} of {} replicas have it; it is lost if the primary is", have, wanted));
}

}  // namespace takt::internal
