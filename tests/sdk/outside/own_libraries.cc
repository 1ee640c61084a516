// Libraries that a program brings along itself, under names that Takt's own have, too: calls of Takt's
// must not end here.
#include <cstdio>
#include <cstdlib>

namespace {
[[noreturn]] void Complain(const char* what) {
    std::fprintf(stderr, "Takt called the program's own %s\n", what);
    std::abort();
}
}  // namespace

extern "C" {
int sqlite3_open_v2(const char*, void**, int, const char*) {
    Complain("SQLite");
}
int sqlite3_step(void*) {
    Complain("SQLite");
}
#ifdef OWN_ZSTD
unsigned long ZSTD_compressCCtx(void*, void*, unsigned long, const void*, unsigned long, int) {
    Complain("zstd");
}
unsigned long ZSTD_compressBound(unsigned long) {
    Complain("zstd");
}
#endif
}
