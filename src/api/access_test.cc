#include "api/access.h"

#include "api/open_sessions.h"
#include "api/openapi.h"
#include "api/test_scheduler.h"
#include "http/websocket.h"

namespace takt::internal {
namespace {

HttpHeaderList Bearer(std::string_view token) {
    return {{"Authorization", "Bearer " + std::string(token)}};
}

std::string MakeTokenOf(TestScheduler& scheduler, std::string_view role,
                        const HttpHeaderList& headers) {
    const Answered made = scheduler.Post(
        "/api/v1/tokens", R"({"name": "t", "role": ")" + std::string(role) + "\"}", headers);
    EXPECT_EQ(made.status, 201) << made.body;
    return made.Text("token");
}

// A role that is not enough for a permission; nothing if every role is.
std::optional<AccessRole> TooLittleFor(Permission permission) {
    for (const AccessRole role :
         {AccessRole::kViewer, AccessRole::kWorker, AccessRole::kOperator}) {
        if (!Allows(role, permission)) return role;
    }
    return std::nullopt;
}

AccessRole EnoughFor(Permission permission) {
    for (const AccessRole role : {AccessRole::kViewer, AccessRole::kWorker, AccessRole::kExecutor,
                                  AccessRole::kOperator, AccessRole::kAdmin}) {
        if (Allows(role, permission)) return role;
    }
    return AccessRole::kAdmin;
}

std::string Filled(std::string_view path) {
    std::string filled(path);
    for (std::size_t at = filled.find('{'); at != filled.npos; at = filled.find('{')) {
        filled.replace(at, filled.find('}') - at + 1, "nobody");
    }
    return filled;
}

// Every address is tried by strangers, by people with too little, and by those who may.
TEST(Access, EveryRouteAsksForItsPermission) {
    TestScheduler scheduler({.config = {.access = {.failures_max = 1'000'000}}});
    const HttpHeaderList admin = Bearer(MakeTokenOf(scheduler, "admin", {}));
    std::map<AccessRole, std::string> tokens;
    for (const AccessRole role : {AccessRole::kViewer, AccessRole::kOperator, AccessRole::kAdmin,
                                  AccessRole::kWorker, AccessRole::kExecutor}) {
        tokens[role] = MakeTokenOf(scheduler, Name(role), admin);
    }
    std::string wrong = tokens[AccessRole::kAdmin];
    wrong.back() = wrong.back() == 'A' ? 'B' : 'A';

    for (const Route& route : scheduler.api().routes().routes()) {
        if (route.gives_type == "text/event-stream") continue;  // Never ends; see below.
        SCOPED_TRACE(std::string(Name(route.method)) + " " + std::string(route.path));
        const std::string target = Filled(route.path);
        const auto status = [&](const HttpHeaderList& headers) {
            return scheduler.Send(route.method, target, {}, headers).status;
        };
        if (route.permission == Permission::kNone) {
            // Schedulers tell it to each other, by a signature that nobody else can make.
            const bool told = route.path == "/api/v1/audit/refusals";
            const bool logout = route.path == "/auth/logout";
            // Nobody can sign in here.
            const bool auth = route.path.starts_with("/auth/") && route.path != "/auth/methods";
            EXPECT_EQ(status({}), told ? 403 : logout ? 204 : auth ? 404 : 200);
            continue;
        }
        EXPECT_EQ(status({}), 401);
        EXPECT_EQ(status(Bearer(wrong)), 401);
        EXPECT_EQ(status(Bearer("")), 401);
        EXPECT_EQ(status({{"Authorization", "Basic YTpi"}}), 401);
        const auto lower = TooLittleFor(route.permission);
        ASSERT_EQ(lower.has_value(), route.permission != Permission::kAny);
        if (lower) EXPECT_EQ(status(Bearer(tokens[*lower])), 403);
        const int right = status(Bearer(tokens[EnoughFor(route.permission)]));
        EXPECT_TRUE(right != 401 && right != 403) << right;
    }
    EXPECT_EQ(scheduler.Get("/api/v1/events").status, 401);
    EXPECT_EQ(scheduler.Get("/api/v1/events", Bearer(tokens[AccessRole::kWorker])).status, 403);
    const Answered refused = scheduler.Get("/api/v1/tasks");
    EXPECT_EQ(refused.Header("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", Bearer(wrong)).Header("WWW-Authenticate"),
              R"(Bearer error="invalid_token", error_description="the token is not known")");
    EXPECT_EQ(refused.Text("code"), "unauthorized");
}

// On one's own machine everything works at once; the first token shuts the door.
TEST(Access, OpenOnLoopbackUntilThereIsAToken) {
    TestScheduler scheduler;
    EXPECT_EQ(scheduler.Get("/api/v1/tasks").status, 200);
    EXPECT_EQ(scheduler.Post("/api/v1/tokens", R"({"name": "x", "role": "viewer"})").status, 400)
        << "nobody could make further ones";
    const Answered made = scheduler.Post("/api/v1/tokens", R"({"name": "me", "role": "admin"})");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string token = made.Text("token");
    EXPECT_TRUE(token.starts_with("takt_admin_"));
    EXPECT_EQ(scheduler.Get("/api/v1/tasks").status, 401);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", Bearer(token)).status, 200);

    const Answered list = scheduler.Get("/api/v1/tokens", Bearer(token));
    EXPECT_EQ(list.body.find(token), std::string::npos) << "a secret is shown once";
    ASSERT_EQ(list.json.at("items").as_array().size(), 1u);
    EXPECT_FALSE(list.json.at("items").at(0).at("last_used_at").is_null());
    // The last one out may open the door again.
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + made.Text("id"), Bearer(token)).status, 204);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks").status, 200);
}

