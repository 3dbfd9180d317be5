import { describe, expect, test } from 'vitest';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import { startEpoch } from '../../../src/core/lanes/recover-lane.ts';
import { classifyRejection, isAlarming } from '../../../src/core/orders/rejection.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import { ERROR_CATALOGUE } from '../../exchange/error-catalogue.ts';
import { at, Driver, failure } from './driver.ts';
import { action, all, half, protect } from './fixtures.ts';

/** What the lane does when our order ends this way. */
type Consequence =
  /** The position is read again, and shows whether that was the end. */
  | 'read'
  /** Somebody else uses our identity: fence, cancel, read, place. */
  | 'doubt'
  /** Sent again unchanged after a pause. */
  | 'again'
  /** A failed attempt with an alarm; the next one takes the next slippage. */
  | 'failed'
  /** Sent again unchanged after a pause, with one alarm when that begins. */
  | 'later'
  /** What takes its room is cancelled, with one alarm. */
  | 'room'
  /** Sent again at once on a coarser step of the market, with an alarm; no failed attempt. */
  | 'coarser'
  /** Sent again at once, with the other form of its side or half the slippage, with an alarm; no failed attempt. */
  | 'mended'
  /** The order may be there: fence, cancel, read, place. */
  | 'unknown';

const EXPECTED: Readonly<Record<string, Consequence>> = {
  reduceOnlyRefused: 'read',
  duplicateClientOrderId: 'doubt',
  rateLimited: 'again',
  rateBudgetSpent: 'again',
  nonceRefused: 'again',
  connectFailed: 'again',
  nameNotResolved: 'again',
  certificateRefused: 'again',
  connectionRefused: 'again',
  connectTimeout: 'again',
  gatewayRefused: 'again',
  addressNotAllowed: 'again',
  clientClosed: 'again',
  cancelledOnCreation: 'failed',
  clientOrderIdInvalid: 'failed',
  insufficientBalance: 'room',
  marketInvalid: 'later',
  notAvailable: 'later',
  amountInvalid: 'coarser',
  priceInvalid: 'coarser',
  positionLimit: 'failed',
  pendingValueLimit: 'room',
  sideLocked: 'failed',
  hedgeSideMismatch: 'mended',
  priceBand: 'mended',
  oppositeDirection: 'failed',
  validationFailed: 'failed',
  invalidRequest: 'failed',
  unauthenticated: 'failed',
  permissionDenied: 'failed',
  endpointNotFound: 'failed',
  requestRejected: 'failed',
  'unknown code 987': 'failed',
  internalError: 'unknown',
  gatewayFailed: 'unknown',
  replyUndecodable: 'unknown',
  temporarilyUnavailable: 'unknown',
  cancelledPartlyFilled: 'unknown',
  replyInvalid: 'unknown',
  replyNotJson: 'unknown',
  replyTooLarge: 'unknown',
  unexpectedStatus: 'unknown',
  timeout: 'unknown',
  aborted: 'unknown',
  connectionLost: 'unknown',
  proxyRefused: 'unknown',
};

/** Names with which no order can end. */
const ELSEWHERE = [
  'depositLinkFailed',
  'hedgeModeLocked',
  'loansNotAvailable',
  'noActiveLoan',
  'nothingToCancel',
];

const names = new Map(ERROR_CATALOGUE.map(({ name, effect, code }) => [name, { effect, code }]));
names.set('unknown code 987', { effect: 'none', code: 987 });

test('every entry of the error catalogue has a consequence here, and nothing else has', () => {
  expect([...names.keys()].sort()).toEqual([...Object.keys(EXPECTED), ...ELSEWHERE].sort());
});

