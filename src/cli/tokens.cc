// takt token: access tokens, of a running scheduler or, for the first one, straight in its store.
#include <cstdio>
#include <iostream>

#include "api/token_request.h"
#include "base/json.h"
#include "base/json_view.h"
#include "cli/client.h"
#include "cli/offline_token.h"
#include "cli/output.h"
#include "cli/request_flags.h"

namespace takt::internal::cli {
namespace {

struct TokensOptions {
    ClientOptions client;
    std::string id, store;
    RequestFlags wanted;
};

constexpr const char* kShownOnce =
    "this is the only time it is shown; use it with --token or TAKT_TOKEN";

// As given; a token without a name is called by its role.
GivenFields Wanted(const TokensOptions& options) {
    GivenFields wanted = options.wanted.Given();
    if (!wanted.Has("name")) wanted.Set("name", *wanted.Find("role"));
    if (!options.client.space.empty()) wanted.SetText("namespace", options.client.space);
    return wanted;
}

Result<int> Create(Client& client, const TokensOptions& options) {
    const auto made = client.Post("/api/v1/tokens", Wanted(options).Body());
    if (!made) return std::unexpected(made.error());
    if (options.client.json) {
        std::printf("%s\n", made->body.c_str());
    } else {
        std::printf("%s\n", Member(made->value, "token").c_str());
        std::fprintf(stderr, "token %s made; %s\n", Member(made->value, "id").c_str(), kShownOnce);
    }
    return kOk;
}

Result<int> CreateOffline(const TokensOptions& options) {
    if (!options.client.space.empty()) {
        return Fail(ErrorCode::kInvalid,
                    "a token for one namespace is made by a running scheduler, which knows whether "
                    "there is such a one; with --store leave --namespace out");
    }
    const std::string body = Wanted(options).Body();
    auto wanted = ReadTokenRequest(JsonView(body));
    if (!wanted) return std::unexpected(wanted.error());
    const auto made = CreateOfflineToken(options.store, std::move(*wanted));
    if (!made) return std::unexpected(made.error());
    if (options.client.json) {
        std::string text;
        JsonWriter json(text);
        json.BeginObject().Field("id", std::string_view(made->token.id));
        json.Field("name", std::string_view(made->token.name))
            .Field("role", Name(made->token.role));
        json.Field("created_at", made->token.created_at);
        json.Field("expires_at", made->token.expires_at);
        json.Field("token", std::string_view(made->text)).EndObject();
        std::printf("%s\n", text.c_str());
    } else {
        std::printf("%s\n", made->text.c_str());
        std::fprintf(stderr, "token %s made; %s\n", made->token.id.c_str(), kShownOnce);
    }
    return kOk;
}

Result<int> List(Client& client, const TokensOptions& options) {
    const auto page = client.Get("/api/v1/tokens");
    if (!page) return std::unexpected(page.error());
    if (options.client.json) {
        std::printf("%s\n", page->body.c_str());
        return kOk;
    }
    Table table({"ID", "NAME", "ROLE", "NAMESPACE", "CREATED", "EXPIRES", "LAST USED"});
    for (const auto* token : ListMember(page->value, "items")) {
        table.Add({Member(*token, "id"), Clean(Member(*token, "name"), 40), Member(*token, "role"),
                   Member(*token, "namespace"), ShortTime(Member(*token, "created_at")),
                   ShortTime(Member(*token, "expires_at")),
                   ShortTime(Member(*token, "last_used_at"))});
    }
    if (table.empty()) {
        std::fprintf(stderr, "there are no tokens: whoever reaches the port may do everything\n");
    } else {
        table.Print();
    }
    return kOk;
}

Result<int> Revoke(Client& client, const TokensOptions& options) {
    const auto done = client.Call(HttpMethod::kDelete, PathOf("tokens", options.id));
    if (!done) return std::unexpected(done.error());
    if (!options.client.json) std::printf("%s revoked\n", options.id.c_str());
    return kOk;
}

// A store's URL may hold a password, and everybody on a machine can read what is on a command line.
std::string ReadLine(std::istream& in) {
    std::string line;
    std::getline(in, line);
    return line;
}

int RunCreate(TokensOptions& options) {
    if (options.store == "-") {
        options.store = ReadLine(std::cin);
        if (options.store.empty()) {
            PrintError(
                {ErrorCode::kInvalid, "--store - wants the store's URL on standard input", ""});
            return kUsage;
        }
    }
    if (options.store.empty()) {
        return WithClient(options.client, [&](Client& client) { return Create(client, options); });
    }
    const auto made = CreateOffline(options);
    if (made) return *made;
    PrintError(made.error());
    return ExitOf(made.error());
}

}  // namespace

void AddToken(CLI::App& app, Context& context) {
    auto options = std::make_shared<TokensOptions>();
    CLI::App* token = app.add_subcommand("token", "Access tokens");
    token->require_subcommand(1);
    options->client.Add(*token);
    CLI::App* create = token->add_subcommand("create", "Makes one; its text is shown this once");
    create->fallthrough();
    std::vector<FieldView> fields = TokenRequestFields();
    for (FieldView& field : fields) {
        if (field.name == "name") field.required = false;
    }
    // The namespace is a flag of every command.
    options->wanted.Add(*create, std::move(fields), {.without = {"namespace"}});
    create->add_option("--store", options->store,
                       "Write it into this store while no scheduler runs on it, instead of asking "
                       "one; - reads its URL "
                       "from standard input, so that a password in it stays off the command line");
    create->callback([options, &context] { context.exit = RunCreate(*options); });
    CLI::App* list = token->add_subcommand("list", "Lists them, without their secrets");
    list->fallthrough();
    list->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return List(client, *options); });
    });
    CLI::App* revoke = token->add_subcommand("revoke", "Makes one worthless");
    revoke->fallthrough();
    revoke->add_option("id", options->id, "Token, as listed")->required();
    revoke->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Revoke(client, *options); });
    });
    token->footer(
        "examples:\n"
        "  takt token create --role admin --name me --store file:/var/lib/takt\n"
        "  takt token create --role admin --store - < store.url\n"
        "  takt token create --role worker --name fleet --expires-in 90d\n"
        "  takt -n billing token create --role worker --queues invoices\n"
        "  takt token revoke 3f2a9c10d4e7\n");
}

}  // namespace takt::internal::cli
