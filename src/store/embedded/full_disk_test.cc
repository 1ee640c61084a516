// The embedded store on a disk that is really full: a small file system of its own where mounting
// is permitted, and a limit of the file size, which any process may set for itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "store/conformance/suite.h"
#include "store/embedded/page_file.h"
#include "store/embedded/salvage.h"
#include "store/embedded/store.h"
#include "store/embedded/temporary_directory.h"
#include "store/lead.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;
using conformance::Await;
using conformance::RowMaker;

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kNotPermitted = 2;

// Each batch brings this much, so that some hundred of them fill a few megabytes.
constexpr std::size_t kPayloadBytes = 64 << 10;
constexpr int kBatchesMax = 500;

bool LimitFiles(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    limit.rlim_cur = bytes;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

struct Disk {
    std::function<bool()> shrink;  // To a few megabytes; false if that is not permitted.
    std::function<bool()> grow;
};

class Story {
  public:
    Story(std::string directory, const Disk& disk)
        : directory_(std::move(directory)), disk_(disk) {}

    // The part that runs in the child, whose limits and mounts are its own.
    int Run() {
        if (!disk_.shrink()) return kNotPermitted;
        if (!Open()) return kFailed;
        // The disk fills up …
        Result<void> full;
        for (; accepted_ < kBatchesMax; ++accepted_) {
            full = CommitNext();
            if (!full) break;
        }
        if (full) return Complain("the disk never got full", "");
        if (full.error().code != ErrorCode::kUnavailable ||
            full.error().detail.find("is full; free some space") == std::string::npos) {
            return Complain("a full disk is told as", full.error().detail);
        }
        if (const auto again = CommitNext(); again) return Complain("it was not full", "");
        if (Stored() != accepted_) return Complain("what was accepted cannot be read", "");
        // … and somebody makes room. Nobody restarts anything.
        if (!disk_.grow()) return kFailed;
        if (const auto later = CommitNext(); !later) {
            return Complain("with room again", later.error().detail);
        }
        ++accepted_;
        // A restart finds all that was accepted and nothing else.
        store_.reset();
        if (!Open()) return kFailed;
        return Stored() == accepted_ ? kPassed : Complain("after a restart rows are missing", "");
    }

    // It fills up, and the scheduler is stopped: its log is written back as far as there is room.
    // Whoever looks then finds a file that is shorter than it says, and nothing wrong.
    int RunLookedAt() {
        if (!disk_.shrink()) return kNotPermitted;
        if (!Open()) return kFailed;
        while (accepted_ < kBatchesMax && CommitNext()) ++accepted_;
        // Less than the file would have by then.
        if (!LimitFiles(1 << 20)) return kFailed;
        store_.reset();
        const std::string path = directory_ + "/takt.db";
        const auto file = PageFile::Open(path);
        if (!file) return Complain("no file:", file.error().detail);
        if (file->pages() >= file->pages_told()) return Complain("all of it was written back", "");
        for (int look = 0; look < 2; ++look) {
            const auto damage = DamageOfEmbedded({.directory = directory_});
            if (!damage) return Complain("looked at:", damage.error().detail);
            if (!damage->empty()) return Complain("damaged?", damage->front());
        }
        // The log is what has the rest: without it the file is as it was said to be.
        fs::copy_file(path, directory_ + "/half");
        if (!disk_.grow()) return kFailed;
        if (const auto damage = DamageOfEmbedded({.directory = directory_}); !damage->empty()) {
            return Complain("damaged with room?", damage->front());
        }
        if (!Open()) return kFailed;
        if (Stored() != accepted_) return Complain("with room rows are missing", "");
        store_.reset();
        fs::rename(directory_ + "/half", path);
        const auto damage = DamageOfEmbedded({.directory = directory_});
        return damage && !damage->empty() ? kPassed : Complain("half of it is whole?", "");
    }

  private:
    static int Complain(const char* what, const std::string& detail) {
        std::fprintf(stderr, "%s %s\n", what, detail.c_str());
        return kFailed;
    }

    bool Open() {
        auto store = OpenEmbedded({.directory = directory_});
        if (!store) return Complain("cannot open:", store.error().detail), false;
        store_ = std::move(*store);
        auto term = TakeLead(*store_, {.node = {.node = NodeId("node")}});
        if (!term) return Complain("cannot lead:", term.error().detail), false;
        term_ = *term;
        sequence_ = 0;
        return true;
    }

    // The same batch again after it was refused, as a node does.
    Result<void> CommitNext() {
        if (!batch_) {
            Execution row = make_.OneOff("e-" + std::to_string(accepted_));
            row.payload = Text(std::string(kPayloadBytes, 'x'));
            batch_ = std::make_shared<const Batch>(
                Batch{term_, ++sequence_, 0, {ExecutionChange{Place::kNone, Place::kLive, row}}});
        }
        auto result =
            Await<void>([&](Done<void> done) { store_->Commit(batch_, std::move(done)); });
        if (result) batch_.reset();
        return result;
    }

    int Stored() {
        int count = 0;
        std::string cursor;
        do {
            const auto page = Await<LoadPage>(
                [&](Done<LoadPage> done) { store_->Load(0, cursor, std::move(done)); });
            if (!page) return -1;
            count += int(page->executions.size());
            cursor = page->next;
        } while (!cursor.empty());
        return count;
    }

    const std::string directory_;
    const Disk& disk_;
    RowMaker make_;
    std::unique_ptr<Store> store_;
    Term term_;
    std::uint64_t sequence_ = 0;
    BatchPtr batch_;
    int accepted_ = 0;
};

// In a process of its own, that has no other threads when it begins.
int InAChild(const std::function<int()>& story) {
    const pid_t child = fork();
    if (child == 0) _exit(story());
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return kFailed;
    return WEXITSTATUS(status);
}

// A quota, or a container with a limit.
TEST(FullDiskTest, AFileThatMayNotGrowRefusesCommitsUntilItMay) {
    const TemporaryDirectory directory;
    const Disk disk{.shrink = [] { return LimitFiles(4 << 20); },
                    .grow = [] { return LimitFiles(RLIM_INFINITY); }};

    EXPECT_EQ(InAChild([&] { return Story(directory.path(), disk).Run(); }), kPassed);
}

// A small file system of this process's own; false if that is not permitted.
bool MountSmall(const char* path) {
    // Root needs only its own table of mounts; others need a name space of users, too.
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    return mount("tmpfs", path, "tmpfs", 0, "size=4m") == 0;
}

TEST(FullDiskTest, AFullFileSystemRefusesCommitsUntilThereIsSpace) {
    const TemporaryDirectory directory;
    const char* path = directory.path().c_str();
    const Disk disk{
        .shrink = [path] { return MountSmall(path); },
        .grow = [path] { return mount("tmpfs", path, "tmpfs", MS_REMOUNT, "size=64m") == 0; }};
    const int result = InAChild([&] { return Story(directory.path(), disk).Run(); });
    if (result == kNotPermitted) GTEST_SKIP() << "mounting is not permitted here";

    EXPECT_EQ(result, kPassed);
}

TEST(FullDiskTest, ALogThatCannotBeWrittenBackIsNoDamage) {
    const TemporaryDirectory directory;
    const Disk disk{.shrink = [] { return LimitFiles(4 << 20); },
                    .grow = [] { return LimitFiles(RLIM_INFINITY); }};

    EXPECT_EQ(InAChild([&] { return Story(directory.path(), disk).RunLookedAt(); }), kPassed);
}

// Somebody else's file takes the disk while no scheduler runs. All that looks at the store says so, and
// nobody is told that it is damaged.
class FullStart {
  public:
    explicit FullStart(std::string disk) : disk_(std::move(disk)) {}

    int Run() {
        if (!MountSmall(disk_.c_str())) return kNotPermitted;
        for (const char* store : {"/closed", "/killed", "/none"})
            fs::create_directory(disk_ + store);
        if (!MakeStores()) return Complain("cannot make the stores");
        int full = 0;
        for (std::uint64_t left = 0; left <= 32; ++left) {
            for (const char* store : {"/closed", "/killed", "/none"}) {
                if (!Leave(left * kPage)) return Complain("the disk cannot be filled");
                if (!Look(disk_ + store, full)) return kFailed;
            }
        }
        if (full < 12) return Complain("the disk was hardly ever full");
        fs::remove(disk_ + "/filler");
        for (const char* store : {"/closed", "/killed"}) {
            const auto opened = OpenEmbedded({.directory = disk_ + store});
            if (!opened) return Complain("with room again " + opened.error().detail);
            const auto rows = Await<std::vector<SettingPut>>([&](auto done) {
                (*opened)->ListSettings(kDefaultPartition, "", std::move(done));
            });
            if (!rows || rows->size() != 1) return Complain("what was stored is gone");
        }
        return kPassed;
    }

  private:
    static constexpr std::uint64_t kPage = 4096;

    static int Complain(const std::string& what) {
        std::fprintf(stderr, "%s\n", what.c_str());
        return kFailed;
    }

    // One that was closed in order, and one whose scheduler was killed: its log is left.
    bool MakeStores() {
        auto store = OpenEmbedded({.directory = disk_ + "/closed"});
        const auto term = TakeLead(**store, {.node = {.node = NodeId("node")}});
        const auto batch =
            std::make_shared<const Batch>(Batch{*term, 1, 0, {SettingPut{"a", "1"}}});
        const auto done = Await<void>([&](auto done) { (*store)->Commit(batch, std::move(done)); });
        for (const char* file : {"/takt.db", "/takt.db-wal"}) {
            fs::copy_file(disk_ + "/closed" + file, disk_ + "/killed" + file);
        }
        return bool(done);
    }

    // Fills the disk until so many bytes are left.
    bool Leave(std::uint64_t bytes) {
        fs::remove(disk_ + "/filler");
        std::ofstream filler(disk_ + "/filler", std::ios::binary);
        const std::string page(kPage, 'x');
        while (filler && fs::space(disk_).available > bytes) {
            filler.write(page.data(), std::streamsize(page.size())).flush();
        }
        return fs::space(disk_).available == bytes;
    }

    // Each of them succeeds, or names the full disk.
    bool Look(const std::string& directory, int& full) {
        if (fs::exists(directory + "/takt.db")) {
            const auto damage = DamageOfEmbedded({.directory = directory});
            if (damage && !damage->empty()) {
                return Complain("damaged? " + damage->front()), false;
            }
            if (!damage && !IsFull("check", damage.error())) return false;
            const auto salvaged = SalvageEmbedded({.directory = directory});
            if (!salvaged && !IsFull("repair", salvaged.error())) return false;
            if (salvaged) fs::remove(salvaged->kept);
            if (salvaged) fs::remove(salvaged->kept + "-wal");
        }
        const auto store = OpenEmbedded({.directory = directory});
        if (!store) ++full;
        return store || IsFull("open", store.error());
    }

    static bool IsFull(const char* who, const Error& error) {
        if (error.code == ErrorCode::kUnavailable &&
            error.detail.find("is full; free some space") != std::string::npos) {
            return true;
        }
        return Complain(std::string(who) + " says " + error.detail), false;
    }

    const std::string disk_;
};

TEST(FullDiskTest, AStartOnAFullFileSystemSaysSo) {
    const TemporaryDirectory directory;
    const int result = InAChild([&] { return FullStart(directory.path()).Run(); });
    if (result == kNotPermitted) GTEST_SKIP() << "mounting is not permitted here";

    EXPECT_EQ(result, kPassed);
}

}  // namespace
}  // namespace takt::internal::embedded
