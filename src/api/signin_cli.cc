// Signing in a command line: a page asks the person, a code goes to the port where it waits, and is
// redeemed for a session with the word that only it knows.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/answer_table.h"
#include "api/call_body.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/signin_consent.h"
#include "api/signin_parts.h"

namespace takt::internal {
namespace {

constexpr Duration kCodeLifetime{60'000};
constexpr Duration kGrantLifetime{5 * 60'000};  // As long as takt login waits.
constexpr std::size_t kCodeBytesMax = 8 << 10;

// The question that a person is asked, as the page keeps it until they say yes.
std::string GrantFor(const WaitingCommandLine& waiting, const Person& person) {
    boost::json::array groups(person.groups.begin(), person.groups.end());
    std::string text;
    AppendJson(text, boost::json::object{{"port", waiting.port},
                                         {"challenge", waiting.challenge},
                                         {"subject", person.subject},
                                         {"name", person.name},
                                         {"groups", std::move(groups)}});
    return text;
}

// REQUIRES: GrantFor wrote it.
struct CommandLineGrant {
    WaitingCommandLine waiting;
    Person person;
};
CommandLineGrant ReadGrant(std::string_view text) {
    const auto value = ParseJson(text).value();
    const boost::json::object& grant = value.get_object();
    const auto at = [&](const char* name) { return std::string(grant.at(name).as_string()); };
    CommandLineGrant read{.waiting = {.port = at("port"), .challenge = at("challenge")},
                          .person = {.subject = at("subject"), .name = at("name"), .groups = {}}};
    for (const auto& group : grant.at("groups").as_array()) {
        read.person.groups.emplace_back(group.as_string());
    }
    return read;
}

bool PrefersChinese(const HttpRequest& request) {
    const auto languages = request.headers.Find("Accept-Language");
    return languages && languages->starts_with("zh");
}

// The person has said yes: the command line gets a code. It passes through addresses, which browsers
// and proxies keep: whoever reads it there has nothing without the verifier, for the session is made
// when that is shown.
void GrantCommandLine(Call call) {
    const SignIn* signin = call.services().gate->signin.get();
    if (!signin) return call.Refuse(kNoSignIn);
    const Time now = ReadClocks().wall;
    const auto opened = signin->sessions->seal().Open(
        "takt-grant", call.request().Query("grant").value_or(""), now);
    if (!opened) {
        return RefuseSignIn(
            call, {ErrorCode::kInvalid,
                   "this page was not answered in time; begin again with takt login", ""});
    }
    const std::string code =
        signin->sessions->seal().Close("takt-code", opened->text, now + kCodeLifetime);
    const std::string port = ReadGrant(opened->text).waiting.port;
    HttpResponse response = GoTo("http://127.0.0.1:" + port + "/?code=" + code);
    response.status = 303;  // A GET, whatever brought the browser here.
    call.Send(std::move(response));
}

struct CodeBody {
    std::string code;
    std::string verifier;
};

const RequestTable<CodeBody>& CodeFields() {
    static const RequestTable<CodeBody> fields = {
        {"code", "As the command line was given it.",
         TakenBy<CodeBody>::Text(&CodeBody::code, kCodeBytesMax).Required()},
        {"verifier", "The word whose S256 was sent as `cli_challenge`.",
         TakenBy<CodeBody>::Text(&CodeBody::verifier, 128).Required()}};
    return fields;
}

struct MadeSession {
    std::string text;
    Sessions::Session session;
};

const AnswerTable<MadeSession>& SessionFields() {
    static const AnswerTable<MadeSession> fields = {
        {"token", schema::Text(), "Good wherever an access token is, until its time is over.",
         [](JsonWriter& json, const MadeSession& made) {
             json.Value(std::string_view(made.text));
         }},
        {"who", schema::Text(), "",
         [](JsonWriter& json, const MadeSession& made) {
             json.Value(std::string_view(made.session.person.name));
         }},
        {"expires_at", schema::Time(), "",
         [](JsonWriter& json, const MadeSession& made) { json.Value(made.session.until); }}};
    return fields;
}

void RedeemCode(Call call) {
    const SignIn* signin = call.services().gate->signin.get();
    if (!signin) return call.Refuse(kNoSignIn);
    const auto body = ReadBody(call, CodeFields());
    if (!body) return call.RefuseRequest(body.error());
    const Time now = ReadClocks().wall;
    const auto opened = signin->sessions->seal().Open("takt-code", body->code, now);
    const auto refuse = [&] {
        call.Refuse({401, "unauthorized", "the code is not good, or not any more"});
    };
    if (!opened) return refuse();
    CommandLineGrant grant = ReadGrant(opened->text);
    if (grant.waiting.challenge != ChallengeFor(body->verifier)) return refuse();
    const auto session = MakeSession(call, *signin, std::move(grant.person));
    if (!session) return;
    MadeSession made{.text = *session, .session = signin->sessions->Read(*session, now).value()};
    std::string answer;
    JsonWriter json(answer);
    json.BeginObject();
    WriteFields(json, SessionFields(), made);
    json.EndObject();
    call.Json(200, std::move(answer));
}

}  // namespace

HttpResponse AskForConsent(const Call& call, const SignIn& signin,
                           const WaitingCommandLine& waiting, const Person& person) {
    const std::string grant = signin.sessions->seal().Close(
        "takt-grant", GrantFor(waiting, signin.sessions->Known(person)),
        ReadClocks().wall + kGrantLifetime);
    return ConsentPage({.who = person.name,
                        .number = LoginNumber(waiting.challenge),
                        .port = waiting.port,
                        .action = "/auth/cli?grant=" + grant,
                        .chinese = PrefersChinese(call.request())});
}

void AddCommandLineSchemas(SchemaList& to) {
    to.emplace_back("SignInCode", RequestSchema(CodeFields()));
    to.emplace_back("SignInSession", AnswerSchema(SessionFields()));
}

void AddCommandLineRoutes(std::vector<Route>& routes) {
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/auth/cli",
                      .permission = Permission::kNone,
                      .handler = GrantCommandLine,
                      .tag = "tokens",
                      .summary = "The person says that the command line may have a session",
                      .query = {{"grant", "As the page has it that asks."}},
                      .success = 303,
                      .cluster = true});
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/auth/session",
                      .permission = Permission::kNone,
                      .handler = RedeemCode,
                      .tag = "tokens",
                      .summary = "Gives a command line its session",
                      .takes = "SignInCode",
                      .gives = "SignInSession",
                      .cluster = true});
}

}  // namespace takt::internal
