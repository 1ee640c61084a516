// Executions out of what is stored under a key: one of their own, or a page.
#include "store/etcd/page.h"
#include "store/etcd/payload.h"
#include "store/etcd/reader_executions.h"

namespace takt::internal::etcd {
namespace {

bool InRange(const ExecutionFilter& filter, Serial serial) {
    return (filter.created_from == Time{} || serial >= SerialAt(filter.created_from)) &&
           (filter.created_to == Time{} || serial < SerialAt(filter.created_to)) &&
           (filter.before == 0 || serial < filter.before);
}

}  // namespace

ExecutionReader::Candidate ExecutionReader::FromKey(bool live, const pb::KeyValue& kv) {
    const std::optional<ExecutionKey> key = ParseExecutionKey(kv.key());
    return key ? FromValue(live, *key, kv.value()) : Candidate{};
}

ExecutionReader::Candidate ExecutionReader::FromValue(bool live, ExecutionKey key,
                                                      const std::string& value) {
    Candidate candidate{key.serial, std::string(key.id), {}, {}, false};
    if (live) {
        candidate.row = DecodeOrShow(key, value);
        candidate.lacks_payload = LacksPayload(value);
        return candidate;
    }
    Result<Pointer> pointer = DecodePointer(value);
    if (pointer)
        candidate.pointer = *pointer;
    else
        candidate.row = ShowUndecodable(key, pointer.error());
    return candidate;
}

void ExecutionReader::AddFromPage(bool live, const pb::KeyValue& kv, const ExecutionFilter& filter,
                                  std::vector<Candidate>& candidates) {
    const std::optional<Serial> first = ParsePageKey(kv.key());
    if (!first) return;  // Not a key of ours.
    const Result<PageRows> page = DecodePage(*first, kv.value());
    if (!page) {
        if (!InRange(filter, *first)) return;
        const std::string id = UnreadablePageId(*first);
        candidates.push_back({*first, id, ShowUndecodable({*first, id}, page.error()), {}, false});
        return;
    }
    for (auto row = page->rows.rbegin(); row != page->rows.rend(); ++row) {
        if (!InRange(filter, row->serial)) continue;
        candidates.push_back(FromValue(live, {row->serial, row->id}, row->value));
    }
}

Async<Result<std::vector<ExecutionReader::Candidate>>> ExecutionReader::ReadSpots(
    std::vector<Spot> spots) {
    std::vector<std::string> names;
    for (const Spot& spot : spots) {
        names.push_back(keys_.Live(partition_, spot.kin, {spot.serial, spot.id}));
        names.push_back(keys_.History(partition_, spot.kin, {spot.serial, spot.id}));
    }
    const auto rows = co_await snapshot_.Get(std::move(names));
    if (!rows) co_return std::unexpected(rows.error());
    std::vector<Candidate> candidates(spots.size());
    for (std::size_t i = 0; i < spots.size(); ++i) {
        const auto& live = (*rows)[2 * i];
        const auto& history = (*rows)[2 * i + 1];
        if (live || history) candidates[i] = FromKey(live.has_value(), live ? *live : *history);
    }
    const Result<void> paged = co_await ReadPagesOf(spots, candidates);
    if (!paged) co_return std::unexpected(paged.error());
    co_return candidates;
}

Async<Result<void>> ExecutionReader::ReadPagesOf(const std::vector<Spot>& spots,
                                                 std::vector<Candidate>& candidates) {
    std::vector<std::size_t> missing;
    std::vector<KeyRange> ranges;
    for (std::size_t i = 0; i < spots.size(); ++i) {
        if (spots[i].kin != Kin::kOwn || candidates[i].row || candidates[i].pointer) continue;
        missing.push_back(i);
        for (const PageSide side : {PageSide::kLive, PageSide::kHistory}) {
            ranges.push_back(PageOf(keys_, partition_, side, spots[i].serial));
        }
    }
    const auto pages = co_await snapshot_.Ranges(std::move(ranges), 1);
    if (!pages) co_return std::unexpected(pages.error());
    for (std::size_t i = 0; i < 2 * missing.size(); ++i) {
        const std::vector<pb::KeyValue>& kvs = (*pages)[i].kvs;
        const auto first = kvs.empty() ? std::nullopt : ParsePageKey(kvs[0].key());
        if (!first) continue;
        const Result<PageRows> page = DecodePage(*first, kvs[0].value());
        const Spot& spot = spots[missing[i / 2]];
        if (!page && spot.id == UnreadablePageId(*first)) {
            const ExecutionKey key{*first, spot.id};
            candidates[missing[i / 2]].row = ShowUndecodable(key, page.error());
        }
        const PageRow* row = page ? FindRow(page->rows, spot.serial) : nullptr;
        if (!row || row->id != spot.id) continue;
        candidates[missing[i / 2]] = FromValue(i % 2 == 0, {row->serial, row->id}, row->value);
    }
    co_return {};
}

}  // namespace takt::internal::etcd
