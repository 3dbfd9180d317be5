import type { z } from 'zod';
import { describeText, looksSecret } from '../yaml/value.ts';
import { protocolsInWords, type Reading, scalar, url } from './scalars.ts';

type Source =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  /** An address without a password, as written. */
  | { readonly kind: 'plain'; readonly url: string };

/** Where a secret or personal value comes from; only addresses without a password are in the config file itself. */
export class Reference {
  readonly source: Source;
  /** What an address behind it may start with; absent: it is no address. */
  readonly protocols: readonly string[] | undefined;

  constructor(source: Source, protocols?: readonly string[]) {
    this.source = source;
    this.protocols = protocols;
  }
}

const SECRET_JSON = {
  oneOf: [
    {
      type: 'object',
      properties: { env: { type: 'string', description: 'Name of an environment variable.' } },
      required: ['env'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: { file: { type: 'string', description: 'Path of a file, relative to this one.' } },
      required: ['file'],
      additionalProperties: false,
    },
  ],
} as const;

const EXPECTED = '{ env: NAME } or { file: PATH }';

/**
 * `{ env: NAME }` or `{ file: PATH }`; anything written in place is refused and not repeated. With protocols, an address
 * that starts with one of them has to be behind it.
 */
export function secretRef(...protocols: readonly string[]): z.ZodType<Reference> {
  const asked = protocols.length === 0 ? undefined : protocols;
  return scalar({
    expected: EXPECTED,
    read: (written) => readReference(written, asked),
    json: SECRET_JSON,
  });
}

/** An address that may hold a password: a reference, or the address itself when it holds none. */
export function urlOrRef(...protocols: readonly string[]): z.ZodType<Reference> {
  const plain = url(...protocols);
  return scalar({
    expected: `an address that starts with ${protocolsInWords(protocols)} and holds no password, or ${EXPECTED}`,
    read: (written) => {
      if (typeof written !== 'string') return readReference(written, protocols);
      const parsed = plain.safeParse(written);
      if (parsed.success) return found({ kind: 'plain', url: parsed.data }, protocols);
      const withSecret = /:\/\/[^/]*@/.test(written);
      return {
        ok: false,
        got: withSecret ? 'an address with credentials in it (not repeated here)' : describeText(written),
      };
    },
    json: { anyOf: [{ type: 'string', format: 'uri' }, ...SECRET_JSON.oneOf] },
  });
}

function found(source: Source, protocols?: readonly string[]): Reading<Reference> {
  return { ok: true, value: new Reference(source, protocols) };
}

function readReference(written: unknown, protocols?: readonly string[]): Reading<Reference> {
  if (written === undefined || written === null) return { ok: false };
  if (typeof written !== 'object' || Array.isArray(written)) {
    return {
      ok: false,
      expected: `${EXPECTED}: secrets are not written into this file`,
      got: 'a value in the file itself (not repeated here; if it was a real secret, replace it with a new one)',
    };
  }
  const entries = Object.entries(written);
  const [key, value] = entries[0] ?? [];
  if (entries.length !== 1 || (key !== 'env' && key !== 'file')) {
    const keys = entries.map(([name]) => (looksSecret(name) ? '...' : name)).join(', ');
    return { ok: false, got: entries.length === 0 ? 'an empty mapping' : `a mapping with ${keys}` };
  }
  if (key === 'env') {
    if (typeof value === 'string' && isEnvName(value)) return found({ kind: 'env', name: value }, protocols);
    return {
      ok: false,
      expected: 'env: the NAME of an environment variable (letters, digits, underscores)',
      got: 'something that is not one (not repeated here)',
    };
  }
  if (typeof value === 'string' && /^[^\n\0]{1,1000}$/.test(value)) {
    return found({ kind: 'file', path: value }, protocols);
  }
  return { ok: false, expected: 'file: the PATH of a file', got: 'something that is not one' };
}

/** A hexadecimal key pasted in place of a name starts with a letter often enough: names that look secret are none. */
function isEnvName(text: string): boolean {
  return (
    /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(text) && !(looksSecret(text) && !/^[A-Z0-9]*_[A-Z0-9_]*$/.test(text))
  );
}