TEST(Access, RevokedTokenStopsWorkingAndTheLastAdminStays) {
    TestScheduler scheduler;
    const Answered admin = scheduler.Post("/api/v1/tokens", R"({"name": "root", "role": "admin"})");
    const HttpHeaderList as_admin = Bearer(admin.Text("token"));
    const Answered viewer = scheduler.Post(
        "/api/v1/tokens", R"({"name": "screen", "role": "viewer", "expires_in": "30d"})", as_admin);
    const HttpHeaderList as_viewer = Bearer(viewer.Text("token"));
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", as_viewer).status, 200);
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + admin.Text("id"), as_admin).status, 409);
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + viewer.Text("id"), as_admin).status, 204);
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", as_viewer).status, 401);
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/none", as_admin).status, 404);
}

// An administrator revokes the token of a screen in the hall while the screen shows events.
TEST(Access, StreamEndsWithItsToken) {
    TestScheduler scheduler;
    const HttpHeaderList admin = Bearer(MakeTokenOf(scheduler, "admin", {}));
    const Answered screen =
        scheduler.Post("/api/v1/tokens", R"({"name": "screen", "role": "viewer"})", admin);
    TestStream shown(scheduler.address() + "/api/v1/events", Bearer(screen.Text("token")));
    TestStream kept(scheduler.address() + "/api/v1/events", admin);
    shown.AwaitHead();
    kept.AwaitHead();
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + screen.Text("id"), admin).status, 204);
    EXPECT_TRUE(shown.AwaitEnd());
    scheduler.Post("/api/v1/tasks", R"({"id": "later", "name": "n", "delay": "1h"})", admin);
    EXPECT_TRUE(kept.Await("later")) << "others go on";
}

