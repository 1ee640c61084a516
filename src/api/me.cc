// Me: who a caller is, and what that lets it do.
#include "api/answer_table.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "model/audit.h"

namespace takt::internal {
namespace {

struct Me {
    const Principal& who;
    const Gate& gate;

    const AccessToken* token() const { return gate.access.FindToken(who.token_id); }
    bool open() const { return who.token_id.empty(); }
};

void WriteMySpaces(JsonWriter& json, const Me& me) {
    json.BeginArray();
    for (const auto& [name, realm] : me.gate.realms) {
        if (me.who.May(Permission::kAny, name)) json.Value(std::string_view(name));
    }
    json.EndArray();
}

const AnswerTable<Me>& MeFields() {
    static const AnswerTable<Me> fields = {
        {"who", schema::Text(),
         "The name of the token, or of whoever signed in; `open` if there is neither.",
         [](JsonWriter& json, const Me& me) {
             json.Value(me.open() ? kOpenAct : std::string_view(me.who.name));
         }},
        {"token_id", schema::OrNull(schema::Text()), "",
         [](JsonWriter& json, const Me& me) {
             me.open() ? json.Null() : json.Value(std::string_view(me.who.token_id));
         }},
        {"role", schema::OneOf({"viewer", "operator", "admin", "worker", "executor"}),
         "Everybody is an admin while everything is open.",
         [](JsonWriter& json, const Me& me) {
             json.Value(Name(me.who.role.value_or(AccessRole::kAdmin)));
         }},
        {"namespace", schema::Text(), "The one that the token is for, or `*`.",
         [](JsonWriter& json, const Me& me) { json.Value(std::string_view(me.who.space)); }},
        {"namespaces", schema::ListOf(schema::Text()), "Those of them that there are.",
         WriteMySpaces},
        {"expires_at", schema::OrNull(schema::Time()), "null: never.",
         [](JsonWriter& json, const Me& me) {
             const AccessToken* token = me.token();
             json.Value(token ? token->expires_at : me.who.until);
         }},
        {"access_control", schema::Bool(), "Whether calls need a token.",
         [](JsonWriter& json, const Me& me) { json.Value(!me.open()); }}};
    return fields;
}

void GetMe(Call call) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject();
    WriteFields(json, MeFields(), {call.who(), *call.services().gate});
    json.EndObject();
    call.Json(200, std::move(body));
}

}  // namespace

void AddMeSchemas(SchemaList& to) {
    to.emplace_back("Me", AnswerSchema(MeFields()));
}

void AddMeRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/api/v1/me",
                      .permission = Permission::kAny,
                      .handler = GetMe,
                      .tag = "tokens",
                      .summary = "Who the caller is: role and namespaces of its token",
                      .gives = "Me"});
}

}  // namespace takt::internal
