#include "model/run_progress.h"

#include <algorithm>
#include <array>

#include "model/names.h"
#include "model/record_scratch.h"
#include "model/wire_writer.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

using record::Scratch;

constexpr std::array<std::string_view, 8> kStepStatuses = {
    "pending", "pending", "running", "running", "success", "failed", "cancelled", "skipped",
};

// Far from where sums of times overflow, as model/record.h promises.
constexpr std::int64_t kProgressTimeMax = std::int64_t{1} << 50;

constexpr std::uint32_t kStepsField = 5;  // Of record.proto's RunProgress.

std::int64_t MsOf(Time time) {
    return time.time_since_epoch().count();
}

// The fields of record.proto's StepProgress.
void Put(const StepProgress& step, WireWriter& to) {
    // Most of a long run has yet to begin.
    if (step.status == StepStatus::kWaiting && step.rounds.empty()) return;
    to.Number(1, static_cast<std::uint32_t>(step.status));
    to.Number(2, step.by_failure);
    to.Number(3, step.total);
    to.Number(4, step.cursor);
    to.Number(5, step.success);
    to.Number(6, step.failed);
    to.Number(7, step.cancelled);
    to.Number(8, step.skipped);
    if (step.success < step.total) to.Bytes(9, step.succeeded.bytes());
    if (!step.rounds.empty()) {
        const std::size_t rounds = to.Begin(10);
        for (const std::uint32_t round : step.rounds) to.Packed(round);
        to.End(rounds);
    }
    for (const Text& worker : step.workers) to.Item(11, worker);
    to.Number(12, static_cast<std::uint64_t>(MsOf(step.started_at)));
    to.Number(13, static_cast<std::uint64_t>(MsOf(step.finished_at)));
    to.Bytes(14, step.note);
}

// The fields of RunEnding.
void Put(const RunEnding& ending, WireWriter& to) {
    to.Number(1, static_cast<std::uint32_t>(ending.status));
    to.Number(2, static_cast<std::uint32_t>(ending.reason));
    to.Bytes(3, ending.message);
    to.Bytes(4, ending.data);
    to.Number(5, ending.cleaning);
}

bool InTime(std::int64_t ms) {
    return ms >= -kProgressTimeMax && ms <= kProgressTimeMax;
}

// False if a value is out of its bounds.
bool Take(const record::StepProgress& from, StepProgress& step) {
    const bool sane = from.status() <= std::uint32_t(StepStatus::kSkipped) &&
                      from.total() <= kStepChildrenMax && from.cursor() <= from.total() &&
                      from.success() <= from.total() && InTime(from.started_at_ms()) &&
                      InTime(from.finished_at_ms());
    if (!sane) return false;
    step.status = static_cast<StepStatus>(from.status());
    step.by_failure = from.by_failure();
    step.total = from.total();
    step.cursor = from.cursor();
    step.success = from.success();
    step.failed = from.failed();
    step.cancelled = from.cancelled();
    step.skipped = from.skipped();
    if (step.success < step.total) {
        step.succeeded = ChildBits::From(from.succeeded());
    } else {
        for (std::uint32_t i = 0; i < step.total; ++i) step.succeeded.Set(i);
    }
    step.rounds.assign(from.rounds().begin(), from.rounds().end());
    step.workers.assign(from.workers().begin(), from.workers().end());
    step.started_at = Time(Duration(from.started_at_ms()));
    step.finished_at = Time(Duration(from.finished_at_ms()));
    step.note = from.note();
    return true;
}

bool TakeHead(const record::RunProgress& from, RunProgress& progress) {
    progress.round = from.round();
    progress.children = from.children();
    progress.depth = from.depth();
    if (!from.has_ending()) return true;
    const record::RunEnding& ending = from.ending();
    if (ending.status() >= std::uint32_t(kStatusCount) ||
        ending.reason() > std::uint32_t(kReasonLast)) {
        return false;
    }
    progress.ending = RunEnding{.status = static_cast<Status>(ending.status()),
                                .reason = static_cast<Reason>(ending.reason()),
                                .message = ending.message(),
                                .data = ending.data(),
                                .cleaning = ending.cleaning()};
    return true;
}

