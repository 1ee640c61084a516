#include "http/message.h"

#include <algorithm>
#include <array>

namespace takt::internal {
namespace {

constexpr std::array<std::string_view, 7> kMethods = {"GET",   "HEAD",   "POST",   "PUT",
                                                      "PATCH", "DELETE", "OPTIONS"};

char Lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = Lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool IsControl(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

std::string_view Trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Calls `visit(name, value)` for each raw pair until it returns false.
template <typename Visit>
void ForEachPair(std::string_view query, Visit visit) {
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        const auto value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
        if (!visit(pair.substr(0, equals), value)) return;
    }
}

bool HasDotSegment(std::string_view path) {
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view segment = path.substr(0, path.find('/'));
        if (segment == "." || segment == "..") return true;
        path.remove_prefix(segment.size());
    }
    return false;
}

// http://host/path → /path. What the authority says is not ours to route by.
Result<std::string_view> StripAuthority(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (target.size() <= scheme.size() ||
            !EqualsIgnoringCase(target.substr(0, scheme.size()), scheme)) {
            continue;
        }
        target.remove_prefix(scheme.size());
        const std::size_t end = target.find_first_of("/?#");
        if (end == 0) return Fail(ErrorCode::kInvalid, "request target names no host");
        if (end == std::string_view::npos) return std::string_view("/");
        return target.substr(end);
    }
    return Fail(ErrorCode::kInvalid, "request target must start with '/'");
}

struct StatusPhrase {
    int status;
    std::string_view phrase;
};
constexpr StatusPhrase kStatusPhrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};
static_assert(std::ranges::is_sorted(kStatusPhrases, {}, &StatusPhrase::status));

}  // namespace

std::string_view Name(HttpMethod method) {
    return kMethods[static_cast<std::size_t>(method)];
}

std::optional<HttpMethod> ParseHttpMethod(std::string_view name) {
    for (std::size_t i = 0; i < kMethods.size(); ++i) {
        if (kMethods[i] == name) return static_cast<HttpMethod>(i);
    }
    return std::nullopt;
}

std::string_view HttpStatusPhrase(int status) {
    const auto found = std::ranges::lower_bound(kStatusPhrases, status, {}, &StatusPhrase::status);
    return found != std::end(kStatusPhrases) && found->status == status ? found->phrase : "Status";
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [](char x, char y) { return Lower(x) == Lower(y); });
}

bool IsHttpHeaderName(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
}

bool IsHttpHeaderValue(std::string_view value) {
    return std::none_of(value.begin(), value.end(),
                        [](char c) { return c != '\t' && IsControl(c); });
}

void HttpHeaders::Reserve(std::size_t bytes, std::size_t count) {
    text_.reserve(bytes);
    entries_.reserve(count);
}

void HttpHeaders::Add(std::string_view name, std::string_view value) {
    entries_.push_back({static_cast<std::uint32_t>(text_.size()),
                        static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())});
    text_.append(name).append(value);
}

std::optional<std::string_view> HttpHeaders::Find(std::string_view name) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (entries_[i].name_bytes != name.size()) continue;
        const auto [key, value] = at(i);
        if (EqualsIgnoringCase(key, name)) return value;
    }
    return std::nullopt;
}

std::pair<std::string_view, std::string_view> HttpHeaders::at(std::size_t index) const {
    const Entry& entry = entries_.at(index);
    const std::string_view text = text_;
    return {text.substr(entry.start, entry.name_bytes),
            text.substr(entry.start + entry.name_bytes, entry.value_bytes)};
}

bool ListHasToken(std::string_view list, std::string_view token) {
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), item.size() + 1));
        if (EqualsIgnoringCase(Trim(item.substr(0, item.find(';'))), token)) return true;
    }
    return false;
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            if (text.size() - i < 3) return std::nullopt;
            const int high = HexDigit(text[i + 1]);
            const int low = HexDigit(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            c = static_cast<char>(high * 16 + low);
            i += 2;
            // A query may carry line breaks (a search text); nothing may carry NUL.
            if (plus_is_space ? c == '\0' : IsControl(c)) return std::nullopt;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        out.push_back(c);
    }
    return out;
}

std::string PercentEncode(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') ||
                           c == '-' || c == '.' || c == '_' || c == '~';
        if (plain) {
            out.push_back(c);
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
        }
    }
    return out;
}

Result<void> ParseTarget(std::string_view target, HttpRequest& request) {
    request.target = target;
    if (target == "*" && request.method == HttpMethod::kOptions) {
        request.path = request.raw_path = "*";
        return {};
    }
    if (!target.starts_with('/')) {
        const auto stripped = StripAuthority(target);
        if (!stripped) return std::unexpected(stripped.error());
        target = *stripped;
    }
    if (target.find('#') != std::string_view::npos ||
        std::any_of(target.begin(), target.end(), IsControl)) {
        return Fail(ErrorCode::kInvalid, "request target has a character it must not have");
    }
    const std::size_t question = target.find('?');
    const std::string_view raw_path = target.substr(0, question);
    request.raw_path = raw_path.empty() ? "/" : raw_path;
    request.raw_query =
        question == std::string_view::npos ? std::string_view() : target.substr(question + 1);

    if (raw_path.find('%') == std::string_view::npos) {
        request.path = request.raw_path;
    } else {
        auto path = PercentDecode(request.raw_path, false);
        if (!path) return Fail(ErrorCode::kInvalid, "request path has a broken percent escape");
        request.path = std::move(*path);
    }
    // Decoded, so that %2e%2e and a%2f..%2fb are seen for what they are.
    if (HasDotSegment(request.path)) {
        return Fail(ErrorCode::kInvalid, "request path has a dot segment");
    }
    if (request.raw_query.find('%') != std::string::npos &&
        !PercentDecode(request.raw_query, true)) {
        return Fail(ErrorCode::kInvalid, "query has a broken percent escape");
    }
    return {};
}

std::optional<std::string> HttpRequest::Query(std::string_view name) const {
    std::optional<std::string> found;
    ForEachPair(raw_query, [&](std::string_view key, std::string_view value) {
        if (PercentDecode(key, true) != name) return true;
        found = PercentDecode(value, true);
        return false;
    });
    return found;
}

std::vector<std::pair<std::string, std::string>> HttpRequest::QueryAll() const {
    std::vector<std::pair<std::string, std::string>> all;
    ForEachPair(raw_query, [&](std::string_view key, std::string_view value) {
        all.emplace_back(PercentDecode(key, true).value_or(""),
                         PercentDecode(value, true).value_or(""));
        return true;
    });
    return all;
}

std::string_view HttpRequest::Parameter(std::string_view name) const {
    for (const auto& [key, value] : parameters) {
        if (key == name) return value;
    }
    return {};
}

HttpResponse HttpResponse::Text(int status, std::string text) {
    HttpResponse response;
    response.status = status;
    response.content_type = "text/plain; charset=utf-8";
    response.body = std::move(text);
    return response;
}

HttpResponse HttpResponse::Json(int status, std::string json) {
    HttpResponse response;
    response.status = status;
    response.content_type = "application/json";
    response.body = std::move(json);
    return response;
}

}  // namespace takt::internal
