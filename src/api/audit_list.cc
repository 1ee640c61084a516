// The audit as it is read: newest first, by filter, as a page or as lines.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_table.h"
#include "api/call_flow.h"
#include "api/json_read.h"
#include "api/query.h"
#include "api/resource_pages.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "api/task_json.h"
#include "base/log.h"
#include "model/audit.h"
#include "model/record.h"

namespace takt::internal {
namespace {

// Rows that the store is asked for at once, and that one call looks through at most: a filter that
// finds little must not read months of it in one go.
constexpr std::size_t kRowsPerRead = 200;
constexpr std::size_t kRowsPerCall = 5'000;
// A page ends when it has so many bytes, however few entries: each may have two documents.
constexpr std::size_t kAuditPageBytesMax = 4u << 20;
constexpr std::size_t kFilterBytesMax = 300;

constexpr std::string_view kLinesType = "application/x-ndjson";

struct ShownEntry {
    const AuditRow& row;
    const AuditEntry& entry;
};

void WriteOrNull(JsonWriter& json, std::string_view text) {
    text.empty() ? json.Null() : json.Value(text);
}

void WriteDocument(JsonWriter& json, const AuditDocument& document) {
    switch (document.kind) {
        case AuditDocument::Kind::kJson:
            return WriteJsonText(json, document.body);
        case AuditDocument::Kind::kTask:
            if (const auto row = DecodeTaskRow(document.body)) return WriteTask(json, *row);
            break;
        case AuditDocument::Kind::kNone:
            break;
    }
    json.Null();
}

const AnswerTable<ShownEntry>& AuditFields() {
    using Shown = ShownEntry;
    static const AnswerTable<Shown> fields = {
        {"id", schema::Text(), "Later entries have later ids.",
         [](JsonWriter& json, const Shown& s) {
             json.Value(std::string_view(SerialText(s.row.serial)));
         }},
        {"at", schema::Time(), "By the clock of the leader.",
         [](JsonWriter& json, const Shown& s) { json.Value(s.row.at); }},
        {"namespace", schema::Text(), "",
         [](JsonWriter& json, const Shown& s) { json.Value(std::string_view(s.entry.act.space)); }},
        {"who", schema::Text(),
         "The name of the token; `open` while there is none and everything is allowed.",
         [](JsonWriter& json, const Shown& s) { json.Value(std::string_view(s.entry.act.who)); }},
        {"token_id", schema::OrNull(schema::Text()), "",
         [](JsonWriter& json, const Shown& s) { WriteOrNull(json, s.entry.act.token_id); }},
        {"role", schema::OrNull(schema::Text()), "Of the token.",
         [](JsonWriter& json, const Shown& s) { WriteOrNull(json, s.entry.act.role); }},
        {"action", schema::Text(), "The operationId of the address in /openapi.json.",
         [](JsonWriter& json, const Shown& s) {
             json.Value(std::string_view(s.entry.act.action));
         }},
        {"target", schema::Object().Add("kind", schema::Text()).Add("id", schema::Text()).Text(),
         "What was changed; of a refusal, what was asked for.",
         [](JsonWriter& json, const Shown& s) {
             const AuditTarget& target = s.entry.act.change.target;
             json.BeginObject().Field("kind", std::string_view(target.kind));
             json.Field("id", std::string_view(target.id)).EndObject();
         }},
        {"address", schema::Text(), "From where.",
         [](JsonWriter& json, const Shown& s) {
             json.Value(std::string_view(s.entry.act.address));
         }},
        {"via", schema::OrNull(schema::Text()), "The scheduler that passed the call on.",
         [](JsonWriter& json, const Shown& s) { WriteOrNull(json, s.entry.act.via); }},
        {"request_id", schema::Text(), "As in the answer and in the log.",
         [](JsonWriter& json, const Shown& s) {
             json.Value(std::string_view(s.entry.act.request_id));
         }},
        {"outcome", schema::OneOf({"done", "refused"}), "",
         [](JsonWriter& json, const Shown& s) {
             json.Value(s.entry.refusals > 0 ? "refused" : "done");
         }},
        {"status", schema::OrNull(schema::Integer(400, 599)), "Of the last refusal.",
         [](JsonWriter& json, const Shown& s) {
             s.entry.refusals > 0 ? json.Value(s.entry.status) : json.Null();
         }},
        {"count", schema::Integer(1), "Refusals of the same kind within a minute; else 1.",
         [](JsonWriter& json, const Shown& s) { json.Value(std::max(s.entry.refusals, 1u)); }},
        {"before", schema::Any(), "The definition, or the part that changes; null: there was none.",
         [](JsonWriter& json, const Shown& s) { WriteDocument(json, s.entry.act.change.before); }},
        {"after", schema::Any(), "null: there is none.",
         [](JsonWriter& json, const Shown& s) { WriteDocument(json, s.entry.act.change.after); }},
        {"cut", schema::Bool(), "A document was too large: without its payload, or null.",
         [](JsonWriter& json, const Shown& s) {
             json.Value(s.entry.act.change.before.cut || s.entry.act.change.after.cut);
         }}};
    return fields;
}

struct AuditQuery {
    Serial from = 0;
    Serial before = 0;  // 0: from the newest on.
    std::size_t limit = kPageDefault;
    std::string who, action, target;
    std::optional<bool> refused;
    bool lines = false;

