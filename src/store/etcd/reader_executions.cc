#include "store/etcd/reader_executions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "store/etcd/page.h"
#include "store/etcd/payload.h"
#include "store/matches.h"

namespace takt::internal::etcd {
namespace {

// Packs of one round trip: some ten kilobytes each as a rule, a request's 1.5 MiB at most.
constexpr std::size_t kPacksAtOnce = 8;
// Decoded packs that one read keeps; neighbours in a list share packs.
constexpr std::size_t kPacksKept = 64;
constexpr std::size_t kLivePageRows = 100;
// Rows of a list that come out of packs at once, and those that are completed at once, with up to two
// payloads of a megabyte each.
constexpr std::size_t kResolvedRows = 250;
constexpr std::size_t kPortionRows = 32;
constexpr std::size_t kPointerPageRows = 1000;
// Pages of one read, of some kilobytes each; those of rows that may be small have some ten or more.
constexpr std::size_t kPagesAtOnce = 50;

bool IsOfPages(auto kind) {
    using Kind = decltype(kind);
    return kind == Kind::kLivePages || kind == Kind::kHistoryPages;
}

bool WantsPlace(const ExecutionFilter& filter, bool live) {
    return filter.statuses.empty() || std::ranges::any_of(filter.statuses, [&](Status status) {
               return IsTerminal(status) != live;
           });
}

}  // namespace

Async<Result<std::vector<std::optional<Execution>>>> ExecutionReader::Find(
    std::vector<ExecutionId> ids) {
    std::vector<std::optional<Execution>> found(ids.size());
    if (ids.empty()) co_return found;
    std::vector<std::string> id_keys;
    for (const ExecutionId& id : ids) id_keys.push_back(keys_.Id(partition_, id.view()));
    const auto chosen = co_await snapshot_.Get(std::move(id_keys));
    if (!chosen) co_return std::unexpected(chosen.error());

    std::vector<std::size_t> places;  // In `ids`, of each spot.
    std::vector<Spot> spots;
    std::vector<bool> generated;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        std::optional<Serial> spelled = ParseSerialText(ids[i].view());
        if (!spelled) spelled = ParseUnreadablePageId(ids[i].view());
        const auto value = (*chosen)[i] ? ParseIdValue((*chosen)[i]->value()) : std::nullopt;
        if (!value && !spelled) continue;
        places.push_back(i);
        generated.push_back(!value);
        spots.push_back({value ? value->kin : Kin::kOwn, value ? value->serial : *spelled,
                         ids[i].text().str()});
    }
    Result<std::vector<Candidate>> read = co_await ReadSpots(spots);
    if (!read) co_return std::unexpected(read.error());
    std::vector<Candidate> candidates = std::move(*read);
    // A generated id does not say whether its execution is part of a run; most are not.
    std::vector<std::size_t> again;
    std::vector<Spot> child_spots;
    for (std::size_t i = 0; i < spots.size(); ++i) {
        if (candidates[i].row || candidates[i].pointer || !generated[i]) continue;
        again.push_back(i);
        child_spots.push_back({Kin::kChild, spots[i].serial, spots[i].id});
    }
    Result<std::vector<Candidate>> children = co_await ReadSpots(std::move(child_spots));
    if (!children) co_return std::unexpected(children.error());
    for (std::size_t i = 0; i < again.size(); ++i) {
        candidates[again[i]] = std::move((*children)[i]);
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
            std::string key = PackOf(candidate);
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
    const PackRows& rows = packs_.at(PackOf(candidate));
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
    return RestorePayloads(snapshot_, keys_, partition_, std::move(rows));
}

void ExecutionReader::AddSources(const ExecutionFilter& filter, const Source& like,
                                 std::vector<Source>& sources) {
    const auto add = [&](SourceKind kind, Kin kin) {
        sources.push_back(like);
        sources.back().kind = kind;
        sources.back().kin = kin;
    };
    if (filter.parent) return add(SourceKind::kChildren, Kin::kChild);
    for (const Kin kin : {Kin::kOwn, Kin::kChild}) {
        if (kin == Kin::kChild && !filter.children) continue;
        if (WantsPlace(filter, true)) add(SourceKind::kLive, kin);
        if (WantsPlace(filter, false)) add(SourceKind::kHistory, kin);
    }
    // The first page may begin before the range.
    Source pages = like;
    pages.from -= std::min(pages.from, kPageSpan);
    for (const bool live : {true, false}) {
        if (!WantsPlace(filter, live)) continue;
        sources.push_back(pages);
        sources.back().kind = live ? SourceKind::kLivePages : SourceKind::kHistoryPages;
        sources.back().kin = Kin::kOwn;
    }
}

Async<Result<std::vector<ExecutionReader::Source>>> ExecutionReader::Open(
    const ExecutionFilter& filter) {
    const Serial from = filter.created_from == Time{} ? 0 : SerialAt(filter.created_from);
    Serial below = filter.created_to == Time{} ? 0 : SerialAt(filter.created_to);
    const bool none = filter.created_to != Time{} && below == 0;  // Before serials began.
    if (filter.before != 0) below = below == 0 ? filter.before : std::min(below, filter.before);
    std::vector<Source> sources;
    if (none || (below != 0 && from >= below)) co_return sources;
    const auto serials = co_await snapshot_.Get({keys_.LastSerial(partition_)});
    if (!serials) co_return std::unexpected(serials.error());
    const auto& last = serials->front();
    Source source{.from = from, .below = below};
    source.top = (last ? ParseHex(last->value()).value_or(0) : 0) + 1;
    AddSources(filter, source, sources);
    co_return sources;
}

KeyRange ExecutionReader::RangeOf(const Source& source, const ExecutionFilter& filter,
                                  Serial lower) const {
    switch (source.kind) {
        case SourceKind::kLive:
            return keys_.LiveRange(partition_, source.kin, lower, source.below);
        case SourceKind::kHistory:
            return keys_.HistoryRange(partition_, source.kin, lower, source.below);
        case SourceKind::kLivePages:
            return keys_.Pages(partition_, PageSide::kLive, lower, source.below);
        case SourceKind::kHistoryPages:
            return keys_.Pages(partition_, PageSide::kHistory, lower, source.below);
        case SourceKind::kChildren:
            break;
    }
    return keys_.ChildRange(partition_, filter.parent->view(), lower, source.below);
}

Async<Result<Rows>> ExecutionReader::ReadWindow(Source& source, const ExecutionFilter& filter,
                                                std::size_t rows_max) {
    const Serial top = source.below == 0 ? source.top : source.below;
    const Serial lower = std::max(source.from, top - std::min(top, source.window));
    const auto size =
        source.kind == SourceKind::kHistory ? Snapshot::RowSize::kSmall : Snapshot::RowSize::kAny;
    Result<Rows> rows = co_await snapshot_.Range(RangeOf(source, filter, lower), rows_max, size);
    if (!rows) co_return rows;
    std::optional<Serial> last;
    if (rows->more && IsOfPages(source.kind)) {
        last = ParsePageKey(rows->kvs.back().key());
    } else if (rows->more) {
        const auto key = ParseExecutionKey(rows->kvs.back().key());
        if (key) last = key->serial;
    }
    source.below = last.value_or(lower);
    source.ended = source.below <= source.from;
    if (rows->more)
        source.window = std::max(source.window / 2, Serial{1});
    else if (rows->kvs.empty() || rows->kvs.size() < rows_max / 4)
        source.window = std::min(source.window, top) * 8;
    co_return rows;
}

Async<Result<std::vector<ExecutionReader::Candidate>>> ExecutionReader::ReadPage(
    const Source& source, const ExecutionFilter& filter, Rows rows) {
    if (source.kind == SourceKind::kChildren) {
        std::vector<Spot> spots;
        for (const pb::KeyValue& kv : rows.kvs) {
            const auto key = ParseExecutionKey(kv.key());
            if (key) spots.push_back({Kin::kChild, key->serial, std::string(key->id)});
        }
        co_return co_await ReadSpots(std::move(spots));
    }
    std::vector<Candidate> candidates;
    for (const pb::KeyValue& kv : rows.kvs) {
        if (IsOfPages(source.kind)) {
            AddFromPage(source.kind == SourceKind::kLivePages, kv, filter, candidates);
        } else {
            candidates.push_back(FromKey(source.kind == SourceKind::kLive, kv));
        }
    }
    co_return candidates;
}

Async<Result<void>> ExecutionReader::Fill(Source& source, const ExecutionFilter& filter) {
    // Ends: each turn comes closer to the oldest serial, in steps that grow while they find
    // nothing.
    while (source.page.empty() && !source.ended) {
        const std::size_t rows_max = source.kind == SourceKind::kHistory ? kPointerPageRows
                                     : IsOfPages(source.kind)
                                         ? kPagesAtOnce
                                         : std::min(filter.limit, kLivePageRows);
        Result<Rows> rows = co_await ReadWindow(source, filter, rows_max);
        if (!rows) co_return std::unexpected(rows.error());
        auto candidates = co_await ReadPage(source, filter, std::move(*rows));
        if (!candidates) co_return std::unexpected(candidates.error());
        for (Candidate& candidate : *candidates) {
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

Async<Result<void>> ExecutionReader::AddTo(ListPage& page, std::vector<Candidate> candidates,
                                           bool brief) {
    for (auto next = candidates.begin(); next != candidates.end() && !page.full();) {
        const auto left = static_cast<std::size_t>(candidates.end() - next);
        const auto end = next + static_cast<std::ptrdiff_t>(std::min(left, kPortionRows));
        std::vector<Candidate> portion(std::make_move_iterator(next), std::make_move_iterator(end));
        next = end;
        if (!brief) {
            const Result<void> completed = co_await Complete(portion);
            if (!completed) co_return std::unexpected(completed.error());
        }
        for (Candidate& candidate : portion) {
            if (!page.full()) page.Add(std::move(*candidate.row));
        }
    }
    co_return {};
}

Async<Result<std::vector<Execution>>> ExecutionReader::List(ExecutionFilter filter) {
    ListPage page(filter);
    Result<std::vector<Source>> sources = co_await Open(filter);
    if (!sources) co_return std::unexpected(sources.error());
    // In portions: what the last of them brings too much is bounded.
    for (bool ended = false; !page.full() && !ended;) {
        std::vector<Candidate> candidates;
        std::set<std::string> packs;  // To be read for them, in one round trip.
        const std::size_t room = std::min(filter.limit - page.rows().size(), kResolvedRows);
        while (candidates.size() < room && packs.size() < kPacksAtOnce && !ended) {
            Result<std::optional<Candidate>> next = co_await Next(*sources, filter);
            if (!next) co_return std::unexpected(next.error());
            ended = !next->has_value();
            if (ended) break;
            candidates.push_back(std::move(**next));
            if (candidates.back().row) continue;
            std::string pack = PackOf(candidates.back());
            if (!packs_.contains(pack)) packs.insert(std::move(pack));
        }
        const Result<void> resolved = co_await Resolve(candidates);
        if (!resolved) co_return std::unexpected(resolved.error());
        std::erase_if(candidates,
                      [&](const Candidate& candidate) { return !Matches(filter, *candidate.row); });
        const Result<void> added = co_await AddTo(page, std::move(candidates), filter.brief);
        if (!added) co_return std::unexpected(added.error());
    }
    co_return page.TakeRows();
}

}  // namespace takt::internal::etcd
