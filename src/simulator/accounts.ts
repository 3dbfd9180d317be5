import { createHmac } from 'node:crypto';
import { type ApiKey, makeApiKey } from './http/authenticate.ts';
import type { Readings } from './model/readings.ts';

type NonceRule = Readings['nonceRule'];

/** What a key needs support to have enabled, or its owner to have granted. */
export type KeyPermission = 'creditLine' | 'fiatDeposit' | 'trading';
export type KeyPermissions = Readonly<Record<KeyPermission, boolean>>;

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
  generation: number;
}

export const ALL_PERMISSIONS: KeyPermissions = { creditLine: true, fiatDeposit: true, trading: true };

/** The key pairs of the exchange; derived from the seed, so that a run can be repeated with the same keys. */
export class AccountDirectory {
  readonly #seed: string;
  readonly #entries = new Map<string, Entry>();
  readonly #keys = new Map<string, ApiKey>();

  constructor(seed: number) {
    this.#seed = String(seed);
  }

  add(id: string, permissions: KeyPermissions = ALL_PERMISSIONS): AccountAccess {
    const access = this.#withKey({ id, apiKey: '', apiSecret: '', permissions, nonceRule: null }, id, 0);
    this.#entries.set(id, { access, generation: 0 });
    return access;
  }

  /** One more key pair of the same account, which has the permissions of the first one. */
  addKey(id: string, name: string): AccountAccess {
    return this.#withKey(this.access(id), `${id}/${name}`, 0);
  }

  /** A new key pair; the old one is refused from now on. Answers the key that became invalid. */
  rotateKey(id: string): { readonly access: AccountAccess; readonly retiredApiKey: string } {
    const entry = this.#entry(id);
    const retiredApiKey = entry.access.apiKey;
    entry.generation += 1;
    entry.access = this.#withKey(entry.access, id, entry.generation);
    this.#keys.delete(retiredApiKey);
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
    return this.#keys.get(apiKey);
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new RangeError(`no account ${JSON.stringify(id)}`);
    return entry;
  }

  /** The same access with another key pair, which is known from now on. */
  #withKey(access: AccountAccess, name: string, generation: number): AccountAccess {
    const digest = (what: string) =>
      createHmac('sha256', this.#seed).update(`${what}/${generation}/${name}`).digest('hex');
    const pair = { apiKey: digest('key').slice(0, 32), apiSecret: digest('secret') };
    this.#keys.set(pair.apiKey, makeApiKey(access.id, pair.apiKey, pair.apiSecret));
    return { ...access, ...pair };
  }
}
