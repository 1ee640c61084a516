#include "store/etcd/writer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/failpoint.h"
#include "store/etcd/limits.h"
#include "store/etcd/purger.h"
#include "store/etcd/snapshot.h"

namespace takt::internal::etcd {
namespace {

// A refusal that is no fence means that an earlier copy of some of the batches was applied. Each
// turn needs another such surprise.
constexpr int kTurnsMax = 3;

const Purge* PurgeOf(const Batch& batch) {
    for (const Change& change : batch.changes) {
        if (const auto* purge = std::get_if<Purge>(&change)) return purge;
    }
    return nullptr;
}

std::size_t BytesOf(const Batch& batch) {
    std::size_t bytes = 0;
    for (const Change& change : batch.changes) bytes += SizeOf(change);
    return bytes;
}

// Whether the batch can go in one request with those whose writes these are.
bool Fits(const Batch& batch, const Ops& ops, const PageBook& pages) {
    return ops.bytes() + pages.BytesWith(batch) + BytesOf(batch) <= kRequestBytesMax &&
           ops.size() + pages.writes() + batch.changes.size() * kChangeWrites <= kOpsMax;
}

}  // namespace

void Writer::Commit(BatchPtr batch, Done<void> done) {
    company_.Note(batch->term.partition, SteadyClock::now());
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({std::move(batch), std::move(done)});
        if (std::exchange(draining_, true)) return;
    }
    Drain();
}

void Writer::Close() {
    std::deque<Waiting> left;
    {
        const std::lock_guard lock(mutex_);
        left.swap(waiting_);
    }
    for (Waiting& waiting : left) {
        waiting.done(Fail(ErrorCode::kCancelled, "the store was closed"));
    }
}

bool Writer::MustPlan(const Batch& batch, Time first_finished) const {
    const Purge* purge = PurgeOf(batch);
    return purge &&
           (first_finished < purge->finished_before || !window_.NothingDue(batch.term, *purge));
}

Writer::Group Writer::TakeGroup() {
    const std::lock_guard lock(mutex_);
    Group group;
    std::size_t changes = 0, bytes = 0;
    Time first_finished = Time::max();
    const std::size_t changes_max =
        company_.shared(SteadyClock::now()) ? kSharedChangesMax : kMergedChangesMax;
    while (!waiting_.empty()) {
        const Batch& next = *waiting_.front().batch;
        changes += next.changes.size();
        bytes += BytesOf(next);
        if (!group.empty()) {
            const Batch& last = *group.back().batch;
            const bool follows = next.term == last.term && next.sequence == last.sequence + 1;
            if (!follows || changes > changes_max || bytes > kMergedBytesMax ||
                MustPlan(next, first_finished)) {
                break;
            }
        }
        const bool alone = group.empty() && MustPlan(next, Time::max());
        first_finished = std::min(first_finished, FirstFinished(next).value_or(Time::max()));
        group.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        if (alone) break;
    }
    draining_ = !group.empty();
    return group;
}

Detached Writer::Drain() {
    const Tracker::Hold hold(tracker_);
    for (Group group = TakeGroup(); !group.empty(); group = TakeGroup()) {
        Result<void> result;
        if (IsAhead(*group.front().batch)) {
            result = Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
        } else {
            result = co_await ApplyGroup(group);
            const bool settled = result || result.error().code == ErrorCode::kFenced;
            unsettled_ = settled || group.empty() ? nullptr : group.front().batch;
        }
        for (Waiting& waiting : group) waiting.done(result);
    }
}

bool Writer::IsAhead(const Batch& batch) const {
    return unsettled_ && unsettled_->term == batch.term && unsettled_->sequence < batch.sequence;
}

