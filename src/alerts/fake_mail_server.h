// A mail server for the tests of this folder: takes one connection, and everything that is said
// there, or answers a command as the test says; without TLS, after STARTTLS or from the start.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "alerts/mailer.h"
#include "base/check.h"

namespace takt::internal {

class FakeMailServer {
  public:
    enum class Tls : std::uint8_t { kNone, kAfterStartTls, kFromTheStart };
    struct Options {
        std::string refused = {};  // Commands that begin so
        std::string refusal = {};  // are answered so.
        Tls tls = Tls::kNone;
        std::string certificate_file = {};
        std::string key_file = {};
    };
    // Stands in `heard` where the talk went over to TLS.
    static constexpr std::string_view kSecured = "(secured)\r\n";

    FakeMailServer() : FakeMailServer(Options{}) {}
    explicit FakeMailServer(Options options) : options_(std::move(options)) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        TAKT_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        socklen_t size = sizeof address;
        TAKT_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
        TAKT_CHECK(listen(listener_, 4) == 0);
        port = ntohs(address.sin_port);
        thread_ = std::thread([this] { Serve(); });
    }
    ~FakeMailServer() {
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }
    Channel ChannelTo() const {
        const bool from_the_start = options_.tls == Tls::kFromTheStart;
        return {.name = "mail",
                .kind = ChannelKind::kEmail,
                .url = (from_the_start ? "smtps://127.0.0.1:" : "smtp://127.0.0.1:") +
                       std::to_string(port),
                .user = "me",
                .password = "secret",
                .from = "takt@example.com",
                .to = {"a@example.com", "b@example.com"},
                .require_tls = options_.tls != Tls::kNone};
    }

    std::uint16_t port = 0;
    std::promise<std::string> heard;  // All that the client said.

  private:
    struct TlsFree {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
        void operator()(SSL* tls) const { SSL_free(tls); }
    };
    // The client's end, in the clear until it is secured.
    struct Peer {
        int descriptor = -1;
        std::unique_ptr<SSL, TlsFree> tls = {};

        bool Read(char& c) {
            return tls ? SSL_read(tls.get(), &c, 1) == 1 : read(descriptor, &c, 1) == 1;
        }
        bool Say(std::string_view text) {
            const std::string line = std::string(text) + "\r\n";
            const int size = static_cast<int>(line.size());
            return tls ? SSL_write(tls.get(), line.data(), size) == size
                       : write(descriptor, line.data(), line.size()) == size;
        }
    };

    bool Secure(Peer& peer, std::string& all) {
        if (!context_) {
            context_.reset(SSL_CTX_new(TLS_server_method()));
            TAKT_CHECK(SSL_CTX_use_certificate_file(context_.get(),
                                                    options_.certificate_file.c_str(),
                                                    SSL_FILETYPE_PEM) == 1);
            TAKT_CHECK(SSL_CTX_use_PrivateKey_file(context_.get(), options_.key_file.c_str(),
                                                   SSL_FILETYPE_PEM) == 1);
        }
        std::unique_ptr<SSL, TlsFree> tls(SSL_new(context_.get()));
        TAKT_CHECK(SSL_set_fd(tls.get(), peer.descriptor) == 1);
        if (SSL_accept(tls.get()) != 1) return false;
        peer.tls = std::move(tls);
        all += kSecured;
        return true;
    }

    void Serve() {
        // A client that hangs up while it is answered must not end the test.
        sigset_t broken_pipe;
        sigemptyset(&broken_pipe);
        sigaddset(&broken_pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
        Peer peer{accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)};
        if (peer.descriptor < 0) return heard.set_value("");
        const timeval limit{.tv_sec = 30, .tv_usec = 0};
        setsockopt(peer.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        std::string all;
        if (options_.tls != Tls::kFromTheStart || Secure(peer, all)) Talk(peer, all);
        peer.tls.reset();
        close(peer.descriptor);
        heard.set_value(all);
    }

    void Talk(Peer& peer, std::string& all) {
        peer.Say("220 mail.test ready");
        bool in_data = false;
        bool in_auth = false;
        std::string line;
        for (char c; peer.Read(c);) {
            all += c;
            line += c;
            if (!line.ends_with("\r\n")) continue;
            if (in_data) {
                if (line == ".\r\n") in_data = !peer.Say("250 taken");
            } else if (!options_.refused.empty() && line.starts_with(options_.refused)) {
                peer.Say(options_.refusal);
            } else if (line.starts_with("EHLO")) {
                const bool offers = options_.tls == Tls::kAfterStartTls && !peer.tls;
                peer.Say(offers ? "250-mail.test\r\n250 STARTTLS"
                                : "250-mail.test\r\n250 AUTH PLAIN LOGIN");
            } else if (line.starts_with("STARTTLS")) {
                peer.Say("220 go on");
                if (!Secure(peer, all)) return;
            } else if (line.starts_with("AUTH")) {
                in_auth = peer.Say("334 ");
            } else if (std::exchange(in_auth, false)) {
                peer.Say("235 welcome");
            } else if (line.starts_with("DATA")) {
                in_data = peer.Say("354 go on");
            } else if (line.starts_with("QUIT")) {
                peer.Say("221 bye");
                return;
            } else {
                peer.Say("250 ok");
            }
            line.clear();
        }
    }

    const Options options_;
    std::unique_ptr<SSL_CTX, TlsFree> context_;
    int listener_ = -1;
    std::thread thread_;
};

// Sends a message of one line, and waits for what comes of it.
inline Result<void> SendBy(Mailer& mailer, const Channel& channel) {
    std::promise<Result<void>> sent;
    mailer.Send(channel, "Subject: x\r\n\r\n.a dot\r\n",
                [&](Result<void> result) { sent.set_value(std::move(result)); });
    return sent.get_future().get();
}

}  // namespace takt::internal
