#include "model/namespace.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json.h"
#include "base/json_view.h"
#include "base/log.h"
#include "base/space_name.h"

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 3> kStates = {"active", "deleting", "empty"};

std::optional<NamespaceState> ParseState(std::string_view name) {
    const auto found = std::ranges::find(kStates, name);
    if (found == kStates.end()) return std::nullopt;
    return static_cast<NamespaceState>(found - kStates.begin());
}

void WriteRetry(JsonWriter& json, const RetryPolicy& retry) {
    json.Key("retry").BeginObject().Field("retries_max", retry.retries_max);
    json.Field("delay_ms", retry.delay.count()).Field("backoff_rate", retry.backoff_rate);
    json.Field("delay_max_ms", retry.delay_max.count()).Field("jitter", retry.jitter).EndObject();
}

// One number of an object, by its name; the others are somebody else's or of a later version.
std::optional<std::int64_t> Number(const JsonView& object, std::string_view name) {
    if (object.kind() != JsonView::Kind::kObject) return std::nullopt;
    JsonView::Members members(object);
    while (members.Next()) {
        if (members.key() == name) return members.value().AsInteger();
    }
    return std::nullopt;
}

std::uint64_t Count(const JsonView& object, std::string_view name) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(Number(object, name).value_or(0), 0));
}

RetryPolicy ReadRetry(const JsonView& object) {
    RetryPolicy retry;
    JsonView::Members members(object);
    while (members.Next()) {
        const std::int64_t whole = members.value().AsInteger().value_or(0);
        const double number = members.value().AsDouble().value_or(0);
        if (members.key() == "retries_max") retry.retries_max = static_cast<std::uint32_t>(whole);
        if (members.key() == "delay_ms") retry.delay = Duration(whole);
        if (members.key() == "delay_max_ms") retry.delay_max = Duration(whole);
        if (members.key() == "backoff_rate") retry.backoff_rate = number;
        if (members.key() == "jitter") retry.jitter = number;
    }
    return retry;
}

Quotas ReadQuotas(const JsonView& object) {
    return {.executions_waiting = Count(object, "executions_waiting"),
            .submits_per_second = Count(object, "submits_per_second"),
            .payload_bytes = Count(object, "payload_bytes"),
            .workers = Count(object, "workers"),
            .log_bytes = Count(object, "log_bytes"),
            .retention = Duration(Number(object, "retention_ms").value_or(0))};
}

NamespaceSettings ReadSettings(const JsonView& object) {
    NamespaceSettings settings;
    if (object.kind() != JsonView::Kind::kObject) return settings;
    std::string scratch;
    JsonView::Members members(object);
    while (members.Next()) {
        const JsonView value = members.value();
        const std::optional<std::int64_t> whole = value.AsInteger();
        if (members.key() == "retention_ms" && whole) settings.retention = Duration(*whole);
        if (members.key() == "audit_retention_ms" && whole) {
            settings.audit_retention = Duration(*whole);
        }
        if (members.key() == "timeout_ms" && whole) settings.timeout = Duration(*whole);
        if (members.key() == "strategy" && value.is_string()) {
            settings.strategy = ParseStrategy(value.AsString(scratch));
        }
        if (members.key() == "retry" && value.kind() == JsonView::Kind::kObject) {
            settings.retry = ReadRetry(value);
        }
    }
    return settings;
}

}  // namespace

std::string_view Name(NamespaceState state) {
    return kStates[static_cast<std::size_t>(state)];
}

bool IsNamespaceName(std::string_view name) {
    return IsSpaceName(name);
}

std::string EncodeNamespace(const NamespaceRow& row) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("number", row.number).Field("id", row.id);
    json.Field("epoch_floor", row.epoch_floor);
    json.Field("state", Name(row.state)).Field("created_at", row.created_at);
    const Quotas& quotas = row.quotas;
    json.Key("quotas").BeginObject().Field("executions_waiting", quotas.executions_waiting);
    json.Field("submits_per_second", quotas.submits_per_second);
    json.Field("payload_bytes", quotas.payload_bytes).Field("workers", quotas.workers);
    json.Field("log_bytes", quotas.log_bytes);
    json.Field("retention_ms", quotas.retention.count()).EndObject();
    json.Key("settings").BeginObject();
    const NamespaceSettings& settings = row.settings;
    if (settings.retention) json.Field("retention_ms", settings.retention->count());
    if (settings.audit_retention) {
        json.Field("audit_retention_ms", settings.audit_retention->count());
    }
    if (settings.timeout) json.Field("timeout_ms", settings.timeout->count());
    if (settings.strategy) json.Field("strategy", Name(*settings.strategy));
    if (settings.retry) WriteRetry(json, *settings.retry);
    json.EndObject().EndObject();
    return out;
}

Result<NamespaceRow> DecodeNamespace(std::string_view name, std::string_view value) {
    const auto broken = [&] {
        return Fail(ErrorCode::kInvalid, "the setting " + std::string(kNamespacePrefix) +
                                             std::string(name) + " is not a namespace");
    };
    if (!IsNamespaceName(name) || !CheckJson(value)) return broken();
    const JsonView object(value);
    const std::optional<std::int64_t> number = Number(object, "number");
    if (!number || *number < 0 || *number > int{kNamespaceNumberMax}) return broken();
    NamespaceRow row{.name = std::string(name),
                     .number = static_cast<Partition>(*number),
                     .id = Count(object, "id"),
                     .epoch_floor = Count(object, "epoch_floor")};
    std::string scratch;
    JsonView::Members members(object);
    while (members.Next()) {
        const JsonView member = members.value();
        if (members.key() == "quotas") row.quotas = ReadQuotas(member);
        if (members.key() == "settings") row.settings = ReadSettings(member);
        if (!member.is_string()) continue;
        const std::string_view text = member.AsString(scratch);
        if (members.key() == "state") {
            const auto state = ParseState(text);
            if (!state) return broken();
            row.state = *state;
        } else if (members.key() == "created_at") {
            row.created_at = ParseTime(text).value_or(Time{});
        }
    }
    return row;
}

Directory ReadDirectory(const std::vector<SettingPut>& settings) {
    Directory directory;
    for (const SettingPut& setting : settings) {
        const std::string_view key = setting.key;
        const std::string_view value = setting.value;
        if (key == kDirectoryVersionKey) {
            std::from_chars(value.data(), value.data() + value.size(), directory.version);
        }
        if (key == kDirectoryEpochKey) {
            std::from_chars(value.data(), value.data() + value.size(), directory.epoch_floor);
        }
        if (!key.starts_with(kNamespacePrefix)) continue;
        const std::string_view name = key.substr(kNamespacePrefix.size());
        auto row = DecodeNamespace(name, value);
        if (row) {
            directory.rows.emplace(name, std::move(*row));
        } else {
            Log(LogLevel::kError, "namespaces", row.error().detail);
        }
    }
    return directory;
}

SettingPut SettingOf(const NamespaceRow& row) {
    return {Text(std::string(kNamespacePrefix) + row.name), Text(EncodeNamespace(row))};
}

}  // namespace takt::internal