// The same for a worker, whose session may last for months. It was revoked on another node, and
// nobody asks this one anything.
TEST(Access, WorkerSessionEndsWithItsTokenAlsoIfNobodyAsks) {
    Mailbox<std::move_only_function<void()>> timers;
    Route attach{.method = HttpMethod::kGet,
                 .path = "/api/v1/attach",
                 .permission = Permission::kWorker,
                 .handler =
                     [](Call call) {
                         HttpResponse response;
                         response.websocket = std::make_shared<WebSocketCallbacks>();
                         call.Send(std::move(response));
                     },
                 .summary = "A worker attaches"};
    TestScheduler scheduler({.after = [&](Duration, auto action) { timers.Put(std::move(action)); },
                             .more_routes = {std::move(attach)}});
    const HttpHeaderList admin = Bearer(MakeTokenOf(scheduler, "admin", {}));
    const Answered worker =
        scheduler.Post("/api/v1/tokens", R"({"name": "w", "role": "worker"})", admin);
    LoopThread loop;
    const auto client = HttpClient::Create(loop.io(), {}).value();
    Mailbox<WebSocketClosed> closed;
    const auto callbacks = std::make_shared<WebSocketCallbacks>();
    callbacks->on_close = [&](WebSocketClosed how) { closed.Put(std::move(how)); };
    client->OpenWebSocket({.url = "ws" + scheduler.address().substr(4) + "/api/v1/attach",
                           .headers = Bearer(worker.Text("token"))},
                          callbacks, [](Error error) { ADD_FAILURE() << error.detail; });
    auto look = timers.Take();
    std::promise<bool> revoked;
    scheduler.node().Ask(SetSetting{.key = Text("token/" + worker.Text("id"))},
                         [&](Result<Answer> done) { revoked.set_value(done.has_value()); });
    ASSERT_TRUE(revoked.get_future().get());

    scheduler.Run(std::move(look));

    const WebSocketClosed how = closed.Take();
    EXPECT_EQ(how.code, WebSocketCode::kPolicy);
    EXPECT_EQ(how.reason, "unauthorized: the token was revoked");
    client->Close();
    loop.Join();
}

// A token expires while its session is open.
TEST(Access, SessionsOfTokensThatDoNotHoldAreEnded) {
    AccessPolicy policy({});
    Random random(SeedOf(3));
    const Instant now = ReadClocks();
    const NewToken made = MakeToken(AccessRole::kWorker, "w", now.wall, now.wall + 1h, random);
    policy.EndLoad(
        policy.BeginLoad(1),
        std::vector<SettingPut>{{Text("token/" + made.token.id), Text(EncodeToken(made.token))}},
        now.steady);
    std::vector<std::string> ended;
    OpenSessions sessions;
    const auto end = [&](std::string_view why) { ended.emplace_back(why); };
    sessions.Add(made.token.id, end);
    const std::uint64_t gone = sessions.Add(made.token.id, end);
    sessions.Remove(gone);
    const auto look = [&](Time at) {
        sessions.EndRefused([&](const std::string& id) { return policy.WhyRefused(id, at); });
    };
    look(now.wall + 59min);
    EXPECT_TRUE(ended.empty());
    look(now.wall + 1h);
    look(now.wall + 2h);
    EXPECT_EQ(ended, std::vector<std::string>{"the token has expired"});
}

// Two readings of the tokens are under way; the one that began before a token was revoked comes
// last.
TEST(Access, OvertakenReadingDoesNotBringARevokedTokenBack) {
    AccessPolicy policy({});
    Random random(SeedOf(4));
    const Instant now = ReadClocks();
    const NewToken made = MakeToken(AccessRole::kAdmin, "a", now.wall, {}, random);
    const std::vector<SettingPut> before = {
        {Text("token/" + made.token.id), Text(EncodeToken(made.token))}};
    const std::uint64_t first = policy.BeginLoad(1);
    const std::uint64_t second = policy.BeginLoad(2);
    policy.EndLoad(second, std::vector<SettingPut>{}, now.steady);
    policy.EndLoad(first, before, now.steady);
    EXPECT_EQ(policy.WhyRefused(made.token.id, now.wall), "the token was revoked");
}

// The second administrator left long ago: the first must not lock himself out by mistake.
TEST(Access, ExpiredAdminIsNoOtherAdmin) {
    TestScheduler scheduler;
    const Answered admin = scheduler.Post("/api/v1/tokens", R"({"name": "root", "role": "admin"})");
    const HttpHeaderList as_admin = Bearer(admin.Text("token"));
    Random random(SeedOf(5));
    const Time now = ReadClocks().wall;
    const NewToken old = MakeToken(AccessRole::kAdmin, "old", now - 2h, now - 1h, random);
    std::promise<bool> kept;
    scheduler.node().Ask(
        SetSetting{.key = Text("token/" + old.token.id), .value = Text(EncodeToken(old.token))},
        [&](Result<Answer> done) { kept.set_value(done.has_value()); });
    ASSERT_TRUE(kept.get_future().get());
    // Has the tokens read again.
    MakeTokenOf(scheduler, "viewer", as_admin);
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + admin.Text("id"), as_admin).status, 409);
    EXPECT_EQ(scheduler.Delete("/api/v1/tokens/" + old.token.id, as_admin).status, 204);
}

