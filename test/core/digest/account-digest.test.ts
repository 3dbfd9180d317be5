import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import { digestAccount } from '../../../src/core/digest/account-digest.ts';
import type { AccountDigest, Period } from '../../../src/core/digest/digest.ts';
import type { Transition } from '../../../src/core/rules/decision.ts';
import { at, below, position, positionsSnapshot, rule, SERVER_MS } from '../rules/fixtures.ts';
import { poll, view } from '../view/fixtures.ts';
import {
  COST,
  DAY,
  digestOfDay,
  event,
  FROM_MS,
  hour,
  ORDER,
  records,
  sighting,
  transition,
} from './fixtures.ts';

const NOTHING = { accountId: 'desk-1', records: [], sightings: [] };

describe('the digest of two accounts and markets', () => {
  const { accounts, costs } = digestOfDay();
  const [acting, observing] = accounts;

  test('has the nearest call of each account', () => {
    expect(accounts.map(({ nearest }) => [nearest?.name, nearest?.distance])).toEqual([
      ['BTC_PERP', 0.041],
      ['USDT', 0.02],
    ]);
    expect(accounts.map(({ cameNear }) => cameNear)).toEqual([true, true]);
  });

  test('counts how often each rule fired, and on which subjects', () => {
    expect(acting?.rules).toEqual([
      {
        ruleId: 'near',
        severity: 'critical',
        mode: 'enforce',
        fired: 2,
        escalated: 0,
        subjects: ['BTC_PERP', 'ETH_PERP'],
        isFiring: true,
      },
    ]);
    expect(observing?.rules).toMatchObject([{ ruleId: 'early', mode: 'observe', fired: 1 }]);
  });

  test('says what was sent, and what it cost', () => {
    expect(acting?.requests).toEqual({
      orders: { accepted: 1, rejected: 1, unknown: 0 },
      cancels: { accepted: 0, rejected: 0, unknown: 0 },
    });
    // A quarter sold 100 under the mark.
    expect(acting?.costs).toMatchObject([{ ruleId: 'near', market: 'BTC_PERP', money: 'USDT', orders: 1 }]);
    expect(costs).toMatchObject([{ money: 'USDT', orders: 1, slippage: { known: 25, unknown: 0 } }]);
  });

  test('lists refusals with their reasons, those with an alarm first', () => {
    expect(acting?.troubles).toMatchObject([
      { kind: 'orderRefused', reason: 'priceStep', market: 'ETH_PERP', times: 1, alarm: true },
      { kind: 'heldBack', reason: 'paused', times: 2, words: 'actions are paused', lastMs: hour(8) },
    ]);
  });

  test('lists what enforce mode would have done, and does not count it as refused', () => {
    expect(observing?.observed).toMatchObject([
      { ruleId: 'early', market: 'BTC_PERP', orders: 2, cancels: 1, largest: { amount: '0.5' } },
    ]);
    expect(observing?.troubles).toEqual([]);
    expect(observing?.requests.orders).toEqual({ accepted: 0, rejected: 0, unknown: 0 });
  });
});

test('an order without an answer counts as unknown, in the period in which it was begun', () => {
  const sources = {
    ...NOTHING,
    records: records(
      event({ kind: 'placing', atMs: DAY.fromMs - 1, order: { ...ORDER, clientOrderId: 'before' } }),
      event({ kind: 'accepted', atMs: DAY.fromMs + 1, order: { ...ORDER, clientOrderId: 'before' } }),
      event({ kind: 'placing', atMs: hour(1), order: ORDER }),
      event({ kind: 'placing', atMs: DAY.toMs - 1, order: { ...ORDER, clientOrderId: 'last' } }),
      event({ kind: 'accepted', atMs: DAY.toMs + 1, order: { ...ORDER, clientOrderId: 'last' } }),
    ),
  };
  expect(digestAccount(sources, DAY).requests.orders).toEqual({ accepted: 1, rejected: 0, unknown: 1 });
});

test('a subject far from liquidation did not come near; a margin call always did', () => {
  const near = (changes: Parameters<typeof sighting>[0]) =>
    digestAccount({ ...NOTHING, sightings: [sighting(changes)] }, DAY).cameNear;
  expect(near({ distance: 0.31 })).toBe(false);
  expect(near({ distance: 0.099 })).toBe(true);
  expect(near({ distance: 0.31, called: 'marginCall' })).toBe(true);
  expect(near({ distance: null })).toBe(false);
  expect(near({ atMs: DAY.toMs })).toBe(false);
});

test('an escalation stage is no new firing, and a resolved rule is not firing', () => {
  const sources = {
    ...NOTHING,
    records: records(
      transition({ atMs: hour(1) }),
      transition({ atMs: hour(2), from: 'firing', reason: 'stageReached', stage: 1 }),
      transition({ atMs: hour(3), from: 'firing', to: 'inactive' }),
      transition({ atMs: hour(4), from: 'inactive', to: 'pending' }),
    ),
  };
  expect(digestAccount(sources, DAY).rules).toMatchObject([{ fired: 1, escalated: 1, isFiring: false }]);
});

