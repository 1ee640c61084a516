// LoopTurns: several namespaces on one loop, each served by turns.
//
// Each has a Runtime of its own, with a line of its own for what is posted to it. The loop takes one
// action from each line in turn: a namespace that has a hundred of them waiting delays another's next
// one by one of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/id.h"
#include "node/runtime.h"

namespace takt::internal {

class LoopTurns {
  public:
    // The loop must outlive this.
    explicit LoopTurns(Runtime& loop);
    ~LoopTurns();

    // That of the partition, made when it is first asked for. It lives as long as this: answers of a
    // store may come when nobody waits for them any more. From any thread.
    Runtime& RuntimeOf(Partition partition);

    // The loop's thread has ended: another one may get its id.
    void Ended() { thread_ = std::thread::id(); }

  private:
    class Line;

    void Post(Line& line, Action action);
    // The next action of the line whose turn it is.
    void TakeOne();
    bool on_loop() const { return thread_.load() == std::this_thread::get_id(); }

    Runtime& loop_;
    std::atomic<std::thread::id> thread_;  // The loop's, from when it has run something.
    std::mutex mutex_;
    std::map<Partition, std::unique_ptr<Line>> lines_;
    std::deque<Line*> waiting_;  // That have something to do, the next first.
};

}  // namespace takt::internal
