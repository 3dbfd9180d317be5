import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { ActionCost } from '../../../src/core/costs/action-cost.ts';
import { type DigestRecord, digestAccount } from '../../../src/core/digest/account-digest.ts';
import { type Digest, digestOf, type Period } from '../../../src/core/digest/digest.ts';
import type { Sighting } from '../../../src/core/digest/sighting.ts';
import type { ReduceOnlyStopRequest } from '../../../src/core/ports/exchange.ts';
import type { Transition } from '../../../src/core/rules/decision.ts';
import { d } from '../rules/fixtures.ts';

/** A day, and times in it. */
export const FROM_MS = Date.UTC(2026, 0, 30, 8);
export const DAY: Period = { fromMs: FROM_MS, toMs: FROM_MS + 24 * 3_600_000 };
export const hour = (hours: number): number => FROM_MS + hours * 3_600_000;

export const timeOf = (atMs: number): string => new Date(atMs).toISOString().slice(5, 16).replace('T', ' ');

export const ORDER: ReduceOnlyStopRequest = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: d('0.25'),
  price: d('59600'),
  activationPrice: d('59940'),
  clientOrderId: 'bw.1',
  positionSide: 'BOTH',
};

export const COST: ActionCost = {
  id: 'bw.1@1',
  clientOrderId: 'bw.1',
  role: 'reduce',
  direction: 'long',
  amountBase: d('0.25'),
  money: 'USDT',
  filledMs: hour(3),
  decidedPrice: d('60000'),
  limitPrice: d('59600'),
  fill: { price: d('59900'), from: 'realizedPnl' },
  fee: { from: 'config', rate: 0.001 },
  liquidationPrice: d('58000'),
};

export const event = (changes: Partial<AuditEvent> & Pick<AuditEvent, 'kind' | 'atMs'>): AuditEvent => ({
  accountId: 'desk-1',
  market: 'BTC_PERP',
  positionId: '42',
  ruleId: 'near',
  reason: 'none',
  words: 'words',
  alarm: false,
  ...changes,
});

export const transition = (changes: Partial<Transition> & Pick<Transition, 'atMs'>): Transition => ({
  ruleId: 'near',
  ruleChecksum: 'c',
  subject: 'position:42',
  episode: 1,
  from: 'pending',
  to: 'firing',
  reason: 'heldLongEnough',
  words: 'distance to liquidation is 4.1 %, below 5 %',
  mode: 'enforce',
  severity: 'critical',
  labels: {},
  ...changes,
});

/** In the order in which the audit numbers them. */
export function records(...contents: readonly (AuditEvent | Transition)[]): readonly DigestRecord[] {
  return contents.map((one, index) => ({
    number: index + 1,
    record: {
      content:
        'to' in one
          ? { kind: 'decision', atMs: one.atMs, transitions: [one] }
          : { kind: 'action', event: one },
    },
  }));
}

export const sighting = (changes: Partial<Sighting> = {}): Sighting => ({
  subject: 'position:42',
  of: 'market',
  name: 'BTC_PERP',
  atMs: hour(2),
  distance: 0.041,
  called: null,
  ...changes,
});

/** An account that acts in two markets. */
const DESK_1 = {
  accountId: 'desk-1',
  records: records(
    transition({ atMs: hour(2) }),
    event({ kind: 'placing', atMs: hour(2), order: ORDER }),
    event({ kind: 'accepted', atMs: hour(2) + 40, order: ORDER }),
    event({ kind: 'priced', atMs: hour(3), cost: COST }),
    event({ kind: 'priced', atMs: hour(4), cost: COST }),
    transition({ atMs: hour(5), from: 'firing', to: 'inactive' }),
    transition({ atMs: hour(6), subject: 'position:43', episode: 2 }),
    event({
      kind: 'placing',
      atMs: hour(6),
      market: 'ETH_PERP',
      positionId: '43',
      order: { ...ORDER, market: 'ETH_PERP', clientOrderId: 'bw.2' },
    }),
    event({
      kind: 'rejected',
      atMs: hour(6),
      market: 'ETH_PERP',
      positionId: '43',
      reason: 'priceStep',
      words: '33: the price does not fit the market',
      alarm: true,
      order: { ...ORDER, market: 'ETH_PERP', clientOrderId: 'bw.2' },
    }),
    event({ kind: 'refused', atMs: hour(7), reason: 'paused', words: 'actions are paused' }),
    event({ kind: 'refused', atMs: hour(8), reason: 'paused', words: 'actions are paused' }),
  ),
  sightings: [sighting(), sighting({ subject: 'position:43', name: 'ETH_PERP', distance: 0.05 })],
};

/** An account that only observes. */
const DESK_2 = {
  accountId: 'desk-2',
  records: records(
    transition({ atMs: hour(9), mode: 'observe', severity: 'warning', ruleId: 'early' }),
    event({
      kind: 'refused',
      atMs: hour(9),
      ruleId: 'early',
      reason: 'observeMode',
      words: 'the rule is in observe mode',
    }),
    event({ kind: 'wouldPlace', atMs: hour(9), ruleId: 'early', reason: 'observeMode', order: ORDER }),
    event({
      kind: 'wouldPlace',
      atMs: hour(10),
      ruleId: 'early',
      reason: 'observeMode',
      order: { ...ORDER, amount: d('0.5'), activationPrice: d('59000'), price: d('58700') },
    }),
    event({ kind: 'wouldCancel', atMs: hour(10), ruleId: 'early', reason: 'observeMode' }),
  ),
  sightings: [
    sighting({ subject: 'creditLine:USDT@1700000000', of: 'creditLine', name: 'USDT', distance: 0.02 }),
  ],
};

export const ACCOUNTS = [DESK_1, DESK_2];

/** Both accounts, over the whole day. */
export const digestOfDay = (): Digest =>
  digestOf(
    ACCOUNTS.map((one) => digestAccount(one, DAY)),
    DAY,
    { versions: { breakwater: '1.2.3', node: 'v24.0.0' }, notes: [] },
  );
