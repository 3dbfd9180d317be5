import { createHash, type Hash } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { expect } from 'vitest';

/**
 * Hashes results that are too large to store. With `KEPT=folder` in the environment they are also written there, one
 * file per test, so that two versions of the sources can be compared line by line.
 */
export class KeptHash {
  readonly #hash: Hash = createHash('sha256');
  readonly #file = fileOf(process.env['KEPT']);

  /** Accepts plain data, maps and sets; the result does not depend on the order of keys. */
  add(what: string, value: unknown): void {
    const line = `${what}: ${plain(value)}\n`;
    this.#hash.update(line);
    if (this.#file !== undefined) appendFileSync(this.#file, line);
  }

  get text(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }
}

function fileOf(folder: string | undefined): string | undefined {
  if (folder === undefined) return undefined;
  mkdirSync(folder, { recursive: true });
  const { testPath = '', currentTestName = '' } = expect.getState();
  const name = `${path.relative(path.join(import.meta.dirname, '..'), testPath)} ${currentTestName}`;
  const file = path.join(folder, `${name.replaceAll(/[^\w]+/g, '-')}.txt`);
  rmSync(file, { force: true });
  return file;
}

/** Drops the last digits of roots and powers, which may differ between machines. */
const DIGITS = 12;

function plain(value: unknown): string {
  if (typeof value === 'number') {
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));
  }
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return '()';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<unknown, unknown>)];
    return `{${entries.map(([key, entry]) => `${plain(key)}=>${plain(entry)}`).join()}}`;
  }
  if (value instanceof Set) return plain([...(value as ReadonlySet<unknown>)]);
  if (Array.isArray(value)) return `[${value.map(plain).join()}]`;
  const members = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of Object.keys(members).sort()) {
    const member = members[key];
    if (member !== undefined) text += `${key}:${plain(member)},`;
  }
  return `{${text}}`;
}
