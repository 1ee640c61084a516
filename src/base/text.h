// Text: an immutable string that is shared, never copied.
//
// A payload travels submit → engine → batch → store and → worker; an id sits in an index, a row and
// a reply at once. Text is one pointer to one counted block, so that all of them hold the same
// bytes, and a million pending executions stay small. Safe to share between threads.
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace takt::internal {

class Text {
  public:
    Text() = default;
    Text(std::string_view text);  // NOLINT: implicit on purpose, it is a string.
    Text(const std::string& text) : Text(std::string_view(text)) {}  // NOLINT
    Text(const char* text) : Text(std::string_view(text)) {}         // NOLINT
    Text(const Text& other) noexcept : block_(other.block_) { Retain(); }
    Text(Text&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Text& operator=(const Text& other) noexcept {
        Text copy(other);
        std::swap(block_, copy.block_);
        return *this;
    }
    Text& operator=(Text&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~Text() { Release(); }

    std::string_view view() const {
        return block_ ? std::string_view(block_->bytes(), block_->size) : std::string_view();
    }
    operator std::string_view() const { return view(); }  // NOLINT: implicit on purpose.
    std::string str() const { return std::string(view()); }
    std::size_t size() const { return block_ ? block_->size : 0; }
    bool empty() const { return size() == 0; }

    friend bool operator==(const Text& a, const Text& b) {
        return a.block_ == b.block_ || a.view() == b.view();
    }
    // Any other string: a template, since a literal converts to both Text and std::string_view.
    template <typename String>
        requires(!std::same_as<String, Text> &&
                 std::convertible_to<const String&, std::string_view>)
    friend bool operator==(const Text& a, const String& b) {
        return a.view() == std::string_view(b);
    }
    friend std::strong_ordering operator<=>(const Text& a, const Text& b) {
        return a.view() <=> b.view();
    }

  private:
    struct Block {
        std::atomic<std::uint32_t> references;
        std::uint32_t size;
        char* bytes() { return reinterpret_cast<char*>(this + 1); }
    };

    void Retain() noexcept {
        if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
    }
    void Release() noexcept;

    Block* block_ = nullptr;
};

// Looks a Text up by what it says; for heterogeneous lookup in hashed containers.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>{}(text);
    }
    std::size_t operator()(const Text& text) const { return (*this)(text.view()); }
};
struct TextEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};

}  // namespace takt::internal
