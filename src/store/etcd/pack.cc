#include "store/etcd/pack.h"

#include <zstd.h>

#include <algorithm>

#include "etcd_record.pb.h"
#include "model/record.h"
#include "store/etcd/payload.h"

namespace takt::internal::etcd {
namespace {

// A pack holds what one commit brought, at most a request of 1.5 MiB; far more than this after
// decompression is not ours.
constexpr std::size_t kPackBytesMax = 64u << 20;
// Below, the frame of the compression eats what it saves.
constexpr std::size_t kCompressMin = 512;
// The fastest ordinary level: a pack of 60 KB takes a tenth of a millisecond.
constexpr int kCompressLevel = 1;
constexpr std::string_view kApartMark = "p";

std::uint32_t Hash(std::string_view text) {
    std::uint32_t hash = 2166136261u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

std::unexpected<Error> NotAPack() {
    return Fail(ErrorCode::kInvalid, "the stored bytes are not a pack of rows");
}

Result<std::string> Decompress(const std::string& bytes) {
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
        size > kPackBytesMax) {
        return NotAPack();
    }
    std::string out(size, '\0');
    const std::size_t done = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(done) || done != size) return NotAPack();
    return out;
}

}  // namespace

std::string EncodePack(const std::vector<std::string>& rows) {
    record::Pack pack;
    for (const std::string& row : rows) pack.add_rows(row);
    std::string plain = pack.SerializeAsString();
    if (plain.size() < kCompressMin) return plain;
    std::string compressed(ZSTD_compressBound(plain.size()), '\0');
    const std::size_t size = ZSTD_compress(compressed.data(), compressed.size(), plain.data(),
                                           plain.size(), kCompressLevel);
    if (ZSTD_isError(size) || size >= plain.size()) return plain;
    compressed.resize(size);
    record::Pack outer;
    outer.set_compressed(std::move(compressed));
    return outer.SerializeAsString();
}

Result<std::vector<std::string>> DecodePack(std::string_view bytes) {
    record::Pack pack;
    if (!pack.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return NotAPack();
    if (!pack.compressed().empty()) {
        const Result<std::string> plain = Decompress(pack.compressed());
        if (!plain) return std::unexpected(plain.error());
        if (!pack.ParseFromString(*plain) || !pack.compressed().empty()) return NotAPack();
    }
    return std::vector<std::string>(std::make_move_iterator(pack.mutable_rows()->begin()),
                                    std::make_move_iterator(pack.mutable_rows()->end()));
}

Kin KinOf(const Execution& row) {
    return row.parent.empty() ? Kin::kOwn : Kin::kChild;
}

ExecutionKey KeyOf(const Execution& row) {
    return {row.serial, row.id.view()};
}

std::string PackKey(const Keys& keys, Partition partition, PackName pack, std::string_view run) {
    return run.empty() ? keys.Pack(partition, pack) : keys.RunPack(partition, run, pack);
}

std::string ChildMark(const Execution& row) {
    return KeepsPayloadApart(row) ? std::string(kApartMark) : std::string();
}

bool HasPayloadApart(std::string_view child_mark) {
    return child_mark == kApartMark;
}

std::string EncodePointer(const Execution& row, PackName pack, std::uint32_t index) {
    record::Pointer pointer;
    pointer.set_epoch(pack.epoch);
    pointer.set_sequence(pack.sequence);
    pointer.set_index(index);
    pointer.set_status(static_cast<std::uint32_t>(row.status));
    pointer.set_task_hash(Hash(row.task->id.view()));
    pointer.set_worker_hash(Hash(row.worker.view()));
    pointer.set_type_hash(Hash(row.task->type.view()));
    pointer.set_queue_hash(Hash(row.task->queue.view()));
    pointer.set_run(row.parent.text().str());
    return pointer.SerializeAsString();
}

Result<Pointer> DecodePointer(std::string_view bytes) {
    record::Pointer pointer;
    if (!pointer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
        pointer.status() > static_cast<std::uint32_t>(Status::kSkipped)) {
        return Fail(ErrorCode::kInvalid, "the stored bytes are not a pointer to a finished row");
    }
    return Pointer{{pointer.epoch(), pointer.sequence()},
                   pointer.run(),
                   pointer.index(),
                   static_cast<Status>(pointer.status()),
                   pointer.task_hash(),
                   pointer.worker_hash(),
                   pointer.type_hash(),
                   pointer.queue_hash()};
}

bool MayMatch(const ExecutionFilter& filter, const Pointer& pointer) {
    const bool status = filter.statuses.empty() ||
                        std::ranges::find(filter.statuses, pointer.status) != filter.statuses.end();
    return status && (!filter.task || Hash(filter.task->view()) == pointer.task_hash) &&
           (!filter.worker || Hash(filter.worker->view()) == pointer.worker_hash) &&
           (!filter.type || Hash(filter.type->view()) == pointer.type_hash) &&
           (!filter.queue || Hash(filter.queue->view()) == pointer.queue_hash);
}

std::string EncodeAudit(const AuditRow& row) {
    record::Audit to;
    to.set_at_ms(row.at.time_since_epoch().count());
    to.set_body(row.body.str());
    return to.SerializeAsString();
}

Result<AuditRow> DecodeAudit(Serial serial, std::string_view bytes) {
    record::Audit from;
    if (!from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return Fail(ErrorCode::kInvalid, "the stored bytes are not a row of the audit");
    }
    return AuditRow{serial, Time(Duration(from.at_ms())), from.body()};
}

std::string EncodeLogChunk(const LogChunk& chunk) {
    record::LogChunk to;
    to.set_attempt(chunk.attempt);
    to.set_at_ms(chunk.at.time_since_epoch().count());
    to.set_lines(chunk.lines.str());
    return to.SerializeAsString();
}

Result<LogChunk> DecodeLogChunk(const ExecutionId& execution, Serial index,
                                std::string_view bytes) {
    record::LogChunk from;
    if (!from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return Fail(ErrorCode::kInvalid, "the stored bytes are not a chunk of a log");
    }
    return LogChunk{execution, index, from.attempt(), Time(Duration(from.at_ms())), from.lines()};
}

Execution ShowUndecodable(const ExecutionKey& key, const Error& error) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId(Text(key.id));
    task->queue = "default";
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = Reason::kUndecodable;
    outcome->message = Text(error.detail);
    Execution row;
    row.serial = key.serial;
    row.id = ExecutionId(Text(key.id));
    row.task = task;
    row.status = Status::kFailed;
    row.created_at = TimeOf(key.serial);
    row.scheduled_at = row.created_at;
    row.finished_at = row.created_at;
    row.outcome = outcome;
    return row;
}

Execution DecodeOrShow(const ExecutionKey& key, std::string_view bytes) {
    Result<Execution> row = DecodeExecution(bytes);
    if (!row) return ShowUndecodable(key, row.error());
    if (row->serial != key.serial || row->id.view() != key.id) {
        return ShowUndecodable(key, {ErrorCode::kInvalid, "the stored record is another's", {}});
    }
    return std::move(*row);
}

}  // namespace takt::internal::etcd
