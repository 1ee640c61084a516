#include "store/redis/rows.h"

#include <fmt/format.h>

#include <algorithm>
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

constexpr int kSerialLowBits = 22;  // Of a serial, below its milliseconds.
constexpr std::string_view kNoToken = "-";

// Fields in one place, so that reading finds what writing wrote.
struct Fields {
    std::optional<std::string_view> serial, state, task, name, type, queue, payload, priority,
        version, timeout, run_at, task_created_at, task_updated_at, options, origin,
        override_payload, created_at, scheduled_at;

    using Member = std::optional<std::string_view> Fields::*;
    static constexpr std::pair<std::string_view, Member> kNames[] = {
        {"serial", &Fields::serial},
        {"state", &Fields::state},
        {"task", &Fields::task},
        {"name", &Fields::name},
        {"type", &Fields::type},
        {"queue", &Fields::queue},
        {"payload", &Fields::payload},
        {"priority", &Fields::priority},
        {"version", &Fields::version},
        {"timeout", &Fields::timeout},
        {"run_at", &Fields::run_at},
        {"task_created_at", &Fields::task_created_at},
        {"task_updated_at", &Fields::task_updated_at},
        {"options", &Fields::options},
        {"origin", &Fields::origin},
        {"override", &Fields::override_payload},
        {"created_at", &Fields::created_at},
        {"scheduled_at", &Fields::scheduled_at},
    };

    explicit Fields(ReplyView hash) {
        for (std::size_t i = 0; i + 1 < hash.size(); i += 2) {
            const std::string_view name = hash[i].text();
            const auto found =
                std::ranges::find(kNames, name, &std::pair<std::string_view, Member>::first);
            // Fields of a later version are not ours to judge.
            if (found != std::end(kNames)) this->*(found->second) = hash[i + 1].text();
        }
    }
};

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

Text TextOf(std::optional<std::string_view> text) {
    return text ? Text(*text) : Text();
}

TaskPtr TakeTask(Taker& take, const Fields& from, std::string_view id, Time created_at) {
    boost::intrusive_ptr<Task> task(new Task);
    task->id = TaskId(Text(from.task.value_or(id)));
    task->type = TextOf(from.type);
    task->name = from.name ? Text(*from.name) : task->type;
    task->queue = TextOf(from.queue);
    take.Expect(!task->queue.empty(), "queue");
    task->payload = TextOf(from.payload);
    task->priority = take.Value<std::uint8_t>("priority", from.priority, kPriorityNormal);
    take.Expect(task->priority <= kPriorityMax, "priority");
    task->version = take.Value<std::uint32_t>("version", from.version, 1);
    task->timeout = take.At("timeout", from.timeout).time_since_epoch();
    task->run_at = take.At("run_at", from.run_at);
    task->created_at = take.At("task_created_at", from.task_created_at, created_at);
    task->updated_at = take.At("task_updated_at", from.task_updated_at, task->created_at);
    if (auto options = DecodeOptions(from.options.value_or(""))) {
        task->options = std::move(*options);
    } else {
        take.Note(options.error());
    }
    return task;
}

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
    if (!words.empty()) row.worker = WorkerId(Text(words));
    if (auto outcome = DecodeOutcome(state.substr(line + 1))) {
        row.outcome = std::move(*outcome);
    } else {
        take.Note(outcome.error());
    }
}

// What is left of a row that cannot be read: enough to see which one it is and to end it.
void MakeUndecodable(Execution& row, Serial serial, const std::string& why) {
    if (serial != 0) row.serial = serial;
    if (row.created_at == Time{}) row.created_at = TimeOf(row.serial);
    boost::intrusive_ptr<Task> task(new Task);
    task->id = row.task ? row.task->id : TaskId(row.id.text());
    task->name = row.task ? row.task->name : Text();
    task->type = row.task ? row.task->type : Text();
    task->queue = row.task && !row.task->queue.empty() ? row.task->queue : Text("default");
    row.task = task;
    row.status = Status::kFailed;
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = Reason::kUndecodable;
    outcome->message = Text("the stored record cannot be read: " + why);
    row.outcome = outcome;
}

}  // namespace

