// Channels that operators made: kept, told, changed and taken away.
#include <gtest/gtest.h>

#include <optional>

#include "alerts/delivery.h"
#include "node/driven.h"

namespace takt::internal {
namespace {

Channel Hook(std::string name, std::string url = "https://hooks.example.com/x") {
    return {.name = std::move(name),
            .kind = ChannelKind::kWebhook,
            .url = std::move(url),
            .secret = "s3cret",
            .version = 4};
}

SettingPut RowOf(const Channel& channel) {
    return {Text(std::string(kChannelPrefix) + channel.name), Text(EncodeChannel(channel))};
}

Notice AlertOf(std::string id) {
    Notice notice;
    notice.alert.id = std::move(id);
    return notice;
}

TEST(StoredChannel, IsReadBackAsItWasStored) {
    const Channel mail{.name = "mail",
                       .kind = ChannelKind::kEmail,
                       .url = "smtp://mail.example.com:587",
                       .user = "takt",
                       .password = "pw",
                       .from = "takt@example.com",
                       .to = {"a@example.com", "b@example.com"},
                       .require_tls = false,
                       .version = 7};
    const auto read = DecodeChannel("mail", EncodeChannel(mail));
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->url, mail.url);
    EXPECT_EQ(read->user, "takt");
    EXPECT_EQ(read->password, "pw");
    EXPECT_EQ(read->to, mail.to);
    EXPECT_FALSE(read->require_tls);
    EXPECT_EQ(read->version, 7u);
    EXPECT_TRUE(read->stored);
    EXPECT_EQ(DecodeChannel("ops", EncodeChannel(Hook("ops")))->secret, "s3cret");
    EXPECT_FALSE(DecodeChannel("ops", "{}"));
    EXPECT_FALSE(DecodeChannel("ops", "no json"));
}

class StoredChannels : public ::testing::Test {
  protected:
    struct Asked {
        Channel channel;
        std::string alert;
        std::move_only_function<void(Result<void>)> done;
    };
    void Answer(Result<void> result) {
        ASSERT_FALSE(asked.empty()) << "nobody was told";
        Asked first = std::move(asked.front());
        asked.pop_front();
        first.done(std::move(result));
        runtime.Run();
    }

    DrivenRuntime runtime;
    std::deque<Asked> asked;
    Delivery delivery{runtime,
                      {{.name = "log"}},
                      [this](const Channel& channel, const Notice& notice, auto done) {
                          asked.push_back({channel, notice.alert.id, std::move(done)});
                      },
                      {},
                      [](const Channel& channel) -> Result<AddressTest> {
                          if (channel.host() != "10.0.0.1") return AddressTest();
                          return Fail(ErrorCode::kInvalid, "url names a guarded address", "url");
                      }};
    int told = 0;
};

TEST_F(StoredChannels, AreToldBesideThoseOfTheConfiguration) {
    EXPECT_TRUE(
        delivery.TakeStored({RowOf(Hook("ops")), {Text("alert-rule/x"), Text("{}")}}).empty());
    EXPECT_TRUE(delivery.Has("ops"));
    delivery.Send(AlertOf("a"), {}, [this] { ++told; });
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[1].channel.name, "ops");
    EXPECT_EQ(asked[1].channel.secret, "s3cret");
}

TEST_F(StoredChannels, AChangeCountsFromTheNextTry) {
    ASSERT_TRUE(delivery.ApplyStored(RowOf(Hook("ops"))));
    delivery.Send(AlertOf("a"), {"ops"}, [this] { ++told; });
    ASSERT_TRUE(delivery.ApplyStored(RowOf(Hook("ops", "https://other.example.com/y"))));
    Answer(Fail(ErrorCode::kUnavailable, "away"));
    runtime.Pass(1s);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].channel.host(), "other.example.com");
    Answer({});
    EXPECT_EQ(told, 1);
}

