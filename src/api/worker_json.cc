#include "api/worker_json.h"

#include "api/answer_table.h"

namespace takt::internal {
namespace {

void WriteNames(JsonWriter& json, const std::vector<Text>& names) {
    json.BeginArray();
    for (const Text& name : names) json.Value(name.view());
    json.EndArray();
}

// A worker that says itself that it takes nothing new is as good as drained by an operator.
WorkerStatus ShownStatus(const WorkerView& view) {
    const bool draining = view.row.status == WorkerStatus::kOnline && view.load.draining;
    return draining ? WorkerStatus::kDraining : view.row.status;
}

const AnswerTable<WorkerLoad>& LoadFields() {
    using Load = WorkerLoad;
    static const AnswerTable<Load> fields = {
        {"cpu", schema::Number(), "0 to 1.",
         [](JsonWriter& json, const Load& load) { json.Value(static_cast<double>(load.cpu)); }},
        {"memory", schema::Number(), "0 to 1.",
         [](JsonWriter& json, const Load& load) { json.Value(static_cast<double>(load.memory)); }},
        {"network_in", schema::Integer(0), "Bytes per second.",
         [](JsonWriter& json, const Load& load) { json.Value(load.network_in); }},
        {"network_out", schema::Integer(0), "Bytes per second.",
         [](JsonWriter& json, const Load& load) { json.Value(load.network_out); }},
        {"connections", schema::Integer(0), "",
         [](JsonWriter& json, const Load& load) { json.Value(load.connections); }},
    };
    return fields;
}

const AnswerTable<WorkerView>& WorkerFields() {
    static const AnswerTable<WorkerView> fields = {
        {"id", schema::Text(), "",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.id.view()); }},
        {"name", schema::Text(), "What people call it.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.name.view()); }},
        {"status", WorkerStatusSchema(), "",
         [](JsonWriter& json, const WorkerView& view) { json.Value(Name(ShownStatus(view))); }},
        {"status_reason", schema::Text(), "What was said when it was set.",
         [](JsonWriter& json, const WorkerView& view) {
             json.Value(view.row.status_reason.view());
         }},
        {"link", schema::OneOf({"stream", "push"}), "It connects to us, or we call it.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(Name(view.row.link)); }},
        {"connected", schema::Bool(), "Whether it can be reached now.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.session != 0); }},
        {"group", schema::Text(), "What tasks may name as their executor.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.group.view()); }},
        {"types", schema::ListOf(schema::Text()), "Empty: any.",
         [](JsonWriter& json, const WorkerView& view) { WriteNames(json, view.row.types); }},
        {"queues", schema::ListOf(schema::Text()), "Empty: any.",
         [](JsonWriter& json, const WorkerView& view) { WriteNames(json, view.row.queues); }},
        {"labels", schema::Map(), "",
         [](JsonWriter& json, const WorkerView& view) {
             json.BeginObject();
             for (const auto& [name, value] : view.row.labels) {
                 json.UserKey(name).Value(value.view());
             }
             json.EndObject();
         }},
        {"capacity", schema::Integer(0), "How many attempts it takes at once.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.capacity); }},
        {"capacity_own", schema::Integer(0), "What it says itself.",
         [](JsonWriter& json, const WorkerView& view) {
             const Worker& row = view.row;
             json.Value(row.capacity_said != 0 ? row.capacity_said : row.capacity);
         }},
        {"capacity_set", schema::OrNull(schema::Integer(1)),
         "What an operator has set, which goes before its own word; null: nothing.",
         [](JsonWriter& json, const WorkerView& view) {
             view.row.capacity_set != 0 ? json.Value(view.row.capacity_set) : json.Null();
         }},
        {"weight", schema::Integer(0), "Its share, for weighted_round_robin.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.weight); }},
        {"running", schema::Integer(0), "How many it has.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.busy); }},
        {"address", schema::Text(), "Where we call it, if we do.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.address.view()); }},
        {"version", schema::Text(), "Of its program.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.version.view()); }},
        {"joined_at", schema::OrNull(schema::Time()), "",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.joined_at); }},
        {"seen_at", schema::OrNull(schema::Time()),
         "When it was last heard of; null: not since the leader changed.",
         [](JsonWriter& json, const WorkerView& view) { json.Value(view.row.seen_at); }},
        {"load", AnswerSchema(LoadFields()), "As it reports it; zeros until it does.",
         [](JsonWriter& json, const WorkerView& view) {
             json.BeginObject();
             WriteFields(json, LoadFields(), view.load);
             json.EndObject();
         }},
    };
    return fields;
}

}  // namespace

void WriteWorker(JsonWriter& json, const WorkerView& view) {
    json.BeginObject();
    WriteFields(json, WorkerFields(), view);
    json.EndObject();
}

std::string WorkerSchema() {
    return AnswerSchema(WorkerFields());
}

std::string WorkerStatusSchema() {
    return schema::OneOf({Name(WorkerStatus::kOnline), Name(WorkerStatus::kOffline),
                          Name(WorkerStatus::kDraining), Name(WorkerStatus::kMaintenance)});
}

}  // namespace takt::internal
