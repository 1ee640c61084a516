#include "model/audit.h"

#include <utility>

#include "base/json.h"
#include "model/record.h"
#include "model/record_scratch.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

using record::Scratch;

void PutDocument(const AuditDocument& document, record::AuditDocument& to) {
    to.set_kind(static_cast<std::uint32_t>(document.kind));
    to.set_body(document.body);
    to.set_cut(document.cut);
}

// A kind that a later version writes is shown as what is left out.
AuditDocument TakeDocument(const record::AuditDocument& from) {
    using Kind = AuditDocument::Kind;
    if (from.kind() > static_cast<std::uint32_t>(Kind::kTask)) return {.cut = true};
    return {static_cast<Kind>(from.kind()), from.body(), from.cut()};
}

}  // namespace

AuditDocument JsonDocument(std::string json) {
    if (json.size() > kAuditDocumentBytesMax) return {.cut = true};
    return {AuditDocument::Kind::kJson, std::move(json)};
}

AuditDocument FieldsDocument(
    std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject();
    for (const auto& [name, value] : fields) {
        if (!value.empty()) json.Field(name, value);
    }
    json.EndObject();
    return JsonDocument(std::move(text));
}

AuditDocument TaskDocument(const TaskRow& row) {
    std::string bytes = EncodeTaskRow(row);
    if (bytes.size() <= kAuditDocumentBytesMax) {
        return {AuditDocument::Kind::kTask, std::move(bytes)};
    }
    TaskRow small = row;
    auto task = NewTaskPtr(new Task(*row.task));
    task->payload = Text();
    small.task = std::move(task);
    bytes = EncodeTaskRow(small);
    if (bytes.size() > kAuditDocumentBytesMax) return {.cut = true};
    return {AuditDocument::Kind::kTask, std::move(bytes), true};
}

std::string EncodeAuditEntry(const AuditEntry& entry) {
    Scratch<record::AuditEntry> scratch;
    record::AuditEntry& to = *scratch;
    const Act& act = entry.act;
    to.set_who(act.who);
    to.set_token_id(act.token_id);
    to.set_role(act.role);
    to.set_action(act.action);
    to.set_space(act.space);
    to.set_address(act.address);
    to.set_via(act.via);
    to.set_request_id(act.request_id);
    to.set_target_kind(act.change.target.kind);
    to.set_target_id(act.change.target.id);
    PutDocument(act.change.before, *to.mutable_before());
    PutDocument(act.change.after, *to.mutable_after());
    to.set_refusals(entry.refusals);
    to.set_status(entry.status);
    return scratch.Encode();
}

Result<AuditEntry> DecodeAuditEntry(std::string_view bytes) {
    Scratch<record::AuditEntry> scratch;
    if (!scratch.Decode(bytes)) {
        return Fail(ErrorCode::kInvalid, "the stored bytes are not an entry of the audit");
    }
    const record::AuditEntry& from = *scratch;
    return AuditEntry{.act = {.who = from.who(),
                              .token_id = from.token_id(),
                              .role = from.role(),
                              .action = from.action(),
                              .space = from.space(),
                              .address = from.address(),
                              .via = from.via(),
                              .request_id = from.request_id(),
                              .change = {.target = {from.target_kind(), from.target_id()},
                                         .before = TakeDocument(from.before()),
                                         .after = TakeDocument(from.after())}},
                      .refusals = from.refusals(),
                      .status = from.status()};
}

}  // namespace takt::internal