test.for(Object.entries(EXPECTED))('an order that ends as %s: %s', ([name, consequence]) => {
  const { effect = 'none', code } = names.get(name) ?? {};
  const driver = new Driver().read(at({})).ask(action(half));
  driver.refuse({ name, effect, ...(code === undefined ? {} : { code }) });
  const { doubt, orders, intents } = driver.state;
  const failures = intents[0]?.failures;
  const alarms = driver.events.filter((event) => event.alarm).map((event) => event.kind);
  switch (consequence) {
    case 'read':
      expect({ orders, failures, alarms }).toEqual({ orders: [], failures: 0, alarms: [] });
      expect(driver.next().kind).toBe('readPositions');
      break;
    case 'doubt':
      expect(doubt?.why).toBe('duplicateUnexpected');
      expect({ failures, alarms }).toEqual({ failures: 1, alarms: ['rejected'] });
      break;
    case 'again':
      expect({ orders, failures, alarms, doubt }).toEqual({
        orders: [],
        failures: 0,
        alarms: [],
        doubt: null,
      });
      expect(driver.later(5_000).read(at({})).place().order.slippage).toBe(0.005);
      break;
    case 'failed':
      expect({ orders, failures, doubt }).toEqual({ orders: [], failures: 1, doubt: null });
      expect(alarms).toEqual(['rejected']);
      expect(driver.later(5_000).read(at({})).place().order.slippage).toBe(0.02);
      break;
    case 'room':
      expect({ orders, failures, alarms }).toEqual({ orders: [], failures: 1, alarms: ['rejected'] });
      expect(driver.cancel().why).toBe('noRoom');
      driver.later(100).read(at({})).refuse({ name, effect });
      // Once a minute: the next order goes without a cancel.
      driver.later(5_000).read(at({})).place();
      break;
    case 'later':
      expect({ orders, failures, alarms, doubt }).toEqual({
        orders: [],
        failures: 0,
        alarms: ['rejected'],
        doubt: null,
      });
      driver.later(5_000).read(at({}));
      driver.refuse({ name, effect });
      expect(driver.events.filter((event) => event.alarm)).toHaveLength(1);
      expect(driver.later(5_000).read(at({})).place().order.slippage).toBe(0.005);
      break;
    case 'mended': {
      expect({ orders, failures, alarms, doubt }).toEqual({
        orders: [],
        failures: 0,
        alarms: ['rejected'],
        doubt: null,
      });
      const { positionSide, price, activationPrice } = driver.read(at({})).place().order.request;
      expect(positionSide).toBe(name === 'priceBand' ? 'BOTH' : 'LONG');
      const slippage = 1 - Number(price) / Number(activationPrice);
      expect(slippage).toBeCloseTo(name === 'priceBand' ? 0.0025 : 0.005, 3);
      break;
    }
    case 'coarser': {
      expect({ orders, failures, alarms, doubt }).toEqual({
        orders: [],
        failures: 0,
        alarms: ['rejected'],
        doubt: null,
      });
      const { request, slippage } = driver.read(at({})).place().order;
      const step = code === 32 ? 0.01 : 1;
      const value = Number(code === 32 ? request.amount : request.activationPrice);
      expect([Math.round((value / step) * 1e6) % 1e6, slippage]).toEqual([0, 0.005]);
      break;
    }
    case 'unknown':
      expect(effect).toBe('possible');
      expect(doubt?.why).toBe('unknownOutcome');
      expect(orders).toMatchObject([{ status: 'unsure' }]);
      break;
  }
});

test.for([...names].filter(([name]) => !ELSEWHERE.includes(name)))(
  'a cancel that ends as %s',
  ([name, { effect }]) => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.ask();
    driver.start('cancelAll');
    driver.end({ kind: 'cancelAll', outcome: { kind: 'rejected', error: failure({ name, effect }) } });
    expect(driver.state.doubt).toBeNull();
    // Until the cancel can no longer arrive it is unknown whether the order stands.
    expect(driver.state.orders).toMatchObject([{ status: effect === 'possible' ? 'unsure' : 'open' }]);
    expect(driver.reasons('doubt')).toEqual(effect === 'possible' ? ['unknownOutcome'] : []);
    // No order is taken to be gone before a cancel was accepted.
    expect(driver.state.orders).toHaveLength(1);
    expect(driver.events.some((event) => event.alarm)).toBe(
      effect === 'none' && isAlarming(classifyRejection({ name }), 0),
    );
  },
);

test('a stop sent again under its own id and refused for another reason than that id may still stand', () => {
  for (const name of Object.keys(EXPECTED).filter((one) => EXPECTED[one] === 'failed')) {
    const driver = new Driver({ cancelCoversStops: false }).read(at({})).ask(action(protect));
    driver.lose('place').later(5_100).answerRead(at({}));
    expect(driver.refuse({ name }).isResend).toBe(true);
    expect(driver.state.orders).toMatchObject([{ status: 'unsure' }]);
  }
});

