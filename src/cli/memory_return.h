// MemoryReturn: gives the system back what a burst left behind. The allocator keeps freed pages for
// the next burst and looks at them only when more is freed, so a quiet process would keep them for
// ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace takt::internal {

class MemoryReturn {
  public:
    // Looks every few seconds, on a thread of its own. Does nothing with an allocator that has no
    // such call.
    MemoryReturn();
    ~MemoryReturn();

  private:
    void LookUntilStopped();

    std::mutex mutex_;
    std::condition_variable stop_;
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace takt::internal
