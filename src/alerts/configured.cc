#include "alerts/configured.h"

#include <algorithm>
#include <utility>

namespace takt::internal {
namespace {

// One item of a list, by its place in it and, if it has one, by its name.
class Item {
  public:
    Item(std::string_view list, std::size_t index, Mistakes& mistakes)
        : at_(std::string(list) + "[" + std::to_string(index) + "]"), mistakes_(mistakes) {}

    void Refuse(const std::string& name, const std::string& why) {
        const std::string who = name.empty() ? at_ : at_ + " '" + name + "'";
        mistakes_.Add({ErrorCode::kInvalid, who + ": " + why, at_});
    }
    void RefuseAll(const std::string& name, const Mistakes& wrong) {
        for (const Error& error : wrong.errors()) Refuse(name, error.detail);
    }

  private:
    const std::string at_;
    Mistakes& mistakes_;
};

template <typename T>
bool HasName(const std::vector<T>& items, const std::string& name) {
    return std::ranges::find(items, name, &T::name) != items.end();
}

}  // namespace

ConfiguredAlerts ReadConfiguredAlerts(const FieldLists& rules, const FieldLists& channels,
                                      bool channels_known, Mistakes& mistakes) {
    ConfiguredAlerts read{.rules = {}, .channels = {{.name = "log"}}};
    for (std::size_t i = 0; i < channels.size(); ++i) {
        Item item("alerts.channels", i, mistakes);
        Mistakes wrong;
        Channel channel = ChannelOf(channels[i], wrong);
        item.RefuseAll(channel.name, wrong);
        if (!channel.name.empty() && HasName(read.channels, channel.name)) {
            item.Refuse(channel.name, "there is a channel of that name already");
        }
        if (read.channels.size() == kChannelsMax) {
            item.Refuse(channel.name, "there are more than 50 channels");
            break;
        }
        read.channels.push_back(std::move(channel));
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        Item item("alerts.rules", i, mistakes);
        Mistakes wrong;
        AlertRule rule = RuleOf(rules[i], wrong);
        item.RefuseAll(rule.name, wrong);
        if (!rule.name.empty() && HasName(read.rules, rule.name)) {
            item.Refuse(rule.name, "there is a rule of that name already");
        }
        for (const std::string& channel : rule.channels) {
            if (!channels_known || HasName(read.channels, channel)) continue;
            item.Refuse(rule.name,
                        "names the channel '" + channel + "', which alerts.channels does not have");
        }
        read.rules.push_back(std::move(rule));
    }
    return read;
}

}  // namespace takt::internal
