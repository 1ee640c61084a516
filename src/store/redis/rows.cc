#include "store/redis/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <optional>

#include "base/json.h"
#include "base/log.h"
#include "base/number.h"
#include "model/record.h"
#include "store/redis/keys.h"

namespace takt::internal::redis {
namespace {

std::int64_t Ms(Time time) {
    return time.time_since_epoch().count();
}

std::string_view CutWord(std::string_view& text) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    return word;
}

// With the space that ends it.
void AppendWord(std::string_view word, std::string& to) {
    to += word;
    to += ' ';
}
template <std::integral Number>
void AppendNumber(Number number, std::string& to) {
    std::array<char, 24> digits;
    const char* end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    AppendWord({digits.data(), static_cast<std::size_t>(end - digits.data())}, to);
}

constexpr std::size_t kKindDigits = 3;
constexpr std::string_view kNoToken = "-";
constexpr char kProgressMark = 'p';  // Before the number of its bytes; only runs have any.

// The part that scripts look at: a line with the length of each text, and the texts. And what is
// known of a row whose record cannot be read.
struct Head {
    Serial serial = 0;
    std::string_view type, queue, task;  // `task` is empty if it has the execution's id.
    std::string_view rest;
};

std::optional<Head> ReadHead(std::string_view text) {
    const std::size_t line = text.find('\n');
    if (line == std::string_view::npos) return std::nullopt;
    std::string_view words = text.substr(0, line);
    Head head{.rest = text.substr(line + 1)};
    CutWord(words);  // The status, which stands in the record too.
    head.serial = ParseNumber<Serial>(CutWord(words)).value_or(0);
    for (std::string_view* part : {&head.type, &head.queue, &head.task}) {
        const auto length = ParseNumber<std::size_t>(CutWord(words));
        if (!length || *length > head.rest.size()) return std::nullopt;
        *part = head.rest.substr(0, *length);
        head.rest.remove_prefix(*length);
    }
    return head;
}

// Takes values out and remembers the first that is not what it should be.
class Taker {
  public:
    Time At(std::string_view name, std::optional<std::string_view> text, Time usual = {}) {
        if (!text) return usual;
        if (text->empty()) return {};
        // Some 35,000 years, as everywhere in stored records: beyond, sums could overflow.
        constexpr std::int64_t kMax = std::int64_t{1} << 50;
        const auto ms = ParseNumber<std::int64_t>(*text);
        if (!Expect(ms && *ms >= -kMax && *ms <= kMax, name)) return {};
        return Time(Duration(*ms));
    }
    template <typename Number>
    Number Value(std::string_view name, std::optional<std::string_view> text, Number usual) {
        if (!text) return usual;
        const auto number = ParseNumber<Number>(*text);
        return Expect(number.has_value(), name) ? *number : usual;
    }
    bool Expect(bool condition, std::string_view name) {
        if (!condition && fault_.empty()) fault_ = fmt::format("field {} is not readable", name);
        return condition;
    }
    void Note(const Error& error) {
        if (fault_.empty()) fault_ = error.detail;
    }
    const std::string& fault() const { return fault_; }

