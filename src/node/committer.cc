#include "node/committer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/log.h"

namespace takt::internal {
namespace {

// Room for more entries is not made ahead: a namespace that falls silent keeps it.
constexpr std::size_t kEntriesAhead = 1024;

// The next batch is likely to be as long as the last: lists that grow anew move each entry twice.
void MakeRoomLike(const Effects& last, Effects& next) {
    const auto make_room = [](const auto& before, auto& list) {
        list.reserve(std::min(before.size(), kEntriesAhead));
    };
    make_room(last.changes, next.changes);
    make_room(last.replies, next.replies);
    make_room(last.assigns, next.assigns);
    make_room(last.verdicts, next.verdicts);
    make_room(last.events, next.events);
}

}  // namespace

Committer::Committer(Runtime& runtime, Store& store, const Term& term, CommitterConfig config,
                     Events events)
    : runtime_(runtime),
      store_(store),
      term_(term),
      config_(config),
      events_(std::move(events)),
      limits_(store.limits()),
      retry_delay_(config.retry_delay),
      home_(runtime) {}

Committer::~Committer() {
    runtime_.Cancel(lazy_timer_);
    runtime_.Cancel(retry_timer_);
}

// A step adds a bounded number of changes and bytes, so a batch that is half full may not have room
// for the next one. While the store is busy it may grow that far; then it waits in line as it is.
bool Committer::full() const {
    if (gathering_bytes_ * 2 > limits_.bytes_max) return true;
    const std::size_t doubled = gathering_.changes.size() * 2;
    if (doubled > limits_.changes_max) return true;
    // Asked after each step: the clock is read only if it matters.
    return config_.company && doubled > Company::kChangesMax &&
           config_.company->shared(runtime_.Now().steady);
}

void Committer::MeasureGathered() {
    const std::vector<Change>& changes = gathering_.changes;
    for (const std::uint32_t index : gathering_.rewritten) {
        if (index >= sizes_.size()) continue;  // Added by the same step.
        const std::size_t size = SizeOf(changes[index]);
        gathering_bytes_ += size - std::exchange(sizes_[index], size);
    }
    gathering_.rewritten.clear();
    while (sizes_.size() < changes.size()) {
        gathering_bytes_ += sizes_.emplace_back(SizeOf(changes[sizes_.size()]));
    }
}

void Committer::NoteStep(Serial last_serial) {
    last_serial_ = last_serial;
    MeasureGathered();
    if (TAKT_MUTANT("node.release_early") && !gathering_.assigns.empty()) {
        Effects early;
        early.assigns = std::exchange(gathering_.assigns, {});
        events_.release(early);
    }
    if (TAKT_MUTANT("node.answer_early") && !gathering_.replies.empty()) {
        Effects early;
        early.replies = std::exchange(gathering_.replies, {});
        events_.release(early);
    }
    if (full()) CloseBatch();
}

void Committer::SendGathered() {
    if (!stalled_ && sent_ < limits_.pipeline_max) CloseBatch();
    SendBatches();
}

void Committer::SendAll() {
    gathering_.urgent |= !gathering_.changes.empty();
    SendGathered();
}

void Committer::Close() {
    closed_ = true;
    under_way_.clear();
    runtime_.Cancel(std::exchange(lazy_timer_, 0));
    runtime_.Cancel(std::exchange(retry_timer_, 0));
}

// Closes what has gathered, unless it can go along with a later commit.
void Committer::CloseBatch() {
    Effects& now = gathering_;
    if (!now.urgent && !full()) {
        if (!now.changes.empty() && lazy_timer_ == 0) {
            lazy_timer_ = runtime_.After(config_.lazy_delay, [this] {
                lazy_timer_ = 0;
                SendAll();
            });
        }
        if (now.silent()) return;
        // Effects without changes of their own still keep their turn.
        Effects rest = std::exchange(now, Effects{});
        now.changes = std::exchange(rest.changes, {});
        now.generation = std::exchange(rest.generation, 0);
        under_way_.push_back({nullptr, std::move(rest), true, true});
        return ReleaseDone();
    }
    runtime_.Cancel(std::exchange(lazy_timer_, 0));
    Effects sealed = std::exchange(now, Effects{});
    now.generation = sealed.generation + 1;
    MakeRoomLike(sealed, now);
    const std::size_t bytes = std::exchange(gathering_bytes_, 0);
    sizes_.clear();
    auto batch = std::make_shared<Batch>();
    batch->term = term_;
    batch->sequence = ++sequence_;
    batch->last_serial = last_serial_;
    batch->changes = std::move(sealed.changes);
    if (config_.company) config_.company->Note(term_.partition, runtime_.Now().steady);
    changes_ += batch->changes.size();
    under_way_changes_ += batch->changes.size();
    under_way_bytes_ += bytes;
    under_way_.push_back({std::move(batch), std::move(sealed), false, false, bytes});
}

void Committer::SendBatches() {
    if (stalled_ || closed_) return;
    for (Batched& batched : under_way_) {
        if (sent_ >= limits_.pipeline_max) return;
        if (batched.sent) continue;
        batched.sent = true;
        if (batched.tried_at == Steady{}) batched.tried_at = runtime_.Now().steady;
        ++sent_;
        TAKT_FAIL_POINT("node.commit.before");
        auto here = home_.Here([this, sequence = batched.batch->sequence](Result<void> result) {
            OnCommitted(sequence, std::move(result));
        });
        store_.Commit(batched.batch, [here = std::move(here)](Result<void> result) mutable {
            TAKT_FAIL_POINT("node.commit.done");
            here(std::move(result));
        });
    }
}

void Committer::OnCommitted(std::uint64_t sequence, Result<void> result) {
    if (closed_) return;
    --sent_;
    const auto found = std::ranges::find_if(under_way_, [&](const Batched& batched) {
        return batched.batch && batched.batch->sequence == sequence;
    });
    TAKT_CHECK(found != under_way_.end());
    if (!result && TAKT_MUTANT("node.ignore_refusals")) result = {};
    if (!result && result.error().code == ErrorCode::kFenced) {
        return events_.on_fenced("the store refused a commit: " + result.error().detail);
    }
    if (!result && result.error().code == ErrorCode::kInvalid &&
        !TAKT_MUTANT("node.repeat_impossible")) {
        // The engine's belief and the stored rows have parted: no repetition mends that. The
        // next term begins from what is stored, without whatever led here.
        Log(LogLevel::kError, "node",
            "the store refused a commit as impossible; this scheduler loads afresh. Please report "
            "this",
            {{"epoch", term_.epoch}, {"sequence", sequence}, {"error", result.error().detail}});
        return events_.on_fenced("the store refused a commit as impossible: " +
                                 result.error().detail);
    }
    if (result) {
        found->done = true;
        stored_serial_ = std::max(stored_serial_, found->batch->last_serial);
        found->took = runtime_.Now().steady - found->tried_at;
        trouble_.clear();
        troubled_since_.reset();
        retry_delay_ = config_.retry_delay;
    } else {
        // Applied or not, the very same batch must be next; the store knows which it has seen.
        found->sent = found->done = TAKT_MUTANT("node.drop_unknown");
        if (!std::exchange(stalled_, true)) trouble_ = result.error().detail;
        const Steady now = runtime_.Now().steady;
        if (!troubled_since_) troubled_since_ = now;
        if (now - *troubled_since_ >= config_.give_up_after) {
            return events_.on_stuck("the store has taken no commit for " +
                                    FormatDuration(config_.give_up_after) + ": " + trouble_);
        }
    }
    ReleaseDone();
    // A sink that was released to may have brought the term to its end.
    if (closed_) return;
    if (stalled_ && sent_ == 0) {
        retry_timer_ = runtime_.After(retry_delay_, [this] {
            stalled_ = false;
            SendBatches();
        });
        retry_delay_ = std::min(retry_delay_ * 2, config_.retry_delay_max);
    }
    SendGathered();
}

void Committer::ReleaseDone() {
    while (!under_way_.empty() && under_way_.front().done) {
        const Batched batched = std::move(under_way_.front());
        under_way_.pop_front();
        if (batched.batch) under_way_changes_ -= batched.batch->changes.size();
        under_way_bytes_ -= batched.bytes;
        TAKT_FAIL_POINT("node.release.before");
        if (batched.batch && events_.on_commit) {
            events_.on_commit({batched.batch->changes, batched.took});
        }
        events_.release(batched.effects);
        TAKT_FAIL_POINT("node.release.after");
    }
}

}  // namespace takt::internal