Async<Result<void>> Writer::ApplyGroup(Group& group) {
    for (int turn = 0; turn < kTurnsMax; ++turn) {
        payloads_.Begin(group.front().batch->term);
        pages_.Begin(group.front().batch->term);
        window_.Begin(group.front().batch->term);
        std::size_t bytes = 0;
        const Result<pb::TxnResponse> answer = co_await SendGroup(group, bytes);
        if (answer && answer->succeeded()) {
            payloads_.Keep();
            pages_.Keep();
            for (const Waiting& waiting : group) {
                window_.NoteApplied(*waiting.batch, answer->header().revision());
            }
            window_.ReadAhead();
        } else {
            payloads_.Drop();
            pages_.Forget();
            window_.Forget();
        }
        if (!answer) co_return std::unexpected(answer.error());
        if (answer->succeeded()) {
            applied_(answer->header().revision(), bytes);
            co_return {};
        }
        Result<void> explained = ExplainRefusal(*answer, group);
        if (!explained || group.empty()) co_return explained;
    }
    co_return Fail(ErrorCode::kUnavailable, "etcd: the sequence of batches does not settle");
}

Async<Result<void>> Writer::LearnPayloads(const Group& group) {
    std::vector<TaskId> unknown;
    for (const Waiting& waiting : group) {
        std::ranges::move(payloads_.Unknown(*waiting.batch), std::back_inserter(unknown));
    }
    if (unknown.empty()) co_return {};
    std::vector<std::string> names;
    for (const TaskId& task : unknown) {
        names.push_back(keys_.Task(group.front().batch->term.partition, task.view()));
    }
    Snapshot snapshot(client_);
    const auto rows = co_await snapshot.Get(std::move(names));
    if (!rows) co_return std::unexpected(rows.error());
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        const auto& row = (*rows)[i];
        payloads_.Learn(unknown[i], row ? PayloadOfTask(row->value()) : std::nullopt);
    }
    co_return {};
}

Async<Result<std::optional<pb::TxnResponse>>> Writer::LearnPages(Span span,
                                                                 std::vector<Serial> serials) {
    // Ends: each turn leaves fewer that are not known.
    for (;;) {
        std::vector<KeyRange> ranges = pages_.Ask(serials);
        if (ranges.empty()) co_return std::nullopt;
        Result<pb::TxnResponse> answer =
            co_await client_.Txn(MakeRead(keys_, span, std::move(ranges)), Effect::kRead);
        if (!answer) co_return std::unexpected(std::move(answer.error()));
        if (!answer->succeeded()) co_return std::move(*answer);
        pages_.Learn(*answer);
    }
}

Async<Result<Ops>> Writer::PlanPurge(const Batch& batch, Ops own, std::vector<Serial>& paged) {
    // The batch's own writes come first; the deletions get the room that is left. What can
    // go ahead is not in the way.
    own.TakeAhead();
    const std::size_t bytes = std::min(own.bytes() + pages_.bytes(), kRequestBytesMax);
    const Purger::Room room{.ops = kOpsMax - own.size() - pages_.writes(),
                            .bytes = kRequestBytesMax - bytes};
    // Ends: the second turn is the last.
    for (bool again = false;; again = true) {
        Purger purger(client_, keys_, batch, room, window_);
        Result<Ops> planned = co_await purger.Plan();
        paged = purger.TakePaged();
        if (planned || planned.error().code != ErrorCode::kConflict) co_return planned;
        // The state that it read was compacted away under it: the present one will do.
        window_.Forget();
        if (!again) continue;
        planned.error().code = ErrorCode::kUnavailable;
        co_return planned;
    }
}

Async<Result<std::optional<pb::TxnResponse>>> Writer::AddPurge(Span span, const Batch& batch,
                                                               Ops& ops) {
    std::vector<Serial> paged;
    Result<Ops> planned = co_await PlanPurge(batch, ops, paged);
    if (!planned) co_return std::unexpected(std::move(planned.error()));
    ops.Append(std::move(*planned));
    auto refusal = co_await LearnPages(span, paged);
    if (!refusal || *refusal) co_return refusal;
    for (const Serial serial : paged) pages_.Remove(PageSide::kHistory, serial);
    co_return std::nullopt;
}

