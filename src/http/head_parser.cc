#include "http/head_parser.h"

#include <cstring>

namespace takt::internal::http {
namespace {

namespace beast_http = boost::beast::http;

std::string_view View(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

bool IsNumber(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether the request line ends like one of HTTP, of whatever version.
bool NamesVersion(std::string_view head) {
    constexpr std::string_view kShape = " HTTP/d.d";
    const std::string_view line = head.substr(0, head.find('\r'));
    if (line.size() < kShape.size()) return false;
    const std::string_view end = line.substr(line.size() - kShape.size());
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return end.starts_with(" HTTP/") && digit(end[6]) && end[7] == '.' && digit(end[8]) &&
           line.find(' ') == line.rfind(' ', line.rfind(' ') - 1);
}

}  // namespace

std::size_t HeadScanner::Find(std::string_view bytes) {
    while (scanned_ < bytes.size()) {
        const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
        if (found == nullptr) {
            scanned_ = bytes.size();
            return 0;
        }
        const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
        if (at == line_ || bytes[at - 1] != '\r') return npos;
        if (at == line_ + 1) return at + 1;
        if (line_ > 0 && (bytes[line_] == ' ' || bytes[line_] == '\t')) return npos;
        line_ = scanned_ = at + 1;
    }
    return 0;
}

template <bool is_request>
MessageParser<is_request>::MessageParser(const HttpHeadLimits& limits, HttpHeaders& headers)
    : limits_(limits), headers_(headers) {
    // Sizes are checked by the owner, who knows the route's limit; the head was measured before it
    // is put. Twice the size leaves Beast's own rounding no say.
    this->body_limit(boost::none);
    this->eager(true);
    this->header_limit(static_cast<std::uint32_t>(limits.bytes_max * 2));
}

template <bool is_request>
void MessageParser<is_request>::Refuse(int status, std::string_view reason, error_code& error) {
    refusal_ = status;
    reason_ = reason;
    error = beast_http::error::bad_field;
}

template <bool is_request>
void MessageParser<is_request>::on_request_impl(verb, view method, view target, int version,
                                                error_code& error) {
    const auto known = ParseHttpMethod(View(method));
    if (!known) return Refuse(501, "method is not supported", error);
    request_->method = *known;
    request_->http_1_0 = version == 10;
    if (const auto parsed = ParseTarget(View(target), *request_); !parsed) {
        Refuse(400, "request target is not valid", error);
    }
}

template <bool is_request>
void MessageParser<is_request>::on_response_impl(int status, view, int, error_code&) {
    status_ = status;
}

template <bool is_request>
void MessageParser<is_request>::on_field_impl(field name, view name_text, view value,
                                              error_code& error) {
    // Trailers come through here too. Nothing we do depends on them, and taken as headers they
    // could change what was already decided.
    if (this->is_header_done()) {
        if (++count_ > limits_.count_max) Refuse(431, "too many trailers", error);
        return;
    }
    if (++count_ > limits_.count_max) return Refuse(431, "too many headers", error);
    if (!IsHttpHeaderValue(View(value))) {
        return Refuse(400, "header value has a control character", error);
    }
    if (name == field::content_length &&
        (++content_lengths_ > 1 || !IsNumber(View(value)))) {  // Beast takes "3, 3" for 3.
        return Refuse(400, "Content-Length is not one number", error);
    }
    if (name == field::transfer_encoding) {
        if (++transfer_encodings_ > 1 || !EqualsIgnoringCase(View(value), "chunked")) {
            return Refuse(is_request ? 501 : 400, "transfer encoding is not supported", error);
        }
    }
    if (content_lengths_ > 0 && transfer_encodings_ > 0) {
        return Refuse(400, "Content-Length and Transfer-Encoding exclude each other", error);
    }
    if (is_request && name == field::host && ++hosts_ > 1) {
        return Refuse(400, "Host is given twice", error);
    }
    headers_.Add(View(name_text), View(value));
}

template <bool is_request>
std::size_t MessageParser<is_request>::on_body_impl(view body, error_code& error) {
    if (piece_ && !piece_(View(body))) {
        body_refused_ = true;
        error = beast_http::error::body_limit;
    }
    return body.size();
}

template <bool is_request>
std::size_t MessageParser<is_request>::on_chunk_body_impl(std::uint64_t, view body,
                                                          error_code& error) {
    return on_body_impl(body, error);
}

namespace {

template <typename Parser>
std::size_t Put(Parser& parser, std::string_view bytes, boost::beast::error_code& error) {
    return parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
}

// Feeds body bytes until they are used up or the parser wants more than there is.
template <typename Parser>
std::size_t PutBody(Parser& parser, std::string_view bytes, boost::beast::error_code& error) {
    std::size_t used = 0;
    while (used < bytes.size() && !parser.is_done()) {
        const std::size_t taken = Put(parser, bytes.substr(used), error);
        used += taken;
        if (error == beast_http::error::need_more) {
            error = {};
            break;
        }
        if (error || taken == 0) break;
    }
    return used;
}

}  // namespace

RequestParser::RequestParser(const HttpHeadLimits& limits, HttpRequest& request)
    : MessageParser<true>(limits, request.headers) {
    request_ = &request;
}

bool RequestParser::ParseHead(std::string_view head) {
    error_code error;
    const std::size_t used = Put(*this, head, error);
    if (!error && used == head.size() && is_header_done()) {
        if (!request_->http_1_0 && !has_host()) Refuse(400, "Host is missing", error);
        // HTTP/1.0 has no transfer encodings: an old proxy in between would see another body.
        if (request_->http_1_0 && has_transfer_encoding()) {
            Refuse(400, "Transfer-Encoding in HTTP/1.0", error);
        }
    } else if (refusal() == 0) {
        const bool version = error == beast_http::error::bad_version && NamesVersion(head);
        Refuse(version ? 505 : 400, version ? "HTTP version is not supported" : "head is malformed",
               error);
    }
    return refusal() == 0;
}

std::size_t RequestParser::ParseBody(std::string_view bytes) {
    error_code error;
    const std::size_t used = PutBody(*this, bytes, error);
    if (error && refusal() == 0 && !body_refused()) Refuse(400, "body is malformed", error);
    return used;
}

ResponseParser::ResponseParser(const HttpHeadLimits& limits, HttpHeaders& headers, bool to_head)
    : MessageParser<false>(limits, headers) {
    this->skip(to_head);
}

bool ResponseParser::ParseHead(std::string_view head) {
    error_code error;
    const std::size_t used = Put(*this, head, error);
    if ((error || used != head.size() || !is_header_done()) && refusal() == 0) {
        Refuse(400, "response head is malformed", error);
    }
    return refusal() == 0;
}

std::size_t ResponseParser::ParseBody(std::string_view bytes) {
    error_code error;
    const std::size_t used = PutBody(*this, bytes, error);
    if (error && refusal() == 0 && !body_refused())
        Refuse(400, "response body is malformed", error);
    return used;
}

bool ResponseParser::ParseEnd() {
    if (is_done()) return true;
    if (!is_header_done()) return false;
    error_code error;
    put_eof(error);
    return !error;
}

template class MessageParser<true>;
template class MessageParser<false>;

}  // namespace takt::internal::http
