// Reads HTTP/1.x messages from bytes, more strictly than the RFC asks: whatever two programs could
// read differently is refused. Syntax is Beast's; what may be smuggled past it is checked here.
#pragma once

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace takt::internal::http {

// Finds the end of a head in bytes that arrive piece by piece, looking at each byte once.
class HeadScanner {
  public:
    // The length of the head with its empty line; 0 when it is not complete yet; npos when it has a
    // bare line feed or a folded line, which proxies disagree about.
    std::size_t Find(std::string_view bytes);

    static constexpr std::size_t npos = std::string_view::npos;

  private:
    std::size_t line_ = 0;     // Where the unfinished line starts.
    std::size_t scanned_ = 0;  // No line feed before this.
};

// The parts of a message that requests and responses have in common. `put` it the head at once
// (HeadScanner says where it ends), then the body in any pieces.
template <bool is_request>
class MessageParser : public boost::beast::http::basic_parser<is_request> {
  public:
    using Piece = std::move_only_function<bool(std::string_view)>;

    MessageParser(const HttpHeadLimits& limits, HttpHeaders& headers);

    // Where body pieces go; false from it stops parsing with kBodyRefused.
    void set_piece(Piece piece) { piece_ = std::move(piece); }
    // 0 when fine; else the HTTP status to refuse the head with, and why.
    int refusal() const { return refusal_; }
    std::string_view reason() const { return reason_; }
    bool body_refused() const { return body_refused_; }
    bool has_transfer_encoding() const { return transfer_encodings_ > 0; }
    bool has_host() const { return hosts_ > 0; }

  protected:
    using error_code = boost::beast::error_code;
    using view = boost::beast::string_view;
    using field = boost::beast::http::field;
    using verb = boost::beast::http::verb;

    void Refuse(int status, std::string_view reason, error_code& error);

    void on_request_impl(verb, view method, view target, int version, error_code&) override;
    void on_response_impl(int status, view reason, int version, error_code&) override;
    void on_field_impl(field name, view name_text, view value, error_code&) override;
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(view body, error_code&) override;
    void on_chunk_header_impl(std::uint64_t, view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t remain, view body, error_code&) override;
    void on_finish_impl(error_code&) override {}

    HttpRequest* request_ = nullptr;
    int status_ = 0;

  private:
    HttpHeadLimits limits_;
    HttpHeaders& headers_;
    Piece piece_;
    int refusal_ = 0;
    std::string_view reason_;
    std::size_t count_ = 0;
    int content_lengths_ = 0;
    int transfer_encodings_ = 0;
    int hosts_ = 0;
    bool body_refused_ = false;
};

class RequestParser : public MessageParser<true> {
  public:
    RequestParser(const HttpHeadLimits& limits, HttpRequest& request);

    // Parses a whole head. False: answer refusal() and close, the connection is not to be trusted.
    bool ParseHead(std::string_view head);
    // Takes body bytes; how many of `bytes` were used. Check is_done() and refusal() after it.
    std::size_t ParseBody(std::string_view bytes);
};

class ResponseParser : public MessageParser<false> {
  public:
    // `to_head`: the response answers a HEAD request and has no body whatever it says.
    ResponseParser(const HttpHeadLimits& limits, HttpHeaders& headers, bool to_head);

    bool ParseHead(std::string_view head);
    std::size_t ParseBody(std::string_view bytes);
    // The peer closed: true when that completes the message.
    bool ParseEnd();
    int status() const { return status_; }
};

}  // namespace takt::internal::http
