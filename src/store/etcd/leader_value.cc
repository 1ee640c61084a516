#include "store/etcd/leader_value.h"

#include <boost/json/value.hpp>
#include <optional>

#include "base/json.h"

namespace takt::internal::etcd {
namespace {

std::unexpected<Error> NotOurs(const char* kind) {
    return Fail(ErrorCode::kUnavailable,
                std::string("etcd: somebody else wrote the value of ") + kind);
}

std::string_view TextOf(const boost::json::value& json, std::string_view key) {
    const boost::json::value* value = json.as_object().if_contains(key);
    if (!value || !value->is_string()) return {};
    return std::string_view(value->get_string());
}

std::optional<std::int64_t> NumberOf(const boost::json::value& json, std::string_view key) {
    const boost::json::value* value = json.as_object().if_contains(key);
    if (!value || !value->is_int64()) return std::nullopt;
    return value->get_int64();
}

}  // namespace

std::string EncodeLeader(const LeaderRow& row) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject();
    if (row.nonce == 0) {
        json.Field("next", row.node.view());
    } else {
        json.Field("node", row.node.view()).Field("address", row.address.view());
    }
    json.Field("epoch", row.epoch).EndObject();
    return out;
}

Result<LeaderRow> DecodeLeader(std::string_view text, std::int64_t revision) {
    const Result<boost::json::value> json = ParseJson(text);
    if (!json || !json->is_object()) return NotOurs("the leader key");
    const std::string_view node = TextOf(*json, "node");
    const bool resigned = json->as_object().contains("next");
    const std::optional<std::int64_t> epoch = NumberOf(*json, "epoch");
    if ((node.empty() && !resigned) || !epoch) return NotOurs("the leader key");
    return LeaderRow{.node = NodeId(Text(resigned ? TextOf(*json, "next") : node)),
                     .address = Text(TextOf(*json, "address")),
                     .epoch = static_cast<std::uint64_t>(*epoch),
                     .nonce = resigned ? 0 : static_cast<std::uint64_t>(revision)};
}

std::string EncodeNode(const NodeRow& row, unsigned layout) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("node", row.node.view())
        .Field("address", row.address.view())
        .Field("version", row.version.view())
        .Field("started_at_ms", row.started_at.time_since_epoch().count())
        .Field("layout", layout);
    if (!row.namespaces.empty()) {
        json.Key("namespaces").BeginArray();
        for (const Text& name : row.namespaces) json.Value(name.view());
        json.EndArray();
    }
    json.EndObject();
    return out;
}

Result<NodeRow> DecodeNode(std::string_view text) {
    const Result<boost::json::value> json = ParseJson(text);
    if (!json || !json->is_object()) return NotOurs("a node key");
    const std::string_view node = TextOf(*json, "node");
    if (node.empty()) return NotOurs("a node key");
    NodeRow row{.node = NodeId(Text(node)),
                .address = Text(TextOf(*json, "address")),
                .version = Text(TextOf(*json, "version")),
                .started_at = Time(Duration(NumberOf(*json, "started_at_ms").value_or(0)))};
    const boost::json::value* names = json->as_object().if_contains("namespaces");
    if (names && names->is_array()) {
        for (const boost::json::value& name : names->get_array()) {
            if (name.is_string()) row.namespaces.emplace_back(std::string_view(name.get_string()));
        }
    }
    return row;
}

std::optional<unsigned> DecodeNodeLayout(std::string_view text) {
    const Result<boost::json::value> json = ParseJson(text);
    if (!json || !json->is_object()) return std::nullopt;
    const std::optional<std::int64_t> layout = NumberOf(*json, "layout");
    return layout && *layout > 0 ? std::optional(static_cast<unsigned>(*layout)) : std::nullopt;
}

}  // namespace takt::internal::etcd
