#include "store/mysql/mysql_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <optional>

#include "base/url.h"

namespace takt::internal {
namespace {

// Readers beyond this gain nothing and use up the server's max_connections (151 by default), which
// several schedulers share.
constexpr std::size_t kReadersMax = 32;
constexpr std::size_t kTimeoutSecondsMax = 300;
constexpr std::size_t kPrefixBytesMax = 32;  // Table names have at most 64 characters.

std::unexpected<Error> Bad(std::string detail) {
    return Fail(ErrorCode::kInvalid, "the mysql: store's URL: " + std::move(detail), "store");
}

std::optional<std::size_t> ParseNumber(std::string_view text, std::size_t max) {
    std::size_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || number < 1 || number > max) return std::nullopt;
    return number;
}

bool IsPrefix(std::string_view text) {
    return text.size() <= kPrefixBytesMax && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_';
           });
}

Result<void> Set(MysqlOptions& options, std::string_view name, const std::string& value) {
    const auto number = [&](auto& to, std::size_t max) -> Result<void> {
        const std::optional<std::size_t> parsed = ParseNumber(value, max);
        if (!parsed) return Bad(fmt::format("{} must be a number from 1 to {}", name, max));
        to = std::remove_reference_t<decltype(to)>(*parsed);
        return {};
    };
    if (name == "tls") {
        if (value == "0")
            options.tls = MysqlTls::kOff;
        else if (value == "1")
            options.tls = MysqlTls::kVerified;
        else if (value == "unverified")
            options.tls = MysqlTls::kUnverified;
        else
            return Bad("tls must be 0, 1 or unverified");
    } else if (name == "ca") {
        options.tls_ca = value;
    } else if (name == "cert") {
        options.tls_cert = value;
    } else if (name == "key") {
        options.tls_key = value;
    } else if (name == "socket") {
        options.socket = value;
    } else if (name == "prefix") {
        if (!IsPrefix(value)) return Bad("prefix must be up to 32 of A-Z a-z 0-9 _");
        options.prefix = value;
    } else if (name == "pool") {
        return number(options.readers, kReadersMax);
    } else if (name == "timeout") {
        return number(options.timeout, kTimeoutSecondsMax);
    } else {
        return Bad("unknown parameter '" + std::string(name.substr(0, 20)) +
                   "'; known are tls, ca, cert, key, socket, prefix, pool and timeout");
    }
    return {};
}

}  // namespace

Result<MysqlOptions> ParseMysqlUrl(std::string_view url) {
    // A / or ? of a password would end it, and the rest be shown as the name of a database.
    if (const Result<UrlParts> parts = SplitUrl(url); !parts) return Bad(parts.error().detail);
    const auto parsed = boost::urls::parse_uri(url);
    // What the parser says may quote the URL, and with it the password.
    if (!parsed || parsed->scheme() != "mysql" || !parsed->has_authority()) {
        return Bad(
            "write mysql://user:password@host:3306/database, with special characters of "
            "each part percent-encoded");
    }
    MysqlOptions options;
    options.user = parsed->user();
    options.password = parsed->password();
    if (!parsed->host_address().empty()) options.host = parsed->host_address();
    if (parsed->has_port()) {
        const auto port = ParseNumber(parsed->port(), 65535);
        if (!port) return Bad("the port must be a number from 1 to 65535");
        options.port = static_cast<std::uint16_t>(*port);
    }
    const std::string path = parsed->path();
    options.database = path.empty() ? path : path.substr(1);
    if (options.database.empty() || options.database.contains('/')) {
        return Bad("name one database, as in mysql://user:password@host:3306/takt");
    }
    for (const auto parameter : parsed->params()) {
        if (Result<void> set = Set(options, parameter.key, parameter.value); !set) {
            return std::unexpected(set.error());
        }
    }
    if (options.tls == MysqlTls::kOff &&
        !(options.tls_ca.empty() && options.tls_cert.empty() && options.tls_key.empty())) {
        return Bad("ca, cert and key are for tls=1");
    }
    if (options.tls_cert.empty() != options.tls_key.empty()) return Bad("cert and key go together");
    return options;
}

std::string Describe(const MysqlOptions& options) {
    const std::string where =
        options.socket.empty() ? fmt::format("{}:{}", options.host, options.port) : options.socket;
    return fmt::format("mysql {}@{}/{}", options.user, where, options.database);
}

}  // namespace takt::internal
