#include "store/redis/leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/redis/scripts.h"
#include "store/renewal.h"

namespace takt::internal::redis {
namespace {

// Lua counts in doubles: above, two epochs could not be told apart.
constexpr std::uint64_t kEpochMax = (std::uint64_t{1} << 53) - 2;

Call LeaseCall(const PartitionKeys& keys, const Script& script, bool repeatable) {
    Call call{.lane = Lane::kLease, .slot = keys.slot, .repeatable = repeatable};
    call.script = &script;
    call.keys.Arg(keys.Of("fence")).Arg(keys.Of("lease"));
    return call;
}

// For a call whose reply is only that it was done.
Done<Replies> WhenDone(Done<void> done) {
    return [done = std::move(done)](Result<Replies> replies) mutable {
        if (!replies) return done(std::unexpected(replies.error()));
        done({});
    };
}

}  // namespace

struct Leases::Campaign {
    Candidate candidate;
    const PartitionKeys& keys;
    std::uint64_t nonce = 0;
    Done<Term> done;
    std::string layout = {};                  // Of the installation as a whole.
    std::vector<AnnouncedLayout> nodes = {};  // The other schedulers.
    unsigned raise_from = 0;                  // 0: the fence must be of our layout.
};

Leases::Leases(Client& client, Keyring& keys, ServerCheck& check, Schema schema)
    : client_(client),
      keys_(keys),
      check_(check),
      schema_(std::move(schema)),
      random_(NewRandomSeed()) {}

void Leases::Acquire(const Candidate& candidate, Done<Term> done) {
    client_.Post([this, candidate, done = std::move(done)]() mutable {
        if (candidate.epoch_floor > kEpochMax) {
            return done(Fail(ErrorCode::kInvalid, "the epoch floor is too high for Redis"));
        }
        auto campaign = std::make_shared<Campaign>(
            Campaign{candidate, keys_.Of(candidate.partition), random_.Next(), std::move(done)});
        // A server that was away when the store was opened is looked at now.
        check_.Ensure([this, campaign](Result<void> checked) {
            if (!checked) return campaign->done(std::unexpected(checked.error()));
            LookAround(campaign);
        });
    });
}

// Readers find partitions by a set, so it is written before the first row. And nobody leads over
// rows that a newer version wrote, also if that one came while this one ran.
void Leases::LookAround(CampaignPtr campaign) {
    const GlobalKeys& global = keys_.global;
    Call call{.lane = Lane::kLease, .slot = global.slot};
    call.script = &kStand;
    call.keys.Arg(global.prefix + "meta").Arg(global.prefix + "partitions");
    call.keys.Arg(global.prefix + "nodes");
    call.args.Arg(schema_.known).Arg(campaign->candidate.partition).Arg(global.prefix + "node:");
    client_.Send(std::move(call), [this, campaign](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        const ReplyView answer = replies->front().view();
        campaign->layout = std::string(answer[0].text());
        if (Result<void> usable = CheckLayout(campaign->layout, schema_); !usable) {
            return campaign->done(std::unexpected(usable.error()));
        }
        for (std::size_t i = 1; i < answer.size(); ++i) {
            const std::string node(answer[i][0].text());
            if (node == campaign->candidate.node.view()) continue;
            const auto known = answer[i][1].number();
            campaign->nodes.push_back({node, static_cast<unsigned>(known.value_or(kLayoutUnsaid))});
        }
        TakeTerm(campaign);
    });
}

void Leases::TakeTerm(CampaignPtr campaign) {
    const Candidate& candidate = campaign->candidate;
    Call call = LeaseCall(campaign->keys, kAcquire, false);
    call.args.Arg(campaign->nonce).Arg(candidate.node.view()).Arg(candidate.address.view());
    call.args.Arg(std::max<Duration::rep>(candidate.ttl.count(), 1)).Arg(candidate.epoch_floor);
    call.args.Arg(schema_.known).Arg(campaign->layout);
    call.args.Arg(campaign->raise_from == 0 ? std::string()
                                            : RaisingText(campaign->raise_from, schema_.known));
    call.wait_replicas = client_.options().wait_replicas;
    client_.Send(std::move(call), [this, campaign](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        OnTerm(campaign, *replies);
    });
}

void Leases::OnTerm(CampaignPtr campaign, const Replies& replies) {
    const ReplyView answer = replies.front().view();
    if (answer[0].text() == "layout") return OnOtherLayout(campaign, answer[1].text());
    if (answer.size() == 2) {
        return campaign->done(
            Fail(ErrorCode::kConflict, fmt::format("{} leads", answer[1].text())));
    }
    const auto epoch = answer[0].number();
    if (!epoch) {
        return campaign->done(Fail(ErrorCode::kUnknown, "Redis gave an odd answer to Acquire"));
    }
    if (Result<void> copied = client_.CheckReplicas(replies); !copied) {
        return campaign->done(std::unexpected(copied.error()));
    }
    const Term term{campaign->candidate.partition, *epoch, campaign->nonce};
    if (campaign->raise_from == 0) return campaign->done(term);
    RaiseLayout(campaign, term, campaign->raise_from);
}

void Leases::OnOtherLayout(CampaignPtr campaign, std::string_view stored) {
    const LayoutDecision decision = DecideLayout(stored, schema_.range(), campaign->nodes, "Redis");
    using Kind = LayoutDecision::Kind;
    // kUse: somebody has raised it since. The next attempt sees that.
    if (decision.kind == Kind::kWait || decision.kind == Kind::kUse) {
        return campaign->done(Fail(ErrorCode::kUnavailable, decision.why));
    }
    if (decision.kind == Kind::kRefuse) {
        return campaign->done(Fail(ErrorCode::kInvalid, decision.why, "store"));
    }
    campaign->raise_from = decision.from;
    // From here on no older version opens the store or leads.
    Call call{.lane = Lane::kLease, .slot = keys_.global.slot};
    call.commands = Resp("HSET", keys_.global.prefix + "meta", "layout", schema_.known);
    client_.Send(std::move(call), [this, campaign](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        TakeTerm(campaign);
    });
}

void Leases::RaiseLayout(CampaignPtr campaign, Term term, unsigned from) {
    Log(LogLevel::kInfo, "store", "raising the layout of the data in Redis",
        {{"from", from}, {"to", schema_.known}, {"partition", term.partition}});
    schema_.RunSteps(
        client_, campaign->keys, term, from, [this, campaign, term](Result<void> raised) {
            if (!raised) return campaign->done(std::unexpected(raised.error()));
            Call call = LeaseCall(campaign->keys, kRaised, true);
            call.args.Arg(term.epoch).Arg(term.nonce).Arg(schema_.known);
            client_.Send(std::move(call), [campaign, term](Result<Replies> replies) {
                if (!replies) return campaign->done(std::unexpected(replies.error()));
                if (replies->front().view().number() != 1u) {
                    return campaign->done(Fail(ErrorCode::kConflict, "the term is over"));
                }
                campaign->done(term);
            });
        });
}

void Leases::Renew(const Term& term, Duration ttl, Done<void> done) {
    client_.Post([this, term, ttl, done = std::move(done)]() mutable {
        Call call = LeaseCall(keys_.Of(term.partition), kRenew, true);
        call.timeout_max = RenewalTime(ttl);
        call.args.Arg(term.epoch).Arg(term.nonce).Arg(std::max<Duration::rep>(ttl.count(), 1));
        client_.Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            if (replies->front().view().number() == 1u) return done({});
            done(Fail(ErrorCode::kFenced, "the term is over"));
        });
    });
}

