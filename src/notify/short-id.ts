import { createHash } from 'node:crypto';

/** 32 hexadecimal digits: fit for headers, addresses and keys of bounded length, whatever is in the text. */
export function shortId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