test('an order that an unanswered cancel may have taken down stays ambiguous after duplicates of its id', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  const orders = driver.state.orders.map((order) => ({ ...order, ambiguous: true }));
  driver.state = { ...driver.state, orders };
  for (let time = 0; time < 2; time += 1) {
    driver.later(20_000).read(at({}));
    expect(driver.refuse({ name: 'duplicateClientOrderId', code: 36 }).isResend).toBe(true);
    expect(driver.state.orders).toMatchObject([{ status: 'open', ambiguous: true }]);
  }
  // Orders are judged, so a cancelled one can be placed again.
  expect(driver.cancel().why).toBe('ambiguousMove');
  driver.answerRead(at({}));
  expect(driver.place().isResend).toBe(false);
});

describe('behind an unanswered cancel of a stop that closed a part, what closes the rest', () => {
  const left = at({ size: '0.6', mark: '930', liquidation: '900' });
  const triggered = (settings: Partial<AccountSettings> = {}) => {
    const driver = new Driver(settings).read(at({ liquidation: '900' })).ask(action(protect));
    driver.place();
    driver.later(60_000).read(left).ask(action(protect));
    driver.ordersAreTaken().lose('cancelAll').place();
    return driver;
  };
  const laterOn = (driver: Driver): Driver => driver.later(5_100).ordersAreTaken().read(left);

  test('is not taken down by another cancel of that stop', () => {
    expect(laterOn(triggered({ nonceMode: 'increasing' })).next().kind).toBe('idle');
  });

  test('may be gone, and another one goes beside it without a cancel that would take down both', () => {
    const driver = laterOn(triggered());
    expect(driver.refuse({ name: 'duplicateClientOrderId', code: 36 }).isResend).toBe(true);
    expect(driver.place()).toMatchObject({ isResend: false, request: { amount: '0.6' } });
    expect(laterOn(driver).next().kind).toBe('idle');
  });
});

test('what asks before a cancel whether orders are accepted, refused for the price band, is not asked again at once', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.place();
  const orders = driver.state.orders.map((order) => ({ ...order, ambiguous: true }));
  driver.state = { ...driver.state, orders };
  driver.later(20_000).read(at({}));
  expect(driver.refuse({ name: 'priceOutOfRange', code: 250 }).isResend).toBe(true);
  for (const pauseMs of [200, 400, 800]) {
    driver.later(pauseMs - 100).read(at({}));
    expect(driver.next().kind).not.toBe('place');
    driver.later(110).read(at({}));
    expect(driver.refuse({ name: 'priceOutOfRange', code: 250 }).isResend).toBe(true);
  }
});

