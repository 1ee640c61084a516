#include "worker/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace takt::internal {
namespace {

using testing::ElementsAre;

class MailboxTest : public testing::Test {
  protected:
    MailboxTest() { held->mailbox = mailbox; }
    ~MailboxTest() override { mailbox->Close(); }
    void Log(std::string_view line) { mailbox->Log(*held, line); }
    std::vector<std::string> Take(std::size_t bytes_max = 1'000) {
        Held::News news;
        mailbox->TakeNews(*held, bytes_max, news);
        return {news.lines.begin(), news.lines.end()};
    }

    const std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>(20, [] {});
    const HeldPtr held = std::make_shared<Held>();
};

// A scheduler was away for a while. Short lines that would still have found a place among those
// that were left out would hide that something is missing between them.
TEST_F(MailboxTest, WhatIsLeftOutIsLeftOutAtOnePlace) {
    Log("line one");
    Log("a line of many words");
    Log("short");
    EXPECT_THAT(Take(), ElementsAre("line one", "[2 lines left out: more than could be sent]"));
    Log("again");
    EXPECT_THAT(Take(), ElementsAre("again"));
}

// The first part is on its way when the next line comes.
TEST_F(MailboxTest, LinesFollowTheNoteOfWhatIsMissing) {
    Log("line one");
    Log("line two");
    Log("line three");
    EXPECT_THAT(Take(1), ElementsAre("line one"));
    Log("four");
    EXPECT_THAT(Take(), ElementsAre("line two", "[2 lines left out: more than could be sent]"));
}

TEST_F(MailboxTest, SaysInTimeThatItIsGettingFull) {
    EXPECT_TRUE(held->HasLogRoom());
    Log("line one");
    EXPECT_TRUE(held->HasLogRoom());
    Log("two");
    EXPECT_FALSE(held->HasLogRoom());
    Take();
    EXPECT_TRUE(held->HasLogRoom());
}

}  // namespace
}  // namespace takt::internal
