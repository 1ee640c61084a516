#include "node/loop_turns.h"

#include <utility>
#include <vector>

namespace takt::internal {

// Timers and clocks are the loop's own: what a timer does is short, or posted.
class LoopTurns::Line final : public Runtime {
  public:
    explicit Line(LoopTurns& turns) : turns_(turns) {}

    Instant Now() override { return turns_.loop_.Now(); }
    void Post(Action action) override { turns_.Post(*this, std::move(action)); }
    void Dispatch(Action action) override {
        turns_.on_loop() ? action() : turns_.Post(*this, std::move(action));
    }
    std::uint64_t After(Duration delay, Action action) override {
        return turns_.loop_.After(delay, std::move(action));
    }
    void Cancel(std::uint64_t timer) override { turns_.loop_.Cancel(timer); }

  private:
    friend class LoopTurns;

    LoopTurns& turns_;
    std::deque<Action> posted_;  // By the mutex of `turns_`.
};

LoopTurns::LoopTurns(Runtime& loop) : loop_(loop) {}

LoopTurns::~LoopTurns() {
    // An action that ends unrun may post another, to any of them.
    for (bool left = true; left;) {
        std::vector<std::deque<Action>> dropped;  // Ends without the lock.
        const std::scoped_lock lock(mutex_);
        left = false;
        for (const auto& [partition, line] : lines_) {
            left = left || !line->posted_.empty();
            dropped.push_back(std::exchange(line->posted_, {}));
        }
    }
}

Runtime& LoopTurns::RuntimeOf(Partition partition) {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<Line>& line = lines_[partition];
    if (!line) line = std::make_unique<Line>(*this);
    return *line;
}

// A turn is posted as long as somebody waits, one at a time.
void LoopTurns::Post(Line& line, Action action) {
    {
        const std::scoped_lock lock(mutex_);
        line.posted_.push_back(std::move(action));
        if (line.posted_.size() > 1) return;
        waiting_.push_back(&line);
        if (waiting_.size() > 1) return;
    }
    loop_.Post([this] { TakeOne(); });
}

void LoopTurns::TakeOne() {
    thread_ = std::this_thread::get_id();
    Action action;
    bool more = false;
    {
        const std::scoped_lock lock(mutex_);
        Line& line = *waiting_.front();
        waiting_.pop_front();
        action = std::move(line.posted_.front());
        line.posted_.pop_front();
        if (!line.posted_.empty()) waiting_.push_back(&line);
        more = !waiting_.empty();
    }
    if (more) loop_.Post([this] { TakeOne(); });
    action();
}

}  // namespace takt::internal