test("a rule that fires since before the period is listed from the account's view", () => {
  const polled = poll(
    [rule('position', below('liquidationDistance', 0.2))],
    [positionsSnapshot([position()])],
  );
  const seen = view(polled, { nowMs: SERVER_MS + 1 });
  const later = { fromMs: SERVER_MS + 1, toMs: SERVER_MS + 86_400_000 };
  const of = (period: Period) => digestAccount({ ...NOTHING, view: seen }, period).rules;
  expect(of(later)).toMatchObject([
    { ruleId: 'rule-1', fired: 0, isFiring: true, subjects: ['position 42'] },
  ]);
  // A rule that began to fire after the period is not listed.
  expect(of({ fromMs: 0, toMs: SERVER_MS })).toEqual([]);
});

test('a subject that vanishes while rules fire for it is listed once, with those rules', () => {
  const gone = { from: 'firing', to: 'inactive', reason: 'subjectGone' } as const;
  const sources = {
    ...NOTHING,
    records: records(
      transition({ atMs: hour(2), ...gone, ruleId: 'near' }),
      transition({ atMs: hour(2), ...gone, ruleId: 'early' }),
      transition({ atMs: hour(3), ...gone, subject: 'creditLine:USDT@7' }),
      transition({ atMs: hour(4), ...gone, from: 'pending' }),
      transition({ atMs: hour(4), ...gone, reason: 'conditionCleared' }),
      transition({ atMs: DAY.toMs, ...gone }),
    ),
    sightings: [sighting()],
  };
  expect(digestAccount(sources, DAY).gone).toEqual([
    { name: 'BTC_PERP', ruleIds: ['early', 'near'], atMs: hour(2) },
    { name: 'credit line in USDT', ruleIds: ['near'], atMs: hour(3) },
  ]);
});

test('answers of people are grouped by rule and outcome, with the words of the last one', () => {
  const settled = (atMs: number, reason: string, words: string) =>
    event({ kind: 'approvalSettled', atMs, reason, words });
  const sources = {
    ...NOTHING,
    records: records(
      settled(hour(1), 'vetoed', 'ann vetoed a'),
      settled(hour(2), 'approved', 'ann approved b'),
      settled(hour(3), 'vetoed', 'bob vetoed c'),
      settled(DAY.toMs, 'vetoed', 'bob vetoed d'),
    ),
  };
  expect(digestAccount(sources, DAY).answers).toEqual([
    { ruleId: 'near', end: 'vetoed', times: 2, words: 'bob vetoed c' },
    { ruleId: 'near', end: 'approved', times: 1, words: 'ann approved b' },
  ]);
});

test('a source too old for rules is listed with since when and why', () => {
  const polled = poll([], [positionsSnapshot([position()])]);
  const seen = view(polled, { nowMs: at(20_000).wallMs });
  const failures = [
    { source: 'positions', error: 'unauthenticated', httpStatus: 401, words: 'key refused', sinceMs: 0 },
  ] as const;
  expect(digestAccount({ ...NOTHING, view: { ...seen, failures } }, DAY).unread).toEqual({
    source: 'positions',
    sinceMs: SERVER_MS,
    why: '401: key refused',
  });
  expect(digestAccount({ ...NOTHING, view: view(polled, { nowMs: SERVER_MS }) }, DAY).unread).toBeNull();
});

test('records pruned within the period are reported as missing', () => {
  const told = (prunedToMs: number) => digestAccount({ ...NOTHING, prunedToMs }, DAY).recordsFromMs;
  expect(told(hour(3))).toBe(hour(3));
  expect(told(DAY.fromMs - 1)).toBeNull();
});

const PHASES = ['inactive', 'pending', 'firing'] as const;
const KINDS = [
  'refused',
  'rejected',
  'blocked',
  'wouldPlace',
  'wouldCancel',
  'intentEnded',
  'doubt',
  'approvalSettled',
] as const;

const anyTime = fc.integer({ min: FROM_MS - 3_600_000, max: DAY.toMs + 3_600_000 });
const anyRule = fc.constantFrom('near', 'early', 'last');

const anyTransition: fc.Arbitrary<Transition> = fc
  .record({
    atMs: anyTime,
    ruleId: anyRule,
    subject: fc.constantFrom('position:42', 'position:43', 'account'),
    from: fc.constantFrom(...PHASES),
    to: fc.constantFrom(...PHASES),
    stage: fc.integer({ min: 0, max: 2 }),
    reason: fc.constantFrom('conditionMet', 'subjectGone'),
  })
  .map((changes) => transition(changes));

