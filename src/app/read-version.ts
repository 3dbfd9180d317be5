import { readFileSync } from 'node:fs';

/** The version in package.json, which lies two folders up from src/app/ and, copied, from dist/src/app/. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    return String(manifest.version);
  }
  throw new Error('package.json has no version');
}
