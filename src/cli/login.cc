// takt login: signs somebody in by the browser, and prints the session as a token.
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <deque>
#include <optional>

#include "api/signin_consent.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/random.h"
#include "base/sha256.h"
#include "cli/client.h"
#include "cli/output.h"
#include "http/server.h"

namespace takt::internal::cli {
namespace {

struct LoginOptions {
    ClientOptions client;
    std::string wait = "5m";
};

// Takes the codes that browsers come here with. Whatever runs on this machine may send some: which of
// them is the scheduler's own, only the scheduler can tell.
class CodeTaker final : public HttpHandler {
  public:
    void Handle(HttpRequest request, HttpReply reply) override {
        std::string code = request.Query("code").value_or("");
        if (code.empty()) {
            return reply(HttpResponse::Text(400, "there is no code in this address\n"));
        }
        if (codes_.size() >= kCodesMax) {
            return reply(HttpResponse::Text(503, "too many codes at once; try again\n"));
        }
        codes_.push_back(std::move(code));
        reply(HttpResponse::Text(
            200, "The command line says whether you are signed in. This page can be closed.\n"));
    }

    // The oldest that was not taken yet.
    std::optional<std::string> Take() {
        if (codes_.empty()) return std::nullopt;
        std::string code = std::move(codes_.front());
        codes_.pop_front();
        return code;
    }

  private:
    // Far more than a person's browser sends, and little memory.
    static constexpr std::size_t kCodesMax = 16;
    std::deque<std::string> codes_;
};

std::string NewVerifier() {
    Random random(NewRandomSeed());
    std::string bytes(32, '\0');
    random.Fill({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    return Base64Url(bytes);
}

std::string HashOf(std::string_view verifier) {
    const Sha256 hash = Sha256Of(verifier);
    return Base64Url({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

// The first of the schedulers: the browser can be sent to one only.
std::string FirstServer(const std::string& servers) {
    return servers.substr(0, servers.find(','));
}

Result<ClientAnswer> Redeem(Client& client, const std::string& code, const std::string& verifier) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject()
        .Field("code", std::string_view(code))
        .Field("verifier", std::string_view(verifier))
        .EndObject();
    return client.Post("/auth/session", std::move(body));
}

// The session of the first good code. One that the scheduler refuses is somebody else's doing, and
// the right one may still come. kUnavailable if none did.
Result<ClientAnswer> AwaitSession(boost::asio::io_context& io, CodeTaker& taker, Client& client,
                                  const std::string& verifier, Duration wait) {
    const Steady until = SteadyClock::now() + wait;
    while (true) {
        if (SteadyClock::now() >= until) {
            return Fail(ErrorCode::kUnavailable, "nobody signed in before --wait was over");
        }
        const auto code = taker.Take();
        if (!code) {
            io.run_one_until(until);
            continue;
        }
        io.run_for(std::chrono::milliseconds(100));  // The browser is still being answered.
        auto session = Redeem(client, *code, verifier);
        // As Remote has 401, and 400 for what cannot be a code at all.
        if (session || session.error().code != ErrorCode::kInvalid) return session;
        std::fputs("a code that came was refused; waiting for another\n", stderr);
    }
}

Result<int> Login(Client& client, const LoginOptions& options) {
    const auto wait = ParseDuration(options.wait);
    if (!wait || *wait <= Duration(0)) {
        return Fail(ErrorCode::kInvalid, "--wait must be a duration such as 5m");
    }
    const auto methods = client.Get("/auth/methods");
    if (!methods) return std::unexpected(methods.error());
    if (const auto* signin = FindMember(methods->value, "signin"); !signin || signin->is_null()) {
        return Fail(ErrorCode::kInvalid,
                    "nobody can sign in there: the scheduler has no signin.issuer; use --token");
    }
    boost::asio::io_context io;
    const auto taker = std::make_shared<CodeTaker>();
    auto server = HttpServer::Listen(io, {}, taker);
    if (!server) return std::unexpected(server.error());
    const std::string verifier = NewVerifier();
    const std::string challenge = HashOf(verifier);
    std::fprintf(stderr,
                 "open this address in a browser of this machine:\n\n  %s%s%u%s%s\n\n"
                 "and go on there if the page shows the number %s\n",
                 FirstServer(options.client.server).c_str(),
                 "/auth/login?cli_port=", unsigned{(*server)->port()},
                 "&cli_challenge=", challenge.c_str(), LoginNumber(challenge).c_str());
    const auto session = AwaitSession(io, *taker, client, verifier, *wait);
    if (!session) return std::unexpected(session.error());
    if (PrintedAsJson(options.client, *session)) return kOk;
    std::printf("%s\n", Member(session->value, "token").c_str());
    std::fprintf(stderr, "signed in as %s until %s; use it with --token or TAKT_TOKEN\n",
                 Member(session->value, "who").c_str(),
                 Member(session->value, "expires_at").c_str());
    return kOk;
}

}  // namespace

void AddLogin(CLI::App& app, Context& context) {
    auto options = std::make_shared<LoginOptions>();
    CLI::App* login = app.add_subcommand("login", "Signs you in by the browser; prints a token");
    options->client.Add(*login);
    login->add_option("--wait", options->wait, "How long to wait for the browser [5m]");
    login->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Login(client, *options); });
    });
    login->footer(
        "examples:\n  export TAKT_TOKEN=$(takt login --server https://takt.example.org)\n");
}

}  // namespace takt::internal::cli