describe('a question, an order sent again under its id,', () => {
  const asked = () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.lose('place').later(5_000).answerRead(at({}));
    return driver;
  };
  const tooLarge = { name: 'validationFailed', fields: { total: ['Total is greater than 100'] } };

  test('refused for its own terms, was never accepted: the order goes, and the next one obeys', () => {
    const driver = asked();
    const { order } = driver.refuse(tooLarge);
    expect(Number(order.request.amount) * Number(order.request.price)).toBeGreaterThan(100);
    expect(driver.state).toMatchObject({ doubt: null, orders: [] });
    const next = driver.read(at({})).place();
    expect(next.isResend).toBe(false);
    expect(Number(next.request.amount) * Number(next.request.price)).toBeLessThan(100);
  });

  test.each([
    ['no price since it was sent was in the band', 'Price should be greater than or equal to 1016', 0],
    ['it may have been in the band when it was sent', 'Price should be greater than or equal to 1000', 1],
    ['the market may have moved since the read', 'Price should be greater than or equal to 1012', 1],
  ])('refused for the price band: %s', (_what, words, left) => {
    const driver = new Driver().read(at({})).ask(action(half));
    const first = driver.start('place');
    driver.end({ kind: 'place', outcome: { kind: 'unknown', error: failure({ effect: 'possible' }) } });
    // Sent at a mark of 1000, and asked about at 1010, where the market stands by then.
    driver.later(2_000).read(at({ mark: '1010' }));
    for (let seconds = 0; seconds < 15; seconds++) driver.later(1_000).read(at({ mark: '1010' }));
    expect(Number(first.request.price)).toBeCloseTo(994, 0);
    expect(driver.refuse({ name: 'priceBand', fields: { price: [words] } }).isResend).toBe(true);
    expect(driver.state.orders).toHaveLength(left);
  });

  test.each([[false], [true]])(
    'refused for the terms of an order that was accepted, may still stand; a cancel was lost: %s',
    (isCancelLost) => {
      const driver = new Driver().read(at({})).ask(action(half));
      driver.place();
      const orders = driver.state.orders.map((order) => ({ ...order, ambiguous: true }));
      driver.state = { ...driver.state, orders };
      if (isCancelLost) driver.read(at({})).lose('cancelAll');
      driver.later(20_000).read(at({}));
      expect(driver.refuse(tooLarge).isResend).toBe(true);
      expect(driver.state.orders).toHaveLength(1);
    },
  );

  test('outside of the price band was asked for ever: it is not asked again, and a trial within the band shows the way', () => {
    const driver = asked();
    // Within what the market may have moved since: it may stand.
    const words = 'Price should be greater than or equal to 995.5';
    expect(driver.refuse({ name: 'priceBand', fields: { price: [words] } }).isResend).toBe(true);
    expect(driver.state.orders).toHaveLength(1);
    driver.later(20_000).read(at({}));
    const far = driver.refuse({ name: 'priceBand', fields: { price: [words] } });
    expect(far.order).toMatchObject({ trial: true, amount: '0.001', overshoot: true });
    const near = driver.answerRead(at({})).place();
    expect(near.order.trial).toBe(true);
    expect(Number(near.request.price)).toBeGreaterThanOrEqual(995.5);
    // It may fill beside the order in doubt, and people can read that.
    expect(driver.reasons('overshoot')).toContain('besideOthers');
    expect(driver.cancel().why).toBe('ambiguousMove');
    driver.answerRead(at({}));
    const next = driver.place();
    expect(next).toMatchObject({ isResend: false, order: { amount: '0.5' } });
    expect(Number(next.request.price)).toBeGreaterThanOrEqual(995.5);
  });

  test('refused for the price band, blocked the questions and orders of the whole market for ever', () => {
    const driver = asked();
    // The last price lies above the mark.
    const refused = () => driver.refuse({ name: 'priceBand', fields: { price: ['at least 999.9'] } });
    expect(refused().isResend).toBe(true);
    expect(driver.state.learned?.lowestPart).toBeUndefined();
    driver.later(61_000).read(at({}));
    expect(refused().isResend).toBe(true);
  });

  test('in a fall, an order in doubt that the market had reached took those beside it down, again and again', () => {
    const driver = new Driver().read(at({})).ask(action(half)).lose('place');
    let [cancels, mark] = [0, 1_000];
    for (let seconds = 0; seconds < 100; seconds++) {
      mark -= 0.3;
      driver.later(1_000).read(at({ mark: String(mark) }));
      const step = driver.next();
      if (step.kind === 'place') driver.place();
      if (step.kind === 'readPositions') driver.answerRead(at({ mark: String(mark) }));
      if (step.kind === 'cancelAll') {
        if (step.why === 'ambiguousMove') cancels += 1;
        driver.lose('cancelAll');
      }
    }
    expect(cancels).toBe(0);
    expect(driver.state.orders.filter(({ status }) => status === 'open').length).toBeGreaterThanOrEqual(3);
  });

  test('that asks before a cancel whether orders are taken is not asked outside of the band either', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.later(20_000);
    let refusals = 0;
    for (let seconds = 0; seconds < 100; seconds++) {
      driver.later(1_000).read(at({ mark: '1040' }));
      const step = driver.next();
      if (step.kind === 'readPositions') driver.answerRead(at({ mark: '1040' }));
      else if (step.kind === 'cancelAll') break;
      else if (step.kind === 'place' && step.isResend) {
        driver.refuse({ name: 'priceBand', fields: { price: ['at least 1008'] } });
        refusals += 1;
      } else if (step.kind === 'place') driver.place();
    }
    expect(refusals).toBe(1);
    expect(driver.cancel().why).toBe('marketMovedAway');
  });

  test('about a stop that the band refuses was asked for ever: another one goes beside it', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.lose('place').later(5_100).answerRead(at({}));
    expect(driver.refuse({ name: 'priceBand', fields: { price: ['at least 990'] } }).isResend).toBe(true);
    driver.later(10_000).read(at({}));
    expect(driver.place()).toMatchObject({ isResend: false, order: { role: 'cover' } });
  });

  test('refused by a band beyond the mark is not asked until the reduction fails', () => {
    const driver = asked();
    driver.refuse({ name: 'priceBand', fields: { price: ['at least 1000.1'] } });
    driver.later(20_000).read(at({}));
    expect(driver.place().order.trial).toBe(true);
    expect(driver.cancel().why).toBe('ambiguousMove');
    driver.answerRead(at({}));
    expect(driver.place()).toMatchObject({ isResend: false, order: { amount: '0.5' } });
  });

  test('forgets after a restart what a band refused: the clock may be another one', () => {
    const driver = asked();
    driver.refuse({ name: 'priceBand', fields: { price: ['at least 995.5'] } });
    expect(driver.state.orders[0]).toHaveProperty('refusedQuestion');
    driver.state = startEpoch(driver.state, 'second', driver.context.settings, driver.nowMs);
    expect(driver.state.orders[0]).not.toHaveProperty('refusedQuestion');
  });

  test.each(['twice', 'after a lost cancel'])(
    'about an order that had stood, in a new store %s, forgot it',
    (how) => {
      const driver = new Driver().read(at({})).ask(action(half));
      driver.place();
      const again = () => {
        driver.state = startEpoch(
          driver.state,
          `epoch ${driver.nowMs}`,
          driver.context.settings,
          driver.nowMs,
        );
      };
      if (how === 'twice') again();
      else {
        const orders = driver.state.orders.map(
          (order): OwnOrder => ({ ...order, status: 'unsure', behindCancel: true }),
        );
        driver.state = { ...driver.state, orders };
      }
      driver.later(1_000);
      again();
      expect(driver.state.orders).toHaveLength(1);
      expect(driver.state.orders[0]).not.toHaveProperty('neverConfirmed');
    },
  );

  test('that was answered makes an order of an earlier store confirmed', () => {
    const driver = asked();
    const orders = driver.state.orders.map(
      (order): OwnOrder => ({ ...order, behindCancel: true, neverConfirmed: true }),
    );
    driver.state = { ...driver.state, orders };
    driver.refuse({ name: 'duplicateClientOrderId', code: 36 });
    expect(driver.state.orders[0]).not.toHaveProperty('neverConfirmed');
  });

  test('of an earlier store epoch, never confirmed and refused for its own terms, was asked for ever', () => {
    const driver = asked();
    const orders = driver.state.orders.map(
      (order): OwnOrder => ({ ...order, behindCancel: true, neverConfirmed: true }),
    );
    driver.state = { ...driver.state, orders };
    expect(driver.refuse(tooLarge).isResend).toBe(true);
    expect(driver.state.orders).toEqual([]);
  });

  test('is not asked once the market has reached it: it was waited for, for as long as the market stayed there', () => {
    const driver = asked();
    const { activationPrice } = driver.state.orders[0]?.request ?? {};
    const reached = () => driver.later(1_000).read(at({ mark: String(Number(activationPrice) - 0.5) }));
    driver.next();
    driver.ordersAreTaken();
    reached();
    expect(driver.next().kind).not.toBe('cancelAll');
    for (let seconds = 0; seconds < 130; seconds++) reached();
    driver.ordersAreTaken();
    expect(driver.cancel().why).toBe('ambiguousMove');
  });
});

