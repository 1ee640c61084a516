#include "store/etcd/reader_executions.h"

#include <algorithm>
#include <utility>

#include "store/etcd/payload.h"
#include "store/list_page.h"
#include "store/matches.h"

namespace takt::internal::etcd {
namespace {

// Packs of one round trip: some ten kilobytes each as a rule, a request's 1.5 MiB at most.
constexpr std::size_t kPacksAtOnce = 8;
// Decoded packs that one read keeps; neighbours in a list share packs.
constexpr std::size_t kPacksKept = 64;
constexpr std::size_t kLivePageRows = 100;
// Rows of a list that are completed at once, with up to two payloads of a megabyte each.
constexpr std::size_t kPortionRows = 32;
constexpr std::size_t kPointerPageRows = 1000;

bool WantsPlace(const ExecutionFilter& filter, bool live) {
    return filter.statuses.empty() || std::ranges::any_of(filter.statuses, [&](Status status) {
               return IsTerminal(status) != live;
           });
}

}  // namespace

ExecutionReader::Candidate ExecutionReader::FromKey(bool live, const pb::KeyValue& kv) {
    const std::optional<ExecutionKey> key = ParseExecutionKey(kv.key());
    if (!key) return {};
    Candidate candidate{key->serial, std::string(key->id), {}, {}, false};
    if (live) {
        candidate.row = DecodeOrShow(*key, kv.value());
        candidate.lacks_payload = LacksPayload(kv.value());
        return candidate;
    }
    Result<Pointer> pointer = DecodePointer(kv.value());
    if (pointer)
        candidate.pointer = *pointer;
    else
        candidate.row = ShowUndecodable(*key, pointer.error());
    return candidate;
}

Async<Result<std::vector<std::optional<Execution>>>> ExecutionReader::Find(
    std::vector<ExecutionId> ids) {
    std::vector<std::optional<Execution>> found(ids.size());
    if (ids.empty()) co_return found;
    std::vector<std::string> id_keys;
    for (const ExecutionId& id : ids) id_keys.push_back(keys_.Id(id.view()));
    const auto chosen = co_await snapshot_.Get(std::move(id_keys));
    if (!chosen) co_return std::unexpected(chosen.error());

    std::vector<std::size_t> places;  // In `ids`, of each pair of keys.
    std::vector<std::string> row_keys;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::optional<Serial> serial =
            (*chosen)[i] ? ParseHex((*chosen)[i]->value()) : ParseSerialText(ids[i].view());
        if (!serial) continue;
        places.push_back(i);
        row_keys.push_back(keys_.Live(*serial, ids[i].view()));
        row_keys.push_back(keys_.History(*serial, ids[i].view()));
    }
    const auto rows = co_await snapshot_.Get(std::move(row_keys));
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<Candidate> candidates(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& live = (*rows)[2 * i];
        const auto& history = (*rows)[2 * i + 1];
        if (live || history) candidates[i] = FromKey(live.has_value(), live ? *live : *history);
    }
    const Result<void> resolved = co_await Resolve(candidates);
    if (!resolved) co_return std::unexpected(resolved.error());
    const Result<void> completed = co_await Complete(candidates);
    if (!completed) co_return std::unexpected(completed.error());
    for (std::size_t i = 0; i < places.size(); ++i) {
        found[places[i]] = std::move(candidates[i].row);
    }
    co_return found;
}

Async<Result<void>> ExecutionReader::ReadPacks(std::vector<std::string> packs) {
    for (std::size_t begin = 0; begin < packs.size(); begin += kPacksAtOnce) {
        const std::size_t end = std::min(packs.size(), begin + kPacksAtOnce);
        std::vector<std::string> keys(packs.begin() + static_cast<std::ptrdiff_t>(begin),
                                      packs.begin() + static_cast<std::ptrdiff_t>(end));
        const auto values = co_await snapshot_.Get(keys);
        if (!values) co_return std::unexpected(values.error());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            packs_.insert_or_assign(
                std::move(keys[i]),
                (*values)[i] ? DecodePack((*values)[i]->value())
                             : PackRows(Fail(ErrorCode::kInvalid, "its pack is missing")));
        }
    }
    co_return {};
}