  private:
    std::string fault_;
};

void TakeState(Taker& take, std::string_view state, Execution& row) {
    const std::size_t line = state.find('\n');
    if (!take.Expect(line != std::string_view::npos, "state")) return;
    std::string_view words = state.substr(0, line);
    const auto status = ParseStatus(CutWord(words));
    if (take.Expect(status.has_value(), "state, the status")) row.status = *status;
    row.attempt = take.Value<std::uint32_t>("state, attempts", CutWord(words), 0);
    row.failures = take.Value<std::uint32_t>("state, attempts", CutWord(words), 0);
    row.losses = take.Value<std::uint32_t>("state, attempts", CutWord(words), 0);
    row.epoch = take.Value<std::uint64_t>("state, the epoch", CutWord(words), 0);
    if (const std::string_view token = CutWord(words); token != kNoToken) {
        const auto parsed = ParseToken(token);
        if (take.Expect(parsed.has_value(), "state, the token")) row.token = *parsed;
    }
    row.ready_at = take.At("state, ready", CutWord(words));
    row.started_at = take.At("state, started", CutWord(words));
    row.finished_at = take.At("state, finished", CutWord(words));
    std::string_view rest = state.substr(line + 1);
    row.progress = {};
    if (words.starts_with(kProgressMark) && words.contains(' ')) {
        const auto size =
            take.Value<std::size_t>("state, the progress", CutWord(words).substr(1), 0);
        if (!take.Expect(size <= rest.size(), "state, the progress")) return;
        row.progress = Text(rest.substr(0, size));
        rest.remove_prefix(size);
    }
    if (!words.empty()) row.worker = WorkerId(Text(words));
    if (auto outcome = DecodeOutcome(rest)) {
        row.outcome = std::move(*outcome);
    } else {
        take.Note(outcome.error());
    }
}

// The rest of a row that cannot be read: enough to see which one it is and to end it.
Execution Undecodable(std::string_view id, Serial serial, const std::optional<Head>& head,
                      const std::string& why) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId(Text(head && !head->task.empty() ? head->task : id));
    task->queue = Text("default");
    if (head) {
        task->type = task->name = Text(head->type);
        if (!head->queue.empty()) task->queue = Text(head->queue);
    }
    Execution row;
    row.serial = serial == 0 && head ? head->serial : serial;
    row.created_at = TimeOf(row.serial);
    row.id = ExecutionId(task->id.view() == id ? task->id.text() : Text(id));
    row.task = task;
    row.status = Status::kFailed;
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = Reason::kUndecodable;
    outcome->message = Text("the stored record cannot be read: " + why);
    row.outcome = outcome;
    return row;
}

}  // namespace

// Written by hand: fmt would take a tenth of what the scheduler uses for a task.
std::string StateText(const Execution& row) {
    const std::string_view progress = row.progress;
    const std::string outcome = EncodeOutcome(row.outcome);
    std::string text;
    text.reserve(192 + progress.size() + outcome.size());
    AppendWord(Name(row.status), text);
    AppendNumber(row.attempt, text);
    AppendNumber(row.failures, text);
    AppendNumber(row.losses, text);
    AppendNumber(row.epoch, text);
    if (row.token == Token{}) {
        text += kNoToken;
    } else {
        text += TokenText(row.token);
    }
    text += ' ';
    AppendNumber(Ms(row.ready_at), text);
    AppendNumber(Ms(row.started_at), text);
    AppendNumber(Ms(row.finished_at), text);
    if (!progress.empty()) {
        text += kProgressMark;
        AppendNumber(progress.size(), text);
    }
    text += row.worker.view();
    text += '\n';
    text += progress;
    text += outcome;
    return text;
}

std::string ExecutionText(const Execution& row) {
    const Task& task = *row.task;
    const std::string_view task_id =
        task.id.view() == row.id.view() ? std::string_view() : task.id.view();
    const std::string record = EncodeExecution(row);
    std::string text;
    text.reserve(128 + task.type.size() + task.queue.size() + task_id.size() + record.size());
    AppendWord(Name(row.status), text);
    AppendNumber(row.serial, text);
    AppendNumber(task.type.size(), text);
    AppendNumber(task.queue.size(), text);
    AppendNumber(task_id.size(), text);
    text += row.worker.view();
    text += '\n';
    text += task.type.view();
    text += task.queue.view();
    text += task_id;
    text += record;
    return text;
}

