// Signing in: the browser is sent to the provider and comes back with a code, which is redeemed for
// who somebody is; that becomes a session. A command line is given a code of ours in the end, if the
// person says so on a page, and redeems it with a word that only it knows.
#include "api/signin.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "api/call_flow.h"
#include "api/cookie.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/signin_parts.h"
#include "base/base64.h"
#include "base/log.h"
#include "base/sha256.h"

namespace takt::internal {

// --- For both ways ------------------------------------------------------------------------------

namespace {
constexpr std::size_t kCookieBytesMax = 3900;  // Browsers drop those of more than 4096.
}

std::string ChallengeFor(std::string_view verifier) {
    const Sha256 hash = Sha256Of(verifier);
    return Base64Url({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

HttpResponse GoTo(std::string url) {
    HttpResponse response{.status = 302};
    response.headers.emplace_back("Location", std::move(url));
    return response;
}

const Problem kNoSignIn = {404, "no_route",
                           "nobody can sign in here: signin.issuer is not configured"};

void RefuseSignIn(Call& call, const Error& error) {
    Log(LogLevel::kWarning, "audit", "a sign-in was refused",
        {{"address", call.request().remote_address}, {"error", error.detail}});
    const bool away = error.code == ErrorCode::kUnavailable;
    call.Refuse({away ? 502 : 401, away ? "unavailable" : "unauthorized", error.detail});
}

std::optional<std::string> MakeSession(Call& call, const SignIn& signin, Person person) {
    const std::string name = person.name;
    const std::string subject = person.subject;
    std::string session = signin.sessions->Make(std::move(person), ReadClocks().wall);
    if (session.size() > kCookieBytesMax) {
        RefuseSignIn(call, {ErrorCode::kInvalid,
                            "too many groups of signin.roles fit: no browser keeps so "
                            "long a cookie",
                            ""});
        return std::nullopt;
    }
    Log(LogLevel::kInfo, "audit", "signed in",
        {{"who", name}, {"subject", subject}, {"address", call.request().remote_address}});
    return session;
}

// --- The browser's ------------------------------------------------------------------------------

namespace {

constexpr std::string_view kLoginCookie = "takt_login";
constexpr std::string_view kLoginPath = "/auth";
constexpr Duration kLoginLifetime{10 * 60'000};
// Codes that are being redeemed by one thread's server: strangers can send any number of them.
constexpr std::size_t kRedeemingMax = 50;

// A question that is under way, as the browser keeps it meanwhile.
struct Login {
    std::string state;
    std::string nonce;
    std::string verifier;
    std::string return_to;      // A page of ours.
    std::string cli_port;       // Not empty: a command line waits there …
    std::string cli_challenge;  // … and knows what this is the hash of.
};

std::string Secret(Random& random) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t word = random.Next();
        bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return Base64Url(bytes);
}

std::string Spelled(const Login& login) {
    std::string text;
    AppendJson(text, boost::json::object{{"state", login.state},
                                         {"nonce", login.nonce},
                                         {"verifier", login.verifier},
                                         {"return_to", login.return_to},
                                         {"cli_port", login.cli_port},
                                         {"cli_challenge", login.cli_challenge}});
    return text;
}

// REQUIRES: Spelled wrote it.
Login ReadLogin(std::string_view text) {
    const auto value = ParseJson(text).value();
    const auto at = [&](const char* name) {
        return std::string(value.get_object().at(name).as_string());
    };
    return {.state = at("state"),
            .nonce = at("nonce"),
            .verifier = at("verifier"),
            .return_to = at("return_to"),
            .cli_port = at("cli_port"),
            .cli_challenge = at("cli_challenge")};
}

// Browsers leave tabs and line breaks out of addresses: "/<tab>/evil" is "//evil" to them.
bool IsBlankOrControl(unsigned char letter) {
    return letter <= ' ' || letter == 0x7f;
}

// A page of ours, and nobody else's.
std::string PageOfOurs(const std::optional<std::string>& wanted) {
    if (!wanted || !wanted->starts_with('/') || wanted->starts_with("//") ||
        wanted->contains('\\') || std::ranges::any_of(*wanted, IsBlankOrControl)) {
        return "/";
    }
    return *wanted;
}

bool IsPort(std::string_view text) {
    return !text.empty() && text.size() <= 5 && text.front() != '0' &&
           text.find_first_not_of("0123456789") == text.npos;
}

Flow<> BeginLogin(Call call) {
    SignIn* signin = call.services().gate->signin.get();
    if (!signin) co_return call.Refuse(kNoSignIn);
    Random& random = call.services().gate->random;
    Login login{.state = Secret(random),
                .nonce = Secret(random),
                .verifier = Secret(random),
                .return_to = PageOfOurs(call.request().Query("return_to")),
                .cli_port = call.request().Query("cli_port").value_or(""),
                .cli_challenge = call.request().Query("cli_challenge").value_or("")};
    const bool cli = !login.cli_port.empty() || !login.cli_challenge.empty();
    if (cli && (!IsPort(login.cli_port) || login.cli_challenge.size() != 43)) {
        co_return call.Refuse({400, "invalid",
                               "cli_port and cli_challenge come together: a port of "
                               "this machine and the S256 of a verifier",
                               "cli_port"});
    }
    const auto url = co_await signin->provider.AskUrl(
        {.state = login.state, .nonce = login.nonce, .challenge = ChallengeFor(login.verifier)});
    if (!url) co_return RefuseSignIn(call, url.error());
    HttpResponse response = GoTo(*url);
    const Time until = ReadClocks().wall + kLoginLifetime;
    KeepCookie(response,
               {.name = kLoginCookie,
                .value = signin->sessions->seal().Close("takt-login", Spelled(login), until),
                .lifetime = kLoginLifetime,
                .path = kLoginPath,
                .secure = signin->secure});
    call.Send(std::move(response));
}

// The login that this answer of the provider belongs to.
Result<Login> LoginOf(const SignIn& signin, const HttpRequest& request) {
    const auto opened = signin.sessions->seal().Open("takt-login", CookieOf(request, kLoginCookie),
                                                     ReadClocks().wall);
    if (!opened) {
        return Fail(
            ErrorCode::kInvalid,
            "this browser did not begin to sign in here in the last ten minutes; try again");
    }
    Login login = ReadLogin(opened->text);
    if (request.Query("state") != login.state) {
        return Fail(ErrorCode::kInvalid,
                    "the answer belongs to another sign-in (state); try again");
    }
    if (const auto error = request.Query("error")) {
        return Fail(ErrorCode::kInvalid,
                    "the sign-in provider refused: " +
                        request.Query("error_description").value_or(*error).substr(0, 200));
    }
    return login;
}

void Arrive(Call& call, const SignIn& signin, const Login& login, Person person) {
    HttpResponse response;
    if (login.cli_port.empty()) {
        const auto session = MakeSession(call, signin, std::move(person));
        if (!session) return;
        response = GoTo(login.return_to);
        KeepCookie(response, {.name = kSessionCookie,
                              .value = *session,
                              .lifetime = signin.sessions->lifetime(),
                              .secure = signin.secure});
    } else {
        response = AskForConsent(call, signin, {login.cli_port, login.cli_challenge}, person);
    }
    // A second answer to the same question finds no question.
    KeepCookie(response,
               {.name = kLoginCookie, .value = "", .path = kLoginPath, .secure = signin.secure});
    call.Send(std::move(response));
}

Flow<> EndLogin(Call call) {
    SignIn* signin = call.services().gate->signin.get();
    if (!signin) co_return call.Refuse(kNoSignIn);
    const auto login = LoginOf(*signin, call.request());
    if (!login) co_return RefuseSignIn(call, login.error());
    if (signin->redeeming >= kRedeemingMax) {
        co_return call.Refuse({.status = 503,
                               .code = "unavailable",
                               .detail = "too many people sign in at once; try again",
                               .retry_after_seconds = 5});
    }
    ++signin->redeeming;
    auto person =
        co_await signin->provider.Redeem({.code = call.request().Query("code").value_or(""),
                                          .verifier = login->verifier,
                                          .nonce = login->nonce});
    --signin->redeeming;
    if (!person) co_return RefuseSignIn(call, person.error());
    Arrive(call, *signin, *login, std::move(*person));
}

void SignOut(Call call) {
    const SignIn* signin = call.services().gate->signin.get();
    HttpResponse response{.status = 204};
    // Where nobody can sign in there is nothing to take away, and nothing wrong.
    if (signin)
        KeepCookie(response, {.name = kSessionCookie, .value = "", .secure = signin->secure});
    call.Send(std::move(response));
}

void ListMethods(Call call) {
    const SignIn* signin = call.services().gate->signin.get();
    std::string answer;
    JsonWriter json(answer);
    json.BeginObject().Field("token", true).Key("signin");
    if (signin) {
        json.BeginObject()
            .Field("issuer", std::string_view(signin->provider.options().issuer))
            .Field("login", "/auth/login")
            .EndObject();
    } else {
        json.Null();
    }
    json.EndObject();
    call.Json(200, std::move(answer));
}

std::string MethodsSchema() {
    schema::Object signin;
    signin.Add("issuer", schema::Text()).Add("login", schema::Text());
    schema::Object methods;
    methods.Add("token", schema::Bool()).Add("signin", schema::OrNull(signin.Text()));
    return methods.Text();
}

}  // namespace

void AddSignInSchemas(SchemaList& to) {
    AddCommandLineSchemas(to);
    to.emplace_back("SignInMethods", MethodsSchema());
}

void AddSignInRoutes(std::vector<Route>& routes) {
    AddCommandLineRoutes(routes);
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/auth/methods",
                      .permission = Permission::kNone,
                      .handler = ListMethods,
                      .tag = "tokens",
                      .summary = "How one can come in: by a token, by signing in",
                      .gives = "SignInMethods",
                      .cluster = true});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/auth/login",
                      .permission = Permission::kNone,
                      .handler = Flowing(BeginLogin),
                      .tag = "tokens",
                      .summary = "Sends the browser to the OpenID provider",
                      .query = {{"return_to", "The page of the console to come back to."},
                                {"cli_port", "A command line waits on this port of its machine."},
                                {"cli_challenge", "S256 of the word that it will show."}},
                      .success = 302,
                      .cluster = true});
    routes.push_back({.method = HttpMethod::kGet,
                      .path = "/auth/callback",
                      .permission = Permission::kNone,
                      .handler = Flowing(EndLogin),
                      .tag = "tokens",
                      .summary = "Where the provider sends the browser back to",
                      .query = {{"code", "As the provider gave it."},
                                {"state", "As the question had it."},
                                {"error", "Why the provider gives none."},
                                {"error_description", "The same, for people."}},
                      .success = 302,
                      .cluster = true,
                      .open_query = true});
    routes.push_back({.method = HttpMethod::kPost,
                      .path = "/auth/logout",
                      .permission = Permission::kNone,
                      .handler = SignOut,
                      .tag = "tokens",
                      .summary = "Takes the session's cookie away",
                      .success = 204,
                      .cluster = true});
}

}  // namespace takt::internal
