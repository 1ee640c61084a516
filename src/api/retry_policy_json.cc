#include "api/retry_policy_json.h"

#include "api/request_kinds.h"
#include "api/resource_table.h"

namespace takt::internal {
namespace {

// A part of the policy: where it is, and back to the standard.
template <typename Part>
struct PartOf {
    Part RetryPolicy::* member;

    Part& operator()(RetryDraft& draft) const { return draft.policy.*member; }
    std::function<void(RetryDraft&)> ToStandard() const {
        return
            [place = member](RetryDraft& draft) { draft.policy.*place = draft.standard->*place; };
    }
};

Taken<RetryDraft> DurationPart(Duration RetryPolicy::* member) {
    const PartOf<Duration> part{member};
    return TakenBy<RetryDraft>::Duration(part, Duration(0)).Clears(part.ToStandard());
}

Taken<RetryDraft> NumberPart(double RetryPolicy::* member, NumberRange range) {
    const PartOf<double> part{member};
    return TakenBy<RetryDraft>::Number(part, range).Clears(part.ToStandard());
}

Taken<RetryDraft> RetriesPart() {
    return TakenBy<RetryDraft>::Count(&RetryDraft::retries_max, {0, kRetriesMax})
        .Clears([](RetryDraft& draft) { draft.retries_max = draft.standard->retries_max; });
}

const ResourceTable<RetryDraft, RetryPolicy>& RetryTable() {
    using Policy = RetryPolicy;
    static const ResourceTable<RetryDraft, Policy> table({
        {"max_retries",
         "How many failed attempts are repeated.",
         RetriesPart(),
         {schema::Integer(0),
          [](JsonWriter& json, const Policy& p) { json.Value(p.retries_max); }}},
        {"delay",
         "Before the first of them.",
         DurationPart(&Policy::delay),
         {schema::Duration(),
          [](JsonWriter& json, const Policy& p) { json.Value(FormatDuration(p.delay)); }}},
        {"backoff_rate",
         "Each delay is so many times the one before.",
         NumberPart(&Policy::backoff_rate, {1, 100}),
         {schema::Number(), [](JsonWriter& json, const Policy& p) { json.Value(p.backoff_rate); }}},
        {"delay_max",
         "No delay is longer.",
         DurationPart(&Policy::delay_max),
         {schema::Duration(),
          [](JsonWriter& json, const Policy& p) { json.Value(FormatDuration(p.delay_max)); }}},
        {"jitter",
         "Each delay is shortened by up to this fraction, at random.",
         NumberPart(&Policy::jitter, {0, 1}),
         {schema::Number(), [](JsonWriter& json, const Policy& p) { json.Value(p.jitter); }}},
    });
    return table;
}

}  // namespace

Result<RetryDraft> ReadRetryParts(const JsonView& value, std::string_view field, RetryDraft draft) {
    if (value.kind() != JsonView::Kind::kObject) return BadField(field, "must be an object");
    auto read =
        ReadRequest(RetryTable().request(), value, std::move(draft), std::string(field) + ".");
    if (read && read->retries_max) read->policy.retries_max = *read->retries_max;
    return read;
}

void WriteRetryPolicy(JsonWriter& json, const RetryPolicy& policy) {
    json.BeginObject();
    WriteFields(json, RetryTable().answer(), policy);
    json.EndObject();
}

std::string RetryPolicyRequestSchema() {
    return RequestSchema(RetryTable().request());
}

std::string RetryPolicySchema() {
    return AnswerSchema(RetryTable().answer());
}

}  // namespace takt::internal