const anyEvent: fc.Arbitrary<readonly AuditEvent[]> = fc
  .record({
    atMs: anyTime,
    ruleId: anyRule,
    market: fc.constantFrom('BTC_PERP', 'ETH_PERP'),
    kind: fc.constantFrom(...KINDS),
    reason: fc.constantFrom('paused', 'observeMode', 'failed:refused:observeMode', 'failed:attempts'),
    alarm: fc.boolean(),
  })
  .map((changes) => [event(changes.kind === 'wouldPlace' ? { ...changes, order: ORDER } : changes)]);

const anyOrder: fc.Arbitrary<readonly AuditEvent[]> = fc
  .record({
    atMs: anyTime,
    tookMs: fc.integer({ min: 0, max: 60_000 }),
    id: fc.uuid(),
    end: fc.constantFrom('accepted', 'rejected', 'unknown', 'nothing'),
    isPriced: fc.boolean(),
  })
  .map(({ atMs, tookMs, id, end, isPriced }) => {
    const order = { ...ORDER, clientOrderId: id };
    const cost = { ...COST, id, clientOrderId: id, filledMs: atMs + tookMs };
    const found = [event({ kind: 'placing', atMs, order })];
    if (end !== 'nothing') found.push(event({ kind: end, atMs: atMs + tookMs, order }));
    if (isPriced) found.push(event({ kind: 'priced', atMs: atMs + tookMs, cost }));
    return found;
  });

const anyRecords = fc
  .array(
    fc.oneof(
      anyTransition.map((one) => [one]),
      anyEvent,
      anyOrder,
    ),
    { maxLength: 30 },
  )
  .map((all) => records(...all.flat().toSorted((a, b) => a.atMs - b.atMs)));

/** Every count of a digest, by what it counts. */
function countsOf(digest: AccountDigest): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (key: readonly unknown[], times: number): void => {
    const text = JSON.stringify(key);
    if (times > 0) counts.set(text, (counts.get(text) ?? 0) + times);
  };
  for (const { ruleId, fired, escalated } of digest.rules) {
    add(['fired', ruleId], fired);
    add(['escalated', ruleId], escalated);
  }
  for (const [outcome, times] of Object.entries(digest.requests.orders)) add(['order', outcome], times);
  for (const { ruleId, end, times } of digest.answers) add(['answer', ruleId, end], times);
  for (const { ruleIds, atMs } of digest.gone) add(['gone', ruleIds, atMs], 1);
  for (const { ruleId, market, orders } of digest.costs) add(['closed', ruleId, market], orders);
  for (const { ruleId, market, orders, cancels } of digest.observed)
    add(['would', ruleId, market], orders + cancels);
  for (const { kind, reason, ruleId, market, times } of digest.troubles)
    add(['trouble', kind, reason, ruleId, market], times);
  return counts;
}

test('two consecutive periods add up to the whole: nothing is counted twice or left out', () => {
  fc.assert(
    fc.property(anyRecords, anyTime, (found, cutMs) => {
      const of = (period: Period) => countsOf(digestAccount({ ...NOTHING, records: found }, period));
      const [from, to] = [FROM_MS - 7_200_000, DAY.toMs + 7_200_000];
      const halves = [of({ fromMs: from, toMs: cutMs }), of({ fromMs: cutMs, toMs: to })];
      const sum = new Map<string, number>();
      for (const half of halves) for (const [key, times] of half) sum.set(key, (sum.get(key) ?? 0) + times);
      expect(Object.fromEntries(sum)).toEqual(Object.fromEntries(of({ fromMs: from, toMs: to })));
    }),
  );
});

test('records outside the period change nothing but the outcome of its orders', () => {
  fc.assert(
    fc.property(anyRecords, anyRecords, (inside, outside) => {
      const isOutside = ({ record: { content } }: (typeof outside)[number]): boolean => {
        const atMs =
          content.kind === 'action' ? content.event.atMs : content.kind === 'decision' ? content.atMs : 0;
        return atMs < DAY.fromMs || atMs >= DAY.toMs;
      };
      const own = inside.filter((one) => !isOutside(one));
      const isOther = (one: (typeof outside)[number]): boolean => isOutside(one) && !endsAnOrder(one);
      const all = [...outside.filter(isOther), ...own].map(({ record }, index) => ({
        number: index + 1,
        record,
      }));
      const of = (found: typeof own) => countsOf(digestAccount({ ...NOTHING, records: found }, DAY));
      expect(Object.fromEntries(of(all))).toEqual(Object.fromEntries(of(own)));
    }),
  );
});

function endsAnOrder({ record: { content } }: ReturnType<typeof records>[number]): boolean {
  return (
    content.kind === 'action' && ['accepted', 'rejected', 'unknown', 'priced'].includes(content.event.kind)
  );
}
