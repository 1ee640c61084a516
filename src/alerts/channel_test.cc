#include "alerts/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

namespace takt::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Time kNow = *ParseTime("2026-11-15T02:00:00Z");

Notice FiringNotice() {
    Notice notice;
    notice.alert.id = "0abc";
    notice.alert.rule = "no_online_workers";
    notice.alert.severity = Severity::kCritical;
    notice.alert.metric = "workers_online";
    notice.alert.comparison = Comparison::kBelow;
    notice.alert.threshold = 1;
    notice.alert.state = AlertState::kFiring;
    notice.alert.pending_at = notice.alert.firing_at = kNow;
    notice.alert.message = "workers_online is 0, below 1 for 1m";
    return notice;
}

std::string HeaderOf(const WebhookRequest& request, std::string_view name) {
    for (const auto& [key, value] : request.headers) {
        if (key == name) return value;
    }
    return "(absent)";
}

// A receiver must be able to tell our words from a stranger's: it computes the same signature.
TEST(WebhookTest, IsSignedWithItsTimestamp) {
    Channel channel{.name = "ops",
                    .kind = ChannelKind::kWebhook,
                    .url = "https://hooks.example.com/x",
                    .secret = "s3cret"};
    const WebhookRequest request = WebhookOf(channel, FiringNotice(), kNow);
    EXPECT_EQ(HeaderOf(request, "X-Takt-Timestamp"), "1794708000");
    EXPECT_EQ(HeaderOf(request, "X-Takt-Alert-Id"), "0abc");
    const std::string signature = HeaderOf(request, "X-Takt-Signature");
    EXPECT_EQ(signature.size(), 7u + 64u);
    EXPECT_TRUE(signature.starts_with("sha256="));
    const auto body = boost::json::parse(request.body);
    EXPECT_EQ(body.at("alert").at("rule").as_string(), "no_online_workers");
    EXPECT_EQ(body.at("alert").at("state").as_string(), "firing");
    EXPECT_TRUE(body.at("observer").is_null());

    channel.secret = "other";
    EXPECT_NE(HeaderOf(WebhookOf(channel, FiringNotice(), kNow), "X-Takt-Signature"), signature);
    channel.secret = "";
    EXPECT_EQ(HeaderOf(WebhookOf(channel, FiringNotice(), kNow), "X-Takt-Signature"), "(absent)");
}

// Both checked against their makers' published recipes with Python's hmac and base64.
TEST(WebhookTest, SignsAsDingTalkAndFeishuCheck) {
    Channel channel{.name = "d",
                    .kind = ChannelKind::kWebhook,
                    .url = "https://oapi.dingtalk.com/robot/send?access_token=t",
                    .format = WebhookFormat::kDingTalk,
                    .secret = "SECabc"};
    const WebhookRequest ding = WebhookOf(channel, FiringNotice(), kNow);
    EXPECT_EQ(ding.url,
              "https://oapi.dingtalk.com/robot/send?access_token=t&timestamp="
              "1794708000000&sign=YXCZ703daBi4ME2NkiF%2F7W3RQRKFSTcG6pu3F3hqld0%3D");
    const auto markdown = boost::json::parse(ding.body);
    EXPECT_EQ(markdown.at("msgtype").as_string(), "markdown");
    EXPECT_THAT(std::string(markdown.at("markdown").at("text").as_string()),
                HasSubstr("[Takt] FIRING critical: no_online_workers"));

    channel.format = WebhookFormat::kFeishu;
    channel.url = "https://open.feishu.cn/open-apis/bot/v2/hook/x";
    const auto feishu = boost::json::parse(WebhookOf(channel, FiringNotice(), kNow).body);
    EXPECT_EQ(feishu.at("timestamp").as_string(), "1794708000");
    EXPECT_EQ(feishu.at("sign").as_string(), "pCh/CL9OCf5KeLbE3FRxRIYT6ZnfvVezpmrvpXNhq9Q=");
    EXPECT_EQ(feishu.at("msg_type").as_string(), "text");
    EXPECT_THAT(std::string(feishu.at("content").at("text").as_string()), HasSubstr("Alert: 0abc"));
}