Async<Result<void>> ExecutionReader::Resolve(std::vector<Candidate>& candidates) {
    // In portions, so that a long list over many packs does not hold all of them at once.
    for (std::size_t begin = 0; begin < candidates.size();) {
        std::vector<std::string> missing;
        std::size_t end = begin;
        if (packs_.size() > kPacksKept) packs_.clear();
        for (; end < candidates.size() && missing.size() < kPacksKept; ++end) {
            const Candidate& candidate = candidates[end];
            if (candidate.row || !candidate.pointer) continue;
            std::string key = keys_.Pack(PartitionOf(candidate.serial), candidate.pointer->pack);
            if (packs_.contains(key) || std::ranges::find(missing, key) != missing.end()) continue;
            missing.push_back(std::move(key));
        }
        const Result<void> read = co_await ReadPacks(std::move(missing));
        if (!read) co_return std::unexpected(read.error());
        for (; begin < end; ++begin) {
            if (!candidates[begin].row && candidates[begin].pointer)
                TakeFromPack(candidates[begin]);
        }
    }
    co_return {};
}

void ExecutionReader::TakeFromPack(Candidate& candidate) const {
    const ExecutionKey key{candidate.serial, candidate.id};
    const PackRows& rows =
        packs_.at(keys_.Pack(PartitionOf(candidate.serial), candidate.pointer->pack));
    if (!rows) {
        candidate.row = ShowUndecodable(key, rows.error());
    } else if (candidate.pointer->index >= rows->size()) {
        candidate.row =
            ShowUndecodable(key, {ErrorCode::kInvalid, "its pack does not hold it", {}});
    } else {
        const std::string& bytes = (*rows)[candidate.pointer->index];
        candidate.row = DecodeOrShow(key, bytes);
        candidate.lacks_payload = LacksPayload(bytes);
    }
}

Async<Result<void>> ExecutionReader::Complete(std::vector<Candidate>& candidates) {
    std::vector<Execution*> rows;
    for (Candidate& candidate : candidates) {
        if (candidate.row && candidate.lacks_payload) rows.push_back(&*candidate.row);
    }
    return RestorePayloads(snapshot_, keys_, std::move(rows));
}

Async<Result<std::vector<ExecutionReader::Source>>> ExecutionReader::Open(
    const ExecutionFilter& filter) {
    const Result<std::vector<Partition>> partitions = co_await snapshot_.Partitions(keys_);
    if (!partitions) co_return std::unexpected(partitions.error());
    const Serial from = filter.created_from == Time{} ? 0 : SerialAt(filter.created_from);
    Serial below = filter.created_to == Time{} ? 0 : SerialAt(filter.created_to);
    const bool none = filter.created_to != Time{} && below == 0;  // Before serials began.
    if (filter.before != 0) below = below == 0 ? filter.before : std::min(below, filter.before);
    std::vector<Source> sources;
    if (none || (below != 0 && from >= below)) co_return sources;
    std::vector<std::string> serial_keys;
    for (const Partition p : *partitions) serial_keys.push_back(keys_.LastSerial(p));
    const auto serials = co_await snapshot_.Get(std::move(serial_keys));
    if (!serials) co_return std::unexpected(serials.error());
    for (std::size_t i = 0; i < partitions->size(); ++i) {
        const auto& last = (*serials)[i];
        Source source{.partition = (*partitions)[i], .from = from, .below = below};
        source.top = (last ? ParseHex(last->value()).value_or(0) : 0) + 1;
        for (const bool live : {true, false}) {
            source.live = live;
            if (WantsPlace(filter, live)) sources.push_back(source);
        }
    }
    co_return sources;
}

