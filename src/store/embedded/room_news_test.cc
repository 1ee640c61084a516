#include "store/embedded/room_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Seconds after it began the log names it, and when it is over: nobody has to see /readyz in time.
TEST_F(EmbeddedStoreTest, AFullDiskIsInTheLogOnceAndItsEndToo) {
    const LogCapture capture;
    vfs_write_code = SQLITE_FULL;
    for (int i = 0; i < 3; ++i) ASSERT_FALSE(Commit(1, {SettingPut{"a", "1"}}));
    ASSERT_THAT(capture.lines(), ElementsAre(AllOf(HasSubstr("warning store: the disk is full"),
                                                   HasSubstr(directory_.path()))));
    vfs_write_code = 0;
    for (int i = 1; i < 4; ++i) ASSERT_TRUE(Commit(i, {SettingPut{"a", "1"}}));
    EXPECT_THAT(capture.lines(),
                ElementsAre(HasSubstr("the disk is full"),
                            HasSubstr("info store: there is room on the disk again")));
}

// At the brink small batches are written and large ones refused, in turn.
TEST(RoomNewsTest, ADiskAtTheBrinkDoesNotFillTheLog) {
    const LogCapture capture;
    RoomNews news("/data");
    const Steady start{};
    for (int i = 0; i < 59; ++i) {
        news.NoteFull(start + i * 1s);
        news.NoteWritten(start + i * 1s + 500ms);
    }
    EXPECT_EQ(capture.lines().size(), 2u);
    // It is full for good now.
    for (int i = 59; i < 200; ++i) news.NoteFull(start + i * 1s);
    EXPECT_EQ(capture.lines().size(), 3u);
    news.NoteWritten(start + 200s);
    EXPECT_EQ(capture.lines().size(), 4u);
    EXPECT_THAT(capture.lines().back(), HasSubstr("after=2m21s"));
}

}  // namespace
}  // namespace takt::internal::embedded