// A caller who tries tokens is told to slow down; one who has the right one is not.
TEST(Access, WrongTokensAreLimitedAndTheRightOneIsNot) {
    TestScheduler scheduler({.config = {.access = {.failures_max = 3}}});
    const std::string token =
        scheduler.Post("/api/v1/tokens", R"({"name": "a", "role": "admin"})").Text("token");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(scheduler.Get("/api/v1/tasks", Bearer("takt_admin_guess")).status, 401);
    }
    const Answered limited = scheduler.Get("/api/v1/tasks", Bearer("takt_admin_guess"));
    EXPECT_EQ(limited.status, 429);
    EXPECT_EQ(limited.Header("Retry-After"), "60");
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", Bearer(token)).status, 200);
}

// A page on the internet makes the browser of a developer call the scheduler on his machine.
TEST(Access, PagesOfOtherSitesAreRefused) {
    TestScheduler scheduler;
    const Answered page =
        scheduler.Post("/api/v1/tasks", R"({"name": "n"})", {{"Origin", "http://evil.example"}});
    EXPECT_EQ(page.status, 403);
    EXPECT_EQ(page.Text("code"), "origin_refused");
    EXPECT_EQ(scheduler.Get("/api/v1/tasks", {{"Origin", scheduler.address()}}).status, 200);
    const Answered form =
        scheduler.Post("/api/v1/tasks", R"({"name": "n"})", {{"Content-Type", "text/plain"}});
    EXPECT_EQ(form.status, 415);
    // A name that the page's owner points at 127.0.0.1.
    RawClient rebound(scheduler.port());
    rebound.Send("GET /api/v1/tasks HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    EXPECT_TRUE(rebound.ReadAnswer().starts_with("HTTP/1.1 403"));
}

// A client packs all that it sends: nothing is unpacked here, which is no fault of the JSON in it.
TEST(Access, APackedBodyIsRefusedAsSuch) {
    TestScheduler scheduler;
    for (const std::string path : {"/api/v1/tasks", "/api/v1/tasks/bulk"}) {
        const Answered packed = scheduler.Post(path, "\x1f\x8b", {{"Content-Encoding", "gzip"}});
        EXPECT_EQ(packed.status, 415) << packed.body;
        EXPECT_TRUE(packed.Text("detail").contains("Content-Encoding")) << packed.body;
    }
    EXPECT_EQ(
        scheduler.Post("/api/v1/tasks", R"({"name": "n"})", {{"Content-Encoding", "identity"}})
            .status,
        201);
}

TEST(Access, TokenIsKeptAsItsHashAndReadBack) {
    Random random(SeedOf(1));
    const Time now = *ParseTime("2026-11-15T02:00:00Z");
    const NewToken made = MakeToken(AccessRole::kOperator, "ci \"x\"", now, now + 1h, random);
    const std::string kept = EncodeToken(made.token);
    EXPECT_EQ(kept.find(made.text), std::string::npos);
    const auto read = DecodeToken(made.token.id, kept);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->hash, Sha256Of(made.text));
    EXPECT_EQ(read->name, "ci \"x\"");
    EXPECT_EQ(read->role, AccessRole::kOperator);
    EXPECT_EQ(read->expires_at, now + 1h);
    EXPECT_FALSE(DecodeToken("x", "{}"));
    EXPECT_FALSE(DecodeToken("x", "nonsense"));
}

TEST(Access, ExpiredTokenIsRefusedAndABrokenRecordDoesNotOpenTheDoor) {
    AccessPolicy policy({});
    Random random(SeedOf(2));
    const Instant now = ReadClocks();
    const NewToken made =
        MakeToken(AccessRole::kAdmin, "old", now.wall - 2h, now.wall - 1h, random);
    std::vector<SettingPut> settings = {
        {Text("token/" + made.token.id), Text(EncodeToken(made.token))},
        {Text("token/broken"), Text("garbage")}};
    policy.EndLoad(policy.BeginLoad(1), settings, now.steady);
    HttpRequest request;
    request.headers.Add("Authorization", "Bearer " + made.text);
    const auto expired = policy.Decide(request, {Permission::kViewer}, now);
    ASSERT_TRUE(std::holds_alternative<AccessPolicy::Refusal>(expired));
    EXPECT_EQ(std::get<AccessPolicy::Refusal>(expired).problem.status, 401);

    policy.EndLoad(policy.BeginLoad(2), std::vector<SettingPut>{settings[1]}, now.steady);
    const auto closed = policy.Decide(HttpRequest(), {Permission::kViewer}, now);
    EXPECT_TRUE(std::holds_alternative<AccessPolicy::Refusal>(closed));
}

