import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

type Decoder = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;

const ZLIB_METHOD = 8;
const hasZlibHeader = (bytes: Buffer): boolean => ((bytes[0] ?? 0) & 0x0f) === ZLIB_METHOD;

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['br', brotliDecompressSync],
  // Some servers send the raw stream under this name, without the zlib header that RFC 9110 requires.
  ['deflate', (bytes, options) => (hasZlibHeader(bytes) ? inflateSync : inflateRawSync)(bytes, options)],
  ['identity', (bytes) => bytes],
]);

/** Each step takes time for all bytes, and a header could name thousands. */
const MOST_STEPS = 3;

/**
 * Decompresses the body of a reply, or returns why that failed. Some gateways compress without being asked to.
 * @param encoding Content-Encoding as received: names in the order in which they were applied
 * @param maxBytes bound on the output of every step
 */
export function decodeBody(
  bytes: Buffer,
  encoding: string,
  maxBytes: number,
): Buffer | 'replyTooLarge' | 'replyUndecodable' {
  const names = encoding.toLowerCase().split(',', MOST_STEPS + 1);
  if (names.length > MOST_STEPS) return 'replyUndecodable';
  let body = bytes;
  for (const name of names.map((text) => text.trim()).toReversed()) {
    if (name === '' || body.length === 0) continue;
    const decode = DECODERS.get(name);
    if (decode === undefined) return 'replyUndecodable';
    try {
      body = decode(body, { maxOutputLength: maxBytes });
    } catch (error) {
      const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      return tooLarge ? 'replyTooLarge' : 'replyUndecodable';
    }
  }
  return body;
}
