#include "api/worker_json.h"

namespace takt::internal {
namespace {

void WriteNames(JsonWriter& json, std::string_view key, const std::vector<Text>& names) {
    json.Key(key).BeginArray();
    for (const Text& name : names) json.Value(name.view());
    json.EndArray();
}

void WriteLabels(JsonWriter& json, const Pairs& labels) {
    json.Key("labels").BeginObject();
    for (const auto& [name, value] : labels) json.UserKey(name).Value(value.view());
    json.EndObject();
}

}  // namespace

void WriteWorker(JsonWriter& json, const WorkerView& view) {
    const Worker& worker = view.row;
    json.BeginObject();
    json.Field("id", worker.id.view()).Field("name", worker.name.view());
    // A worker that says itself that it takes nothing new is as good as drained by an operator.
    const bool draining = worker.status == WorkerStatus::kOnline && view.load.draining;
    json.Field("status", Name(draining ? WorkerStatus::kDraining : worker.status));
    json.Field("status_reason", worker.status_reason.view());
    json.Field("link", Name(worker.link)).Field("connected", view.session != 0);
    json.Field("group", worker.group.view());
    WriteNames(json, "types", worker.types);
    WriteNames(json, "queues", worker.queues);
    WriteLabels(json, worker.labels);
    json.Field("capacity", worker.capacity).Field("weight", worker.weight);
    json.Field("running", view.busy);
    json.Field("address", worker.address.view()).Field("version", worker.version.view());
    json.Field("joined_at", worker.joined_at).Field("seen_at", worker.seen_at);
    json.Key("load").BeginObject();
    json.Field("cpu", static_cast<double>(view.load.cpu));
    json.Field("memory", static_cast<double>(view.load.memory));
    json.Field("network_in", view.load.network_in).Field("network_out", view.load.network_out);
    json.Field("connections", view.load.connections).EndObject();
    json.EndObject();
}

}  // namespace takt::internal
