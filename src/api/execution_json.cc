#include "api/execution_json.h"

#include "api/task_json.h"
#include "model/run_progress.h"
#include "model/workflow.h"

namespace takt::internal {

std::string StatusSchema() {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(Status::kSkipped); ++i) {
        names.push_back(Name(static_cast<Status>(i)));
    }
    return schema::OneOf(names);
}

namespace {

std::string ErrorSchema() {
    return schema::OrNull(schema::Object()
                              .Add("code", schema::Text())
                              .Add("message", schema::Text())
                              .Add("handler_code", schema::Integer(), false)
                              .Text());
}

void WriteWorkerId(JsonWriter& json, const WorkerId& worker) {
    worker.empty() ? json.Null() : json.Value(worker.view());
}

void WriteMessage(JsonWriter& json, const ExecutionView& view) {
    const Outcome* outcome = view.execution.outcome.get();
    const bool said = outcome && outcome->reason == Reason::kNone && !outcome->message.empty();
    said ? json.Value(outcome->message.view()) : json.Null();
}

void WriteError(JsonWriter& json, const Execution& execution) {
    const Outcome* outcome = execution.outcome.get();
    if (!outcome || outcome->reason == Reason::kNone) {
        json.Null();
        return;
    }
    json.BeginObject();
    json.Field("code", Name(outcome->reason)).Field("message", outcome->message.view());
    if (outcome->code != 0) json.Field("handler_code", outcome->code);
    json.EndObject();
}

// --- Attempts -----------------------------------------------------------------------------------

struct AttemptView {
    const PastAttempt& attempt;
    std::string_view status;
};

const AnswerTable<AttemptView>& AttemptFields() {
    using View = AttemptView;
    static const AnswerTable<View> fields = {
        {"attempt", schema::Integer(1), "Its number.",
         [](JsonWriter& json, const View& view) { json.Value(view.attempt.attempt); }},
        {"worker_id", schema::OrNull(schema::Text()), "Who had it.",
         [](JsonWriter& json, const View& view) { WriteWorkerId(json, view.attempt.worker); }},
        {"started_at", schema::OrNull(schema::Time()), "null: it never began.",
         [](JsonWriter& json, const View& view) { json.Value(view.attempt.started_at); }},
        {"finished_at", schema::OrNull(schema::Time()), "null: it goes on.",
         [](JsonWriter& json, const View& view) { json.Value(view.attempt.finished_at); }},
        {"status", schema::Text(), "How it ended, or the execution's status while it goes on.",
         [](JsonWriter& json, const View& view) { json.Value(view.status); }},
        {"error", ErrorSchema(), "Why it did not succeed.",
         [](JsonWriter& json, const View& view) {
             // One that came back has no reason of its own, but perhaps a story: nobody could call.
             const bool reason = view.attempt.reason != Reason::kNone;
             if (!reason && view.attempt.message.empty()) {
                 json.Null();
                 return;
             }
             json.BeginObject().Field("code", reason ? Name(view.attempt.reason) : view.status);
             json.Field("message", view.attempt.message.view()).EndObject();
         }},
    };
    return fields;
}

void WriteAttempt(JsonWriter& json, const PastAttempt& attempt, std::string_view status) {
    json.BeginObject();
    WriteFields(json, AttemptFields(), {attempt, status});
    json.EndObject();
}

// The attempts that are remembered, and the current or last one.
void WriteAttempts(JsonWriter& json, const Execution& execution) {
    json.BeginArray();
    const Outcome* outcome = execution.outcome.get();
    std::uint32_t last = 0;
    if (outcome) {
        for (const PastAttempt& past : outcome->past) {
            WriteAttempt(json, past, Name(past.end));
            last = past.attempt;
        }
    }
    if (execution.attempt > last) {
        PastAttempt current{.attempt = execution.attempt,
                            .worker = execution.worker,
                            .started_at = execution.started_at,
                            .finished_at = execution.finished_at};
        if (outcome && IsTerminal(execution.status)) {
            current.reason = outcome->reason;
            current.message = outcome->message;
        }
        WriteAttempt(json, current, Name(execution.status));
    }
    json.EndArray();
}

// --- Whole --------------------------------------------------------------------------------------

const AnswerTable<Execution>& ExecutionNameFields() {
    static const AnswerTable<Execution> fields = {
        {"id", schema::Text(), "",
         [](JsonWriter& json, const Execution& row) { json.Value(row.id.view()); }},
        {"task_id", schema::Text(), "The same as id if its task runs once.",
         [](JsonWriter& json, const Execution& row) { json.Value(row.task->id.view()); }},
        {"task_name", schema::Text(), "",
         [](JsonWriter& json, const Execution& row) { json.Value(row.task->name.view()); }},
        {"type", schema::Text(), "What workers know it by.",
         [](JsonWriter& json, const Execution& row) { json.Value(row.task->type.view()); }},
        {"queue", schema::Text(), "Where it waits.",
         [](JsonWriter& json, const Execution& row) { json.Value(row.task->queue.view()); }},
        {"priority", schema::Integer(0, kPriorityMax), "Higher first.",
         [](JsonWriter& json, const Execution& row) { json.Value(row.task->priority); }},
    };
    return fields;
}

bool IsFull(const ExecutionView& view) {
    return view.detail != ExecutionDetail::kBrief;
}
bool IsWhole(const ExecutionView& view) {
    return view.detail == ExecutionDetail::kWhole;
}

void WriteProgress(JsonWriter& json, const ExecutionView& view) {
    if (!view.progress) {
        json.Null();
        return;
    }
    json.BeginObject().Field("percent", view.progress->fraction * 100);
    json.Field("message", view.progress->message.view());
    json.Field("at", view.progress->at).EndObject();
}

void WriteShard(JsonWriter& json, const ExecutionView& view) {
    const Execution& row = view.execution;
    if (row.shard_total == 0) {
        json.Null();
        return;
    }
    json.BeginObject().Field("index", row.shard_index).Field("total", row.shard_total).EndObject();
}

bool IsRunning(const ExecutionView& view) {
    return view.execution.task->workflow() && !IsTerminal(view.execution.status);
}
bool IsOfRun(const ExecutionView& view) {
    return view.execution.task->workflow() || !view.execution.parent.empty();
}

std::uint32_t RoundOf(const Execution& row) {
    if (!row.task->workflow() || row.progress.empty()) return row.round;
    const auto head = DecodeProgressHead(row.progress);
    return head ? head->round : row.round;
}

void WriteEnding(JsonWriter& json, const ExecutionView& view) {
    const Text& progress = view.execution.progress;
    const auto head = progress.empty() ? RunProgress() : DecodeProgressHead(progress);
    const bool ends = head && head->ending;
    ends ? json.Value(Name(head->ending->status)) : json.Null();
}

// Its place in a run, of which it is a part or which it is.
AnswerTable<ExecutionView> RunFields() {
    return {
        {"parent_id", schema::OrNull(schema::Text()), "The run that it is a part of.",
         [](JsonWriter& json, const ExecutionView& view) {
             const ExecutionId& parent = view.execution.parent;
             parent.empty() ? json.Null() : json.Value(parent.view());
         }},
        {"step", schema::OrNull(schema::Text()), "Which step of it.",
         [](JsonWriter& json, const ExecutionView& view) {
             const Text& step = view.execution.step;
             step.empty() ? json.Null() : json.Value(step.view());
         }},
        {"shard",
         schema::OrNull(schema::Object()
                            .Add("index", schema::Integer(0))
                            .Add("total", schema::Integer(0))
                            .Text()),
         "Which part of the step; null: it is not divided.", WriteShard},
        {"round", schema::Integer(0), "How often its run had been run again.",
         [](JsonWriter& json, const ExecutionView& view) { json.Value(RoundOf(view.execution)); },
         IsOfRun},
        {"ending", schema::OrNull(StatusSchema()),
         "Of a run that ends: what it will be when its last step has ended.", WriteEnding,
         IsRunning},
    };
}

const AnswerTable<ExecutionView>& ExecutionDetailFields() {
    using View = ExecutionView;
    static const AnswerTable<View> fields = {
        {"parameters", schema::Any(), "Its input.",
         [](JsonWriter& json, const View& view) { WriteJsonText(json, view.execution.input()); },
         IsFull},
        {"metadata", schema::Map(), "Passed on to the worker.",
         [](JsonWriter& json, const View& view) {
             json.BeginObject();
             for (const auto& [name, value] : view.execution.task->opt().metadata) {
                 json.Field(name.view(), value.view());
             }
             json.EndObject();
         },
         IsWhole},
        {"progress",
         schema::OrNull(schema::Object()
                            .Add("percent", schema::OrNull(schema::Number()))
                            .Add("message", schema::Text())
                            .Add("at", schema::OrNull(schema::Time()))
                            .Text()),
         "What it said last while it runs.", WriteProgress, IsWhole},
        {"attempts", schema::ListOf(AnswerSchema(AttemptFields())), "Oldest first.",
         [](JsonWriter& json, const View& view) { WriteAttempts(json, view.execution); }, IsWhole},
        {"trace_id", schema::OrNull(schema::Text()), "null: it is not traced.",
         [](JsonWriter& json, const View& view) {
             view.trace_id.empty() ? json.Null() : json.Value(view.trace_id);
         },
         IsWhole},
    };
    return fields;
}

}  // namespace