// It failed; the operator gives it another address. That it failed is no word about the new one.
TEST_F(StoredChannels, TheLastDeliveryIsOfTheTargetThatItHas) {
    const auto last = [&] { return delivery.channels().back().last; };
    Channel hook = Hook("ops");
    hook.version = 1;
    ASSERT_TRUE(delivery.ApplyStored(RowOf(hook)));
    delivery.Test("ops", [](auto) {});
    Answer(Fail(ErrorCode::kInvalid, "answered 404"));
    ASSERT_TRUE(last());
    EXPECT_FALSE(last()->ok);
    ASSERT_TRUE(delivery.TakeStored({RowOf(hook)}).empty());
    EXPECT_TRUE(last()) << "the same, read again";

    delivery.Test("ops", [](auto) {});
    delivery.Send(AlertOf("a"), {"ops"}, [this] { ++told; });
    hook.url = "https://other.example.com/y";
    hook.version = 2;
    ASSERT_TRUE(delivery.ApplyStored(RowOf(hook)));
    EXPECT_FALSE(last());
    Answer({});
    Answer({});
    EXPECT_EQ(told, 1);
    EXPECT_FALSE(last()) << "both were told at the old address";
    delivery.Test("ops", [](auto) {});
    Answer({});
    ASSERT_TRUE(last());
    EXPECT_TRUE(last()->ok);
}

// Deleted and made anew while its test is under way: both are version 1, yet that test was of another.
TEST_F(StoredChannels, ATestIsOfTheChannelThatItBeganWith) {
    const auto last = [&] { return delivery.channels().back().last; };
    Channel hook = Hook("ops");
    hook.version = 1;
    ASSERT_TRUE(delivery.ApplyStored(RowOf(hook)));
    int ended = 0;
    delivery.Test("ops", [&](auto) { ++ended; });
    ASSERT_TRUE(delivery.TakeStored({}).empty());
    ASSERT_TRUE(delivery.ApplyStored(RowOf(hook)));
    delivery.Test("ops", [&](auto) { ++ended; });
    Answer(Fail(ErrorCode::kInvalid, "answered 404"));
    EXPECT_EQ(ended, 1);
    EXPECT_FALSE(last()) << "of the one that is gone";
    std::optional<Result<void>> third;
    delivery.Test("ops", [&](auto result) { third = std::move(result); });
    ASSERT_TRUE(third && !*third) << "the test of the new one is still under way";
    EXPECT_EQ(third->error().code, ErrorCode::kConflict);
    Answer({});
    EXPECT_EQ(ended, 2);
    ASSERT_TRUE(last());
    EXPECT_TRUE(last()->ok);
}

// The operator deletes a channel while it is called, and one alert waits behind that.
TEST_F(StoredChannels, OneThatIsTakenAwayIsToldNothingMore) {
    ASSERT_TRUE(delivery.ApplyStored(RowOf(Hook("ops"))));
    delivery.Send(AlertOf("a"), {"ops"}, [this] { ++told; });
    delivery.Send(AlertOf("b"), {"ops"}, [this] { ++told; });
    ASSERT_TRUE(delivery.ApplyStored({Text("alert-channel/ops"), Text()}));
    EXPECT_FALSE(delivery.Has("ops"));
    EXPECT_EQ(told, 1) << "what waits is dropped at once";
    EXPECT_EQ(delivery.channels().size(), 1u);
    Answer(Fail(ErrorCode::kUnavailable, "away"));
    EXPECT_EQ(told, 2) << "it is not tried again";
    runtime.Pass(1h);
    EXPECT_TRUE(asked.empty());
    // The name is free again.
    ASSERT_TRUE(delivery.ApplyStored(RowOf(Hook("ops"))));
    delivery.Send(AlertOf("c"), {"ops"}, [this] { ++told; });
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].alert, "c");
}

TEST_F(StoredChannels, WhatAnotherLeaderTookAwayIsGone) {
    delivery.TakeStored({RowOf(Hook("ops")), RowOf(Hook("team"))});
    delivery.TakeStored({RowOf(Hook("team"))});
    EXPECT_FALSE(delivery.Has("ops"));
    EXPECT_TRUE(delivery.Has("team"));
    EXPECT_TRUE(delivery.Has("log")) << "the configuration's stay";
}

// An operator made a channel; later somebody wrote one of that name into the configuration.
TEST_F(StoredChannels, TheConfigurationCounts) {
    const auto wrong = delivery.TakeStored({RowOf(Hook("log"))});
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_NE(wrong[0].detail.find("configuration"), std::string::npos);
    EXPECT_EQ(delivery.Find("log")->kind, ChannelKind::kLog);
}

TEST_F(StoredChannels, AnAddressThatMayNotBeCalledIsRefused) {
    const auto refused = delivery.ApplyStored(RowOf(Hook("ops", "http://10.0.0.1/x")));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "url");
    EXPECT_FALSE(delivery.Has("ops"));
}

}  // namespace
}  // namespace takt::internal