// A task is named so that it would ping everybody, or look like a link to somewhere.
TEST(WebhookTest, NamesOfStrangersStayNames) {
    Notice notice = FiringNotice();
    notice.alert.message = "task '<!channel> <http://evil|click>' *bold* [x](http://evil)";
    Channel channel{.name = "s",
                    .kind = ChannelKind::kWebhook,
                    .url = "https://hooks.slack.com/x",
                    .format = WebhookFormat::kSlack};
    const auto slack = boost::json::parse(WebhookOf(channel, notice, kNow).body);
    const std::string text(slack.at("text").as_string());
    EXPECT_THAT(text, HasSubstr("&lt;!channel&gt;"));
    EXPECT_THAT(text, Not(HasSubstr("<!channel>")));
    channel.format = WebhookFormat::kDingTalk;
    const auto ding = boost::json::parse(WebhookOf(channel, notice, kNow).body);
    EXPECT_THAT(std::string(ding.at("markdown").at("text").as_string()), Not(HasSubstr("](")));
    channel.format = WebhookFormat::kFeishu;
    notice.alert.message = R"(task '<at user_id="all">all</at>' **bold** [x](http://evil))";
    const auto feishu = boost::json::parse(WebhookOf(channel, notice, kNow).body);
    const std::string plain(feishu.at("content").at("text").as_string());
    EXPECT_THAT(plain, Not(HasSubstr("<at")));
    EXPECT_THAT(plain, Not(HasSubstr("](")));
    EXPECT_THAT(plain, HasSubstr(R"(at user_id="all")")) << "still to be read";
}

// The secret in the configuration is not the robot's: it answers 200 all the same.
TEST(WebhookTest, ARobotThatAnswers200MayStillRefuse) {
    EXPECT_EQ(RefusalIn(WebhookFormat::kDingTalk, R"({"errcode":0,"errmsg":"ok"})"), "");
    EXPECT_EQ(RefusalIn(WebhookFormat::kFeishu, R"({"StatusCode":0,"code":0,"msg":"success"})"),
              "");
    EXPECT_EQ(RefusalIn(WebhookFormat::kFeishu, "ok"), "");
    EXPECT_EQ(
        RefusalIn(WebhookFormat::kDingTalk, R"({"errcode":310000,"errmsg":"sign not match"})"),
        "errcode 310000: sign not match");
    EXPECT_EQ(RefusalIn(WebhookFormat::kFeishu, R"({"code":19021,"msg":"sign match fail"})"),
              "code 19021: sign match fail");
}

TEST(MailTest, HasWhatAMailNeedsAndNothingOfStrangersInItsHead) {
    Notice notice = FiringNotice();
    notice.observer = "node-b";
    notice.alert.message = "task 'x\r\nBcc: everybody@example.com' is late";
    const Channel channel{.name = "m",
                          .kind = ChannelKind::kEmail,
                          .url = "smtp://mail.example.com:587",
                          .from = "takt@example.com",
                          .to = {"a@example.com", "b@example.com"}};
    const std::string mail = MailOf(channel, notice, kNow);
    const std::string head = mail.substr(0, mail.find("\r\n\r\n"));
    EXPECT_THAT(head, HasSubstr("Subject: [Takt] FIRING critical: no_online_workers\r\n"));
    EXPECT_THAT(head, HasSubstr("Date: Sun, 15 Nov 2026 02:00:00 +0000\r\n"));
    EXPECT_THAT(head, HasSubstr("To: <a@example.com>,\r\n <b@example.com>\r\n"));
    EXPECT_THAT(mail, Not(HasSubstr("everybody")));
    for (std::size_t begin = 0, end = 0; (end = mail.find("\r\n", begin)) != mail.npos;
         begin = end + 2) {
        EXPECT_LE(end - begin, 998u);
    }
}

}  // namespace
}  // namespace takt::internal
