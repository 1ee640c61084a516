// zstd for payloads, where this Node has it: since 22.15 and 23.8, in node:zlib. Without it the worker's
// Hello says so, and payloads come as they are.
import * as zlib from "node:zlib";

// As large as a payload may be on its way; a frame that unpacks to more is refused.
const PAYLOAD_BYTES_MAX = 64 << 20;

type Unpack = (data: Buffer, options: { maxOutputLength: number }) => Buffer;
const unpack = (zlib as unknown as { zstdDecompressSync?: Unpack }).zstdDecompressSync;

export const acceptsZstd = unpack !== undefined;

/** The payload of an assign. Throws, with why, if it cannot be unpacked. */
export function payloadOf(assign: { payload?: string; payload_zstd?: string }): string {
  if (!assign.payload_zstd) return assign.payload ?? "";
  if (!unpack) throw new Error("it is packed with zstd, which this worker did not ask for");
  return unpack(Buffer.from(assign.payload_zstd, "base64"), { maxOutputLength: PAYLOAD_BYTES_MAX }).toString();
}
