import { describe, expect, test } from 'vitest';
import { type Cover, type Intent, type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import { causeWords, headlineOf, STATE_CAUSES } from '../../../src/core/view/state-line.ts';
import { type StateInputs, stateOf } from '../../../src/core/view/state-of.ts';
import type { ReadFailure } from '../../../src/core/view/stored-figures.ts';
import { position, text } from '../../support/account-view.ts';

const NOW = 1_700_000_000_000;

const seen = (changes: Partial<StateInputs> = {}): StateInputs => ({
  refused: null,
  mode: 'enforce',
  pause: null,
  judgedAtMs: NOW - 500,
  overdueAfterMs: 10_000,
  sources: [
    { source: 'positions', readAtMs: NOW - 500, ageMs: 500, complete: true, setAside: 0, tooOld: false },
  ],
  failures: [],
  rules: [],
  positions: [position('1')],
  lanes: [],
  questions: [],
  storeLink: 'ok',
  nowMs: NOW,
  ...changes,
});

const FIRING = {
  ruleId: 'near',
  subject: 'position:1',
  severity: 'critical',
  phase: 'firing',
  frozen: false,
  sinceMs: NOW - 9_000,
  reason: 'distance to liquidation is 4 %, below 5 %',
} as const;

const failure = (changes: Partial<ReadFailure> = {}): ReadFailure => ({
  source: 'positions',
  error: 'unauthenticated',
  httpStatus: 401,
  words: 'key or nonce was not accepted',
  sinceMs: NOW - 4_000,
  ...changes,
});

const REQUEST = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: text('0.25'),
  activationPrice: text('59940'),
  price: text('59600'),
  clientOrderId: 'bw-1',
} as unknown as OwnOrder['request'];

const intent = (changes: Partial<Intent> = {}): Intent =>
  ({
    key: 'k',
    ruleId: 'near',
    mode: 'enforce',
    positionId: '1',
    refusedBy: null,
    blockedBy: null,
    end: null,
    target: { kind: 'untilDistance', distance: 0.1 },
    targetBase: text('0.25'),
    openedMs: NOW - 8_000,
    ...changes,
  }) as Intent;

const order = (changes: Partial<OwnOrder> = {}): OwnOrder =>
  ({
    role: 'reduce',
    key: 'k',
    positionId: '1',
    request: REQUEST,
    status: 'open',
    activatedMs: null,
    presumedFilled: false,
    ...changes,
  }) as OwnOrder;

const lane = (changes: Partial<LaneState>): LaneState => ({
  ...newLane('desk-1', 'BTC_PERP', 'life1', NOW - 60_000),
  doubt: null,
  ...changes,
});

const busy = (intents: readonly Intent[], orders: readonly OwnOrder[] = [], more: Partial<LaneState> = {}) =>
  seen({ rules: [FIRING], lanes: [lane({ intents, orders, ...more })] });