Execution ReadExecution(std::string_view id, Serial serial, ReplyView text, ReplyView state) {
    if (text.is_nil()) return Undecodable(id, serial, {}, "it is gone");
    const std::optional<Head> head = ReadHead(text.text());
    if (!head) return Undecodable(id, serial, {}, "its first line is not readable");
    Result<Execution> row = DecodeExecution(head->rest);
    if (!row) return Undecodable(id, serial, head, row.error().detail);
    Taker take;
    take.Expect(row->id.view() == id && (serial == 0 || row->serial == serial), "id");
    if (!state.is_nil()) TakeState(take, state.text(), *row);
    if (!take.fault().empty()) return Undecodable(id, serial, head, take.fault());
    return std::move(*row);
}

Execution ReadMember(ReplyView row) {
    const std::string_view member = row[0].text();
    const auto serial = ParseNumber<Serial>(member.substr(0, kSerialDigits));
    const std::string_view id =
        member.size() > kSerialDigits ? member.substr(kSerialDigits + 1) : std::string_view();
    return ReadExecution(id, serial.value_or(0), row[1], row[2]);
}

std::vector<Worker> ReadWorkers(ReplyView hash) {
    std::vector<Worker> rows;
    for (std::size_t i = 0; i + 1 < hash.size(); i += 2) {
        Result<Worker> row = DecodeWorker(hash[i + 1].text());
        if (row) {
            rows.push_back(std::move(*row));
        } else {
            Log(LogLevel::kError, "store", "a stored worker cannot be read",
                {{"worker", hash[i].text()}, {"error", row.error().detail}});
        }
    }
    std::ranges::sort(rows, {}, &Worker::id);
    return rows;
}

std::vector<SettingPut> ReadSettings(ReplyView hash) {
    std::vector<SettingPut> rows;
    for (std::size_t i = 0; i + 1 < hash.size(); i += 2) {
        rows.push_back({Text(hash[i].text()), Text(hash[i + 1].text())});
    }
    std::ranges::sort(rows, {}, &SettingPut::key);
    return rows;
}

std::vector<TaskRow> ReadTasks(ReplyView page) {
    std::vector<TaskRow> rows;
    for (std::size_t i = 1; i < page.size(); ++i) {
        Result<TaskRow> row = DecodeTaskRow(page[i][1].text());
        if (row) {
            rows.push_back(std::move(*row));
        } else {
            Log(LogLevel::kError, "store", "a stored task cannot be read; it does not fire",
                {{"task", page[i][0].text()}, {"error", row.error().detail}});
        }
    }
    return rows;
}

std::vector<RecordPut> ReadRecords(ReplyView page) {
    std::vector<RecordPut> rows;
    for (std::size_t i = 1; i < page.size(); ++i) {
        const std::string_view id = page[i][0].text();
        const auto kind = ParseNumber<std::uint8_t>(id.substr(0, kKindDigits));
        if (kind && id.size() > kKindDigits && id[kKindDigits] == ':') {
            rows.push_back({static_cast<RecordKind>(*kind), Text(id.substr(kKindDigits + 1)),
                            Text(page[i][1].text())});
        } else {
            Log(LogLevel::kError, "store", "a stored record has a name that is none",
                {{"record", id}});
        }
    }
    return rows;
}

std::string RecordId(RecordKind kind, std::string_view key) {
    return fmt::format("{:03}:{}", static_cast<unsigned>(kind), key);
}

std::string AuditText(const AuditRow& row) {
    return fmt::format("{}:{}:{}", SerialDigits(row.serial), Ms(row.at), row.body.view());
}

Result<AuditRow> ReadAuditText(std::string_view member) {
    Taker take;
    AuditRow row;
    const std::string_view at = member.substr(std::min(member.size(), kSerialDigits + 1));
    const std::size_t colon = at.find(':');
    if (colon == std::string_view::npos) return Fail(ErrorCode::kInvalid, "not a row of the audit");
    row.serial = take.Value<Serial>("serial", member.substr(0, kSerialDigits), 0);
    row.at = take.At("at", at.substr(0, colon));
    row.body = Text(at.substr(colon + 1));
    if (!take.fault().empty()) return Fail(ErrorCode::kInvalid, take.fault());
    return row;
}

