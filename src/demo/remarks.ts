import type { LedgerEntry } from '../simulator/model/ledger-entry.ts';
import type { DemoEvent } from './view.ts';

interface Remark {
  readonly tone: DemoEvent['tone'];
  readonly words: (entry: LedgerEntry) => string;
  /** Shown only the first time per account: a liquidation has dozens of these entries. */
  readonly once?: boolean;
}

/** Kinds of ledger entries that interest a person; most do not. */
const REMARKS: { readonly [kind in LedgerEntry['kind']]?: Remark } = {
  order_placed: {
    tone: 'info',
    words: ({ side = '', amount = '', price = '', details }) =>
      `places a reduce-only stop: ${side} ${amount} once the price is ${details?.['activationPrice'] ?? '?'}, limit ${price}`,
  },
  fill: {
    tone: 'good',
    words: ({ side = '', amount = '', price = '' }) => `${side} ${amount} filled at ${price}`,
  },
  margin_call: { tone: 'warning', words: () => 'the exchange calls margin', once: true },
  liquidation: {
    tone: 'danger',
    words: ({ amount = '', price = '' }) => `LIQUIDATION begins: the exchange takes ${amount} at ${price}`,
    once: true,
  },
};

/** Turns ledger entries and the daemon's alerts into events; remembers what was shown. */
export class Remarks {
  /** Oldest first. */
  readonly events: DemoEvent[] = [];
  readonly #told = new Set<string>();
  #alertsTold = 0;

  /** @param alerts all so far @param entries only new ones */
  take(atMs: number, alerts: readonly string[], entries: readonly LedgerEntry[]): void {
    for (const text of alerts.slice(this.#alertsTold)) {
      this.events.push({ atMs, tone: 'warning', text: `Breakwater says: ${text}` });
    }
    this.#alertsTold = alerts.length;
    for (const entry of entries) {
      const remark = REMARKS[entry.kind];
      if (remark === undefined || entry.accountId === null) continue;
      const key = `${entry.accountId} ${entry.kind}`;
      if (remark.once === true && this.#told.has(key)) continue;
      this.#told.add(key);
      this.events.push({ atMs, tone: remark.tone, text: `${entry.accountId}: ${remark.words(entry)}` });
    }
  }
}
