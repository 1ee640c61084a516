#include "api/lock_json.h"

#include "api/answer_table.h"

namespace takt::internal {
namespace {

bool IsOfAttempt(const LockHolderView& holder) {
    return !holder.execution.empty();
}

const AnswerTable<LockHolderView>& HolderFields() {
    using View = LockHolderView;
    static const AnswerTable<View> fields = {
        {"lock_id", schema::Text(), "What renew and release name.",
         [](JsonWriter& json, const View& v) { json.Value(v.lock_id.view()); }},
        {"owner", schema::Text(), "As the holder calls itself.",
         [](JsonWriter& json, const View& v) { json.Value(v.owner.view()); }},
        {"permits", schema::Integer(1), "",
         [](JsonWriter& json, const View& v) { json.Value(v.permits); }},
        {"token", schema::Integer(0), "Its fencing token.",
         [](JsonWriter& json, const View& v) { json.Value(v.token); }},
        {"since", schema::Time(), "", [](JsonWriter& json, const View& v) { json.Value(v.since); }},
        {"expires_at", schema::OrNull(schema::Time()),
         "Unless it is renewed; null: it ends with the attempt.",
         [](JsonWriter& json, const View& v) { json.Value(v.expires_at); }},
        {"execution_id", schema::Text(), "Whose attempt holds it.",
         [](JsonWriter& json, const View& v) { json.Value(v.execution.view()); }, IsOfAttempt},
        {"attempt", schema::Integer(0), "",
         [](JsonWriter& json, const View& v) { json.Value(v.attempt); }, IsOfAttempt},
        {"worker_id", schema::Text(), "",
         [](JsonWriter& json, const View& v) { json.Value(v.worker.view()); }, IsOfAttempt},
    };
    return fields;
}

const AnswerTable<LockHolderView>& WaiterFields() {
    using View = LockHolderView;
    static const AnswerTable<View> fields = {
        {"owner", schema::Text(), "As it calls itself.",
         [](JsonWriter& json, const View& v) { json.Value(v.owner.view()); }},
        {"permits", schema::Integer(1), "",
         [](JsonWriter& json, const View& v) { json.Value(v.permits); }},
        {"since", schema::Time(), "", [](JsonWriter& json, const View& v) { json.Value(v.since); }},
        {"until", schema::OrNull(schema::Time()), "null: as long as it takes.",
         [](JsonWriter& json, const View& v) { json.Value(v.expires_at); }},
        {"execution_id", schema::Text(),
         "An execution that declares the lock, or whose handler asks.",
         [](JsonWriter& json, const View& v) { json.Value(v.execution.view()); }, IsOfAttempt},
    };
    return fields;
}

const AnswerTable<LockView>& LockFields() {
    using View = LockView;
    static const AnswerTable<View> fields = {
        {"name", schema::Text(), "",
         [](JsonWriter& json, const View& v) { json.Value(v.name.view()); }},
        {"permits", schema::Integer(1), "How many there are.",
         [](JsonWriter& json, const View& v) { json.Value(v.permits); }},
        {"taken", schema::Integer(0), "How many are held.",
         [](JsonWriter& json, const View& v) { json.Value(v.taken); }},
        {"waiting", schema::Integer(0), "How many stand in line.",
         [](JsonWriter& json, const View& v) { json.Value(v.waiting); }},
        {"holders", schema::ListOf(schema::Reference("LockHolder")), "By token; the first hundred.",
         [](JsonWriter& json, const View& v) { WriteLockHolders(json, v.holders); }},
        {"waiters", schema::ListOf(schema::Reference("LockWaiter")),
         "In the order of the line; the first hundred.",
         [](JsonWriter& json, const View& v) {
             json.BeginArray();
             for (const LockHolderView& waiter : v.waiters) {
                 json.BeginObject();
                 WriteFields(json, WaiterFields(), waiter);
                 json.EndObject();
             }
             json.EndArray();
         }},
    };
    return fields;
}

const AnswerTable<LockGiven>& GivenFields() {
    static const AnswerTable<LockGiven> fields = {
        {"name", schema::Text(), "",
         [](JsonWriter& json, const LockGiven& g) { json.Value(g.name); }},
        {"lock_id", schema::Text(), "What renew and release name.",
         [](JsonWriter& json, const LockGiven& g) { json.Value(g.answer.lock_id.view()); }},
        {"token", schema::Integer(0),
         "The fencing token: higher than any that was given before it.",
         [](JsonWriter& json, const LockGiven& g) { json.Value(g.answer.token); }},
        {"expires_at", schema::Time(), "Unless it is renewed.",
         [](JsonWriter& json, const LockGiven& g) { json.Value(g.answer.expires_at); }},
    };
    return fields;
}

}  // namespace

void WriteLockHolders(JsonWriter& json, std::span<const LockHolderView> holders) {
    json.BeginArray();
    for (const LockHolderView& holder : holders) {
        json.BeginObject();
        WriteFields(json, HolderFields(), holder);
        json.EndObject();
    }
    json.EndArray();
}

void WriteLock(JsonWriter& json, const LockView& lock) {
    json.BeginObject();
    WriteFields(json, LockFields(), lock);
    json.EndObject();
}

void WriteLockGiven(JsonWriter& json, const LockGiven& given) {
    json.BeginObject();
    WriteFields(json, GivenFields(), given);
    json.EndObject();
}

std::string LockGivenSchema() {
    return AnswerSchema(GivenFields());
}

std::string LockSchema() {
    return AnswerSchema(LockFields());
}

std::string LockHolderSchema() {
    return AnswerSchema(HolderFields());
}

std::string LockWaiterSchema() {
    return AnswerSchema(WaiterFields());
}

}  // namespace takt::internal