void WriteEvent(const Event& row, RespWriter& to) {
    to.Arg(Name(row.type)).Arg(row.execution.view()).Arg(row.task.view()).Arg(row.worker.view());
    to.Arg(row.attempt).Arg(Ms(row.at)).Arg(row.detail.view());
}

Result<Event> ReadEvent(ReplyView entry) {
    const Result<Serial> serial = SerialOfStreamId(entry[0].text());
    if (!serial) return std::unexpected(serial.error());
    Taker take;
    Event row{.serial = *serial};
    const ReplyView fields = entry[1];
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
        const std::string_view name = fields[i].text();
        const std::string_view value = fields[i + 1].text();
        if (name == "type") {
            const auto type = ParseEventType(value);
            if (take.Expect(type.has_value(), "type")) row.type = *type;
        } else if (name == "execution") {
            row.execution = ExecutionId(Text(value));
        } else if (name == "task") {
            row.task = TaskId(Text(value));
        } else if (name == "worker") {
            row.worker = WorkerId(Text(value));
        } else if (name == "attempt") {
            row.attempt = take.Value<std::uint32_t>("attempt", value, 0);
        } else if (name == "at") {
            row.at = take.At("at", value);
        } else if (name == "detail") {
            row.detail = Text(value);
        }
    }
    if (!take.fault().empty()) return Fail(ErrorCode::kInvalid, take.fault());
    return row;
}

void AppendEventJson(std::string& out, const Event& row) {
    JsonWriter json(out);
    json.BeginObject().Field("serial", row.serial).Field("type", Name(row.type));
    json.Field("at", row.at).Field("task", row.task.view());
    json.Field("execution", row.execution.view()).Field("worker", row.worker.view());
    json.Field("attempt", row.attempt).Field("detail", row.detail.view());
    json.EndObject();
}

std::string EndedText(Time at, std::string_view member) {
    return fmt::format("{} {}", Ms(at), member);
}

std::string ChunkText(const LogChunk& row) {
    return fmt::format("{} {} {} {}", SerialDigits(row.index), row.attempt, Ms(row.at),
                       row.lines.view());
}

Result<LogChunk> ReadChunkText(const ExecutionId& execution, std::string_view text) {
    Taker take;
    LogChunk row{.execution = execution};
    row.index = take.Value<Serial>("index", CutWord(text), 0);
    row.attempt = take.Value<std::uint32_t>("attempt", CutWord(text), 0);
    row.at = take.At("at", CutWord(text));
    row.lines = Text(text);
    if (!take.fault().empty()) return Fail(ErrorCode::kInvalid, take.fault());
    return row;
}

Result<LogChunk> ReadLogChunk(const ExecutionId& execution, ReplyView entry) {
    const std::string_view id = entry[0].text();
    const std::size_t dash = id.find('-');
    const auto index = ParseNumber<Serial>(id.substr(0, dash));
    const auto rest =
        dash == std::string_view::npos ? std::nullopt : ParseNumber<Serial>(id.substr(dash + 1));
    if (!index || !rest) return Fail(ErrorCode::kInvalid, "not the id of a stream entry");
    Taker take;
    // A chunk that came out of order was put right behind the last one.
    LogChunk row{.execution = execution, .index = *index + *rest};
    const ReplyView fields = entry[1];
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
        const std::string_view name = fields[i].text();
        const std::string_view value = fields[i + 1].text();
        if (name == "attempt") row.attempt = take.Value<std::uint32_t>("attempt", value, 0);
        if (name == "at") row.at = take.At("at", value);
        if (name == "lines") row.lines = Text(value);
    }
    if (!take.fault().empty()) return Fail(ErrorCode::kInvalid, take.fault());
    return row;
}

}  // namespace takt::internal::redis
