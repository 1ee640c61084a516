#include "store/mysql/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/url.h"

namespace takt::internal {
namespace {

// Readers beyond this gain nothing and use up the server's max_connections (151 by default), which
// several schedulers share.
constexpr std::size_t kReadersMax = 32;
constexpr Duration kTimeoutMin{1'000};
constexpr Duration kTimeoutMax{300'000};
constexpr std::size_t kHostsMax = 8;
constexpr std::size_t kPrefixBytesMax = 32;  // Table names have at most 64 characters.

bool IsPrefix(std::string_view text) {
    return text.size() <= kPrefixBytesMax && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_';
           });
}

Result<void> ParseParameters(std::string_view query, MysqlOptions& options) {
    Duration timeout = options.timeout;
    std::vector<UrlParameter> table = {
        {"timeout", DurationTo{&timeout, kTimeoutMin, kTimeoutMax}},
        {"pool", NumberTo{&options.readers, 1, kReadersMax}},
        {"prefix", TextTo{&options.prefix}},
        {"socket", TextTo{&options.socket}},
    };
    AddTlsParameters(options.tls, table);
    if (Result<void> read = ReadUrlParameters(query, table); !read) return read;
    options.timeout = std::chrono::ceil<std::chrono::seconds>(timeout);
    if (!IsPrefix(options.prefix)) return BadStoreUrl("prefix must be up to 32 of A-Z a-z 0-9 _");
    if (!options.socket.empty() && !options.others.empty()) {
        return BadStoreUrl("socket= names one server, and there are several hosts");
    }
    return SettleTls(options.tls);
}

// Not quoted: what stands here by mistake may be a password.
Result<void> NotAHost() {
    return BadStoreUrl(
        "a host is written name:port or [::1]:port, several with commas between them");
}

Result<void> ParsePlace(const UrlParts& parts, MysqlOptions& options) {
    std::string_view credentials = parts.credentials.value_or("");
    const std::optional<std::string> user = UnescapeUrl(CutAt(credentials, ':'));
    const std::optional<std::string> password = UnescapeUrl(credentials);
    const std::optional<std::string> database = UnescapeUrl(parts.path);
    // A space is most often a piece of a password that nobody encoded.
    if (!user || !password || !database ||
        parts.credentials.value_or("").find(' ') != std::string_view::npos) {
        return BadStoreUrl(
            "write mysql://user:password@host:3306/database, with special characters of each part "
            "percent-encoded");
    }
    std::string_view hosts = parts.hosts;
    const std::optional<HostPort> place = ParseHostPort(CutAt(hosts, ','), options.port);
    while (!hosts.empty() && place) {
        std::optional<HostPort> other = ParseHostPort(CutAt(hosts, ','), options.port);
        if (!other || other->host.empty() || place->host.empty()) return NotAHost();
        options.others.push_back(std::move(*other));
        if (options.others.size() >= kHostsMax) return BadStoreUrl("more than 8 hosts");
    }
    if (!place || parts.hosts.ends_with(',')) return NotAHost();
    if (database->empty() || database->contains('/')) {
        return BadStoreUrl("name one database, as in mysql://user:password@host:3306/takt");
    }
    options.user = *user;
    options.password = *password;
    options.database = *database;
    options.port = place->port;
    if (!place->host.empty()) options.host = place->host;
    return {};
}

}  // namespace

Result<MysqlOptions> ParseMysqlUrl(std::string_view url) {
    const Result<UrlParts> parts = SplitUrl(url);
    if (!parts) return BadStoreUrl(parts.error().detail);
    if (parts->scheme != "mysql") return BadStoreUrl("it must start with mysql://");
    MysqlOptions options;
    if (Result<void> read = ParsePlace(*parts, options); !read) {
        return std::unexpected(read.error());
    }
    if (Result<void> read = ParseParameters(parts->query, options); !read) {
        return std::unexpected(read.error());
    }
    return options;
}

std::string Describe(const MysqlOptions& options) {
    std::string where =
        options.socket.empty() ? fmt::format("{}:{}", options.host, options.port) : options.socket;
    for (const HostPort& other : options.others) where += "," + Show(other);
    return fmt::format("mysql {}@{}/{}", options.user, where, options.database);
}

}  // namespace takt::internal
