// Other users of the machine, and what they can read of a store.
#include "store/embedded/private_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "store/conformance/suite.h"
#include "store/embedded/store.h"
#include "store/embedded/temporary_directory.h"
#include "store/lead.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PrivateFilesTest : public testing::Test {
  protected:
    PrivateFilesTest() : before_(umask(022)) {}
    ~PrivateFilesTest() override { umask(before_); }

    static unsigned ModeOf(const std::string& path) {
        struct stat found{};
        EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
        return found.st_mode & 07777;
    }
    // Opens the store, so that all of its files are there, and looks at them.
    void ExpectPrivateFiles(const std::string& directory) {
        const auto store = OpenEmbedded({.directory = directory});
        ASSERT_TRUE(store) << store.error().detail;
        ASSERT_TRUE(TakeLead(**store, {.node = {.node = NodeId("a")}}));
        for (const char* file : {"takt.db", "takt.db-wal", "takt.db-shm", "lock"}) {
            EXPECT_EQ(ModeOf(directory + "/" + file), 0600u) << file;
        }
    }

    TemporaryDirectory root_;
    const std::string directory_ = root_.path() + "/above/data";

  private:
    const mode_t before_;
};

// Somebody starts a scheduler for the first time on a machine that others use too.
TEST_F(PrivateFilesTest, ANewStoreIsItsUsersAlone) {
    ExpectPrivateFiles(directory_ + "/");
    EXPECT_EQ(ModeOf(directory_), 0700u);
    EXPECT_EQ(ModeOf(root_.path() + "/above"), 0755u) << "what lies above is not ours alone";
}

// The version before made files that everybody can read.
TEST_F(PrivateFilesTest, FilesOfTheVersionBeforeAreMadePrivate) {
    ExpectPrivateFiles(directory_);
    fs::permissions(directory_, fs::perms(0755));
    fs::permissions(directory_ + "/takt.db", fs::perms(0644));
    std::ofstream(directory_ + "/takt.db-wal").flush();
    fs::permissions(directory_ + "/takt.db-wal", fs::perms(0644));

    ExpectPrivateFiles(directory_);

    EXPECT_EQ(ModeOf(directory_), 0700u);
}

// The store is in a home directory, beside other things that others may look at.
TEST_F(PrivateFilesTest, ADirectoryWithOtherFilesStaysAsItIs) {
    fs::create_directories(directory_);
    std::ofstream(directory_ + "/notes.txt") << "for all";

    ExpectPrivateFiles(directory_);

    EXPECT_EQ(ModeOf(directory_), 0755u);
}

// --store file:/tmp, as root: nobody else could work any more if that became private.
TEST_F(PrivateFilesTest, ADirectoryOfEverybodysStaysAndIsWarnedOf) {
    fs::create_directories(directory_);
    fs::permissions(directory_, fs::perms(01777));
    const LogCapture capture;

    ExpectPrivateFiles(directory_);

    EXPECT_EQ(ModeOf(directory_), 01777u);
    EXPECT_THAT(capture.lines(), testing::Contains(HasSubstr("other users may write")));
}

// The files belong to another user, who let this one read them.
TEST_F(PrivateFilesTest, WhatCannotBeMadePrivateIsWarnedOf) {
    const LogCapture capture;

    Tighten("/proc/self/status");

    EXPECT_THAT(capture.lines(), testing::Contains(testing::AllOf(HasSubstr("/proc/self/status"),
                                                                  HasSubstr("can read payloads"))));
}

}  // namespace
}  // namespace takt::internal::embedded
