#include "http/response_head.h"

#include <charconv>

namespace takt::internal::http {
namespace {

void AppendNumber(std::string& out, std::size_t number) {
    char digits[20];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number);
    out.append(digits, end.ptr);
}

void AppendHeader(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

// These are the server's own to decide; a second copy would contradict it.
bool IsServersOwn(std::string_view name) {
    return EqualsIgnoringCase(name, "Content-Length") || EqualsIgnoringCase(name, "Connection") ||
           EqualsIgnoringCase(name, "Transfer-Encoding") ||
           EqualsIgnoringCase(name, "X-Request-Id");
}

}  // namespace

bool FormatHead(const HttpResponse& response, const ResponseHead& head, std::string& out) {
    bool clean = true;
    const auto add = [&](std::string_view name, std::string_view value) {
        if (IsHttpHeaderName(name) && IsHttpHeaderValue(value) && !IsServersOwn(name)) {
            AppendHeader(out, name, value);
        } else {
            clean = false;
        }
    };
    out.assign("HTTP/1.1 ");
    AppendNumber(out, static_cast<std::size_t>(response.status));
    out.append(" ").append(HttpStatusPhrase(response.status)).append("\r\n");
    if (!head.date.empty()) AppendHeader(out, "Date", head.date);
    if (!head.request_id.empty()) AppendHeader(out, "X-Request-Id", head.request_id);
    if (!response.content_type.empty()) add("Content-Type", response.content_type);
    if (head.has_length) {
        out.append("Content-Length: ");
        AppendNumber(out, head.body_bytes);
        out.append("\r\n");
    }
    if (!head.content_encoding.empty()) add("Content-Encoding", head.content_encoding);
    if (head.vary_encoding) out.append("Vary: Accept-Encoding\r\n");
    for (const auto& [name, value] : response.headers) add(name, value);
    switch (head.connection) {
        case ConnectionHeader::kNone:
            break;
        case ConnectionHeader::kClose:
            out.append("Connection: close\r\n");
            break;
        case ConnectionHeader::kKeepAlive:
            out.append("Connection: keep-alive\r\n");
            break;
    }
    out.append("\r\n");
    return clean;
}

}  // namespace takt::internal::http
