// The head of an answer, formatted by hand into a buffer that is used again for the next one.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace takt::internal::http {

enum class ConnectionHeader : std::uint8_t { kNone, kClose, kKeepAlive };

struct ResponseHead {
    std::string_view date = {};
    std::string_view request_id = {};
    std::string_view content_encoding = {};  // Empty: none.
    bool vary_encoding = false;              // The body would differ for another Accept-Encoding.
    std::size_t body_bytes = 0;
    bool has_length = true;  // False for streams, 101 and statuses that have no body.
    ConnectionHeader connection = ConnectionHeader::kNone;
};

// Replaces `out`. Headers that must not be sent, because a line break in them would start another
// header, are left out; false then, for the log.
bool FormatHead(const HttpResponse& response, const ResponseHead& head, std::string& out);

}  // namespace takt::internal::http