// A token was revoked on another node while nobody asked this one.
TEST(Access, OldTokensAreReadAgainBeforeTheyAreTrusted) {
    AccessPolicy policy({.refresh_interval = 2s, .age_max = 5s});
    const Steady start = SteadyClock::now();
    EXPECT_TRUE(policy.must_load(start));
    policy.EndLoad(policy.BeginLoad(1), std::vector<SettingPut>{}, start);
    EXPECT_FALSE(policy.must_load(start + 3s));
    EXPECT_TRUE(policy.should_load(start + 3s)) << "in the background";
    EXPECT_TRUE(policy.must_load(start + 6s));
    // The store is away: what was known goes on to hold, and is asked for now and then.
    policy.EndLoad(policy.BeginLoad(2), Fail(ErrorCode::kUnavailable, "away"), start + 6s);
    EXPECT_TRUE(policy.loaded());
    EXPECT_FALSE(policy.must_load(start + 7s));
    EXPECT_TRUE(policy.must_load(start + 8s));
}

// An address may look like loopback and be anywhere.
TEST(Access, LoopbackIsTheMachineItself) {
    EXPECT_TRUE(IsLoopback("127.0.0.1"));
    EXPECT_TRUE(IsLoopback("[::1]"));
    EXPECT_TRUE(IsLoopback("localhost"));
    EXPECT_FALSE(IsLoopback("0.0.0.0"));
    EXPECT_FALSE(IsLoopback("127.0.0.1.example.com"));
}

// The description is made from the route table, and must say everything that the table has.
TEST(OpenApi, DescribesEveryRouteAndNothingElse) {
    TestScheduler scheduler;
    const Answered description = scheduler.Get("/openapi.json");
    ASSERT_EQ(description.status, 200);
    EXPECT_EQ(description.Text("openapi"), "3.1.0");
    const auto& schemas = description.json.at("components").at("schemas").as_object();
    const auto& paths = description.json.at("paths").as_object();
    std::size_t described = 0;
    for (const auto& path : paths) described += path.value().as_object().size();
    EXPECT_EQ(described, scheduler.api().routes().routes().size());
    std::set<std::string> ids;
    for (const Route& route : scheduler.api().routes().routes()) {
        SCOPED_TRACE(std::string(route.path));
        std::string method(Name(route.method));
        for (char& c : method) c = static_cast<char>(c | 0x20);
        const auto& operation = paths.at(route.path).at(method);
        EXPECT_EQ(operation.at("x-permission").as_string(), Name(route.permission));
        EXPECT_FALSE(operation.at("summary").as_string().empty());
        EXPECT_TRUE(ids.insert(std::string(operation.at("operationId").as_string())).second);
        if (!route.takes.empty()) {
            EXPECT_TRUE(schemas.contains(route.takes)) << route.takes;
        }
        if (!route.gives.empty()) {
            EXPECT_TRUE(schemas.contains(route.gives)) << route.gives;
        }
    }
    // Every reference leads somewhere.
    for (std::size_t at = description.body.find("#/components/schemas/"); at != std::string::npos;
         at = description.body.find("#/components/schemas/", at + 1)) {
        const std::size_t start = at + 21;
        const std::string name =
            description.body.substr(start, description.body.find('"', start) - start);
        EXPECT_TRUE(schemas.contains(name)) << name;
    }
    for (const TaskField& field : TaskFields()) {
        EXPECT_TRUE(schemas.at("Task").at("properties").as_object().contains(field.name));
    }
    EXPECT_EQ(scheduler.Get("/docs").status, 200);
    EXPECT_EQ(scheduler.Get("/docs").body.find("//cdn"), std::string::npos);
}

}  // namespace
}  // namespace takt::internal
