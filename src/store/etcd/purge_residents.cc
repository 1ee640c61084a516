// Reads of a purge about the executions in packs: where their pointers are, and what is part of them.
#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "model/record.h"
#include "store/etcd/limits.h"
#include "store/etcd/ops.h"
#include "store/etcd/pack.h"
#include "store/etcd/page.h"
#include "store/etcd/payload.h"
#include "store/etcd/purge_window.h"

namespace takt::internal::etcd {
namespace {

// Executions of one read that asks two things of each; below etcd's 128 operations.
constexpr std::size_t kFamiliesAtOnce = 60;
// Epochs of one look at their first packs, which are 1.5 MiB each at the very most.
constexpr std::uint64_t kEpochsAtOnce = 16;

// When the first of a pack finished; nothing if that cannot be read.
std::optional<Time> FirstIn(const std::string& pack) {
    const Result<std::vector<std::string>> texts = DecodePack(pack);
    if (!texts) return std::nullopt;
    std::optional<Time> first;
    for (const std::string& text : *texts) {
        const Result<Execution> row = DecodeExecution(text);
        if (!row) return std::nullopt;
        first = std::min(first.value_or(row->finished_at), row->finished_at);
    }
    return first;
}

}  // namespace

Async<Result<PurgeWindow::Page>> PurgeWindow::Survey(Cursor cursor) {
    const auto key = [&](PackName name) { return keys_.Pack(partition_, name); };
    Page page{.last = true};
    // Ends: each turn is behind the one before.
    for (std::uint64_t epoch = 0; epoch <= cursor.end.epoch;) {
        const auto first = co_await FindFirst({key({epoch, 0}), key(cursor.end)}, cursor.revision);
        if (!first) co_return std::unexpected(first.error());
        if (!*first) break;
        epoch = (*first)->epoch;
        // Most have a neighbour. Where none has, what follows is looked for again.
        for (bool found = true; found && epoch <= cursor.end.epoch; epoch += kEpochsAtOnce) {
            pb::TxnRequest gets;
            for (std::uint64_t i = 0; i < kEpochsAtOnce; ++i) {
                const PackName end = std::min(PackName{epoch + i, UINT64_MAX}, cursor.end);
                if (PackName{epoch + i, 0} >= end) break;
                *gets.add_success() = RangeOp({key({epoch + i, 0}), key(end)}, 1, cursor.revision);
            }
            const auto answer = co_await client_.Txn(std::move(gets), Effect::kRead);
            if (!answer) co_return std::unexpected(answer.error());
            found = false;
            for (const pb::ResponseOp& response : answer->responses()) {
                for (const pb::KeyValue& kv : response.response_range().kvs()) {
                    const std::optional<PackName> name = ParsePackKey(kv.key());
                    if (!name) continue;
                    found = true;
                    page.places[name->epoch] = {*name, FirstIn(kv.value()).value_or(kUnknown)};
                }
            }
        }
    }
    co_return page;
}

Async<Result<std::vector<PurgeWindow::Pack>>> PurgeWindow::ReadResidents(
    std::vector<pb::KeyValue> rows, std::int64_t revision) {
    struct Place {
        std::size_t pack;
        std::uint32_t index;
    };
    std::vector<Pack> packs;
    std::vector<Resident> residents;
    std::vector<Place> places;
    for (const pb::KeyValue& kv : rows) {
        const std::optional<PackName> name = ParsePackKey(kv.key());
        if (!name) continue;
        const Result<std::vector<std::string>> texts = DecodePack(kv.value());
        if (!texts) {
            Log(LogLevel::kWarning, "store",
                "a pack of finished executions cannot be read; it stays",
                {{"pack", kv.key()}, {"error", texts.error().detail}});
            continue;
        }
        packs.push_back({.name = *name});
        for (std::size_t i = 0; i < texts->size(); ++i) {
            const std::string& bytes = (*texts)[i];
            const Result<Execution> row = DecodeExecution(bytes);
            if (!row) {
                packs.back().stays = true;
                continue;
            }
            residents.push_back({.serial = row->serial,
                                 .id = row->id.text().str(),
                                 .finished_at = row->finished_at,
                                 .payload_apart = LacksPayload(bytes)});
            places.push_back({packs.size() - 1, static_cast<std::uint32_t>(i)});
        }
    }
    std::vector<ExecutionKey> keys;
    for (const Resident& resident : residents) keys.push_back({resident.serial, resident.id});
    const auto families =
        co_await ReadFamilies(client_, keys_, partition_, Kin::kOwn, std::move(keys), revision);
    if (!families) co_return std::unexpected(families.error());
    std::vector<PointerOf> pointers;
    for (std::size_t i = 0; i < residents.size(); ++i) {
        pointers.push_back({&residents[i], (*families)[i].pointer});
    }
    std::vector<PointerOf*> missing;
    for (PointerOf& pointer : pointers) {
        if (!pointer.value) missing.push_back(&pointer);
    }
    const Result<void> read = co_await ReadPages(std::move(missing), revision);
    if (!read) co_return std::unexpected(read.error());
    for (std::size_t i = 0; i < residents.size(); ++i) {
        const Family& family = (*families)[i];
        Pack& pack = packs[places[i].pack];
        if (pointers[i].unreadable) pack.stays = true;
        if (!pointers[i].value) continue;
        const Result<Pointer> pointer = DecodePointer(*pointers[i].value);
        if (!pointer || pointer->pack != pack.name || pointer->index != places[i].index) continue;
        residents[i].has_children = family.has_children;
        pack.residents.push_back(std::move(residents[i]));
    }
    for (Pack& pack : packs) {
        std::ranges::sort(pack.residents, {}, [](const Resident& resident) {
            return std::pair(resident.finished_at, resident.serial);
        });
    }
    co_return packs;
}

Async<Result<void>> PurgeWindow::ReadPages(std::vector<PointerOf*> missing, std::int64_t revision) {
    std::map<Serial, std::pair<Result<PageRows>, std::size_t>> pages;
    std::ranges::sort(missing, {}, [](const PointerOf* one) { return one->resident->serial; });
    // Ends: each turn looks at those that it asks for.
    for (std::size_t next = 0; next < missing.size();) {
        std::vector<PointerOf*> asked;
        pb::TxnRequest gets;
        std::size_t end = next;
        for (; end < missing.size() && asked.size() < kFamiliesAtOnce; ++end) {
            asked.push_back(missing[end]);
            *gets.add_success() = RangeOp(
                PageOf(keys_, partition_, PageSide::kHistory, missing[end]->resident->serial), 1,
                revision);
        }
        const Result<pb::TxnResponse> found = co_await client_.Txn(std::move(gets), Effect::kRead);
        if (!found) co_return std::unexpected(found.error());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto& kvs = found->responses(static_cast<int>(i)).response_range().kvs();
            const auto first = kvs.empty() ? std::nullopt : ParsePageKey(kvs[0].key());
            if (!first) continue;
            if (!pages.contains(*first)) {
                Result<PageRows> rows = DecodePage(*first, kvs[0].value());
                const bool alone = rows && rows->last == *first;
                const std::size_t bytes = alone ? kvs[0].value().size() : kPageBytesMax;
                pages.insert_or_assign(*first, std::pair(std::move(rows), bytes));
            }
            const auto& [page, bytes] = pages.at(*first);
            Resident& resident = *asked[i]->resident;
            asked[i]->unreadable = !page;
            const PageRow* row = page ? FindRow(page->rows, resident.serial) : nullptr;
            if (!row || row->id != resident.id) continue;
            asked[i]->value = row->value;
            resident.page = first;
            resident.page_bytes = bytes;
        }
        next = end;
    }
    co_return {};
}

Async<Result<std::vector<Family>>> ReadFamilies(Client& client, const Keys& keys,
                                                Partition partition, Kin kin,
                                                std::vector<ExecutionKey> executions,
                                                std::int64_t revision) {
    std::vector<Family> families;
    for (std::size_t begin = 0; begin < executions.size(); begin += kFamiliesAtOnce) {
        const std::size_t end = std::min(executions.size(), begin + kFamiliesAtOnce);
        pb::TxnRequest gets;
        for (std::size_t i = begin; i < end; ++i) {
            *gets.add_success() = GetOp(keys.History(partition, kin, executions[i]), revision);
            pb::RequestOp& children = *gets.add_success();
            children = RangeOp(keys.Run(partition, executions[i].id), 1, revision);
            children.mutable_request_range()->set_keys_only(true);
        }
        const Result<pb::TxnResponse> found = co_await client.Txn(std::move(gets), Effect::kRead);
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

}  // namespace takt::internal::etcd