    bool Wants(const AuditEntry& entry) const {
        const Act& act = entry.act;
        const AuditTarget& on = act.change.target;
        if (!who.empty() && act.who != who && act.token_id != who) return false;
        if (!action.empty() && !act.action.contains(action)) return false;
        if (!target.empty() && on.id != target && on.kind + "/" + on.id != target) return false;
        return !refused || *refused == (entry.refusals > 0);
    }
};

Result<Serial> QueryMoment(const HttpRequest& request, std::string_view name) {
    const auto text = request.Query(name);
    if (!text) return Serial(0);
    const auto time = ParseTime(*text);
    if (!time) return BadField(name, "must be a time from 1970 on, such as 2026-11-15T02:00:00Z");
    return std::max<Serial>(SerialAt(*time), 1);  // 0 is no moment.
}

Result<void> ReadAuditFilter(const HttpRequest& request, AuditQuery& query) {
    for (const auto& [name, place] : {std::pair<std::string_view, std::string*>{"who", &query.who},
                                      {"action", &query.action},
                                      {"target", &query.target}}) {
        *place = request.Query(name).value_or("");
        if (place->size() > kFilterBytesMax) return BadField(name, "is too long");
    }
    const std::string outcome = request.Query("outcome").value_or("");
    if (outcome == "done" || outcome == "refused") {
        query.refused = outcome == "refused";
    } else if (!outcome.empty()) {
        return BadField("outcome", "must be done or refused");
    }
    const std::string format = request.Query("format").value_or("");
    if (!format.empty() && format != "json" && format != "jsonl") {
        return BadField("format", "must be json or jsonl");
    }
    const auto accept = request.headers.Find("Accept");
    query.lines =
        format == "jsonl" || (format.empty() && accept && ListHasToken(*accept, kLinesType));
    return {};
}

Result<AuditQuery> ReadAuditQuery(const HttpRequest& request) {
    AuditQuery query;
    const auto limit = QueryCount(request, "limit");
    if (!limit) return std::unexpected(limit.error());
    query.limit = *limit;
    const auto since = QueryMoment(request, "since");
    if (!since) return std::unexpected(since.error());
    query.from = *since;
    const auto until = QueryMoment(request, "until");
    if (!until) return std::unexpected(until.error());
    query.before = *until;
    if (const auto cursor = request.Query("cursor")) {
        const auto end = ParseSerialCursor(*cursor);
        if (!end) return std::unexpected(end.error());
        query.before = query.before == 0 ? *end : std::min(query.before, *end);
    }
    if (const auto after = request.Query("after")) {
        const auto serial = ParseSerial(*after);
        if (!serial) return BadField("after", "is not the id of an entry");
        query.from = std::max(query.from, *serial + 1);
    }
    if (const auto id = request.Query("id")) {
        const auto serial = ParseSerial(*id);
        if (!serial) return BadField("id", "is not the id of an entry");
        query.from = *serial;
        query.before = *serial + 1;
    }
    if (auto read = ReadAuditFilter(request, query); !read) return std::unexpected(read.error());
    return query;
}

// One page on its way.
class AuditPage {
  public:
    explicit AuditPage(AuditQuery query) : query_(std::move(query)), before_(query_.before) {
        if (!query_.lines) json_.BeginObject().Key("items").BeginArray();
    }

