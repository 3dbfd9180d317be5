import type { MirroredProcess } from '../mirror/mirror-text.ts';
import type { HandedBack } from './hand-back.ts';

/** Records made alone that were handed back and are in no chain yet. */
export class Unattached {
  readonly #byAccount = new Map<string, HandedBack>();

  get all(): readonly HandedBack[] {
    return [...this.#byAccount.values()];
  }

  /** Their accounts; undefined: there are none. */
  get named(): MirroredProcess['unattached'] {
    if (this.#byAccount.size === 0) return undefined;
    return this.all.map(({ accountId, how }) => ({ accountId, how }));
  }

  of(accountId: string): HandedBack | undefined {
    return this.#byAccount.get(accountId);
  }

  /** Adds records to those of the same account, each only once. Returns the accounts concerned. */
  add(found: readonly HandedBack[]): readonly string[] {
    const added = found.filter(({ segment }) => segment.length > 0);
    for (const { accountId, how, segment } of added) {
      const all = [...(this.of(accountId)?.segment ?? []), ...segment];
      const byHash = new Map(all.map((record) => [record.hash, record]));
      const numbered = [...byHash.values()].map(({ text, hash }, at) => ({ number: at + 1, text, hash }));
      this.#byAccount.set(accountId, { accountId, how, segment: numbered });
    }
    return added.map(({ accountId }) => accountId);
  }

  delete(accountId: string): void {
    this.#byAccount.delete(accountId);
  }
}
