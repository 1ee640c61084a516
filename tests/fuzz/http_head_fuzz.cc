// Fuzzes what a stranger's bytes meet first: head scanner, request parser with its body, and the
// WebSocket frame reader. The first byte says where the input is cut in two, because bytes arrive
// in pieces: the outcome must not depend on the cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "http/head_parser.h"
#include "http/websocket_frame.h"

namespace {

struct Outcome {
    std::size_t head = 0;
    int refusal = 0;
    bool done = false;
    std::string path;
    std::string body;
    bool operator==(const Outcome&) const = default;
};

Outcome ReadRequest(std::string_view bytes, std::size_t cut) {
    Outcome outcome;
    takt::internal::http::HeadScanner scanner;
    if (scanner.Find(bytes.substr(0, cut)) == takt::internal::http::HeadScanner::npos) {
        outcome.head = takt::internal::http::HeadScanner::npos;
        return outcome;
    }
    takt::internal::http::HeadScanner whole;
    outcome.head = whole.Find(bytes);
    if (outcome.head == 0 || outcome.head == takt::internal::http::HeadScanner::npos)
        return outcome;
    takt::internal::HttpRequest request;
    takt::internal::http::RequestParser parser({}, request);
    if (parser.ParseHead(bytes.substr(0, outcome.head))) {
        TAKT_CHECK(request.path.starts_with('/') || request.path == "*");
        TAKT_CHECK(request.path.find('\0') == std::string::npos);
        TAKT_CHECK(request.headers.size() <= 100);
        for (const auto& [name, value] : request.QueryAll()) {
            TAKT_CHECK(request.Query(name).has_value());
        }
        parser.set_piece([&](std::string_view piece) {
            outcome.body += piece;
            return true;
        });
        const std::string_view body = bytes.substr(outcome.head);
        std::string pending(body.substr(0, cut));
        if (!parser.is_done()) pending.erase(0, parser.ParseBody(pending));
        if (!parser.is_done() && parser.refusal() == 0) {
            pending += body.substr(std::min(cut, body.size()));
            parser.ParseBody(pending);
        }
        outcome.path = request.path;
    }
    outcome.refusal = parser.refusal();
    outcome.done = parser.is_done();
    return outcome;
}

void ReadFrames(std::string_view bytes, std::size_t cut) {
    takt::internal::http::FrameReader reader(true, 4096);
    for (const std::string_view piece :
         {bytes.substr(0, cut), bytes.substr(std::min(cut, bytes.size()))}) {
        reader.Append(piece);
        while (const auto frame = reader.Next()) {
            TAKT_CHECK(frame->payload.size() <= 4096);
            TAKT_CHECK(frame->kind != takt::internal::http::FrameKind::kContinuation);
            if (frame->kind == takt::internal::http::FrameKind::kText)
                TAKT_CHECK(takt::internal::IsValidUtf8(frame->payload));
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(bytes + 1), size - 1);
    const Outcome cut = ReadRequest(text, bytes[0]);
    const Outcome whole = ReadRequest(text, text.size());
    if (cut.refusal == 0 && whole.refusal == 0) TAKT_CHECK(cut == whole);
    ReadFrames(text, bytes[0]);
    return 0;
}
