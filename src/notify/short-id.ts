import { createHash } from 'node:crypto';

/** Hashes any text to 32 hexadecimal digits, which fit into headers, addresses and keys of bounded length. */
export function shortId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
