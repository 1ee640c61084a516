#include "api/rate_limit_json.h"

#include <charconv>

#include "api/request_kinds.h"
#include "api/resource_table.h"

namespace takt::internal {
namespace {

constexpr std::int64_t kCountMax = 1'000'000;

const ResourceTable<RateLimit, RateLimit>& RateTable() {
    using Take = TakenBy<RateLimit>;
    static const ResourceTable<RateLimit, RateLimit> table({
        {"count",
         "At most this many starts …",
         Take::Count(&RateLimit::count, {1, kCountMax}),
         {schema::Integer(1), [](JsonWriter& json, const RateLimit& r) { json.Value(r.count); }}},
        {"per",
         "… in this time.",
         Take::Duration(&RateLimit::per, Duration(1)),
         {schema::Duration(),
          [](JsonWriter& json, const RateLimit& r) { json.Value(FormatDuration(r.per)); }}},
    });
    return table;
}

std::unexpected<Error> NoRate(std::string_view field) {
    return BadField(field, R"(must be {"count": 10, "per": "1s"}, or in short "10/1s")");
}

// "10/1s", with the bounds of the parts.
Result<RateLimit> ReadShortRate(const JsonView& value, std::string_view field) {
    std::string scratch;
    const std::string_view text = value.AsString(scratch);
    const std::size_t slash = text.find('/');
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (slash == std::string_view::npos || error != std::errc() || end != text.data() + slash ||
        count < 1 || count > kCountMax) {
        return NoRate(field);
    }
    const auto per = ParseDuration(text.substr(slash + 1));
    if (!per || *per < Duration(1)) return NoRate(field);
    return RateLimit{.count = static_cast<std::uint32_t>(count), .per = *per};
}

}  // namespace

Result<RateLimit> ReadRate(const JsonView& value, std::string_view field, RateLimit now) {
    if (value.kind() == JsonView::Kind::kString) return ReadShortRate(value, field);
    if (value.kind() != JsonView::Kind::kObject) return NoRate(field);
    if (now.count == 0) now.per = {};
    const std::string prefix = std::string(field) + ".";
    const auto rate = ReadRequest(RateTable().request(), value, now, prefix);
    if (rate && rate->count == 0) return BadField(prefix + "count", "is missing");
    if (rate && rate->per == Duration(0)) {
        return BadField(prefix + "per", "is missing: in which time, such as \"1s\"");
    }
    return rate;
}

void WriteRate(JsonWriter& json, const RateLimit& rate) {
    json.BeginObject();
    WriteFields(json, RateTable().answer(), rate);
    json.EndObject();
}

std::string RateRequestSchema() {
    return schema::OrText(RequestSchema(RateTable().request()));
}

std::string RateSchema() {
    return AnswerSchema(RateTable().answer());
}

}  // namespace takt::internal
