// Channels: who is told about alerts, and in which words.
//
// They come from the configuration or, kept in the store, from operators. What is secret of them is
// never shown: the secret, the password, and the path of a webhook, which often is one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alerts/alert.h"
#include "base/error.h"
#include "base/mistakes.h"
#include "http/address.h"
#include "http/message.h"

namespace takt::internal {

enum class ChannelKind : std::uint8_t { kLog, kWebhook, kEmail };
std::string_view Name(ChannelKind kind);
std::optional<ChannelKind> ParseChannelKind(std::string_view name);

// The words of a webhook.
enum class WebhookFormat : std::uint8_t { kJson, kDingTalk, kFeishu, kSlack };
std::string_view Name(WebhookFormat format);
std::optional<WebhookFormat> ParseWebhookFormat(std::string_view name);

struct Channel {
    std::string name;
    ChannelKind kind = ChannelKind::kLog;
    std::string url;  // http:// or https://; of e-mail smtp:// (with STARTTLS) or smtps://.
    WebhookFormat format = WebhookFormat::kJson;
    std::string secret;  // Signs what is sent; empty: it is not signed.
    std::string user;    // E-mail only, as is all below.
    std::string password;
    std::string from;
    std::vector<std::string> to;
    std::string ca_file;        // Whom it trusts; empty: the system's authorities.
    bool require_tls = true;    // smtp:// without STARTTLS is refused.
    bool stored = false;        // Made by an operator; else it stands in the configuration.
    std::uint32_t version = 0;  // Of a stored one: rises with each change.
    // Which addresses of its host may be connected to; empty: all.
    std::function<bool(const IpAddress&)> allow_address = {};

    // The host it calls; empty for the log.
    std::string host() const;
    // The part of it that may be shown: no secret, no path of a webhook (it often is one).
    std::string target() const;
};

constexpr std::size_t kChannelsMax = 50;

// kInvalid names the field at fault.
Result<void> CheckChannel(const Channel& channel);
// Of one that is given now: also that it has no field that its kind makes no use of. Not asked of
// stored ones, which earlier versions took.
Result<void> CheckNewChannel(const Channel& channel);

// As one that an operator made is stored under "alert-channel/NAME", secrets included.
constexpr std::string_view kChannelPrefix = "alert-channel/";
std::string EncodeChannel(const Channel& channel);
Result<Channel> DecodeChannel(std::string_view name, std::string_view value);

// A channel as the configuration spells it. A value "env:NAME" of secret or password is read from that
// variable. All that is wrong with it is added to `mistakes`, by field.
Channel ChannelOf(const std::map<std::string, std::string>& fields, Mistakes& mistakes);

// A message that a channel is to tell.
struct Notice {
    Alert alert;
    std::string rule_description;
    std::string space;     // The namespace; empty: `default`.
    std::string observer;  // The follower that saw it; empty: the leader did.
    std::size_t more =
        0;  // Alerts of the same rule at the same moment that are not told one by one.
    bool test = false;
};

// One line, and all there is to say.
std::string NoticeTitle(const Notice& notice);
std::string NoticeText(const Notice& notice);

struct WebhookRequest {
    std::string url;
    HttpHeaderList headers;
    std::string body;
};
// Signed for `now`, if the channel has a secret:
//   json, slack  X-Takt-Timestamp: seconds; X-Takt-Signature: sha256=hex(HMAC-SHA256(secret,
//                timestamp + "." + body))
//   dingtalk     timestamp and sign in the URL, as its robots check them
//   feishu       timestamp and sign in the body, as its bots check them
WebhookRequest WebhookOf(const Channel& channel, const Notice& notice, Time now);

// Whether its body says what its status does not.
bool IsRobot(WebhookFormat format);
// Whether a robot of DingTalk or Feishu that answers 200 says in its body that it refused. Empty:
// it did not. What others write into their answers is theirs: with them only the status counts.
std::string RefusalIn(WebhookFormat format, std::string_view body);

// An RFC 5322 message with CRLF line ends.
std::string MailOf(const Channel& channel, const Notice& notice, Time now);

}  // namespace takt::internal
