// TAKT_EXPORT marks what the shared library offers; everything else in it is hidden, and so is what
// TAKT_LOCAL marks inside of that.
#pragma once

#if defined(__GNUC__)
#define TAKT_EXPORT __attribute__((visibility("default")))
#define TAKT_LOCAL __attribute__((visibility("hidden")))
#else
#define TAKT_EXPORT
#define TAKT_LOCAL
#endif
