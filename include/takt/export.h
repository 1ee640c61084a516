// TAKT_EXPORT marks what the shared library offers; everything else in it is hidden.
#pragma once

#if defined(__GNUC__)
#define TAKT_EXPORT __attribute__((visibility("default")))
#else
#define TAKT_EXPORT
#endif