void Writer::PutBack(Group& group, std::size_t from) {
    const std::lock_guard lock(mutex_);
    while (group.size() > from) {
        waiting_.push_front(std::move(group.back()));
        group.pop_back();
    }
}

Async<Result<pb::TxnResponse>> Writer::SendGroup(Group& group, std::size_t& bytes) {
    Span span{group.front().batch->term, group.front().batch->sequence,
              group.back().batch->sequence, 0};
    if (Result<void> learnt = co_await LearnPayloads(group); !learnt) {
        co_return std::unexpected(std::move(learnt.error()));
    }
    MovedExecutions moved;
    for (const Waiting& waiting : group) moved.Add(*waiting.batch);
    auto refusal = co_await LearnPages(span, moved.serials());
    if (!refusal) co_return std::unexpected(std::move(refusal.error()));
    if (*refusal) co_return std::move(**refusal);
    Ops ops;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const Batch& batch = *group[i].batch;
        if (i > 0 && !Fits(batch, ops, pages_)) {
            PutBack(group, i);
            break;
        }
        span.last = batch.sequence;
        span.last_serial = std::max(span.last_serial, batch.last_serial);
        AddChanges(keys_, batch, payloads_, pages_, ops);
    }
    if (group.size() == 1 && MustPlan(*group.front().batch, Time::max())) {
        refusal = co_await AddPurge(span, *group.front().batch, ops);
        if (!refusal) co_return std::unexpected(std::move(refusal.error()));
        if (*refusal) co_return std::move(**refusal);
    }
    pages_.Flush(ops);
    // All of it is repeatable: a second copy finds that its sequence was applied, or writes the
    // same once more.
    bytes = ops.bytes();
    std::vector<Ops> ahead;
    if (ops.bytes() > kRequestBytesMax) ahead = ops.TakeAhead();
    for (Ops& portion : ahead) {
        Result<pb::TxnResponse> written = co_await Send(MakeAhead(keys_, span, std::move(portion)));
        if (!written || !written->succeeded()) co_return written;
    }
    co_return co_await Send(MakeCommit(keys_, span, std::move(ops)));
}

Async<Result<pb::TxnResponse>> Writer::Send(pb::TxnRequest txn) {
    if (TAKT_FAIL_POINT_ERROR("store.etcd.request")) {
        co_return Fail(ErrorCode::kUnknown, "fail point: the request was lost");
    }
    auto answer = co_await client_.Txn(std::move(txn), Effect::kRepeatable);
    if (TAKT_FAIL_POINT_ERROR("store.etcd.answer")) {
        co_return Fail(ErrorCode::kUnknown, "fail point: the answer was lost");
    }
    co_return answer;
}

Result<void> Writer::ExplainRefusal(const pb::TxnResponse& refusal, Group& group) {
    const Term term = group.front().batch->term;
    if (refusal.responses_size() != 2) {
        return Fail(ErrorCode::kUnknown, "etcd: a refusal without its reasons");
    }
    const auto& leader = refusal.responses(0).response_range().kvs();
    const auto& sequence = refusal.responses(1).response_range().kvs();
    const std::optional<PackName> last =
        sequence.empty() ? std::nullopt : ParseSequenceValue(sequence[0].value());
    const bool leads =
        !leader.empty() && leader[0].mod_revision() == static_cast<std::int64_t>(term.nonce);
    if (!leads || !last || last->epoch != term.epoch) {
        return Fail(ErrorCode::kFenced, "the term is over");
    }
    const auto first_left = std::ranges::find_if(
        group, [&](const Waiting& waiting) { return waiting.batch->sequence > last->sequence; });
    Group applied(std::make_move_iterator(group.begin()), std::make_move_iterator(first_left));
    group.erase(group.begin(), first_left);
    for (Waiting& waiting : applied) waiting.done({});
    if (!group.empty() && group.front().batch->sequence != last->sequence + 1) {
        return Fail(ErrorCode::kUnavailable, "an earlier batch was not applied");
    }
    return {};
}

}  // namespace takt::internal::etcd
