#include "store/redis/leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "store/name_list.h"
#include "store/redis/leader_text.h"
#include "store/redis/scripts.h"
#include "store/renewal.h"

namespace takt::internal::redis {
namespace {

// Lua counts in doubles: above, two epochs could not be told apart.
constexpr std::uint64_t kEpochMax = (std::uint64_t{1} << 53) - 2;

Call FenceCall(const PartitionKeys& keys, const Script& script, bool repeatable) {
    Call call{.lane = Lane::kLease, .slot = keys.slot, .repeatable = repeatable};
    call.script = &script;
    call.keys.Arg(keys.Of("fence")).Arg(keys.Of("lease"));
    return call;
}

// In the fence a term that was resigned has no nonce.
std::string NonceText(std::uint64_t nonce) {
    return nonce == 0 ? std::string() : std::to_string(nonce);
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
    std::string row = {};                     // The partition's among the leaders; empty: none.
    std::vector<AnnouncedLayout> nodes = {};  // The other schedulers.
    unsigned raise_from = 0;                  // 0: the fence must be of our layout.

    LeaderRow replaced() const { return candidate.replaced.value_or(LeaderRow{}); }
    void Refuse(ErrorCode code, std::string why) { done(Fail(code, std::move(why))); }
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
    call.keys.Arg(global.prefix + "nodes").Arg(global.prefix + "leaders");
    call.args.Arg(schema_.known).Arg(campaign->candidate.partition).Arg(global.prefix + "node:");
    call.args.Arg(campaign->candidate.node.view());
    client_.Send(std::move(call), [this, campaign](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        OnLook(campaign, replies->front().view());
    });
}

void Leases::OnLook(CampaignPtr campaign, const ReplyView& answer) {
    const Candidate& candidate = campaign->candidate;
    campaign->layout = std::string(answer[0].text());
    if (Result<void> usable = CheckLayout(campaign->layout, schema_); !usable) {
        return campaign->done(std::unexpected(usable.error()));
    }
    if (answer[1].number() != 1u) {
        return campaign->Refuse(ErrorCode::kConflict,
                                candidate.node.text().str() + " is not announced");
    }
    campaign->row = std::string(answer[2].text());
    LeaderRow last = ParseLeader(candidate.partition, campaign->row);
    last.announced = answer[3].number() == 1u;
    if (last.leads() && last.node != candidate.node) {
        return campaign->Refuse(ErrorCode::kConflict, last.node.text().str() + " leads");
    }
    const LeaderRow read = campaign->replaced();
    if (last.epoch != read.epoch || last.nonce != read.nonce) {
        return campaign->Refuse(ErrorCode::kConflict, "somebody has led since that was read");
    }
    for (std::size_t i = 4; i < answer.size(); ++i) {
        const std::string node(answer[i][0].text());
        if (node == candidate.node.view()) continue;
        const auto known = answer[i][1].number();
        campaign->nodes.push_back({node, static_cast<unsigned>(known.value_or(kLayoutUnsaid))});
    }
    TakeTerm(campaign);
}

void Leases::TakeTerm(CampaignPtr campaign) {
    const Candidate& candidate = campaign->candidate;
    const LeaderRow read = campaign->replaced();
    Call call = FenceCall(campaign->keys, kAcquire, false);
    call.args.Arg(campaign->nonce).Arg(candidate.node.view()).Arg(candidate.address.view());
    call.args.Arg(std::max(candidate.epoch_floor, read.epoch));
    call.args.Arg(schema_.known).Arg(campaign->layout);
    call.args.Arg(campaign->raise_from == 0 ? std::string()
                                            : RaisingText(campaign->raise_from, schema_.known));
    call.args.Arg(read.epoch).Arg(NonceText(read.nonce));
    // Who wrote it knew no other layout, whatever the installation's has become since.
    call.args.Arg(kLayoutUnsaid);
    call.wait_replicas = client_.options().wait_replicas;
    call.wait_max = RenewalTime(ttl_) / 2;  // Announcements come behind it.
    client_.Send(std::move(call), [this, campaign](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        OnTerm(campaign, *replies);
    });
}

void Leases::OnTerm(CampaignPtr campaign, const Replies& replies) {
    const ReplyView answer = replies.front().view();
    if (answer[0].text() == "layout") return OnOtherLayout(campaign, answer[1].text());
    if (answer[0].text() == "other") return OnOtherTerm(campaign, answer);
    if (answer.size() == 2) {
        return campaign->Refuse(ErrorCode::kConflict, fmt::format("{} leads", answer[1].text()));
    }
    const auto epoch = answer[0].number();
    if (!epoch) return campaign->Refuse(ErrorCode::kUnknown, "Redis gave an odd answer to Acquire");
    if (Result<void> copied = client_.CheckReplicas(replies); !copied) {
        return campaign->done(std::unexpected(copied.error()));
    }
    const Term term{campaign->candidate.partition, *epoch, campaign->nonce};
    if (campaign->raise_from == 0) return PublishTerm(campaign, term);
    RaiseLayout(campaign, term, campaign->raise_from);
}

// The fence holds another term than the row among the leaders: somebody died, or Redis lost a write,
// between the two. The fence is the truth. It becomes the row, and whoever asks next goes by that.
void Leases::OnOtherTerm(CampaignPtr campaign, const ReplyView& answer) {
    LeaderRow row{.partition = campaign->candidate.partition,
                  .node = NodeId(Text(answer[3].text())),
                  .address = Text(answer[4].text()),
                  .epoch = answer[1].number().value_or(0),
                  .nonce = answer[2].number().value_or(0)};
    if (row.nonce == 0) row.node = {};
    Call call = PublishCall(row);
    call.args.Arg("instead of").Arg(campaign->row);
    client_.Send(std::move(call), [campaign](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        campaign->Refuse(ErrorCode::kConflict, "somebody has led since that was read");
    });
}

Call Leases::PublishCall(const LeaderRow& row) const {
    Call call{.lane = Lane::kLease, .slot = keys_.global.slot, .script = &kPublish};
    call.keys.Arg(keys_.global.prefix + "leaders");
    call.args.Arg(row.partition).Arg(LeaderText(row));
    return call;
}

void Leases::PublishTerm(CampaignPtr campaign, Term term) {
    const Candidate& candidate = campaign->candidate;
    Call call =
        PublishCall({term.partition, candidate.node, candidate.address, term.epoch, term.nonce});
    call.args.Arg("below").Arg(term.epoch);
    client_.Send(std::move(call), [campaign, term](Result<Replies> replies) {
        if (!replies) return campaign->done(std::unexpected(replies.error()));
        campaign->done(term);
    });
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
            Call call = FenceCall(campaign->keys, kRaised, true);
            call.args.Arg(term.epoch).Arg(term.nonce).Arg(schema_.known);
            client_.Send(std::move(call), [this, campaign, term](Result<Replies> replies) {
                if (!replies) return campaign->done(std::unexpected(replies.error()));
                if (replies->front().view().number() != 1u) {
                    return campaign->Refuse(ErrorCode::kConflict, "the term is over");
                }
                PublishTerm(campaign, term);
            });
        });
}

