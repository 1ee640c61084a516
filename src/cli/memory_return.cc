#include "cli/memory_return.h"

#include <chrono>
#include <cstddef>

// Of tcmalloc, if the program is linked with it.
extern "C" {
[[gnu::weak]] void MallocExtension_ReleaseFreeMemory();
[[gnu::weak]] int MallocExtension_GetNumericProperty(const char* property, std::size_t* value);
}

namespace takt::internal {
namespace {

constexpr auto kLookInterval = std::chrono::seconds(10);
// Less than this is soon used again.
constexpr std::size_t kFreeBytesMin = 32 << 20;

std::size_t FreeBytes() {
    std::size_t bytes = 0;
    return MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &bytes) ? bytes : 0;
}

}  // namespace

MemoryReturn::MemoryReturn() {
    if (!MallocExtension_ReleaseFreeMemory || !MallocExtension_GetNumericProperty) return;
    thread_ = std::thread([this] { LookUntilStopped(); });
}

MemoryReturn::~MemoryReturn() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        stopped_ = true;
    }
    stop_.notify_all();
    thread_.join();
}

// Memory that was free at the last look and is free now is not needed for the next burst.
void MemoryReturn::LookUntilStopped() {
    std::unique_lock lock(mutex_);
    std::size_t before = 0;
    while (!stop_.wait_for(lock, kLookInterval, [this] { return stopped_; })) {
        const std::size_t now = FreeBytes();
        if (now >= kFreeBytesMin && before >= kFreeBytesMin) MallocExtension_ReleaseFreeMemory();
        before = now;
    }
}

}  // namespace takt::internal