describe('the state of an account', () => {
  test.each([
    ['nothing to do', seen(), 'calm', 'nothing', 'calm: 15.25 % from liquidation (BTC_PERP)'],
    [
      'just started, orders not confirmed',
      seen({ lanes: [newLane('a', 'X', 'l', NOW)] }),
      'calm',
      'nothing',
      'calm',
    ],
    ['Redis is down', seen({ storeLink: 'lost' }), 'blind', 'storeLost', 'blind: Redis is down'],
    [
      'the key is refused',
      seen({ failures: [failure()] }),
      'blind',
      'keyRefused',
      'blind: the exchange refuses the key (401: key or nonce was not accepted)',
    ],
    [
      'the exchange is unreachable',
      seen({ failures: [failure({ error: 'noReply', httpStatus: undefined, words: 'x' } as never)] }),
      'blind',
      'unreachable',
      'blind: the exchange is unreachable (x)',
    ],
    ['never polled', seen({ judgedAtMs: null }), 'blind', 'notPolled', 'blind: not polled yet'],
    [
      'not polled any more',
      seen({ judgedAtMs: NOW - 10_001 }),
      'blind',
      'overdue',
      'blind: not polled in time',
    ],
    [
      'a market without a mark',
      seen({ failures: [{ source: 'positions', error: 'figureUnknown', words: 'x', sinceMs: NOW }] }),
      'blind',
      'figureUnknown',
      'blind: figures are missing from what the exchange sends (x)',
    ],
    [
      'an order at work',
      busy([intent()], [order({ activatedMs: NOW })]),
      'acting',
      'orderActive',
      'acting: reducing BTC_PERP',
    ],
    [
      'an order that waits',
      busy([intent()], [order()]),
      'waiting',
      'orderWaits',
      'waiting for its trigger: sell 0.25 BTC_PERP once the price is 59940 or less, limit 59600',
    ],
    [
      'an urgent close, whose upper stop was not named',
      busy(
        [intent()],
        [
          order(),
          order({
            request: { ...REQUEST, activationPrice: text('60060'), inFavour: true },
          }),
        ],
      ),
      'waiting',
      'orderWaits',
      'limit 59600, or once the price is 60060 or more, limit 59600',
    ],
    [
      'an order that is only being sent',
      busy([intent()], [order({ status: 'sending' })]),
      'watching',
      'ruleFiring',
      'watching closely: rule near fires',
    ],
    [
      'an order without an answer',
      busy([intent()], [order({ status: 'unsure' })]),
      'blocked',
      'orderUnanswered',
      'blocked: not known whether',
    ],
    [
      'an order refused',
      busy([intent()], [], { refusals: 2, orderRefusedMs: NOW - 1_000, orderAcceptedMs: NOW - 2_000 }),
      'blocked',
      'orderRefused',
      'blocked: the exchange refuses the order (in BTC_PERP)',
    ],
    [
      'reads that failed, and no order that was refused',
      busy([intent()], [], { refusals: 2, orderAcceptedMs: NOW - 2_000 }),
      'watching',
      'ruleFiring',
      'watching closely: rule near fires',
    ],
    [
      'no room',
      busy([intent({ blockedBy: 'markUnknown' })]),
      'blocked',
      'markUnknown',
      'blocked: the mark price is unknown',
    ],
    [
      'held back by a limit',
      busy([intent({ refusedBy: 'cooldown' })]),
      'blocked',
      'cooldown',
      'blocked: the last episode',
    ],
    [
      'gave up',
      busy([intent({ end: { how: 'failed', why: 'attempts' } })]),
      'blocked',
      'gaveUp',
      'blocked: the rule gave up',
    ],
    [
      'observe mode',
      busy([intent({ mode: 'observe', refusedBy: 'observeMode' })], [], {
        observed: [{ key: 'k', role: 'reduce', positionId: '1', request: REQUEST }],
      }),
      'observing',
      'observeMode',
      'only observing: would send: sell 0.25 BTC_PERP once the price is 59940 or less, limit 59600',
    ],
  ] as const)('%s', (_name, inputs, kind, cause, words) => {
    const state = stateOf(inputs);
    expect(state).toMatchObject({ kind, cause });
    expect(state.words).toContain(words);
  });

  test('is "acting" or "waiting" only after an accepted order', () => {
    for (const status of ['sending', 'unsure'] as const)
      expect(['acting', 'waiting']).not.toContain(stateOf(busy([intent()], [order({ status })])).kind);
  });

  test('a pause is shown with its author, its end, and that nothing is done', () => {
    const pause = {
      kind: 'pause',
      id: 'p',
      accountId: null,
      author: 'ann',
      reason: 'looking',
      atMs: NOW - 1,
      expiresAtMs: NOW + 3_600_000,
    } as const;
    expect(stateOf({ ...busy([intent()]), pause }).words).toBe(
      'paused by ann until 23:13 UTC: looking; rules fire, and nothing is done',
    );
    expect(stateOf(seen({ pause, failures: [failure()] })).kind).toBe('blind');
  });

  test('a credit line needs a person, whether or not orders stand', () => {
    const loan = { ...FIRING, subject: 'creditLine:BTC@1' };
    expect(stateOf(seen({ rules: [loan] })).words).toMatch(/a person has to repay or add collateral$/);
  });

  test('a position of unknown direction passed for the other side of a hedge, and hid a stop that cannot be placed', () => {
    const unclear = position('2', { direction: null, liquidationDistance: 'none', disagreement: false });
    const cover = { key: 'c', mode: 'enforce', positionId: '2', blockedBy: 'directionUnknown' } as Cover;
    const inputs = seen({ positions: [position('1'), unclear], lanes: [lane({ covers: [cover] })] });
    expect(stateOf(inputs)).toMatchObject({ kind: 'blocked', cause: 'directionUnknown' });
  });
});

describe('the headline', () => {
  test('one outage of 20 accounts is one group with a count, before calm accounts', () => {
    const blind = stateOf(seen({ failures: [failure()] }));
    const accounts = Array.from({ length: 20 }, (_, index) => ({ accountId: `a${index}`, state: blind }));
    const headline = headlineOf([{ accountId: 'z', state: stateOf(seen()) }, ...accounts]);
    expect(headline.words).toBe(
      '20 accounts blind: the exchange refuses the key; z calm: 15.25 % from liquidation (BTC_PERP).',
    );
    expect(headline).toMatchObject({ kind: 'blind', severity: 'critical' });
    expect(headline.groups.map(({ count }) => count)).toEqual([20, 1]);
  });

  test('several accounts wait for "their" triggers', () => {
    const state = stateOf(busy([intent()], [order()]));
    const of = (...ids: readonly string[]) =>
      headlineOf(ids.map((accountId) => ({ accountId, state }))).words;
    expect(of('a', 'b')).toBe('2 accounts waiting for their trigger: an order waits for its price.');
    expect(of('a')).toMatch(/^a waiting for its trigger: sell /);
  });

  test('every cause has words', () => {
    for (const cause of STATE_CAUSES) expect(causeWords(cause)).toMatch(/\w/);
  });
});

const STAYS =
  'orders already at the exchange stay: 1 (sell 0.25 BTC_PERP once the price is 59940 or less, limit 59600)';

test('an order still open is shown for an account that only observes or is paused', () => {
  const lanes = [lane({ orders: [order()] })];
  expect(stateOf(seen({ mode: 'observe', lanes }))).toMatchObject({
    words: `calm: 15.25 % from liquidation (BTC_PERP); ${STAYS}`,
    severity: 'warning',
  });
  expect(stateOf(seen({ lanes })).words).not.toContain('stay');
  // If a rule acts in an observing account, its order is meant to be there.
  const acting = [lane({ orders: [order()], intents: [intent()] })];
  expect(stateOf(seen({ mode: 'observe', lanes: acting })).words).not.toContain('stay');
  const pause = { author: 'ann', reason: 'r', expiresAtMs: null, atMs: NOW } as StateInputs['pause'];
  expect(stateOf(seen({ pause, lanes: acting }))).toMatchObject({
    words: `paused by ann until it is lifted: r; ${STAYS}`,
    severity: 'info',
  });
});
