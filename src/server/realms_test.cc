#include "server/realms.h"

#include <gtest/gtest.h>

#include <future>

#include "base/log.h"
#include "server/settings.h"
#include "store/memory/store.h"

namespace takt::internal {
namespace {

class RealmsTest : public testing::Test {
  protected:
    void SetUp() override {
        auto settings = ReadServerSettings(config_);
        ASSERT_TRUE(settings) << settings.error().detail;
        settings_ = std::move(*settings);
        ASSERT_TRUE(loops_.emplace_back().MakeClients(config_));
        presence_ = std::make_unique<Presence>(
            loops_[0].runtime(), store_, PresenceConfig{.row = {.node = id_}}, NewRandomSeed());
        ground_.emplace(RealmGround{.config = config_,
                                    .node = id_,
                                    .address = address_,
                                    .settings = settings_,
                                    .store = store_,
                                    .recent = store_,
                                    .presence = *presence_,
                                    .mailer = mailer_,
                                    .commons = std::make_shared<const Commons>()});
        realms_ = std::make_unique<Realms>(
            *ground_, loops_,
            RealmsEvents{.on_made = [](const auto&) {}, .on_gone = [](const auto&) {}});
        ASSERT_TRUE(realms_->MakeDefault(nullptr));
        loops_[0].Start();
    }
    void TearDown() override {
        loops_[0].Stop();
        realms_->Dismantle();
    }

    bool Refresh() {
        std::promise<bool> read;
        realms_->Refresh([&](bool was_read) { read.set_value(was_read); });
        return read.get_future().get();
    }

    const LogCapture quiet_;
    Config config_;
    ServerSettings settings_;
    NodeId id_{"node"};
    std::string address_;
    std::deque<WorkLoop> loops_;
    MemoryStore store_{std::make_shared<MemoryDatabase>()};
    Mailer mailer_;
    std::unique_ptr<Presence> presence_;
    std::optional<RealmGround> ground_;
    std::unique_ptr<Realms> realms_;
};

// A request comes for a namespace that a scheduler has not heard of, while that one stops: it reads the
// directory and takes nothing from it. It must not say that there is no such namespace.
TEST_F(RealmsTest, WhatStopsDoesNotKnowWhichNamespacesThereAre) {
    EXPECT_TRUE(Refresh());
    std::promise<void> stopped;

    realms_->Stop({}, [&] { stopped.set_value(); });

    EXPECT_FALSE(Refresh());
    stopped.get_future().wait();
    EXPECT_FALSE(Refresh());
}

}  // namespace
}  // namespace takt::internal
