#include "store/etcd/payload.h"

#include <algorithm>

#include "model/record.h"
#include "store/etcd/limits.h"

namespace takt::internal::etcd {
namespace {

// Field 127 with the value 1, which readers of the record pass over.
constexpr std::string_view kApart = "\xF8\x07\x01";
// Rows of one round trip; each has two payloads of a megabyte at most.
constexpr std::size_t kPayloadsAtOnce = 4;

}  // namespace

bool KeepsPayloadApart(const Execution& row) {
    return row.task->payload.size() + row.payload.size() >= kPayloadApartMin;
}

std::string EncodeRow(const Execution& row) {
    if (!KeepsPayloadApart(row)) return EncodeExecution(row);
    Execution rest = row;
    boost::intrusive_ptr<Task> task(new Task(*row.task));
    task->payload = {};
    rest.task = task;
    rest.payload = {};
    return EncodeExecution(rest) + std::string(kApart);
}

std::string EncodePayload(const Execution& row) {
    // The row as it begins: nothing that an attempt changes belongs here.
    Execution first;
    first.serial = row.serial;
    first.id = row.id;
    first.task = row.task;
    return EncodeExecution(first);
}

bool LacksPayload(std::string_view bytes) {
    return bytes.ends_with(kApart);
}

Async<Result<void>> RestorePayloads(Snapshot& snapshot, const Keys& keys, Partition partition,
                                    std::vector<Execution*> rows) {
    for (std::size_t begin = 0; begin < rows.size(); begin += kPayloadsAtOnce) {
        const std::size_t end = std::min(rows.size(), begin + kPayloadsAtOnce);
        std::vector<std::string> names;
        for (std::size_t i = begin; i < end; ++i) {
            const ExecutionKey key{rows[i]->serial, rows[i]->id.view()};
            names.push_back(keys.Payload(partition, key));
            names.push_back(keys.Override(partition, key));
        }
        const auto values = co_await snapshot.Get(std::move(names));
        if (!values) co_return std::unexpected(values.error());
        for (std::size_t i = begin; i < end; ++i) {
            const auto& value = (*values)[2 * (i - begin)];
            const auto& own = (*values)[2 * (i - begin) + 1];
            Result<Execution> first =
                value ? DecodeExecution(value->value())
                      : Result<Execution>(Fail(ErrorCode::kNotFound, "no payload is kept apart"));
            if (!first) continue;
            rows[i]->task = std::move(first->task);
            rows[i]->payload = own ? Text(own->value()) : std::move(first->payload);
        }
    }
    co_return {};
}

}  // namespace takt::internal::etcd
