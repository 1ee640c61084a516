#include "store/redis/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "store/redis/batch_commands.h"
#include "store/redis/leader_text.h"
#include "store/redis/scripts.h"
#include "store/refusals.h"

namespace takt::internal::redis {

void Writer::Commit(BatchPtr batch, Done<void> done) {
    client_.Post([this, batch = std::move(batch), done = std::move(done)]() mutable {
        Call call = MakeCommit(*batch, keys_.Of(batch->term.partition), client_.options());
        client_.Send(std::move(call), [this, batch = std::move(batch),
                                       done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            done(ReadAnswer(*batch, *replies));
        });
    });
}

void Writer::Pause(Partition partition, Duration how_long, Done<std::string> done) {
    client_.Post([this, partition, how_long, done = std::move(done)]() mutable {
        const PartitionKeys& keys = keys_.Of(partition);
        Call call{.lane = Lane::kCommit, .slot = keys.slot, .script = &kPause};
        call.keys.Arg(keys.Of("fence"));
        call.args.Arg(std::to_string(how_long.count()));
        client_.Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
            if (!replies) return done(std::unexpected(replies.error()));
            done(std::string(replies->front().view().text()));
        });
    });
}

void Writer::DropPartition(Partition partition, std::uint64_t epoch, Done<void> done) {
    client_.Post([this, partition, epoch, done = std::move(done)]() mutable {
        if (partition == kDefaultPartition) return done(DefaultIsKept());
        const std::uint64_t last = TAKT_MUTANT("redis.drop_late") ? UINT64_MAX : epoch;
        DropMore({keys_.Of(partition), last}, std::move(done));
    });
}

void Writer::DropMore(Dropping dropping, Done<void> done) {
    const PartitionKeys& keys = dropping.keys;
    Call call{.lane = Lane::kCommit, .slot = keys.slot, .script = &kDrop};
    call.keys.Arg(keys.Of("fence"));
    call.args.Arg(keys.prefix).Arg(dropping.term).Arg(kPurgeMax).Arg(dropping.epoch);
    client_.Send(std::move(call), [this, dropping = std::move(dropping),
                                   done = std::move(done)](Result<Replies> replies) mutable {
        if (!replies) return done(std::unexpected(replies.error()));
        const ReplyView answer = replies->front().view();
        const std::string_view what = answer[0].text();
        if (what == "done") return done({});
        if (what != "more") return TellOfTerm(dropping.keys.partition, answer, std::move(done));
        dropping.term = std::string(answer[1].text());
        DropMore(std::move(dropping), std::move(done));
    });
}

void Writer::TellOfTerm(Partition partition, const ReplyView& fence, Done<void> done) {
    LeaderRow row{.partition = partition,
                  .node = NodeId(Text(fence[3].text())),
                  .address = Text(fence[4].text()),
                  .epoch = fence[1].number().value_or(0),
                  .nonce = fence[2].number().value_or(0)};
    if (row.nonce == 0) row.node = {};
    Call call{.lane = Lane::kCommit, .slot = keys_.global.slot, .script = &kPublish};
    call.keys.Arg(keys_.global.prefix + "leaders");
    call.args.Arg(partition).Arg(LeaderText(row)).Arg("below").Arg(row.epoch);
    client_.Send(std::move(call), [done = std::move(done)](Result<Replies> replies) mutable {
        if (!replies) return done(std::unexpected(replies.error()));
        done(LedSince());
    });
}

Result<void> Writer::ReadAnswer(const Batch& batch, const Replies& replies) {
    const ReplyView answer = replies.front().view();
    const std::string_view what = answer[0].text();
    if (what == "fenced" && TAKT_MUTANT("redis.hide_fence")) return {};
    if (what == "fenced") return Fail(ErrorCode::kFenced, "the term is over");
    if (what == "paused") {
        return Fail(ErrorCode::kUnavailable, "a backup is being made; it takes some seconds");
    }
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
    if (what != "applied") {
        return Fail(ErrorCode::kUnknown, "Redis gave an odd answer to Commit");
    }
    check_.NoteFull(answer[2].text() == "full");
    if (Result<void> copied = client_.CheckReplicas(replies); !copied) return copied;
    if (last.term != batch.term) last = {batch.term, 0};
    last.sequence = std::max(last.sequence, batch.sequence);
    return {};
}

}  // namespace takt::internal::redis
