#include "console/console.h"

#include <algorithm>
#include <string>

#include "console/files.h"
#include "http/gzip.h"

namespace takt::internal {
namespace {

// Scripts, requests and files from here only. Ant Design writes its style sheets at run time, hence
// 'unsafe-inline' for styles; scripts have none.
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

constexpr std::string_view kForever = "public, max-age=31536000, immutable";
constexpr std::string_view kAskAgain = "no-cache";

// Where what is missing is missing: an unknown address below these is no page.
constexpr std::string_view kNoPages[] = {"/api/", "/assets/"};

bool WantsHtml(const HttpRequest& request) {
    const auto accept = request.headers.Find("Accept");
    return accept && ListHasToken(*accept, "text/html");
}

const ConsoleFile* FileFor(const HttpRequest& request) {
    if (request.path == "/") return FindConsoleFile("/index.html");
    if (const ConsoleFile* file = FindConsoleFile(request.path)) return file;
    const bool below = std::ranges::any_of(
        kNoPages, [&](std::string_view prefix) { return request.path.starts_with(prefix); });
    return below || !WantsHtml(request) ? nullptr : FindConsoleFile("/index.html");
}

HttpResponse ResponseOf(const ConsoleFile& file, const HttpRequest& request) {
    HttpResponse response;
    const auto add = [&](std::string_view name, std::string_view value) {
        response.headers.emplace_back(name, value);
    };
    add("ETag", file.etag);
    add("Cache-Control", file.immutable ? kForever : kAskAgain);
    add("Content-Security-Policy", kContentPolicy);
    add("X-Content-Type-Options", "nosniff");
    add("Referrer-Policy", "no-referrer");
    const auto known = request.headers.Find("If-None-Match");
    if (known && known->find(file.etag) != known->npos) {
        response.status = 304;
        return response;
    }
    response.content_type = file.content_type;
    const auto encodings = request.headers.Find("Accept-Encoding");
    if (file.gzip.empty() || !encodings || !AcceptsGzip(*encodings)) {
        response.static_body = file.bytes;
        return response;
    }
    add("Content-Encoding", "gzip");
    add("Vary", "Accept-Encoding");
    response.static_body = file.gzip;
    return response;
}

}  // namespace

const ConsoleFile* FindConsoleFile(std::string_view path) {
    const auto files = ConsoleFiles();
    const auto found = std::ranges::lower_bound(files, path, {}, &ConsoleFile::path);
    return found != files.end() && found->path == path ? &*found : nullptr;
}

std::optional<HttpResponse> ConsolePage(const HttpRequest& request) {
    if (request.method != HttpMethod::kGet && request.method != HttpMethod::kHead) {
        return std::nullopt;
    }
    const ConsoleFile* file = FileFor(request);
    if (!file) return std::nullopt;
    return ResponseOf(*file, request);
}

}  // namespace takt::internal
