import type { LedgerEntry } from '../simulator/model/ledger-entry.ts';
import type { DemoEvent } from './view.ts';

interface Remark {
  readonly tone: DemoEvent['tone'];
  readonly words: (entry: LedgerEntry) => string;
  /** An account that is liquidated has dozens of them: the first is told. */
  readonly once?: boolean;
}

/** Entries of the exchange's ledger that a person would want to hear of; most are not worth a word. */
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

/** Turns entries of the ledger and sentences of the daemon into events; remembers what was told. */
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