    bool done() const { return over_ || Full() || looked_ >= kRowsPerCall; }
    Serial before() const { return before_; }

    void Take(const std::vector<AuditRow>& rows) {
        for (const AuditRow& row : rows) {
            if (Full()) return;
            if (row.serial < query_.from) {
                over_ = true;
                return;
            }
            before_ = row.serial;
            ++looked_;
            TakeOne(row);
        }
        if (rows.size() < kRowsPerRead) over_ = true;
    }

    HttpResponse Finish() {
        std::optional<std::string> next;
        if (!over_) next = SerialCursor(before_);
        if (!query_.lines) {
            EndPage(json_, next);
            return HttpResponse::Json(200, std::move(body_));
        }
        HttpResponse response{.content_type = std::string(kLinesType), .body = std::move(body_)};
        if (next) response.headers.emplace_back("X-Next-Cursor", *next);
        return response;
    }

  private:
    bool Full() const { return found_ >= query_.limit || body_.size() >= kAuditPageBytesMax; }

    void TakeOne(const AuditRow& row) {
        auto entry = DecodeAuditEntry(row.body);
        if (!entry) {
            Log(LogLevel::kError, "api", "an entry of the audit cannot be read",
                {{"serial", row.serial}, {"error", entry.error().detail}});
            entry = AuditEntry{.act = {.change = {.after = {.cut = true}}}};
        }
        if (!query_.Wants(*entry)) return;
        ++found_;
        if (!query_.lines) return Write(json_, {row, *entry});
        JsonWriter line(body_);
        Write(line, {row, *entry});
        body_ += '\n';
    }

    static void Write(JsonWriter& json, const ShownEntry& shown) {
        json.BeginObject();
        WriteFields(json, AuditFields(), shown);
        json.EndObject();
    }

    const AuditQuery query_;
    Serial before_;
    std::size_t looked_ = 0;
    std::size_t found_ = 0;
    bool over_ = false;  // There is nothing further back.
    std::string body_;
    JsonWriter json_{body_};
};

Flow<> ListAudit(Call call) {
    auto query = ReadAuditQuery(call.request());
    if (!query) co_return call.RefuseRequest(query.error());
    AuditPage page(std::move(*query));
    while (!page.done()) {
        const auto rows = co_await Answered<Result<std::vector<AuditRow>>>(call, [&](auto done) {
            call.services().rows.ReadAudit(page.before(), kRowsPerRead, std::move(done));
        });
        if (!rows) co_return call.RefuseAnswer(rows.error());
        page.Take(*rows);
    }
    call.Send(page.Finish());
}

}  // namespace

void AddAuditSchemas(SchemaList& to) {
    to.emplace_back("AuditEntry", AnswerSchema(AuditFields()));
    to.emplace_back("AuditList", schema::PageOf("AuditEntry"));
}

void AddAuditRoutes(std::vector<Route>& routes) {
    routes.push_back(
        {.method = HttpMethod::kGet,
         .path = "/api/v1/audit",
         .permission = Permission::kAdmin,
         .handler = Flowing(ListAudit),
         .tag = "audit",
         .summary = "Who changed what, newest first; as JSON lines if asked for, where "
                    "X-Next-Cursor says how to go on",
         .query = {{"id", "This entry alone."},
                   {"after", "Later than the entry of this id."},
                   {"since", "At this time or later."},
                   {"until", "Before this time."},
                   {"who", "The name or the id of a token; open: where there was none."},
                   {"action", "Part of an action: pause, tasks, delete."},
                   {"target", "An id, or kind/id: nightly, task/nightly."},
                   {"outcome", "done or refused."},
                   {"format", "json, or jsonl: the same as Accept: application/x-ndjson."},
                   {"limit",
                    "1 to 1000, 100 unless given. A page may have fewer, or none, while "
                    "there is a next_cursor: one call looks through 5,000 entries."},
                   {"cursor", "Where the last page ended."}},
         .gives = "AuditList",
         .gives_text = kLinesType});
}

}  // namespace takt::internal
