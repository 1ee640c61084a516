"""zstd for payloads, where this Python has it: in the standard library since 3.14, before that if the
package zstandard is installed. Without it the worker's Hello says so, and payloads come as they are."""
import base64
import importlib
from typing import Any, Callable, Mapping, Optional

# As large as a payload may be on its way; a frame that says more is not unpacked.
PAYLOAD_BYTES_MAX = 64 << 20


def _find() -> Optional[Callable[[bytes], bytes]]:
    try:
        standard: Any = importlib.import_module("compression.zstd")

        def unpack(data: bytes) -> bytes:
            if (standard.get_frame_info(data).decompressed_size or 0) > PAYLOAD_BYTES_MAX:
                raise ValueError("it unpacks to too much")
            return bytes(standard.decompress(data))
        return unpack
    except ImportError:
        pass
    try:
        package: Any = importlib.import_module("zstandard")

        def unpack_packaged(data: bytes) -> bytes:
            if package.frame_content_size(data) > PAYLOAD_BYTES_MAX:
                raise ValueError("it unpacks to too much")
            return bytes(package.ZstdDecompressor().decompress(data))
        return unpack_packaged
    except ImportError:
        return None


UNPACK = _find()


def payload_of(assign: Mapping[str, Any]) -> str:
    """The payload of an assign. ValueError, with why, if it cannot be unpacked."""
    packed = assign.get("payload_zstd")
    if not packed:
        return str(assign.get("payload", ""))
    if UNPACK is None:
        raise ValueError("it is packed with zstd, which this worker did not ask for")
    try:
        return UNPACK(base64.b64decode(packed)).decode()
    except Exception as error:  # pylint: disable=broad-except  # Each module has errors of its own.
        raise ValueError(f"it cannot be unpacked: {error}") from error
