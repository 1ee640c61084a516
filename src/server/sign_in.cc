#include "server/sign_in.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "base/log.h"

namespace takt::internal {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;

// Without the line break that editors put behind it.
Result<std::string> ReadSecret(const std::string& path, std::string_view key) {
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (!file.bad() && !text.empty() && text.size() <= kSecretBytesMax) return text;
    return Fail(ErrorCode::kInvalid,
                std::string(key) + ": '" + path + "' cannot be read, is empty or is too long",
                std::string(key));
}

}  // namespace

Result<std::shared_ptr<const Sessions>> MakeSessions(const Config::SignIn& config) {
    if (config.issuer.empty()) return nullptr;
    auto key = ReadSecret(config.session_key_file, "signin.session_key_file");
    if (!key) return std::unexpected(key.error());
    if (key->size() < Seal::kKeyBytesMin) {
        return Fail(ErrorCode::kInvalid,
                    "signin.session_key_file must have at least 32 bytes that nobody can guess; "
                    "'openssl rand -hex 32' makes some",
                    "signin.session_key_file");
    }
    // Not refused: what a container is given is often readable by all that is in it.
    struct stat about{};
    if (stat(config.session_key_file.c_str(), &about) == 0 && (about.st_mode & S_IROTH) != 0) {
        Log(LogLevel::kWarning, "server",
            "everybody on this machine may read signin.session_key_file, and with it make sessions "
            "of administrators; chmod 640 it",
            {{"file", config.session_key_file}});
    }
    auto roles = ReadGroupRoles(config.roles);
    if (!roles) {
        return Fail(ErrorCode::kInvalid, "signin.roles: " + roles.error().detail, "signin.roles");
    }
    return std::make_shared<const Sessions>(Sessions::Options{
        .key = std::move(*key), .roles = std::move(*roles), .lifetime = config.lifetime});
}

Result<ProviderOptions> ProviderOf(const Config::SignIn& config, const std::string& address) {
    ProviderOptions options{
        .issuer = config.issuer,
        .client_id = config.client_id,
        .client_secret = {},
        .redirect_url =
            (config.public_url.empty() ? address : config.public_url) + "/auth/callback",
        .scopes = config.scopes,
        .name_claim = config.name_claim,
        .groups_claim = config.groups_claim};
    if (config.client_secret_file.empty()) return options;
    auto secret = ReadSecret(config.client_secret_file, "signin.client_secret_file");
    if (!secret) return std::unexpected(secret.error());
    options.client_secret = std::move(*secret);
    return options;
}

}  // namespace takt::internal