void Leases::Resign(const Term& term, Done<void> done) {
    client_.Post([this, term, done = std::move(done)]() mutable {
        Call call = LeaseCall(keys_.Of(term.partition), kResign, true);
        call.args.Arg(term.epoch).Arg(term.nonce);
        client_.Send(std::move(call), WhenDone(std::move(done)));
    });
}

void Leases::Leader(Partition partition, Done<std::optional<LeaderRow>> done) {
    client_.Post([this, partition, done = std::move(done)]() mutable {
        // A partition that nobody has led yet is not remembered for it.
        const PartitionKeys keys(client_.options().prefix, partition);
        client_.Send(LeaseCall(keys, kLeader, true),
                     [done = std::move(done)](Result<Replies> replies) mutable {
                         if (!replies) return done(std::unexpected(replies.error()));
                         const ReplyView row = replies->front().view();
                         const auto epoch = row[2].number();
                         if (row.size() != 3 || !epoch) return done(std::nullopt);
                         done(LeaderRow{NodeId(Text(row[0].text())), Text(row[1].text()), *epoch});
                     });
    });
}

void Leases::Announce(const NodeRow& node, Duration ttl, Done<void> done) {
    client_.Post([this, node, ttl, done = std::move(done)]() mutable {
        const std::string prefix = keys_.global.prefix + "node:";
        Call call{.lane = Lane::kLease, .slot = keys_.global.slot};
        call.script = &kAnnounce;
        call.keys.Arg(keys_.global.prefix + "nodes").Arg(prefix + node.node.text().str());
        call.args.Arg(node.node.view()).Arg(std::max<Duration::rep>(ttl.count(), 0));
        call.args.Arg(node.address.view()).Arg(node.version.view());
        call.args.Arg(node.started_at.time_since_epoch().count()).Arg(prefix).Arg(schema_.known);
        client_.Send(std::move(call), WhenDone(std::move(done)));
        // A scheduler announces itself every few seconds: a good time to look at the memory too.
        check_.WatchMemory();
    });
}

void Leases::Nodes(Done<std::vector<NodeRow>> done) {
    client_.Post([this, done = std::move(done)]() mutable {
        Call call{.slot = keys_.global.slot};
        call.script = &kNodes;
        call.keys.Arg(keys_.global.prefix + "nodes");
        call.args.Arg(keys_.global.prefix + "node:");
        client_.Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
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

}  // namespace takt::internal::redis
