import { inspect } from 'node:util';

/**
 * A value that must not be seen. It shows as `[secret]` in logs, JSON, templates and `util.inspect`;
 * only `reveal` gives it away, for a signature or a connection.
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
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/** A word about a person, such as a city: hidden like a secret, but not in texts that have it by chance. */
export class Personal extends Secret {}

const HIDDEN = '[secret]';
