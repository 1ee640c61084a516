#include "base/text.h"

#include <cstring>
#include <limits>
#include <new>

#include "base/check.h"

namespace takt::internal {

Text::Text(std::string_view text) {
    if (text.empty()) return;
    TAKT_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max());
    void* memory = ::operator new(sizeof(Block) + text.size());
    block_ = new (memory) Block{1, static_cast<std::uint32_t>(text.size())};
    std::memcpy(block_->bytes(), text.data(), text.size());
}

void Text::Release() noexcept {
    // Acquire pairs with the release of every other owner: their reads are over before the delete.
    if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        block_->~Block();
        ::operator delete(block_);
    }
}

}  // namespace takt::internal