// The fields of RunProgress but its steps.
void PutHead(const RunProgress& progress, WireWriter& to) {
    to.Number(1, progress.round);
    to.Number(2, progress.children);
    to.Number(3, progress.depth);
    if (!progress.ending) return;
    const std::size_t ending = to.Begin(4);
    Put(*progress.ending, to);
    to.End(ending);
}

std::unexpected<Error> NotProgress() {
    return Fail(ErrorCode::kInvalid, "the stored bytes are not the progress of such a run");
}

// Two of 64 bits, from different starts: enough to tell apart whatever ids there are.
std::uint64_t Fnv(std::string_view text, std::uint64_t hash) {
    for (const char c : text) hash = (hash ^ std::uint8_t(c)) * 0x100000001b3ull;
    return hash;
}

// The id with what is added; if that is longer than an id may be, a digest stands for the id.
ExecutionId Spell(std::string_view id, const std::string& added) {
    if (id.size() + added.size() <= kIdBytesMax) return ExecutionId(Text(std::string(id) + added));
    constexpr std::uint64_t kSerialBits = (std::uint64_t{1} << 63) - 1;
    const std::string digest = SerialText(Fnv(id, 0xcbf29ce484222325ull) & kSerialBits) +
                               SerialText(Fnv(id, 0x9ae16a3b2f90404full) & kSerialBits);
    return ExecutionId(Text(digest + added));
}

}  // namespace

std::string_view Name(StepStatus status) {
    return names::Find(kStepStatuses, status);
}

void ChildBits::Set(std::uint32_t index) {
    if (index / 8 >= bytes_.size()) bytes_.resize(index / 8 + 1);
    bytes_[index / 8] = static_cast<char>(std::uint8_t(bytes_[index / 8]) | 1u << (index % 8));
}

ChildBits ChildBits::From(std::string bytes) {
    ChildBits bits;
    bits.bytes_ = std::move(bytes);
    return bits;
}

RunProgress NewProgress(const Workflow& workflow) {
    RunProgress progress;
    progress.steps.resize(workflow.steps().size());
    return progress;
}

std::string EncodeProgress(const RunProgress& progress, std::span<Text> over) {
    WireWriter writer;
    PutHead(progress, writer);
    for (std::size_t i = 0; i < progress.steps.size(); ++i) {
        const StepProgress& step = progress.steps[i];
        const bool remembered = i < over.size();
        if (remembered && !over[i].empty()) {
            writer.Item(kStepsField, over[i]);
            continue;
        }
        const std::size_t begin = writer.Begin(kStepsField);
        Put(step, writer);
        if (remembered && IsOver(step.status)) over[i] = Text(writer.Since(begin));
        writer.End(begin);
    }
    return writer.Take();
}

Result<RunProgress> DecodeProgress(std::string_view bytes, std::size_t steps) {
    Scratch<record::RunProgress> scratch;
    RunProgress progress;
    if (!scratch.Decode(bytes) || std::size_t((*scratch).steps_size()) != steps) {
        return NotProgress();
    }
    if (!TakeHead(*scratch, progress)) return NotProgress();
    for (const record::StepProgress& step : (*scratch).steps()) {
        if (!Take(step, progress.steps.emplace_back())) return NotProgress();
    }
    return progress;
}

std::string EncodeProgressHead(const RunProgress& progress) {
    WireWriter writer;
    PutHead(progress, writer);
    return writer.Take();
}

Result<RunProgress> DecodeProgressHead(std::string_view bytes) {
    Scratch<record::RunProgress> scratch;
    RunProgress progress;
    if (!scratch.Decode(bytes) || !TakeHead(*scratch, progress)) return NotProgress();
    return progress;
}

ExecutionId ChildId(const ExecutionId& run, const ChildPlace& place) {
    std::string added = "~" + std::to_string(place.step) + "." + std::to_string(place.index);
    if (place.round > 0) added += "." + std::to_string(place.round);
    return Spell(run.view(), added);
}

ExecutionId BackfillId(const TaskId& task, Time due) {
    return Spell(task.view(), "~d" + std::to_string(MsOf(due)));
}

bool IsChildId(std::string_view id) {
    const std::size_t mark = id.rfind('~');
    if (mark == id.npos || mark == 0) return false;
    std::string_view tail = id.substr(mark + 1);
    if (!tail.empty() && tail[0] == 'd') tail.remove_prefix(1);
    return !tail.empty() && tail.find_first_not_of("0123456789.-") == tail.npos;
}

}  // namespace takt::internal
