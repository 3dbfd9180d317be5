import { hash } from 'node:crypto';

/** SHA-256 of a UTF-8 text in hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text);
}
