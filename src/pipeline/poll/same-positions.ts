import type { PositionList } from '../../core/ports/exchange.ts';

/** Finds accounts with the same positions (same id, market and open date): two keys of one exchange account. */
export class SamePositions {
  readonly #accounts = new Map<string, Set<string>>();
  readonly #shown = new Map<string, readonly string[]>();

  note(accountId: string, { records }: PositionList): void {
    this.forget(accountId);
    // Without a date the id is not enough: each account may count its own ids.
    const keys = records.flatMap(({ positionId, market, openDate }) =>
      openDate === undefined ? [] : [`${positionId} ${market} ${openDate}`],
    );
    this.#shown.set(accountId, keys);
    for (const key of keys) {
      const accounts = this.#accounts.get(key);
      if (accounts === undefined) this.#accounts.set(key, new Set([accountId]));
      else accounts.add(accountId);
    }
  }

  forget(accountId: string): void {
    for (const key of this.#shown.get(accountId) ?? []) {
      const accounts = this.#accounts.get(key);
      accounts?.delete(accountId);
      if (accounts?.size === 0) this.#accounts.delete(key);
    }
    this.#shown.delete(accountId);
  }

  /** Other accounts whose newest list shares a position with this account's newest list. */
  othersLike(accountId: string): readonly string[] {
    const others = new Set<string>();
    for (const key of this.#shown.get(accountId) ?? []) {
      for (const other of this.#accounts.get(key) ?? []) others.add(other);
    }
    others.delete(accountId);
    return [...others];
  }
}