test('a price band told for another mark was learned too tight, and left a stop no slippage', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.start('place');
  driver.later(1_000).read(at({ mark: '997' }));
  const error = failure({ name: 'priceBand', fields: { price: ['Price should be at least 995'] } });
  driver.end({ kind: 'place', outcome: { kind: 'rejected', error } });
  expect(driver.state.learned?.lowestPart).toBeCloseTo(0.995, 6);
});

test('a last price below the activation, told as a bound, is obeyed', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  const words = 'Activation price should be less than 992.0';
  driver.refuse({ name: 'validationFailed', fields: { activationPrice: [words] } });
  expect(driver.state.learned?.highestPart).toBeCloseTo(0.992, 6);
  driver.answerRead(at({}));
  expect(Number(driver.place().request.activationPrice)).toBeLessThanOrEqual(992);
});

test('a price band was learned from an old mark, and left no price on this side of the market', () => {
  const driver = new Driver().read(at({})).ask(action(half));
  driver.start('place');
  driver.later(500).read(at({ mark: '1050' }));
  const error = failure({ name: 'priceBand', fields: { price: ['Price should be at least 1020'] } });
  driver.end({ kind: 'place', outcome: { kind: 'rejected', error } });
  expect(driver.state.learned?.lowestPart).toBeCloseTo(1_020 / 1_050, 6);
  // Above every mark that was seen: the market ran on before the reply.
  const other = new Driver().read(at({})).ask(action(half));
  other.refuse({ name: 'priceBand', fields: { price: ['Price should be at least 1020'] } });
  expect(other.state.learned).toBeUndefined();
  expect(
    other
      .later(1_000)
      .read(at({ mark: '1050' }))
      .next().kind,
  ).toBe('place');
});