Async<Result<Rows>> ExecutionReader::ReadWindow(Source& source, std::size_t rows_max) {
    const Serial top = source.below == 0 ? source.top : source.below;
    const Serial lower = std::max(source.from, top - std::min(top, source.window));
    Result<Rows> rows = co_await snapshot_.Range(
        source.live ? keys_.LiveRange(source.partition, lower, source.below)
                    : keys_.HistoryRange(source.partition, lower, source.below),
        rows_max);
    if (!rows) co_return rows;
    const auto last = rows->more ? ParseExecutionKey(rows->kvs.back().key()) : std::nullopt;
    source.below = last ? last->serial : lower;
    source.ended = source.below <= source.from;
    if (rows->more)
        source.window = std::max(source.window / 2, Serial{1});
    else if (rows->kvs.size() < rows_max / 4)
        source.window = std::min(source.window, top) * 8;
    co_return rows;
}

Async<Result<void>> ExecutionReader::Fill(Source& source, const ExecutionFilter& filter) {
    // Ends: each turn comes closer to the oldest serial, in steps that grow while they find
    // nothing.
    while (source.page.empty() && !source.ended) {
        const std::size_t rows_max =
            source.live ? std::min(filter.limit, kLivePageRows) : kPointerPageRows;
        const Result<Rows> rows = co_await ReadWindow(source, rows_max);
        if (!rows) co_return std::unexpected(rows.error());
        for (const pb::KeyValue& kv : rows->kvs) {
            Candidate candidate = FromKey(source.live, kv);
            if (!candidate.row && !candidate.pointer) continue;  // Not a key of ours.
            const bool wanted = candidate.row ? Matches(filter, *candidate.row)
                                              : MayMatch(filter, *candidate.pointer);
            if (wanted) source.page.push_back(std::move(candidate));
        }
        std::ranges::reverse(source.page);
    }
    co_return {};
}

Async<Result<std::optional<ExecutionReader::Candidate>>> ExecutionReader::Next(
    std::vector<Source>& sources, const ExecutionFilter& filter) {
    Source* newest = nullptr;
    for (Source& source : sources) {
        const Result<void> filled = co_await Fill(source, filter);
        if (!filled) co_return std::unexpected(filled.error());
        if (source.page.empty()) continue;
        if (!newest || source.page.back().serial > newest->page.back().serial) newest = &source;
    }
    if (!newest) co_return std::nullopt;
    std::optional<Candidate> next(std::move(newest->page.back()));
    newest->page.pop_back();
    co_return next;
}

Async<Result<std::vector<Execution>>> ExecutionReader::List(ExecutionFilter filter) {
    ListPage page(filter);
    Result<std::vector<Source>> sources = co_await Open(filter);
    if (!sources) co_return std::unexpected(sources.error());
    // In portions: what the last of them brings too much is bounded.
    for (bool ended = false; !page.full() && !ended;) {
        std::vector<Candidate> candidates;
        const std::size_t room = std::min(filter.limit - page.rows().size(), kPortionRows);
        while (candidates.size() < room && !ended) {
            Result<std::optional<Candidate>> next = co_await Next(*sources, filter);
            if (!next) co_return std::unexpected(next.error());
            ended = !next->has_value();
            if (!ended) candidates.push_back(std::move(**next));
        }
        const Result<void> resolved = co_await Resolve(candidates);
        if (!resolved) co_return std::unexpected(resolved.error());
        std::erase_if(candidates,
                      [&](const Candidate& candidate) { return !Matches(filter, *candidate.row); });
        if (!filter.brief) {
            const Result<void> completed = co_await Complete(candidates);
            if (!completed) co_return std::unexpected(completed.error());
        }
        for (Candidate& candidate : candidates) {
            if (!page.full()) page.Add(std::move(*candidate.row));
        }
    }
    co_return page.TakeRows();
}

}  // namespace takt::internal::etcd
