// Characters that must not reach a terminal or a line of the log as they are: they command it,
// begin a line of their own, or hide or reorder the text around them, so that a name shows as
// another one.
#pragma once

namespace takt::internal {

constexpr bool IsUnprintable(char32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) ||  // C0, DEL, C1.
           code == 0x061c || code == 0x180e || code == 0xfeff ||
           (code >= 0x200b && code <= 0x200f) ||  // Zero width, and marks of direction.
           (code >= 0x2028 && code <= 0x202e) ||  // Line and paragraph, embeddings, overrides.
           (code >= 0x2060 && code <= 0x206f);    // Word joiner, isolates.
}

}  // namespace takt::internal
