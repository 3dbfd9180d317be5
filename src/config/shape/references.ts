import type { z } from 'zod';
import { REDIS_FORMS, REDIS_PATTERN, readRedisAddress } from '../redis-address.ts';
import { describeText, looksSecret } from '../yaml/value.ts';
import { protocolsInWords, type Reading, scalar } from './scalars.ts';

type Source =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  /** An address without a password, as written. */
  | { readonly kind: 'plain'; readonly url: string };

/** The source of a secret or personal value. Only addresses without a password are in the config file itself. */
export class Reference {
  readonly source: Source;
  /** The kind of address that it refers to; undefined if it is no address. */
  readonly address: AddressKind | undefined;

  constructor(source: Source, address?: AddressKind) {
    this.source = source;
    this.address = address;
  }
}

interface AddressKind {
  /** Completes "expected an address". */
  readonly words: string;
  /** Completes "got ..." without the text; undefined if the text is such an address. */
  readonly problem: (text: string) => string | undefined;
  readonly hasLogin: (text: string) => boolean;
}

const keyed = (key: string, description: string) => ({
  type: 'object',
  properties: { [key]: { type: 'string', description } },
  required: [key],
  additionalProperties: false,
});
const SECRET_JSON = {
  oneOf: [
    keyed('env', 'Name of an environment variable.'),
    keyed('file', 'Path of a file, relative to this one.'),
  ],
};

const EXPECTED = '{ env: NAME } or { file: PATH }';

/**
 * Reads `{ env: NAME }` or `{ file: PATH }`; a value in place is refused and not repeated. With protocols, the value
 * must be an address that starts with one of them.
 */
export function secretRef(...protocols: readonly string[]): z.ZodType<Reference> {
  const asked = protocols.length === 0 ? undefined : urlKind(protocols);
  return scalar({
    expected: EXPECTED,
    read: (written) => readReference(written, asked),
    json: SECRET_JSON,
  });
}

/** Reads an address that may hold a password: a reference, or the address itself if it holds none. */
export function urlOrRef(...protocols: readonly string[]): z.ZodType<Reference> {
  return addressOrRef(urlKind(protocols));
}

function urlKind(protocols: readonly string[]): AddressKind {
  return {
    words: `that starts with ${protocolsInWords(protocols)}`,
    problem: (text) =>
      URL.canParse(text) && protocols.includes(new URL(text).protocol) ? undefined : 'another text',
    hasLogin: (text) => {
      const { username, password } = new URL(text);
      return username !== '' || password !== '';
    },
  };
}

/** Like `urlOrRef`, for Redis addresses. */
export function redisUrlOrRef(): z.ZodType<Reference> {
  const problem = (text: string): string | undefined => {
    const reading = readRedisAddress(text);
    return reading.kind === 'none' ? reading.got : undefined;
  };
  const hasLogin = (text: string): boolean => {
    const reading = readRedisAddress(text);
    if (reading.kind === 'none') return false;
    const { username, password } = reading.address;
    return username !== undefined || password !== undefined;
  };
  return addressOrRef({ words: REDIS_FORMS, problem, hasLogin }, { type: 'string', pattern: REDIS_PATTERN });
}

function addressOrRef(
  kind: AddressKind,
  json: Readonly<Record<string, unknown>> = { type: 'string', format: 'uri' },
): z.ZodType<Reference> {
  return scalar({
    expected: `an address ${kind.words} and holds no password, or ${EXPECTED}`,
    read: (written) => {
      if (typeof written !== 'string') return readReference(written, kind);
      const got = kind.problem(written);
      // An invalid address may also hold a password.
      const withSecret = got === undefined ? kind.hasLogin(written) : /:\/\/[^/]*@/.test(written);
      if (withSecret) return { ok: false, got: 'an address with credentials in it (not repeated here)' };
      if (got === undefined) return found({ kind: 'plain', url: written }, kind);
      return { ok: false, got: got === 'another text' ? describeText(written) : got };
    },
    json: { anyOf: [json, ...SECRET_JSON.oneOf] },
  });
}

function found(source: Source, address?: AddressKind): Reading<Reference> {
  return { ok: true, value: new Reference(source, address) };
}

function readReference(written: unknown, address?: AddressKind): Reading<Reference> {
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
    if (typeof value === 'string' && isEnvName(value)) return found({ kind: 'env', name: value }, address);
    return {
      ok: false,
      expected: 'env: the NAME of an environment variable (letters, digits, underscores)',
      got: 'something that is not one (not repeated here)',
    };
  }
  if (typeof value === 'string' && /^[^\n\0]{1,1000}$/.test(value)) {
    return found({ kind: 'file', path: value }, address);
  }
  return { ok: false, expected: 'file: the PATH of a file', got: 'something that is not one' };
}

/** Rejects names that look secret: a key pasted in place of a name can be a valid name. */
function isEnvName(text: string): boolean {
  return (
    /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(text) && !(looksSecret(text) && !/^[A-Z0-9]*_[A-Z0-9_]*$/.test(text))
  );
}