namespace {

AnswerTable<ExecutionView> OwnStateFields() {
    return {
        {"status", StatusSchema(), "",
         [](JsonWriter& json, const ExecutionView& view) {
             json.Value(Name(view.execution.status));
         }},
        {"origin", schema::OneOf({"once", "fire", "trigger", "step", "backfill"}), "What made it.",
         [](JsonWriter& json, const ExecutionView& view) {
             json.Value(Name(view.execution.origin));
         }},
        {"attempt", schema::Integer(0), "How many attempts have begun.",
         [](JsonWriter& json, const ExecutionView& view) { json.Value(view.execution.attempt); }},
        {"failures", schema::Integer(0), "How many of them failed.",
         [](JsonWriter& json, const ExecutionView& view) { json.Value(view.execution.failures); }},
        {"losses", schema::Integer(0), "How many were lost with their worker.",
         [](JsonWriter& json, const ExecutionView& view) { json.Value(view.execution.losses); }},
        {"worker_id", schema::OrNull(schema::Text()), "Of the current or last attempt.",
         [](JsonWriter& json, const ExecutionView& view) {
             WriteWorkerId(json, view.execution.worker);
         }},
        {"created_at", schema::Time(), "",
         [](JsonWriter& json, const ExecutionView& view) {
             json.Value(view.execution.created_at);
         }},
        {"scheduled_at", schema::Time(), "When it should run.",
         [](JsonWriter& json, const ExecutionView& view) {
             json.Value(view.execution.scheduled_at);
         }},
        {"ready_at", schema::Time(), "When it may start next.",
         [](JsonWriter& json, const ExecutionView& view) { json.Value(view.execution.ready_at); }},
        {"started_at", schema::OrNull(schema::Time()), "Of the current or last attempt.",
         [](JsonWriter& json, const ExecutionView& view) {
             json.Value(view.execution.started_at);
         }},
        {"finished_at", schema::OrNull(schema::Time()), "null: it is not finished.",
         [](JsonWriter& json, const ExecutionView& view) {
             json.Value(view.execution.finished_at);
         }},
        {"result", schema::Any(), "What its handler gave back; not in lists without details.",
         [](JsonWriter& json, const ExecutionView& view) {
             const Outcome* outcome = view.execution.outcome.get();
             WriteJsonText(json, outcome ? outcome->data.view() : std::string_view());
         },
         IsFull},
        {"message", schema::OrNull(schema::Text()),
         "What was said of a success; what is said of anything else is in error.", WriteMessage,
         IsFull},
        {"error", ErrorSchema(), "Why it did not succeed.",
         [](JsonWriter& json, const ExecutionView& view) { WriteError(json, view.execution); }},
    };
}

}  // namespace

const AnswerTable<ExecutionView>& ExecutionStateFields() {
    static const AnswerTable<ExecutionView> fields = [] {
        AnswerTable<ExecutionView> all = OwnStateFields();
        const AnswerTable<ExecutionView> of_run = RunFields();
        all.insert(all.begin() + 2, of_run.begin(), of_run.end());
        return all;
    }();
    return fields;
}

void WriteExecution(JsonWriter& json, const ExecutionView& view) {
    json.BeginObject();
    WriteFields(json, ExecutionNameFields(), view.execution);
    WriteFields(json, ExecutionStateFields(), view);
    WriteFields(json, ExecutionDetailFields(), view);
    json.EndObject();
}

std::string ExecutionSchema() {
    schema::Object object;
    AddFields(object, ExecutionNameFields());
    AddFields(object, ExecutionStateFields());
    return AddFields(object, ExecutionDetailFields()).Text();
}

Error NoSuchExecution(const ExecutionId& id) {
    return {ErrorCode::kNotFound, "there is no execution '" + id.text().str() + "'", "id"};
}

}  // namespace takt::internal
