#include "store/etcd/purger.h"

#include <algorithm>
#include <ranges>

#include "base/log.h"
#include "model/record.h"
#include "store/etcd/limits.h"
#include "store/etcd/pack.h"
#include "store/etcd/payload.h"

namespace takt::internal::etcd {
namespace {

// Packs of events of one read.
constexpr std::int64_t kEventsPage = 16;
// How far apart the keys of one read are: etcd walks over a whole range whatever its limit is. A second
// of serials, twice as much where nothing was found, an hour at most for the one that ends it.
constexpr Serial kEventSpan = Serial{1'000} << 22;
constexpr Serial kEventSpanMax = Serial{4'096'000} << 22;
// A victim takes five writes at most, and its pack one more; their keys are a prefix, two numbers
// and an id each.
constexpr std::size_t kVictimOps = 6;
constexpr std::size_t kKeyBytes = 256;
constexpr std::size_t kVictimBytes = kVictimOps * kKeyBytes;

}  // namespace

Purger::Purger(Client& client, const Keys& keys, const Batch& batch, Room room, PurgeWindow& window)
    : client_(client),
      keys_(keys),
      batch_(batch),
      partition_(batch.term.partition),
      room_(room),
      window_(window) {
    for (const Change& change : batch.changes) {
        if (const auto* execution = std::get_if<ExecutionChange>(&change)) {
            touched_.insert(execution->row.id.text().str());
            touched_.insert(execution->row.parent.text().str());
        } else if (const auto* log = std::get_if<LogAppend>(&change)) {
            touched_.insert(log->row.execution.text().str());
        }
    }
}

bool Purger::full(std::size_t bytes) const {
    return ops_.size() + pages_.size() + deferred_ + kVictimOps > room_.ops ||
           ops_.bytes() + pages_bytes_ + deferred_ * kKeyBytes + kVictimBytes + kPageBytesMax +
                   bytes >
               room_.bytes;
}

Async<Result<Ops>> Purger::Plan() {
    const Result<bool> next = co_await IsNext();
    if (!next) co_return std::unexpected(next.error());
    if (!*next) co_return Ops();
    for (const Change& change : batch_.changes) {
        const auto* purge = std::get_if<Purge>(&change);
        if (!purge) continue;
        if (purge->finished_before > Time{}) {
            const Result<void> planned = co_await PlanExecutions(*purge);
            if (!planned) co_return std::unexpected(planned.error());
        }
        if (SerialAt(purge->events_before) > 0) {
            const Result<void> planned = co_await PlanEvents(*purge);
            if (!planned) co_return std::unexpected(planned.error());
        }
        if (SerialAt(purge->audit_before) > 0) {
            const Result<void> planned = co_await PlanAudit(*purge);
            if (!planned) co_return std::unexpected(planned.error());
        }
        break;  // A batch holds at most one.
    }
    // In their order, the oldest first.
    for (PurgeWindow::Pack& pack : held_ | std::views::reverse) window_.PutBack(std::move(pack));
    co_return std::move(ops_);
}

Async<Result<bool>> Purger::IsNext() {
    if (const auto known = window_.RevisionBefore(batch_)) {
        revision_ = *known;
        co_return true;
    }
    pb::RangeRequest get;
    get.set_key(keys_.Sequence(partition_));
    const Result<pb::RangeResponse> found = co_await client_.Range(std::move(get));
    if (!found) co_return std::unexpected(found.error());
    revision_ = found->header().revision();
    const bool next =
        found->kvs_size() == 1 &&
        found->kvs(0).value() == SequenceValue(batch_.term.epoch, batch_.sequence - 1);
    if (next) window_.NoteRead(batch_.sequence - 1, revision_);
    co_return next;
}

Async<Result<void>> Purger::PlanExecutions(Purge purge) {
    std::size_t room = std::min<std::size_t>(purge.count_max, kPurgeMax);
    // Ends: each turn takes one pack, and each takes of the room.
    while (room > 0 && !full()) {
        auto pack = co_await window_.TakeOldest(purge.finished_before);
        if (!pack) co_return std::unexpected(pack.error());
        if (!*pack) co_return {};
        const Result<void> done =
            co_await DeleteOld(std::move(**pack), purge.finished_before, room);
        if (!done) co_return done;
    }
    co_return {};
}

void Purger::Delete(const Victim& victim) {
    const std::string_view id = victim.key.id;
    if (!victim.paged) ops_.Delete(keys_.History(partition_, victim.kin, victim.key));
    if (id != SerialText(victim.key.serial)) ops_.Delete(keys_.Id(partition_, id));
    if (victim.payload_apart) {
        ops_.Delete(keys_.Payload(partition_, victim.key));
        ops_.Delete(keys_.Override(partition_, victim.key));
    }
    ops_.DeleteRange(keys_.Logs(partition_, id));
}

Async<Result<void>> Purger::DeleteOld(PurgeWindow::Pack pack, Time before, std::size_t& room) {
    std::vector<PurgeWindow::Resident> kept;
    for (PurgeWindow::Resident& resident : pack.residents) {
        bool goes = resident.finished_at < before && !touched_.contains(resident.id);
        if (goes && resident.has_children) {
            const Result<bool> gone = co_await DeleteChildren(resident.id, room);
            if (!gone) co_return std::unexpected(gone.error());
            goes = *gone;
        }
        if (!goes || room == 0 || full()) {
            kept.push_back(std::move(resident));
            continue;
        }
        --room;
        if (resident.page) {
            paged_.push_back(resident.serial);
            if (pages_.insert(*resident.page).second)
                pages_bytes_ += resident.page_bytes + kKeyBytes;
        }
        Delete({.kin = Kin::kOwn,
                .key = {resident.serial, resident.id},
                .payload_apart = resident.payload_apart,
                .paged = resident.page.has_value()});
    }
    pack.residents = std::move(kept);
    if (pack.residents.empty()) {
        if (!pack.stays) ops_.Delete(keys_.Pack(partition_, pack.name));
        co_return {};
    }
    // One of which all the rest is too new ends its epoch. Another one would be taken again at once.
    if (pack.residents.front().finished_at >= before) {
        window_.PutBack(std::move(pack));
    } else {
        held_.push_back(std::move(pack));
    }
    co_return {};
}

Async<Result<std::vector<pb::KeyValue>>> Purger::ReadRows(KeyRange range, std::int64_t limit) {
    pb::RequestOp op = RangeOp(std::move(range), limit, revision_);
    auto found = co_await client_.Range(std::move(*op.mutable_request_range()));
    if (!found) co_return std::unexpected(found.error());
    std::vector<pb::KeyValue> rows;
    for (pb::KeyValue& kv : *found->mutable_kvs()) rows.push_back(std::move(kv));
    co_return rows;
}

Async<Result<void>> Purger::PlanEvents(Purge purge) {
    const Serial bound = SerialAt(purge.events_before);
    Serial from = window_.first_event();
    if (from >= bound) co_return {};
    if (from == 0) {
        pb::RequestOp op =
            RangeOp({keys_.Events(partition_, 0), keys_.Events(partition_, bound)}, 1, revision_);
        op.mutable_request_range()->set_keys_only(true);
        const auto first = co_await client_.Range(std::move(*op.mutable_request_range()));
        if (!first) co_return std::unexpected(first.error());
        from = first->kvs_size() == 0 ? bound : ParseHex(LastPart(first->kvs(0).key())).value_or(1);
    }
    std::size_t room = std::min<std::size_t>(purge.count_max, kPurgeMax);
    Result<Serial> end = co_await PlanOldEvents(from, bound, room);
    if (end && *end >= bound) end = co_await PlanSplitEvents(bound, room);
    if (!end) co_return std::unexpected(end.error());
    window_.set_first_event(*end);
    co_return {};
}

Async<Result<Serial>> Purger::PlanOldEvents(Serial from, Serial bound, std::size_t& room) {
    Serial span = kEventSpan;
    while (from < bound) {
        const Serial end = bound - from <= span ? bound : from + span;
        const auto packs = co_await ReadRows(
            {keys_.Events(partition_, from), keys_.Events(partition_, end)}, kEventsPage);
        if (!packs) co_return std::unexpected(packs.error());
        for (const pb::KeyValue& pack : *packs) {
            const Serial last = ParseHex(LastPart(pack.key())).value_or(from);
            if (room == 0 || full()) co_return from;
            Result<std::vector<std::string>> rows = DecodePack(pack.value());
            // One that cannot be read goes like the others.
            const std::size_t count = rows ? rows->size() : 1;
            if (count > room) {
                rows->erase(rows->begin(), rows->begin() + static_cast<std::ptrdiff_t>(room));
                room = 0;
                std::string rest = EncodePack(*rows);
                // One that does not fit beside the other writes stays whole until the next time.
                if (!full(rest.size())) ops_.Put(pack.key(), std::move(rest));
                co_return from;
            }
            room -= count;
            ops_.Delete(pack.key());
            from = last + 1;
        }
        if (packs->size() == static_cast<std::size_t>(kEventsPage)) continue;
        from = end;
        span *= 2;
    }
    co_return from;
}

Async<Result<Serial>> Purger::PlanSplitEvents(Serial bound, std::size_t& room) {
    for (Serial span = kEventSpan; span <= kEventSpanMax; span *= 4) {
        const auto packs = co_await ReadRows(
            {keys_.Events(partition_, bound), keys_.Events(partition_, bound + span)}, 1);
        if (!packs) co_return std::unexpected(packs.error());
        if (packs->empty()) continue;
        const Result<std::vector<std::string>> rows = DecodePack(packs->front().value());
        if (!rows) co_return bound;
        std::vector<std::string> kept;
        std::optional<Serial> first;
        for (const std::string& row : *rows) {
            const Result<Event> event = DecodeEvent(row);
            const bool old = !event || event->serial < bound;
            if (old && room > 0) {
                --room;
                continue;
            }
            if (event) first = std::min(first.value_or(event->serial), event->serial);
            kept.push_back(row);
        }
        if (kept.size() == rows->size()) co_return std::max(first.value_or(bound), Serial{1});
        std::string rest = EncodePack(kept);
        // One that does not fit beside the other writes stays whole until the next time.
        const bool fits = !full(rest.size());
        if (fits) ops_.Put(packs->front().key(), std::move(rest));
        co_return fits ? first.value_or(bound) : bound;
    }
    // There are none for a while. Those that are written from now on are told to the window.
    co_return bound + kEventSpanMax;
}

}  // namespace takt::internal::etcd