void Leases::Resign(const Term& term, const NodeId& successor, Done<void> done) {
    client_.Post([this, term, successor, done = std::move(done)]() mutable {
        Call call = FenceCall(keys_.Of(term.partition), kResign, true);
        call.args.Arg(term.epoch).Arg(term.nonce);
        client_.Send(std::move(call), [this, term, successor,
                                       done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            // Also if the fence was not ours any more: the answer to a first attempt may be lost.
            Call publish = PublishCall({term.partition, successor, {}, term.epoch, 0});
            publish.args.Arg("term").Arg(fmt::format("{} {} ", term.epoch, term.nonce));
            client_.Send(std::move(publish), WhenDone(std::move(done)));
        });
    });
}

void Leases::Leaders(Done<std::vector<LeaderRow>> done) {
    client_.Post([this, done = std::move(done)]() mutable {
        const std::string& prefix = keys_.global.prefix;
        Call call{.lane = Lane::kLease, .slot = keys_.global.slot};
        call.timeout_max = RenewalTime(ttl_);
        call.script = &kLeaders;
        call.keys.Arg(prefix + "meta").Arg(prefix + "leaders");
        call.args.Arg(prefix + "node:");
        client_.Send(std::move(call),
                     [this, done = std::move(done)](Result<Replies> replies) mutable {
                         if (!replies) return done(std::unexpected(replies.error()));
                         OnLeaders(replies->front().view(), std::move(done));
                     });
    });
}

void Leases::OnLeaders(const ReplyView& answer, Done<std::vector<LeaderRow>> done) {
    std::vector<LeaderRow> rows;
    for (std::size_t i = 1; i < answer.size(); ++i) {
        const auto partition = answer[i][0].number();
        if (!partition || *partition > std::numeric_limits<Partition>::max()) continue;
        rows.push_back(ParseLeader(static_cast<Partition>(*partition), answer[i][1].text()));
        rows.back().announced = answer[i][2].number() == 1u;
    }
    std::ranges::sort(rows, {}, &LeaderRow::partition);
    const auto layout = answer[0].number();
    if (!layout || *layout >= kLayoutOfLeaders) return done(std::move(rows));
    AddOlderLeader(std::move(rows), std::move(done));
}

// Schedulers from before there was a list of leaders lead by a key that lives as long as its ttl.
void Leases::AddOlderLeader(std::vector<LeaderRow> rows, Done<std::vector<LeaderRow>> done) {
    Call call = FenceCall(keys_.Of(0), kOlderLeader, true);
    call.timeout_max = RenewalTime(ttl_);
    client_.Send(std::move(call), [rows = std::move(rows),
                                   done = std::move(done)](Result<Replies> replies) mutable {
        if (!replies) return done(std::unexpected(replies.error()));
        const ReplyView row = replies->front().view();
        if (row.size() == 4) {
            std::erase_if(rows, [](const LeaderRow& known) { return known.partition == 0; });
            rows.insert(rows.begin(), {.partition = 0,
                                       .node = NodeId(Text(row[0].text())),
                                       .address = Text(row[1].text()),
                                       .epoch = row[2].number().value_or(0),
                                       .nonce = row[3].number().value_or(0)});
        }
        done(std::move(rows));
    });
}

void Leases::Announce(const NodeRow& node, Duration ttl, Done<void> done) {
    client_.Post([this, node, ttl, done = std::move(done)]() mutable {
        const std::string prefix = keys_.global.prefix + "node:";
        Call call{.lane = Lane::kLease, .slot = keys_.global.slot};
        if (ttl > Duration(0)) ttl_ = ttl;
        call.timeout_max = RenewalTime(ttl_);
        call.script = &kAnnounce;
        call.keys.Arg(keys_.global.prefix + "nodes").Arg(prefix + node.node.text().str());
        call.args.Arg(node.node.view()).Arg(std::max<Duration::rep>(ttl.count(), 0));
        call.args.Arg(node.address.view()).Arg(node.version.view());
        call.args.Arg(node.started_at.time_since_epoch().count()).Arg(prefix).Arg(schema_.known);
        call.args.Arg(JoinNames(node.namespaces));
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
                                 Text(row[2].text()), Time(started), SplitNames(row[4].text())});
            }
            done(std::move(nodes));
        });
    });
}

}  // namespace takt::internal::redis
