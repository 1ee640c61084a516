#include "store/etcd/purger.h"

#include <algorithm>

#include "base/log.h"
#include "model/record.h"
#include "store/etcd/limits.h"
#include "store/etcd/pack.h"
#include "store/etcd/payload.h"

namespace takt::internal::etcd {
namespace {

// Packs of one read. Most take some ten kilobytes. None was more than a request of 1.5 MiB when it
// was written, so that a read is 24 MiB at the very most.
constexpr std::int64_t kPacksPage = 16;
// How far apart the keys of one read are: sequences, and an hour of serials.
constexpr std::uint64_t kPackSpan = 256;
constexpr Serial kEventSpan = Serial{3'600'000} << 22;
// A purge is repeated soon; one that finds many dead packs leaves the rest to the next.
constexpr int kPagesMax = 32;
// A victim takes five writes at most, and its pack one more; their keys are a prefix, two numbers
// and an id each.
constexpr std::size_t kVictimOps = 6;
// Executions of one read that asks two things of each; below etcd's 128 operations.
constexpr std::size_t kFamiliesAtOnce = 60;
constexpr std::size_t kKeyBytes = 256;
constexpr std::size_t kVictimBytes = kVictimOps * kKeyBytes;

}  // namespace

Purger::Purger(Client& client, const Keys& keys, const Batch& batch, Room room)
    : client_(client), keys_(keys), batch_(batch), partition_(batch.term.partition), room_(room) {
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
    return ops_.size() + deferred_ + kVictimOps > room_.ops ||
           ops_.bytes() + deferred_ * kKeyBytes + kVictimBytes + bytes > room_.bytes;
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
    co_return std::move(ops_);
}

Async<Result<bool>> Purger::IsNext() {
    pb::RangeRequest get;
    get.set_key(keys_.Sequence(partition_));
    const Result<pb::RangeResponse> found = co_await client_.Range(std::move(get));
    if (!found) co_return std::unexpected(found.error());
    revision_ = found->header().revision();
    co_return found->kvs_size() == 1 &&
        found->kvs(0).value() == SequenceValue(batch_.term.epoch, batch_.sequence - 1);
}

Async<Result<Rows>> Purger::ReadOldest(KeyRange range,
                                       std::function<std::string(std::string_view)> end) {
    const auto read = [this](KeyRange of, std::int64_t limit, bool keys_only) {
        pb::RangeRequest request;
        request.set_key(std::move(of.begin));
        request.set_range_end(std::move(of.end));
        request.set_limit(limit);
        request.set_revision(revision_);
        request.set_keys_only(keys_only);
        return client_.Range(std::move(request));
    };
    Result<pb::RangeResponse> first = co_await read(range, 1, true);
    if (!first) co_return std::unexpected(first.error());
    Rows rows;
    if (first->kvs_size() == 0) co_return rows;
    // The second read is bounded by more than its limit: see snapshot.h.
    std::string last = end(first->kvs(0).key());
    Result<pb::RangeResponse> found =
        co_await read({first->kvs(0).key(), std::move(last)}, kPacksPage, false);
    if (!found) co_return std::unexpected(found.error());
    for (pb::KeyValue& kv : *found->mutable_kvs()) rows.kvs.push_back(std::move(kv));
    co_return rows;
}

Async<Result<void>> Purger::PlanExecutions(Purge purge) {
    std::size_t room = std::min<std::size_t>(purge.count_max, kPurgeMax);
    KeyRange rest = keys_.Packs(partition_);
    for (int page = 0; page < kPagesMax && room > 0 && !full(); ++page) {
        Result<Rows> packs = co_await ReadOldest(rest, [&](std::string_view key) {
            const PackName name = ParsePackKey(key).value_or(PackName{});
            return keys_.Pack(partition_, {name.epoch, name.sequence + kPackSpan});
        });
        if (!packs) co_return std::unexpected(packs.error());
        for (pb::KeyValue& pack : packs->kvs) {
            const std::optional<PackName> name = ParsePackKey(pack.key());
            if (!name) continue;
            auto residents = co_await Residents(*name, std::move(*pack.mutable_value()));
            if (!residents) co_return std::unexpected(residents.error());
            const Result<bool> more =
                co_await DeleteOld(pack.key(), std::move(*residents), purge.finished_before, room);
            if (!more) co_return std::unexpected(more.error());
            if (!*more || room == 0 || full()) co_return {};
        }
        if (packs->kvs.empty()) break;
        rest.begin = packs->kvs.back().key() + '\0';
    }
    co_return {};
}

Async<Result<std::vector<Purger::Resident>>> Purger::Residents(PackName pack, std::string value) {
    std::vector<Resident> residents;
    Result<std::vector<std::string>> rows = DecodePack(value);
    if (!rows) {
        Log(LogLevel::kWarning, "store", "a pack of finished executions cannot be read; it stays",
            {{"pack", keys_.Pack(partition_, pack)}, {"error", rows.error().detail}});
        co_return residents;
    }
    for (const std::string& bytes : *rows) {
        Result<Execution> row = DecodeExecution(bytes);
        const bool readable = row.has_value();
        residents.push_back(
            {readable ? std::move(*row) : Execution{}, readable, LacksPayload(bytes), false});
    }
    std::vector<ExecutionKey> keys;
    for (const Resident& resident : residents) keys.push_back(KeyOf(resident.row));
    const auto families = co_await ReadFamilies(Kin::kOwn, std::move(keys));
    if (!families) co_return std::unexpected(families.error());
    for (std::size_t i = 0; i < residents.size(); ++i) {
        const Family& family = (*families)[i];
        if (!family.pointer) continue;
        const Result<Pointer> pointer = DecodePointer(*family.pointer);
        residents[i].lives = pointer && pointer->pack == pack && pointer->index == i;
        residents[i].has_children = family.has_children;
    }
    co_return residents;
}

Async<Result<std::vector<Purger::Family>>> Purger::ReadFamilies(Kin kin,
                                                                std::vector<ExecutionKey> keys) {
    std::vector<Family> families;
    for (std::size_t begin = 0; begin < keys.size(); begin += kFamiliesAtOnce) {
        const std::size_t end = std::min(keys.size(), begin + kFamiliesAtOnce);
        pb::TxnRequest gets;
        for (std::size_t i = begin; i < end; ++i) {
            *gets.add_success() = GetOp(keys_.History(partition_, kin, keys[i]), revision_);
            pb::RequestOp& children = *gets.add_success();
            children = RangeOp(keys_.Run(partition_, keys[i].id), 1, revision_);
            children.mutable_request_range()->set_keys_only(true);
        }
        const Result<pb::TxnResponse> found = co_await client_.Txn(std::move(gets), Effect::kRead);
        if (!found) co_return std::unexpected(found.error());
        for (std::size_t i = 0; i < end - begin; ++i) {
            const int at = static_cast<int>(2 * i);
            const auto& pointer = found->responses(at).response_range().kvs();
            const auto& children = found->responses(at + 1).response_range().kvs();
            families.push_back({pointer.empty() ? std::nullopt : std::optional(pointer[0].value()),
                                !children.empty()});
        }
    }
    co_return families;
}

void Purger::Delete(const Victim& victim) {
    const std::string_view id = victim.key.id;
    ops_.Delete(keys_.History(partition_, victim.kin, victim.key));
    if (id != SerialText(victim.key.serial)) ops_.Delete(keys_.Id(partition_, id));
    if (victim.payload_apart) {
        ops_.Delete(keys_.Payload(partition_, victim.key));
        ops_.Delete(keys_.Override(partition_, victim.key));
    }
    ops_.DeleteRange(keys_.Logs(partition_, id));
}

Async<Result<bool>> Purger::DeleteOld(std::string pack_key, std::vector<Resident> residents,
                                      Time before, std::size_t& room) {
    if (residents.empty()) co_return true;
    // Nobody knows how old a row is that cannot be read; it keeps its pack.
    auto kept = static_cast<std::size_t>(std::ranges::count(residents, false, &Resident::readable));
    std::erase_if(residents, [](const Resident& resident) { return !resident.lives; });
    std::ranges::sort(residents, {}, [](const Resident& resident) {
        return std::pair(resident.row.finished_at, resident.row.serial);
    });
    bool more = true;
    for (const Resident& resident : residents) {
        const Execution& row = resident.row;
        // Packs are in the order in which they finished: behind one that is too new all are.
        if (row.finished_at >= before) more = false;
        bool goes = row.finished_at < before && !touched_.contains(row.id.view());
        if (goes && resident.has_children) {
            const Result<bool> gone = co_await DeleteChildren(row.id.text().str(), room);
            if (!gone) co_return std::unexpected(gone.error());
            goes = *gone;
        }
        if (!goes || room == 0 || full()) {
            ++kept;
            continue;
        }
        --room;
        Delete({Kin::kOwn, KeyOf(row), resident.payload_apart});
    }
    if (kept == 0) ops_.Delete(pack_key);
    co_return more;
}

Async<Result<void>> Purger::PlanEvents(Purge purge) {
    const Serial bound = SerialAt(purge.events_before);
    std::size_t room = std::min<std::size_t>(purge.count_max, kPurgeMax);
    KeyRange rest = keys_.EventsAfter(partition_, 0);
    for (int page = 0; page < kPagesMax && room > 0; ++page) {
        const Result<Rows> packs = co_await ReadOldest(rest, [&](std::string_view key) {
            return keys_.Events(partition_, ParseHex(LastPart(key)).value_or(0) + kEventSpan);
        });
        if (!packs) co_return std::unexpected(packs.error());
        for (const pb::KeyValue& pack : packs->kvs) {
            if (full()) co_return {};
            Result<std::vector<std::string>> rows = DecodePack(pack.value());
            // One that cannot be read goes once its last event is old enough.
            if (!rows) rows = std::vector<std::string>();
            std::vector<std::string> kept;
            for (std::string& row : *rows) {
                const Result<Event> event = DecodeEvent(row);
                const bool old = !event || event->serial < bound;
                if (old && room > 0)
                    --room;
                else
                    kept.push_back(std::move(row));
            }
            const auto last = ParseHex(LastPart(pack.key()));
            if (kept.size() < rows->size() && !kept.empty()) {
                std::string rest_of_it = EncodePack(kept);
                // A pack that does not fit beside the other writes stays whole until the next time.
                if (!full(rest_of_it.size())) ops_.Put(pack.key(), std::move(rest_of_it));
            }
            if (kept.empty() && last && *last < bound) ops_.Delete(pack.key());
            if (!kept.empty()) co_return {};
        }
        if (packs->kvs.empty()) break;
        rest.begin = packs->kvs.back().key() + '\0';
    }
    co_return {};
}

}  // namespace takt::internal::etcd
