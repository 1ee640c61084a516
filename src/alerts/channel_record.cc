// A channel that an operator made, as it is stored.
#include <boost/json/value.hpp>

#include "alerts/channel.h"
#include "base/json.h"

namespace takt::internal {
namespace {

std::string TextIn(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

}  // namespace

std::string EncodeChannel(const Channel& channel) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("kind", Name(channel.kind));
    json.Field("template", Name(channel.format)).Field("version", channel.version);
    const auto text = [&](std::string_view key, const std::string& value) {
        json.Field(key, std::string_view(value));
    };
    text("url", channel.url);
    text("secret", channel.secret);
    text("user", channel.user);
    text("password", channel.password);
    text("from", channel.from);
    json.Key("to").BeginArray();
    for (const std::string& address : channel.to) json.Value(std::string_view(address));
    json.EndArray().Field("require_tls", channel.require_tls).EndObject();
    return out;
}

Result<Channel> DecodeChannel(std::string_view name, std::string_view value) {
    const auto broken = [&](std::string_view why) {
        return Fail(ErrorCode::kInvalid, "the setting " + std::string(kChannelPrefix) +
                                             std::string(name) +
                                             " is no channel: " + std::string(why));
    };
    const auto parsed = ParseJson(value);
    if (!parsed || !parsed->is_object()) return broken("it is not an object");
    const boost::json::object& object = parsed->as_object();
    const auto kind = ParseChannelKind(TextIn(object, "kind"));
    const auto format = ParseWebhookFormat(TextIn(object, "template"));
    if (!kind || !format) return broken("its kind or template is not known");
    Channel channel{.name = std::string(name),
                    .kind = *kind,
                    .url = TextIn(object, "url"),
                    .format = *format,
                    .secret = TextIn(object, "secret"),
                    .user = TextIn(object, "user"),
                    .password = TextIn(object, "password"),
                    .from = TextIn(object, "from"),
                    .stored = true};
    if (const auto* to = object.if_contains("to"); to && to->is_array()) {
        for (const auto& address : to->as_array()) {
            if (address.is_string()) channel.to.emplace_back(address.as_string());
        }
    }
    const auto* tls = object.if_contains("require_tls");
    channel.require_tls = !tls || !tls->is_bool() || tls->as_bool();
    const auto* version = object.if_contains("version");
    if (version && version->is_number()) channel.version = version->to_number<std::uint32_t>();
    if (auto checked = CheckChannel(channel); !checked) return broken(checked.error().detail);
    return channel;
}

}  // namespace takt::internal
