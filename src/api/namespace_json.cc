#include "api/namespace_json.h"

#include <utility>

#include "api/definition_kind.h"
#include "api/json_read.h"
#include "api/request_kinds.h"
#include "api/resource_pages.h"
#include "api/resource_table.h"
#include "api/retry_policy_json.h"
#include "api/schemas.h"
#include "api/services.h"

namespace takt::internal {
namespace {

constexpr std::int64_t kQuotaMax = 1'000'000'000'000;

void WriteCount(JsonWriter& json, std::uint64_t most) {
    most > 0 ? json.Value(most) : json.Null();
}
void WriteLasting(JsonWriter& json, Duration lasting) {
    lasting > Duration(0) ? json.Value(std::string_view(FormatDuration(lasting))) : json.Null();
}

template <std::uint64_t Quotas::* member>
ResourceField<Quotas, Quotas> CountQuota(std::string_view name, std::string_view about) {
    return {name,
            about,
            TakenBy<Quotas>::Count(member, {1, kQuotaMax}).Clears([](Quotas& q) { q.*member = 0; }),
            {schema::OrNull(schema::Integer(1)),
             [](JsonWriter& json, const Quotas& q) { WriteCount(json, q.*member); }}};
}

const ResourceTable<Quotas, Quotas>& QuotaTable() {
    static const ResourceTable<Quotas, Quotas> table({
        CountQuota<&Quotas::executions_waiting>(
            "executions_waiting", "Executions that wait for their time, a worker or a retry."),
        CountQuota<&Quotas::submits_per_second>("submits_per_second",
                                                "One-off tasks; each of a bulk counts."),
        CountQuota<&Quotas::payload_bytes>("payload_bytes",
                                           "Payloads of all executions that are not finished."),
        CountQuota<&Quotas::workers>("workers", "Online at once, executors too."),
        CountQuota<&Quotas::log_bytes>("log_bytes", "Output that is kept of one execution."),
        {"retention",
         "Finished executions are kept no longer.",
         TakenBy<Quotas>::Duration(&Quotas::retention, Duration(1'000)).Clears([](Quotas& q) {
             q.retention = Duration(0);
         }),
         {schema::OrNull(schema::Duration()),
          [](JsonWriter& json, const Quotas& q) { WriteLasting(json, q.retention); }}},
    });
    return table;
}

// Settings are read with the standard that null asks for.
struct SettingsDraft {
    NamespaceSettings settings;
    const RetryPolicy* retry_default = nullptr;
};

Result<void> ReadRetry(SettingsDraft& draft, const JsonView& value, std::string_view name) {
    auto read = ReadRetryParts(value, name,
                               {.policy = draft.settings.retry.value_or(*draft.retry_default),
                                .standard = draft.retry_default});
    if (!read) return std::unexpected(read.error());
    draft.settings.retry = read->policy;
    return {};
}

std::vector<std::string_view> StrategyNames() {
    std::vector<std::string_view> names;
    for (int i = 0; i < static_cast<int>(Strategy::kCustom); ++i) {
        names.push_back(Name(static_cast<Strategy>(i)));
    }
    return names;
}

template <std::optional<Duration> NamespaceSettings::* member>
ResourceField<SettingsDraft, NamespaceSettings> LastingSetting(std::string_view name,
                                                               std::string_view about) {
    return {name,
            about,
            TakenBy<SettingsDraft>::Duration(
                [](SettingsDraft& d) -> auto& { return d.settings.*member; }, Duration(1'000))
                .Clears([](SettingsDraft& d) { (d.settings.*member).reset(); }),
            {schema::OrNull(schema::Duration()), [](JsonWriter& json, const NamespaceSettings& s) {
                 WriteLasting(json, (s.*member).value_or(Duration(0)));
             }}};
}

const ResourceTable<SettingsDraft, NamespaceSettings>& SettingsTable() {
    using Draft = SettingsDraft;
    using Settings = NamespaceSettings;
    static const ResourceTable<Draft, Settings> table({
        LastingSetting<&Settings::retention>("retention",
                                             "Finished executions are kept this long."),
        LastingSetting<&Settings::audit_retention>("audit_retention",
                                                   "The audit is kept this long."),
        LastingSetting<&Settings::timeout>("timeout", "Of an attempt, for tasks that name none."),
        {"retry_policy",
         "For tasks that name none.",
         TakenBy<Draft>::Own(RetryPolicyRequestSchema(), "object", ReadRetry).Clears([](Draft& d) {
             d.settings.retry.reset();
         }),
         {schema::OrNull(RetryPolicySchema()),
          [](JsonWriter& json, const Settings& s) {
              if (s.retry) {
                  WriteRetryPolicy(json, *s.retry);
              } else {
                  json.Null();
              }
          }}},
        {"strategy",
         "How workers are chosen for tasks that name none.",
         TakenBy<Draft>::Choice([](Draft& d) -> auto& { return d.settings.strategy; },
                                ParseStrategy, StrategyNames())
             .Clears([](Draft& d) { d.settings.strategy.reset(); }),
         {schema::OrNull(schema::Text()),
          [](JsonWriter& json, const Settings& s) {
              s.strategy ? json.Value(Name(*s.strategy)) : json.Null();
          }}},
    });
    return table;
}

// --- All of it ----------------------------------------------------------------------------------

Result<void> ReadName(NamespaceDraft& draft, const JsonView& value, std::string_view name) {
    std::string scratch;
    if (value.is_string()) draft.row.name = value.AsString(scratch);
    if (value.is_string() && IsNamespaceName(draft.row.name)) return {};
    return BadField(name, "must be 1 to 63 of a-z, 0-9 and '-', and not begin with '-'");
}

Result<void> ReadQuotas(NamespaceDraft& draft, const JsonView& value, std::string_view name) {
    if (value.kind() != JsonView::Kind::kObject) return BadField(name, "must be an object");
    auto read = ReadRequest(QuotaTable().request(), value, draft.row.quotas, "quotas.");
    if (!read) return std::unexpected(read.error());
    draft.row.quotas = *read;
    return {};
}

Result<void> ReadSettings(NamespaceDraft& draft, const JsonView& value, std::string_view name) {
    if (value.kind() != JsonView::Kind::kObject) return BadField(name, "must be an object");
    auto read = ReadRequest(SettingsTable().request(), value,
                            SettingsDraft{draft.row.settings, draft.retry_default}, "settings.");
    if (!read) return std::unexpected(read.error());
    draft.row.settings = std::move(read->settings);
    return {};
}

void WriteLeader(JsonWriter& json, const ShownNamespace& shown) {
    if (!shown.leader) {
        json.Null();
        return;
    }
    json.BeginObject().Field("node_id", shown.leader->node.view());
    json.Field("address", shown.leader->address.view()).EndObject();
}

const ResourceTable<NamespaceDraft, ShownNamespace>& NamespaceTable() {
    using Take = TakenBy<NamespaceDraft>;
    using Shown = ShownNamespace;
    static const ResourceTable<NamespaceDraft, Shown> table({
        {"name",
         "Cannot be changed.",
         Take::Own(R"({"type":"string","pattern":"^[a-z0-9][a-z0-9-]{0,62}$"})",
                   "1 to 63 of a-z 0-9 -", ReadName)
             .Required(),
         {schema::Text(),
          [](JsonWriter& json, const Shown& s) { json.Value(std::string_view(s.row.name)); }}},
        {"number",
         "Of its partition in the store.",
         {},
         {schema::Integer(0, kNamespaceNumberMax),
          [](JsonWriter& json, const Shown& s) { json.Value(unsigned{s.row.number}); }}},
        {"state",
         "`deleting` until everything in it has ended, then `empty` until its rows are gone.",
         {},
         {schema::OneOf({"active", "deleting", "empty"}),
          [](JsonWriter& json, const Shown& s) { json.Value(Name(s.row.state)); }}},
        {"leader",
         "The scheduler that leads it; null: none at the moment.",
         {},
         {schema::OrNull(schema::Object()
                             .Add("node_id", schema::Text())
                             .Add("address", schema::Text())
                             .Text()),
          WriteLeader}},
        {"quotas",
         "What it may use at most; null: no bound.",
         Take::Own(RequestSchema(QuotaTable().request()), "object", ReadQuotas),
         {AnswerSchema(QuotaTable().answer()),
          [](JsonWriter& json, const Shown& s) {
              json.BeginObject();
              WriteFields(json, QuotaTable().answer(), s.row.quotas);
              json.EndObject();
          }}},
        {"settings",
         "What is decided otherwise in it; null: as the scheduler's configuration says.",
         Take::Own(RequestSchema(SettingsTable().request()), "object", ReadSettings),
         {AnswerSchema(SettingsTable().answer()),
          [](JsonWriter& json, const Shown& s) {
              json.BeginObject();
              WriteFields(json, SettingsTable().answer(), s.row.settings);
              json.EndObject();
          }}},
        {"created_at",
         "null: it was always there.",
         {},
         {schema::OrNull(schema::Time()),
          [](JsonWriter& json, const Shown& s) { json.Value(s.row.created_at); }}},
    });
    return table;
}

// A change has everything but the name.
const RequestTable<NamespaceDraft>& ChangeFields() {
    static const RequestTable<NamespaceDraft> fields = [] {
        RequestTable<NamespaceDraft> made = NamespaceTable().request();
        std::erase_if(made, [](const auto& field) { return field.name == "name"; });
        return made;
    }();
    return fields;
}

Result<NamespaceRow> Checked(Result<NamespaceDraft> draft) {
    if (!draft) return std::unexpected(draft.error());
    const NamespaceRow& row = draft->row;
    const Duration most = row.quotas.retention;
    if (most > Duration(0) && row.settings.retention.value_or(most) > most) {
        return BadField("settings.retention", "is above the quota, " + FormatDuration(most));
    }
    return row;
}

CheckedDefinition CheckNamespace(const Services& services, const GivenDefinition& given) {
    NamespaceDraft draft{.retry_default = &services.config.task_limits.retry_default};
    CheckedDefinition checked;
    checked.mistakes = ReadMembers(NamespaceTable().request(), given.object, draft);
    if (!checked.mistakes.empty()) return checked;
    const auto row = Checked(std::move(draft));
    if (!row) {
        checked.mistakes.push_back(row.error());
        return checked;
    }
    JsonWriter json(checked.shown);
    NamespaceTable().WriteShared(json, {*row, std::nullopt});
    return checked;
}

}  // namespace

DefinitionKind NamespaceDefinition() {
    schema::Object object;
    return {.name = "namespace",
            .identity = "name",
            .fields = NamespaceTable().SharedFields(),
            .schema = AddRequestFields(object, NamespaceTable().request()),
            .check = CheckNamespace};
}

void WriteNamespace(JsonWriter& json, const ShownNamespace& shown) {
    json.BeginObject();
    WriteFields(json, NamespaceTable().answer(), shown);
    json.EndObject();
}

Result<NamespaceRow> ReadNewNamespace(const JsonView& object, NamespaceDraft draft) {
    return Checked(ReadRequest(NamespaceTable().request(), object, std::move(draft)));
}

Result<NamespaceRow> ReadNamespaceChange(const JsonView& object, NamespaceDraft draft) {
    return Checked(ReadRequest(ChangeFields(), object, std::move(draft)));
}

void AddNamespaceSchemas(SchemaList& to) {
    to.emplace_back("Namespace", AnswerSchema(NamespaceTable().answer()));
    to.emplace_back("NamespaceList", schema::PageOf("Namespace"));
    to.emplace_back("NamespaceRequest", RequestSchema(NamespaceTable().request()));
    to.emplace_back("NamespaceChange", RequestSchema(ChangeFields()));
}

}  // namespace takt::internal
