import { createHmac } from 'node:crypto';
import { type ApiKey, makeApiKey } from './http/authenticate.ts';
import type { Readings } from './model/readings.ts';

type NonceRule = Readings['nonceRule'];

/** Permissions of a key that support enables or its owner grants. */
export type KeyPermission = 'creditLine' | 'fiatDeposit' | 'trading';
export type KeyPermissions = Readonly<Record<KeyPermission, boolean>>;

export interface AccountAccess {
  readonly id: string;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly permissions: KeyPermissions;
  /** `null`: the reading `nonceRule` applies. */
  readonly nonceRule: NonceRule | null;
}

export const ALL_PERMISSIONS: KeyPermissions = { creditLine: true, fiatDeposit: true, trading: true };

/** The key pairs of the exchange, derived from the seed so that a repeated run has the same keys. */
export class AccountDirectory {
  readonly #seed: string;
  readonly #entries = new Map<string, { access: AccountAccess; generation: number }>();
  readonly #keys = new Map<string, ApiKey>();

  constructor(seed: number) {
    this.#seed = String(seed);
  }

  add(id: string, permissions: KeyPermissions = ALL_PERMISSIONS): AccountAccess {
    const access = this.#withKey({ id, apiKey: '', apiSecret: '', permissions, nonceRule: null }, id, 0);
    this.#entries.set(id, { access, generation: 0 });
    return access;
  }

  /** Adds a key pair to the account; it has the permissions of the first one. */
  addKey(id: string, name: string): AccountAccess {
    return this.#withKey(this.access(id), `${id}/${name}`, 0);
  }

  /** Replaces the key pair; the old one is refused from now on. Also returns the retired key. */
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

  #entry(id: string) {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new RangeError(`no account ${JSON.stringify(id)}`);
    return entry;
  }

  /** Registers another key pair and returns the access with it. */
  #withKey(access: AccountAccess, name: string, generation: number): AccountAccess {
    const digest = (what: string) =>
      createHmac('sha256', this.#seed).update(`${what}/${generation}/${name}`).digest('hex');
    const pair = { apiKey: digest('key').slice(0, 32), apiSecret: digest('secret') };
    this.#keys.set(pair.apiKey, makeApiKey(access.id, pair.apiKey, pair.apiSecret));
    return { ...access, ...pair };
  }
}
