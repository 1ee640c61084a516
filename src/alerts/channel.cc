#include "alerts/channel.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "alerts/split_list.h"
#include "base/id.h"
#include "base/url.h"

namespace takt::internal {
namespace {

std::unexpected<Error> BadChannel(std::string detail) {
    return Fail(ErrorCode::kInvalid, "alerts.channels: " + std::move(detail), "alerts.channels");
}

constexpr std::array<std::string_view, 3> kKinds = {"log", "webhook", "email"};
constexpr std::array<std::string_view, 4> kFormats = {"json", "dingtalk", "feishu", "slack"};

template <typename Value, std::size_t kCount>
std::optional<Value> Known(const std::array<std::string_view, kCount>& names,
                           std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Value>(found - names.begin());
}

// The scheme of mail, and the rest as a URL that ParseUrl reads.
std::optional<Url> ParseMailUrl(std::string_view url) {
    for (const std::string_view scheme : {"smtp://", "smtps://"}) {
        if (!url.starts_with(scheme)) continue;
        auto parsed = ParseUrl("http://" + std::string(url.substr(scheme.size())));
        if (parsed && parsed->target == "/") return *parsed;
    }
    return std::nullopt;
}

bool IsMailAddress(std::string_view text) {
    const std::size_t at = text.find('@');
    return text.size() <= 254 && at != 0 && at != text.npos && at + 1 < text.size() &&
           text.find('@', at + 1) == text.npos && std::ranges::all_of(text, [](char c) {
               return c > ' ' && c < 0x7f && c != '<' && c != '>' && c != ',' && c != ';';
           });
}

Result<std::string> Secret(const std::string& text) {
    constexpr std::string_view kEnvironment = "env:";
    if (!text.starts_with(kEnvironment)) return text;
    const std::string name = text.substr(kEnvironment.size());
    const char* value = std::getenv(name.c_str());
    if (!value || !*value) return BadChannel("the environment variable " + name + " is not set");
    return std::string(value);
}

Result<void> SetChannelField(Channel& channel, std::string_view field, const std::string& text) {
    if (field == "name") {
        channel.name = text;
    } else if (field == "kind") {
        const auto kind = ParseChannelKind(text);
        if (!kind) return BadChannel("kind must be log, webhook or email");
        channel.kind = *kind;
    } else if (field == "url") {
        channel.url = text;
    } else if (field == "template") {
        const auto format = ParseWebhookFormat(text);
        if (!format) return BadChannel("template must be json, dingtalk, feishu or slack");
        channel.format = *format;
    } else if (field == "secret" || field == "password") {
        auto secret = Secret(text);
        if (!secret) return std::unexpected(secret.error());
        (field == "secret" ? channel.secret : channel.password) = std::move(*secret);
    } else if (field == "user") {
        channel.user = text;
    } else if (field == "from") {
        channel.from = text;
    } else if (field == "to") {
        channel.to = SplitList(text);
    } else if (field == "ca_file") {
        channel.ca_file = text;
    } else if (field == "require_tls") {
        if (text != "true" && text != "false")
            return BadChannel("require_tls must be true or false");
        channel.require_tls = text == "true";
    } else {
        return BadChannel(
            "a channel has no field '" + std::string(field) +
            "': name, kind, url, template, secret, user, password, from, to, ca_file, "
            "require_tls");
    }
    return {};
}

std::unexpected<Error> Unfit(std::string_view field, std::string why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::move(why), std::string(field));
}

}  // namespace

Result<void> CheckChannel(const Channel& channel) {
    if (!IsValidId(channel.name)) {
        return Unfit("name", "must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ -");
    }
    if (channel.kind == ChannelKind::kWebhook) {
        if (!channel.url.starts_with("http://") && !channel.url.starts_with("https://")) {
            return Unfit("url", "must begin with http:// or https://");
        }
        if (auto url = ParseUrl(channel.url); !url) return Unfit("url", url.error().detail);
    }
    if (channel.kind == ChannelKind::kEmail) {
        if (!ParseMailUrl(channel.url)) {
            return Unfit("url", "must be such as smtp://mail.example.com:587 or smtps://…:465");
        }
        if (!IsMailAddress(channel.from)) return Unfit("from", "must be an address");
        if (channel.to.empty() || channel.to.size() > 50 ||
            !std::ranges::all_of(channel.to, IsMailAddress)) {
            return Unfit("to", "must be 1 to 50 addresses");
        }
        if (channel.user.empty() != channel.password.empty()) {
            return Unfit(channel.user.empty() ? "user" : "password",
                         "is missing: give both user and password, or neither");
        }
    }
    return {};
}

std::string_view Name(ChannelKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}
std::optional<ChannelKind> ParseChannelKind(std::string_view name) {
    return Known<ChannelKind>(kKinds, name);
}
std::string_view Name(WebhookFormat format) {
    return kFormats[static_cast<std::size_t>(format)];
}
std::optional<WebhookFormat> ParseWebhookFormat(std::string_view name) {
    return Known<WebhookFormat>(kFormats, name);
}

std::string Channel::host() const {
    if (kind == ChannelKind::kWebhook) {
        const auto parsed = ParseUrl(url);
        return parsed ? parsed->host : "";
    }
    const auto parsed = kind == ChannelKind::kEmail ? ParseMailUrl(url) : std::nullopt;
    return parsed ? parsed->host : "";
}

std::string Channel::target() const {
    if (kind == ChannelKind::kLog) return "the scheduler's log";
    if (kind == ChannelKind::kEmail) {
        std::string text;
        for (const std::string& address : to) text += (text.empty() ? "" : ", ") + address;
        return text + " by " + host();
    }
    const auto parsed = ParseUrl(url);
    return parsed ? parsed->Origin() : "";
}

Result<std::vector<Channel>> ChannelsOf(
    const std::vector<std::map<std::string, std::string>>& configured) {
    std::vector<Channel> channels = {{.name = "log"}};
    for (const auto& fields : configured) {
        Channel channel;
        for (const auto& [field, text] : fields) {
            if (auto set = SetChannelField(channel, field, text); !set) {
                return std::unexpected(set.error());
            }
        }
        if (auto checked = CheckChannel(channel); !checked) {
            return BadChannel("channel '" + channel.name + "': " + checked.error().detail);
        }
        if (std::ranges::find(channels, channel.name, &Channel::name) != channels.end()) {
            return BadChannel("there are two channels '" + channel.name + "'");
        }
        channels.push_back(std::move(channel));
        if (channels.size() > kChannelsMax) return BadChannel("there are more than 50 channels");
    }
    return channels;
}

}  // namespace takt::internal
