#include "alerts/mailer.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"

namespace takt::internal {
namespace {

struct CurlDelete {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Reading {
    std::string_view left;
};

std::size_t ReadMessage(char* to, std::size_t size, std::size_t count, void* context) {
    auto& reading = *static_cast<Reading*>(context);
    const std::size_t bytes = std::min(size * count, reading.left.size());
    std::memcpy(to, reading.left.data(), bytes);
    reading.left.remove_prefix(bytes);
    return bytes;
}

// The address is judged where it is used: what a name resolved to before says nothing.
curl_socket_t OpenSocket(void* context, curlsocktype, curl_sockaddr* address) {
    const auto& channel = *static_cast<const Channel*>(context);
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = address->family == AF_INET6
                            ? static_cast<const void*>(
                                  &reinterpret_cast<const sockaddr_in6*>(&address->addr)->sin6_addr)
                            : &reinterpret_cast<const sockaddr_in*>(&address->addr)->sin_addr;
    inet_ntop(address->family, bytes, text.data(), text.size());
    const auto ip = ParseIpAddress(text.data());
    if (channel.allow_address && (!ip || !channel.allow_address(*ip))) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// Whom the server did not want. Its answers name nobody; each belongs to the question before it.
struct Receivers {
    std::string asked;                 // Whose answer is to come; empty: nobody's.
    std::vector<std::string> refused;  // "b@example.com (550 no such user)"
    bool for_ever = true;              // None was refused for the time being only.
};

constexpr std::size_t kRefusalBytesMax = 200;

int NoteReceiver(CURL*, curl_infotype type, char* data, std::size_t size, void* context) {
    constexpr std::string_view kQuestion = "RCPT TO:<";
    auto& receivers = *static_cast<Receivers*>(context);
    std::string_view text(data, size);
    if (type == CURLINFO_HEADER_OUT) {
        receivers.asked.clear();
        if (!text.starts_with(kQuestion)) return 0;
        text.remove_prefix(kQuestion.size());
        receivers.asked = text.substr(0, text.find('>'));
    } else if (type == CURLINFO_HEADER_IN && !receivers.asked.empty()) {
        // "550-…" goes on in a further line.
        if (text.size() < 4 || text[3] == '-') return 0;
        const std::string address = std::exchange(receivers.asked, {});
        if (text[0] == '2') return 0;
        while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
        receivers.for_ever &= text[0] == '5';
        receivers.refused.push_back(address + " (" + std::string(text.substr(0, kRefusalBytesMax)) +
                                    ")");
    }
    return 0;
}

std::string ListOf(const std::vector<std::string>& items) {
    std::string list;
    for (const std::string& item : items) list += (list.empty() ? "" : ", ") + item;
    return list;
}

// Not 0 ends a message that is under way.
int IsStopping(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const std::atomic<bool>*>(context)->load() ? 1 : 0;
}

}  // namespace

Mailer::Mailer(Config config) : config_(config) {
    static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
    TAKT_CHECK(kStarted == CURLE_OK);
}

Mailer::~Mailer() {
    std::deque<Letter> dropped;
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
        dropped.swap(letters_);
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (Letter& letter : dropped) letter.done(Fail(ErrorCode::kCancelled, "stopping"));
}

void Mailer::Send(const Channel& channel, std::string message, MailDone done) {
    std::unique_lock lock(mutex_);
    if (letters_.size() >= config_.queue_max || stopping_) {
        lock.unlock();
        return done(Fail(ErrorCode::kUnavailable, "too many messages wait to be sent"));
    }
    letters_.push_back({channel, std::move(message), std::move(done)});
    // Most schedulers send no mail: the thread begins with the first one.
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    lock.unlock();
    changed_.notify_all();
}

void Mailer::Run() {
    for (;;) {
        Letter letter;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopping_ || !letters_.empty(); });
            if (stopping_) return;
            letter = std::move(letters_.front());
            letters_.pop_front();
        }
        Result<void> sent = SendNow(letter);
        letter.done(std::move(sent));
    }
}

Result<void> Mailer::SendNow(const Letter& letter) const {
    const Channel& channel = letter.channel;
    const std::unique_ptr<CURL, CurlDelete> curl(curl_easy_init());
    if (!curl) return Fail(ErrorCode::kUnavailable, "libcurl has no memory");
    std::unique_ptr<curl_slist, CurlDelete> to;
    for (const std::string& address : channel.to) {
        to.reset(curl_slist_append(to.release(), ("<" + address + ">").c_str()));
    }
    Reading reading{letter.message};
    std::array<char, CURL_ERROR_SIZE> error{};
    const auto set = [&](CURLoption option, auto value) {
        TAKT_CHECK(curl_easy_setopt(curl.get(), option, value) == CURLE_OK);
    };
    set(CURLOPT_URL, channel.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(config_.connect_timeout.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(config_.timeout.count()));
    set(CURLOPT_USE_SSL, static_cast<long>(channel.require_tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!channel.ca_file.empty()) set(CURLOPT_CAINFO, channel.ca_file.c_str());
    if (!channel.user.empty()) {
        set(CURLOPT_USERNAME, channel.user.c_str());
        set(CURLOPT_PASSWORD, channel.password.c_str());
    }
    set(CURLOPT_MAIL_FROM, ("<" + channel.from + ">").c_str());
    set(CURLOPT_MAIL_RCPT, to.get());
    // One that left the company must not take the mail from all others.
    set(CURLOPT_MAIL_RCPT_ALLLOWFAILS, 1L);
    // The talk goes to NoteReceiver and nowhere else: it has the password in it.
    Receivers receivers;
    set(CURLOPT_VERBOSE, 1L);
    set(CURLOPT_DEBUGFUNCTION, &NoteReceiver);
    set(CURLOPT_DEBUGDATA, static_cast<void*>(&receivers));
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_READFUNCTION, &ReadMessage);
    set(CURLOPT_READDATA, static_cast<void*>(&reading));
    set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
    set(CURLOPT_OPENSOCKETDATA, const_cast<void*>(static_cast<const void*>(&channel)));
    set(CURLOPT_ERRORBUFFER, error.data());
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &IsStopping);
    set(CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&stopping_)));
    const CURLcode code = curl_easy_perform(curl.get());
    const std::string refused = ListOf(receivers.refused);
    if (code == CURLE_OK) {
        if (!refused.empty()) {
            Log(LogLevel::kWarning, "alerts", "a mail server refused some of the receivers",
                {{"channel", channel.name}, {"server", channel.host()}, {"refused", refused}});
        }
        return {};
    }
    const std::string who = "the mail server " + channel.host();
    if (receivers.refused.size() == channel.to.size()) {
        return Fail(receivers.for_ever ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
                    who + " refused every receiver: " + refused);
    }
    long answer = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &answer);
    const char* why = error[0] ? error.data() : curl_easy_strerror(code);
    // 5xx is for ever, and so is a wrong password; the rest may pass.
    const bool for_ever = code == CURLE_LOGIN_DENIED || (answer >= 500 && answer < 600);
    return Fail(for_ever ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
                who + " did not take it: " + why);
}

}  // namespace takt::internal