void WriteExecutionState(const Execution& row, RespWriter& to) {
    // One field: each further one costs Redis about a microsecond, at every change.
    fmt::memory_buffer state;
    fmt::format_to(std::back_inserter(state), "{} {} {} {} {} {} {} {} {} {}\n", Name(row.status),
                   row.attempt, row.failures, row.losses, row.epoch,
                   row.token == Token{} ? std::string(kNoToken) : TokenText(row.token),
                   Ms(row.ready_at), Ms(row.started_at), Ms(row.finished_at), row.worker.view());
    state.append(EncodeOutcome(row.outcome));
    to.Arg("state").Arg(std::string_view(state.data(), state.size()));
}

void WriteExecution(const Execution& row, RespWriter& to) {
    const auto put = [&](std::string_view name, const auto& value) { to.Arg(name).Arg(value); };
    const Task& task = *row.task;
    put("serial", row.serial);
    if (task.id.view() != row.id.view()) put("task", task.id.view());
    if (task.name.view() != task.type.view()) put("name", task.name.view());
    put("type", task.type.view());
    put("queue", task.queue.view());
    if (!task.payload.empty()) put("payload", task.payload.view());
    if (task.priority != kPriorityNormal) put("priority", static_cast<unsigned>(task.priority));
    if (task.version != 1) put("version", task.version);
    if (task.timeout != Duration(0)) put("timeout", task.timeout.count());
    if (task.run_at != Time{}) put("run_at", Ms(task.run_at));
    if (task.created_at != row.created_at) put("task_created_at", Ms(task.created_at));
    if (task.updated_at != task.created_at) put("task_updated_at", Ms(task.updated_at));
    if (task.options) put("options", EncodeOptions(*task.options));
    if (row.origin != Origin::kOnce) put("origin", static_cast<unsigned>(row.origin));
    if (!row.payload.empty()) put("override", row.payload.view());
    if (row.created_at != TimeOf(row.serial)) put("created_at", Ms(row.created_at));
    if (row.scheduled_at != row.created_at) put("scheduled_at", Ms(row.scheduled_at));
    WriteExecutionState(row, to);
}

Execution ReadExecution(std::string_view id, Serial serial, ReplyView hash) {
    const Fields from(hash);
    Taker take;
    Execution row;
    row.serial = take.Value<Serial>("serial", from.serial, serial);
    take.Expect(row.serial != 0, "serial");
    row.created_at = take.At("created_at", from.created_at, TimeOf(row.serial));
    row.task = TakeTask(take, from, id, row.created_at);
    // A one-off task and its execution have one id: hold it once in memory too.
    row.id = ExecutionId(row.task->id.view() == id ? row.task->id.text() : Text(id));
    row.scheduled_at = take.At("scheduled_at", from.scheduled_at, row.created_at);
    row.payload = TextOf(from.override_payload);
    const auto origin = take.Value<unsigned>("origin", from.origin, 0);
    if (take.Expect(origin <= static_cast<unsigned>(Origin::kTrigger), "origin")) {
        row.origin = static_cast<Origin>(origin);
    }
    TakeState(take, from.state.value_or(""), row);
    if (hash.size() == 0) take.Note({ErrorCode::kInvalid, "its hash is gone", {}});
    if (!take.fault().empty()) MakeUndecodable(row, serial, take.fault());
    return row;
}

Execution ReadMember(ReplyView row) {
    const std::string_view member = row[0].text();
    const auto serial = ParseNumber<Serial>(member.substr(0, kSerialDigits));
    const std::string_view id =
        member.size() > kSerialDigits ? member.substr(kSerialDigits + 1) : std::string_view();
    return ReadExecution(id, serial.value_or(0), row[1]);
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

std::string StreamId(Serial serial) {
    return fmt::format("{}-{}", Ms(TimeOf(serial)), serial & ((1u << kSerialLowBits) - 1));
}

Result<Serial> SerialOfStreamId(std::string_view id) {
    const std::size_t dash = id.find('-');
    const auto ms = ParseNumber<std::int64_t>(id.substr(0, dash));
    const auto low =
        dash == std::string_view::npos ? std::nullopt : ParseNumber<Serial>(id.substr(dash + 1));
    if (!ms || !low) return Fail(ErrorCode::kInvalid, "not the id of a stream entry");
    return SerialAt(Time(Duration(*ms))) + *low;
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

void WriteLogChunk(const LogChunk& row, RespWriter& to) {
    to.Arg("attempt").Arg(row.attempt).Arg("at").Arg(Ms(row.at)).Arg("lines").Arg(row.lines.view());
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
