import { inspect } from 'node:util';
import { REDACTED } from '../core/redaction/conceal.ts';
import { decoded } from '../core/redaction/redactor.ts';

/**
 * A value that must stay hidden. It shows as `[redacted]` in logs, JSON, templates and `util.inspect`; only `reveal`
 * returns it, for a signature or a connection.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  equals(other: Secret): boolean {
    return this.#value === other.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/** Personal data such as a city: hidden like a secret, but not redacted where an ordinary text contains the word. */
export class Personal extends Secret {}

/**
 * Returns every secret of a config in the clear, without duplicates, for redaction. A password inside an address is
 * listed separately, both decoded and as written there.
 */
export function secretValues(config: object): readonly string[] {
  const found = new Set<string>();
  collect(config, found);
  return [...found];
}

function collect(value: unknown, found: Set<string>): void {
  if (value instanceof Personal && !isUnmistakable(value.reveal())) return;
  if (value instanceof Secret) {
    for (const secret of [value.reveal(), ...passwordsOf(value.reveal())]) {
      if (secret !== '') found.add(secret);
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const inner of Object.values(value)) collect(inner, found);
}

/** A name or a city is also a plain word: redacting it everywhere would garble unrelated text. */
function isUnmistakable(text: string): boolean {
  return text.length >= 8 && /[\d@]/.test(text);
}

/** Finds the passwords of any address, including one with several hosts, which `URL` cannot parse. */
function passwordsOf(text: string): readonly string[] {
  const written = /^[a-z][a-z\d+.-]*:\/\/[^/?#:]*:([^/?#]*)@/i.exec(text)?.[1];
  const password = URL.canParse(text) ? new URL(text).password : undefined;
  return [written, password].flatMap((found) => (found === undefined ? [] : [found, decoded(found)]));
}
