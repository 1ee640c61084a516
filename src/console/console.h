// The console: the pages of web/, built by npm and embedded in the program.
//
//     if (auto page = ConsolePage(request)) reply(std::move(*page));
#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"

namespace takt::internal {

// A file as it is sent. All views live as long as the program.
struct ConsoleFile {
    std::string_view path;  // "/index.html"
    std::string_view content_type;
    std::string_view bytes;
    std::string_view gzip;  // The same, compressed; empty where that gains nothing.
    std::string_view etag;  // With its quotes.
    bool immutable;         // Its name changes with its content.
};

// Null if there is no such file.
const ConsoleFile* FindConsoleFile(std::string_view path);

// The answer to a browser: a file of the console, or its index for the addresses of its pages,
// which exist in the browser only. Nothing for other methods than GET and HEAD, and for what does
// not ask for a page of HTML: programs that mistake an address are told so by the API.
std::optional<HttpResponse> ConsolePage(const HttpRequest& request);

}  // namespace takt::internal
