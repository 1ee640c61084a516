#include "alerts/channel.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "alerts/split_list.h"
#include "base/id.h"
#include "base/url.h"

namespace takt::internal {
namespace {

std::unexpected<Error> Unfit(std::string_view field, std::string why) {
    return Fail(ErrorCode::kInvalid, std::string(field) + " " + std::move(why), std::string(field));
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

Result<std::string> Secret(std::string_view field, const std::string& text) {
    constexpr std::string_view kEnvironment = "env:";
    if (!text.starts_with(kEnvironment)) return text;
    const std::string name = text.substr(kEnvironment.size());
    const char* value = std::getenv(name.c_str());
    if (value && *value) return std::string(value);
    return Unfit(field, "is read from the environment variable " + name + ", which is not set");
}

Result<void> SetChannelField(Channel& channel, std::string_view field, const std::string& text) {
    if (field == "name") {
        channel.name = text;
    } else if (field == "kind") {
        const auto kind = ParseChannelKind(text);
        if (!kind) return Unfit(field, "must be log, webhook or email");
        channel.kind = *kind;
    } else if (field == "url") {
        channel.url = text;
    } else if (field == "template") {
        const auto format = ParseWebhookFormat(text);
        if (!format) return Unfit(field, "must be json, dingtalk, feishu or slack");
        channel.format = *format;
    } else if (field == "secret" || field == "password") {
        auto secret = Secret(field, text);
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
        if (text != "true" && text != "false") return Unfit(field, "must be true or false");
        channel.require_tls = text == "true";
    } else {
        return Unfit(field,
                     "is no field of a channel: name, kind, url, template, secret, user, password, "
                     "from, to, ca_file, require_tls");
    }
    return {};
}

// All that is wrong with it, at most one of each field.
std::vector<Error> MistakesOf(const Channel& channel) {
    std::vector<Error> wrong;
    const auto require = [&](bool good, std::string_view field, std::string why) {
        if (!good) wrong.push_back(Unfit(field, std::move(why)).error());
        return good;
    };
    require(IsValidId(channel.name), "name", "must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ -");
    if (channel.kind == ChannelKind::kWebhook) {
        const bool http = channel.url.starts_with("http://") || channel.url.starts_with("https://");
        if (require(http, "url", "must begin with http:// or https://")) {
            const auto url = ParseUrl(channel.url);
            require(url.has_value(), "url", url ? "" : url.error().detail);
        }
    }
    if (channel.kind == ChannelKind::kEmail) {
        require(ParseMailUrl(channel.url).has_value(), "url",
                "must be such as smtp://mail.example.com:587 or smtps://…:465");
        require(IsMailAddress(channel.from), "from", "must be an address");
        require(!channel.to.empty() && channel.to.size() <= 50 &&
                    std::ranges::all_of(channel.to, IsMailAddress),
                "to", "must be 1 to 50 addresses");
        require(channel.user.empty() == channel.password.empty(),
                channel.user.empty() ? "user" : "password",
                "is missing: give both user and password, or neither");
    }
    return wrong;
}

// Fields that have a value and that its kind makes no use of: whoever gave them means another kind.
std::vector<Error> NeedlessIn(const Channel& channel) {
    std::vector<Error> wrong;
    const auto only = [&](ChannelKind kind, bool given, std::string_view field) {
        if (!given || channel.kind == kind) return;
        wrong.push_back(Unfit(field, "is of the kind " + std::string(Name(kind)) + "; the kind " +
                                         std::string(Name(channel.kind)) + " has none")
                            .error());
    };
    if (channel.kind == ChannelKind::kLog && !channel.url.empty()) {
        wrong.push_back(
            Unfit("url", "is of the kinds webhook and email; give one as kind").error());
    }
    only(ChannelKind::kWebhook, channel.format != WebhookFormat::kJson, "template");
    only(ChannelKind::kWebhook, !channel.secret.empty(), "secret");
    only(ChannelKind::kEmail, !channel.user.empty(), "user");
    only(ChannelKind::kEmail, !channel.password.empty(), "password");
    only(ChannelKind::kEmail, !channel.from.empty(), "from");
    only(ChannelKind::kEmail, !channel.to.empty(), "to");
    only(ChannelKind::kEmail, !channel.ca_file.empty(), "ca_file");
    only(ChannelKind::kEmail, !channel.require_tls, "require_tls");
    return wrong;
}

Result<void> FirstOf(const std::vector<Error>& wrong) {
    if (wrong.empty()) return {};
    return std::unexpected(wrong.front());
}

}  // namespace

Result<void> CheckChannel(const Channel& channel) {
    return FirstOf(MistakesOf(channel));
}

Result<void> CheckNewChannel(const Channel& channel) {
    auto checked = CheckChannel(channel);
    return checked ? FirstOf(NeedlessIn(channel)) : checked;
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

Channel ChannelOf(const std::map<std::string, std::string>& fields, Mistakes& mistakes) {
    Channel channel;
    std::set<std::string> told;
    const auto add = [&](const Error& error) {
        if (told.insert(error.field).second) mistakes.Add(error);
    };
    for (const auto& [field, text] : fields) {
        if (auto set = SetChannelField(channel, field, text); !set) add(set.error());
    }
    for (const Error& error : MistakesOf(channel)) add(error);
    // Of a kind that could not be read nothing is known.
    if (!told.contains("kind")) {
        for (const Error& error : NeedlessIn(channel)) add(error);
    }
    return channel;
}

}  // namespace takt::internal
