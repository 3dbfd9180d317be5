import { createHmac } from 'node:crypto';
import { type ApiKey, makeApiKey } from './http/authenticate.ts';
import type { KeyPermissions } from './http/dispatch.ts';
import type { Readings } from './model/readings.ts';

type NonceRule = Readings['nonceRule'];

/** An account's way in: its key pair, what the key may do, and how its nonces are judged. */
export interface AccountAccess {
  readonly id: string;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly permissions: KeyPermissions;
  /** `null`: as the reading `nonceRule` says. */
  readonly nonceRule: NonceRule | null;
}

interface Entry {
  access: AccountAccess;
  key: ApiKey;
  generation: number;
}

export const ALL_PERMISSIONS: KeyPermissions = { creditLine: true, fiatDeposit: true, trading: true };

/** The key pairs of the exchange; derived from the seed, so that a run can be repeated with the same keys. */
export class AccountDirectory {
  readonly #seed: string;
  readonly #entries = new Map<string, Entry>();
  readonly #byKey = new Map<string, Entry>();

  constructor(seed: number) {
    this.#seed = String(seed);
  }

  add(id: string, permissions: KeyPermissions = ALL_PERMISSIONS): AccountAccess {
    const pair = this.#derive(id, 0);
    const entry: Entry = {
      access: { id, ...pair, permissions, nonceRule: null },
      key: makeApiKey(id, pair.apiKey, pair.apiSecret),
      generation: 0,
    };
    this.#entries.set(id, entry);
    this.#byKey.set(pair.apiKey, entry);
    return entry.access;
  }

  /** One more key pair of the same account, which has the permissions of the first one. */
  addKey(id: string, name: string): AccountAccess {
    const { access } = this.#entry(id);
    const pair = this.#derive(`${id}/${name}`, 0);
    const further = { ...access, ...pair };
    const key = makeApiKey(id, pair.apiKey, pair.apiSecret);
    this.#byKey.set(pair.apiKey, { access: further, key, generation: 0 });
    return further;
  }

  /** A new key pair; the old one is refused from now on. Answers the key that became invalid. */
  rotateKey(id: string): { readonly access: AccountAccess; readonly retiredApiKey: string } {
    const entry = this.#entry(id);
    const retiredApiKey = entry.access.apiKey;
    entry.generation += 1;
    const pair = this.#derive(id, entry.generation);
    entry.access = { ...entry.access, ...pair };
    entry.key = makeApiKey(id, pair.apiKey, pair.apiSecret);
    this.#byKey.delete(retiredApiKey);
    this.#byKey.set(pair.apiKey, entry);
    return { access: entry.access, retiredApiKey };
  }

  change(
    id: string,
    change: { readonly permissions?: Partial<KeyPermissions>; readonly nonceRule?: NonceRule | null },
  ): AccountAccess {
    const entry = this.#entry(id);
    const permissions = { ...entry.access.permissions, ...change.permissions };
    entry.access = { ...entry.access, ...change, permissions };
    return entry.access;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  access(id: string): AccountAccess {
    return this.#entry(id).access;
  }

  list(): readonly AccountAccess[] {
    return [...this.#entries.values()].map((entry) => entry.access);
  }

  findKey(apiKey: string): ApiKey | undefined {
    return this.#byKey.get(apiKey)?.key;
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new RangeError(`no account ${JSON.stringify(id)}`);
    return entry;
  }

  #derive(id: string, generation: number): { readonly apiKey: string; readonly apiSecret: string } {
    const digest = (what: string) =>
      createHmac('sha256', this.#seed).update(`${what}/${generation}/${id}`).digest('hex');
    return { apiKey: digest('key').slice(0, 32), apiSecret: digest('secret') };
  }
}
