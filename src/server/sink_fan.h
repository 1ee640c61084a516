// SinkFan: passes what a node releases on to all who carry it out.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "node/sink.h"

namespace takt::internal {

class SinkFan final : public Sink {
  public:
    // Before the node starts. The sinks must outlive the node.
    void Add(Sink& sink) { sinks_.push_back(&sink); }

    void OnCommit(const Committed& committed) override {
        for (Sink* sink : sinks_) sink->OnCommit(committed);
    }
    void Release(const Effects& effects) override {
        for (Sink* sink : sinks_) sink->Release(effects);
    }
    void OnRole(Role role) override {
        for (Sink* sink : sinks_) sink->OnRole(role);
    }
    std::vector<SettingPut> LeaveWord(Parting why) override {
        std::vector<SettingPut> words;
        for (Sink* sink : sinks_) {
            std::ranges::move(sink->LeaveWord(why), std::back_inserter(words));
        }
        return words;
    }
    void OnHandOverFailed() override {
        for (Sink* sink : sinks_) sink->OnHandOverFailed();
    }

  private:
    std::vector<Sink*> sinks_;
};

}  // namespace takt::internal
