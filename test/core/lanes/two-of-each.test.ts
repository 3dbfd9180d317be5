import { describe, expect, test } from 'vitest';
import { newLane, type ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { recover } from '../../../src/core/lanes/recover-lane.ts';
import { orderTypesOf } from '../../../src/core/orders/order-request.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { at, Driver, failure } from './driver.ts';
import { action, half, MARKET, protect, readPositionOf } from './fixtures.ts';

/** Effects that need a second one of something: two positions, two intents, two rules; another kind of market. */

const one = readPositionOf({ positionId: '41', positionSide: 'LONG' });
const other = readPositionOf({ positionId: '42', positionSide: 'LONG' });
const halfOf = (positionId: string, ruleId = 'near') =>
  action(half, { subject: `position:${positionId}`, ruleId, episode: Number(positionId) });
const stopOf = (positionId: string) =>
  action(protect, { subject: `position:${positionId}`, ruleId: 'stop', episode: Number(positionId) });

function both(...requests: readonly ActionRequest[]): Driver {
  return new Driver({ maxAttempts: 2 }).read(one, other).ask(...requests);
}

describe('two positions', () => {
  test('a refusal of one position is not charged to the other', () => {
    const driver = both(halfOf('41'), halfOf('42'));
    const step = driver.refuse({ name: 'reduceOnlyRefused' });
    const refused = driver.state.intents.filter(({ sideRefused }) => sideRefused);
    expect(refused.map(({ positionId }) => positionId)).toEqual([step.order.positionId]);
    const costly = both(halfOf('41'), halfOf('42'));
    const failed = costly.refuse({ name: 'insufficientBalance' });
    expect(costly.state.intents.map(({ positionId, failures }) => [positionId, failures])).toEqual(
      ['41', '42'].map((id) => [id, id === failed.order.positionId ? 1 : 0]),
    );
  });

  test('an intent without attempts left fails with an alarm beside one that goes on', () => {
    const driver = both(halfOf('41'));
    driver.refuse({ name: 'insufficientBalance' });
    driver.later(10_000).read(one, other).ask(halfOf('41'), halfOf('42'));
    driver.state = {
      ...driver.state,
      intents: driver.state.intents.map((intent) =>
        intent.positionId === '41' ? { ...intent, failures: 2 } : intent,
      ),
    };
    driver.events.length = 0;
    driver.next();
    const ended = driver.events.filter(({ kind }) => kind === 'intentEnded');
    expect(ended).toMatchObject([{ positionId: '41', reason: 'failed:attempts', alarm: true }]);
    expect(driver.intents().map(({ positionId, end }) => [positionId, end?.how ?? 'open'])).toEqual([
      ['41', 'failed'],
      ['42', 'open'],
    ]);
  });

  test('the expiry of one intent does not renew the other', () => {
    const driver = both(halfOf('41'));
    driver.later(30_000).read(one, other).ask(halfOf('41'), halfOf('42'));
    driver.later(30_000).next();
    expect(driver.state.intents.map(({ positionId, renewals }) => [positionId, renewals])).toEqual([
      ['41', 1],
      ['42', 0],
    ]);
    expect(driver.events.filter(({ kind }) => kind === 'intentRenewed')).toMatchObject([
      { positionId: '41' },
    ]);
  });

  test('a stop that cannot be judged keeps its order, and the other stop is placed', () => {
    const driver = both(stopOf('41'));
    driver.place();
    const blind: ReadPosition = { ...one, liquidationPrice: null };
    driver.read(blind, other).ask(stopOf('41'), stopOf('42'));
    const step = driver.place();
    expect(step.order).toMatchObject({ role: 'cover', positionId: '42' });
    expect(driver.next().kind).toBe('idle');
    expect(driver.state.orders.map(({ positionId }) => positionId)).toEqual(['41', '42']);
  });
});

describe('within the read lag a read of two positions', () => {
  const lagging = { readLagMs: 1_000 };

  test.each([
    ['first', readPositionOf({ ...one, sizeBase: '0.7' as DecimalString }), other],
    ['second', one, readPositionOf({ ...other, sizeBase: '0.7' as DecimalString })],
  ])('is ignored if only the %s has grown again', (_which, first, second) => {
    const smaller = [
      readPositionOf({ ...one, sizeBase: '0.5' as DecimalString }),
      readPositionOf({ ...other, sizeBase: '0.5' as DecimalString }),
    ];
    const driver = new Driver(lagging)
      .read(one, other)
      .later(1_500)
      .read(...smaller);
    // The other position is as small as before, or smaller.
    const stale = [first, second].map((position) =>
      position.sizeBase === '0.7'
        ? position
        : readPositionOf({ ...position, sizeBase: '0.4' as DecimalString }),
    );
    driver.read(...stale);
    expect(driver.reasons('readIgnored')).toEqual(['staleGrowth']);
    expect(driver.state.read?.positions.map(({ sizeBase }) => sizeBase)).toEqual(['0.5', '0.5']);
    driver.later(1_500).read(...stale);
    expect(driver.state.read?.positions.map(({ sizeBase }) => sizeBase)).toEqual(
      stale.map(({ sizeBase }) => sizeBase),
    );
  });

  test.each(['41', '42'])('is ignored if only %s is the earlier position', (rebuiltId) => {
    const ofDate = (openDate: number) =>
      [one, other].map((position) =>
        readPositionOf({ ...position, ...(position.positionId === rebuiltId ? { openDate } : {}) }),
      );
    const driver = new Driver(lagging)
      .read(...ofDate(1))
      .later(1_500)
      .read(...ofDate(2));
    driver.read(...ofDate(1));
    expect(driver.reasons('readIgnored')).toEqual(['stalePosition']);
    expect(driver.state.read?.positions.find(({ positionId }) => positionId === rebuiltId)).toMatchObject({
      openDate: 2,
    });
  });
});

describe('two sides and two orders', () => {
  test('a stop as large as the net exposure does not block a reduction', () => {
    const short = readPositionOf({
      positionId: '42',
      positionSide: 'SHORT',
      direction: 'short',
      sizeBase: at({ size: '0.4' }).sizeBase,
    });
    const driver = new Driver().ordersAreTaken().read(one, short).ask(stopOf('41'));
    expect(driver.place().request).toMatchObject({ side: 'sell', amount: '0.6', positionSide: 'LONG' });
    driver.ask(stopOf('41'), halfOf('41'));
    expect(driver.place()).toMatchObject({ order: { role: 'reduce' }, request: { amount: '0.5' } });
    expect(driver.events.filter(({ alarm }) => alarm)).toEqual([]);
  });

  test('with cancel: never and a larger other side the reduction is not blocked either: together twice the net exposure', () => {
    const short = readPositionOf({
      positionId: '42',
      positionSide: 'SHORT',
      direction: 'short',
      sizeBase: at({ size: '0.6' }).sizeBase,
    });
    const driver = new Driver({ cancel: 'never' }).read(one, short).ask(stopOf('41'));
    expect(driver.place().request).toMatchObject({ side: 'sell', amount: '0.4' });
    driver.ask(stopOf('41'), halfOf('41'));
    expect(driver.place()).toMatchObject({ order: { role: 'reduce' }, request: { amount: '0.4' } });
  });

  test.for([
    ['may be that of the other', false, 2],
    ['is its fill where only activated orders outlive a cancel', true, 1],
  ] as const)('a fall by the amount of one of two %s', ([, cancelCoversStops, left]) => {
    const to = (fraction: number): ActionSpec => ({
      kind: 'reduce',
      target: { kind: 'to', fraction },
      slippageSteps: [0.005],
    });
    const driver = new Driver({ cancel: 'never', cancelCoversStops, overshoot: 'never' });
    driver.read(at({})).ask(action(to(0.9)));
    expect(driver.place().request.amount).toBe('0.1');
    driver.read(at({ mark: '990' })).ask(action(to(0.9)), action(to(0.7), { ruleId: 'other' }));
    expect(driver.place().request.amount).toBe('0.2');
    driver.read(at({ size: '0.9', mark: '980' }));
    expect(driver.state.orders).toHaveLength(left);
  });

  test('orders of an earlier store epoch count until a read after the fence and the lag', () => {
    const driver = new Driver({ readLagMs: 1_000 });
    driver.state = newLane('desk', MARKET, 'epoch', driver.nowMs);
    const resolved = [1_000, 4_500, 400, 500].map((ms) => {
      driver.later(ms).read(one, other);
      return driver.reasons('doubtResolved').length;
    });
    // The fence ends after 5 s, and a read at that time may be a second old.
    expect(resolved).toEqual([0, 0, 0, 1]);
    expect(driver.state).toMatchObject({ doubt: null, priorOrdersPossible: true });
  });
});

describe('two rules', () => {
  const cancels: ActionSpec = { kind: 'cancelAll', types: ['futures'], scope: 'market' };

  test("each has its own cancel: a finished one does not finish the other's", () => {
    const driver = new Driver().read(one).ordersAreTaken();
    driver.ask(action(cancels, { ruleId: 'first' }), action(cancels, { ruleId: 'second' }));
    expect(driver.cancel().task).toContain('first');
    expect(driver.state.cancels.map(({ ruleId, state }) => [ruleId, state])).toEqual([
      ['first', 'done'],
      ['second', 'open'],
    ]);
    expect(driver.cancel().task).toContain('second');
  });
});

describe('a process that dies in the middle of a cancel', () => {
  test('leaves a doubt about the orders that stood, and about nothing else', () => {
    const driver = both(stopOf('41'));
    driver.place();
    driver.ask(
      stopOf('41'),
      action({ kind: 'cancelAll', types: ['futures'], scope: 'market' }, { ruleId: 'all' }),
    );
    driver.start('cancelAll');
    driver.apply(recover(driver.state, driver.context.settings, driver.nowMs));
    expect(driver.reasons('doubt')).toEqual(['processDied']);
    expect(driver.state.cancels).toMatchObject([{ state: 'open', failures: 1 }]);
    expect(driver.state.cancelPendingUntilMs ?? 0).toBeGreaterThan(driver.nowMs);
  });

  test('leaves no doubt if the cancel reached none of our orders', () => {
    const driver = both(stopOf('41'));
    driver.place();
    driver.ask(
      stopOf('41'),
      action({ kind: 'cancelAll', types: ['spot'], scope: 'market' }, { ruleId: 'all' }),
    );
    driver.start('cancelAll');
    driver.apply(recover(driver.state, driver.context.settings, driver.nowMs));
    expect(driver.reasons('doubt')).toEqual([]);
    expect(driver.state.cancelPendingUntilMs).toBeUndefined();
  });
});

test.for([
  ['BTC_PERP', ['futures']],
  ['BTC_USDT', ['margin', 'futures']],
  ['BTC_USDC', ['margin', 'futures']],
  ['PERP_USDT', ['margin', 'futures']],
] as const)('cancels in %s reach %s', ([market, types]) => {
  expect(orderTypesOf(market)).toEqual(types);
});

test('a missing answer puts only the order of its own position in doubt', () => {
  const driver = both(halfOf('41'), halfOf('42'));
  const step = driver.start('place');
  driver.end({
    kind: 'place',
    outcome: { kind: 'unknown', error: failure({ name: 'timeout', effect: 'possible' }) },
  });
  expect(driver.state.orders).toMatchObject([{ positionId: step.order.positionId, status: 'unsure' }]);
  expect(driver.reasons('doubt')).toEqual(['unknownOutcome']);
});