describe('a question about an order that found no room beside a stop for everything', () => {
  const asked = (
    size?: DecimalString,
    words = 'Open reduce-only orders cover the position',
    settings: Partial<AccountSettings> = {},
  ): Driver => {
    const driver = new Driver(settings).read(at({})).ask(action(protect));
    driver.place(size === undefined ? {} : { adjustedFrom: '1' as DecimalString, amount: size });
    driver
      .later(20_000)
      .read(at({ mark: '985' }))
      .ask(action(all))
      .lose('place');
    driver.later(100).read(at({ mark: '985' }));
    driver.refuse({ name: 'reduceOnlyRefused', code: 116, message: words });
    return driver;
  };

  test('took down the stop, which alone would have saved the account', () => {
    const driver = asked();
    driver.later(5_100).read(at({ mark: '982' }));
    driver.next();
    expect(driver.reasons('doubtResolved')).toContain('noRoom');
    expect(driver.reasons('cancelling')).toEqual([]);
    expect(driver.state.orders.filter(({ status }) => status === 'open')).toMatchObject([{ role: 'cover' }]);
  });

  test('said, under `cancel: never`, that the forgotten order may still stand', () => {
    const driver = asked(undefined, undefined, { cancel: 'never' });
    driver
      .later(5_100)
      .read(at({ mark: '982' }))
      .next();
    expect(driver.reasons('doubtResolved')).toEqual(['noRoom']);
  });

  test.each([
    ['the stop leaves room', '0.6', undefined],
    ['the words say nothing of room', undefined, 'Reduce-only order with no open position'],
    ['the words name no other orders', undefined, 'No open position to cover'],
    ['the words speak of its own amount', undefined, 'Reduce-only amount exceeds position'],
  ] as const)('is not answered by it where %s', (_what, size, words) => {
    const driver = asked(size as DecimalString | undefined, words);
    driver.later(5_100).read(at({ mark: '982' }));
    expect(driver.next().kind).toBe('cancelAll');
  });
});

describe('an order in doubt that cannot be asked about', () => {
  const passed = { name: 'validationFailed', fields: { activation_price: ['has been passed already'] } };

  test('as the last price has passed its activation was asked about for ever: another one goes beside it', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.ask(action(protect), action(half, { ruleId: 'other' })).lose('place');
    const steps: string[] = [];
    for (let seconds = 0; seconds < 150; seconds++) {
      driver.later(1_000).read(at({}));
      const step = driver.next();
      if (step.kind === 'idle' || step.kind === 'wait') continue;
      steps.push(step.kind === 'place' && step.isResend ? `${step.order.role} again` : step.kind);
      if (step.kind === 'place' && step.isResend && step.order.role === 'reduce') driver.refuse(passed);
      else if (step.kind === 'place') driver.place();
      else if (step.kind === 'readPositions') driver.answerRead(at({}));
      else driver.cancel();
    }
    expect(steps.filter((step) => step === 'reduce again')).toHaveLength(1);
    // The stop for everything is not taken down for it, and the question teaches no gap.
    expect(steps).not.toContain('cancelAll');
    expect(driver.state.learned?.basis).toBeUndefined();
    expect(driver.state.orders).toMatchObject([
      { role: 'cover', status: 'open' },
      { role: 'reduce', status: 'unsure' },
      { role: 'reduce', status: 'open', amount: '0.5' },
    ]);
    expect(driver.reasons('overshoot')).toContain('besideOthers');
  });

  test('as the exchange does not repeat our ids was waited for: it is cancelled once orders are taken', () => {
    const driver = new Driver().read(at({})).ask(action(half)).lose('place');
    driver.state = { ...driver.state, unechoedMs: driver.nowMs };
    driver.later(6_000).read(at({})).next();
    expect(driver.reasons('doubtResolved')).toEqual(['beside']);
    driver.later(1_000).read(at({})).ordersAreTaken();
    driver.cancel();
    driver.later(1_000).read(at({}));
    expect(driver.place().isResend).toBe(false);
  });
});
