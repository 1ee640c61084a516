"""As much of the package zstandard as takt uses, over the C library that the scheduler is linked with."""
import ctypes

_LIBRARY = ctypes.CDLL("libzstd.so.1")
_LIBRARY.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
_LIBRARY.ZSTD_decompress.restype = ctypes.c_size_t


def frame_content_size(data):
    return _LIBRARY.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))


class ZstdDecompressor:
    def decompress(self, data):
        size = frame_content_size(data)
        out = ctypes.create_string_buffer(size or 1)
        done = _LIBRARY.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
        if done != size:
            raise ValueError("not a zstd frame")
        return out.raw[:size]
