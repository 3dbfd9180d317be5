import { readFileSync } from 'node:fs';

/**
 * The composition root: the only place where parts meet. What a command line or a web page needs
 * is composed here from the layers below and handed out as one object; no layer imports another.
 * Compose inside functions and import heavy parts there (`await import(...)`), so that a command
 * loads only what it runs.
 */

/** The version in package.json, which lies one folder up both from src/ and from dist/. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    return String(manifest.version);
  }
  throw new Error('package.json has no version');
}
