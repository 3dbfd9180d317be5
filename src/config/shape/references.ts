import type { z } from 'zod';
import { describeText, looksSecret } from '../yaml/value.ts';
import { type Reading, scalar, url } from './scalars.ts';

/** Where a secret or personal value comes from; its value is never in the config file. */
export type SecretRef =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string };

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

/** `{ env: NAME }` or `{ file: PATH }`; anything written in place is refused and not repeated. */
export function secretRef(): z.ZodType<SecretRef> {
  return scalar({ expected: EXPECTED, read: readSecretRef, json: SECRET_JSON });
}

/** Of an address that may hold a password: a reference, or the address itself when it holds none. */
export type UrlOrRef = { readonly kind: 'plain'; readonly url: string } | SecretRef;

export function urlOrRef(...protocols: readonly string[]): z.ZodType<UrlOrRef> {
  const plain = url(...protocols);
  const shown = protocols.map((protocol) => `${protocol}//`).join(' or ');
  return scalar<UrlOrRef>({
    expected: `an address that starts with ${shown} and holds no password, or ${EXPECTED}`,
    read: (written) => {
      if (typeof written !== 'string') return readSecretRef(written);
      const parsed = plain.safeParse(written);
      if (parsed.success) return { ok: true, value: { kind: 'plain', url: parsed.data } };
      const withSecret = /:\/\/[^/]*@/.test(written);
      return {
        ok: false,
        got: withSecret ? 'an address with credentials in it (not repeated here)' : describeText(written),
      };
    },
    json: { anyOf: [{ type: 'string', format: 'uri' }, ...SECRET_JSON.oneOf] },
  });
}

function readSecretRef(written: unknown): Reading<SecretRef> {
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
    if (typeof value === 'string' && isEnvName(value))
      return { ok: true, value: { kind: 'env', name: value } };
    return {
      ok: false,
      expected: 'env: the NAME of an environment variable (letters, digits, underscores)',
      got: 'something that is not one (not repeated here)',
    };
  }
  if (typeof value === 'string' && /^[^\n\0]{1,1000}$/.test(value)) {
    return { ok: true, value: { kind: 'file', path: value } };
  }
  return { ok: false, expected: 'file: the PATH of a file', got: 'something that is not one' };
}

/** A hexadecimal key pasted in place of a name starts with a letter often enough: names that look secret are none. */
function isEnvName(text: string): boolean {
  return (
    /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(text) &&
    !(looksSecret(text) && !/^[A-Z0-9_]*_[A-Z0-9_]*$/.test(text))
  );
}
