import { describe, expect, test } from 'vitest';
import { explainedClosures, isCancelHeldBack } from '../../../src/core/lanes/absence.ts';
import {
  advanceAccount,
  newAccountLane,
  observeAccountRequests,
} from '../../../src/core/lanes/account-lane.ts';
import { observeRead } from '../../../src/core/lanes/lane-observe.ts';
import type { ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { findPosition, type ReadObservation } from '../../../src/core/lanes/market-read.ts';
import { recover, startEpoch } from '../../../src/core/lanes/recover-lane.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { hasNothingToDo } from '../../../src/pipeline/act/lane-at-rest.ts';
import { at, Driver, ends, gone } from './driver.ts';
import { action, all, half, inMarket, protect, readAt, readPositionOf } from './fixtures.ts';

/** A list with a record set aside. */
function partly(driver: Driver, ...positions: readonly ReadPosition[]): Driver {
  driver.nowMs += 10;
  const observation = { ...readAt(driver.nowMs, ...positions), complete: false };
  driver.apply(observeRead(driver.state, observation, driver.context.settings, driver.nowMs));
  return driver;
}

const other = (changed: Partial<ReadPosition> = {}): ReadPosition =>
  readPositionOf({ positionId: '43', ...changed });

/** A list that shows nothing in this market, but something in another one. */
function elsewhere({ nowMs }: Driver): ReadObservation {
  return { ...readAt(nowMs), byMarket: inMarket([other()], 'ETH_PERP') };
}

function readElsewhere(driver: Driver): Driver {
  driver.nowMs += 10;
  driver.apply(observeRead(driver.state, elsewhere(driver), driver.context.settings, driver.nowMs));
  return driver;
}

describe('a list with a record set aside', () => {
  test('sizes the positions that it shows', () => {
    const driver = partly(new Driver().ask(action(half)), at({ size: '2' }));
    expect(driver.place().request.amount).toBe('1');
  });

  test.each([
    { dir: 1, whole: '950', part: '940', nearer: '960' },
    { dir: -1, whole: '1050', part: '1060', nearer: '1040' },
  ])('may show only a part of the pool: it moves no stop away from the market', ({ dir, ...prices }) => {
    const pooled = (price: string): ReadPosition => ({
      ...at({ liquidation: String(1000 - dir * 600) }),
      direction: dir > 0 ? 'long' : 'short',
      jointLiquidationPrice: price as DecimalString,
    });
    const limits = (driver: Driver) =>
      driver.state.jointLimits?.map(({ liquidationPrice }) => liquidationPrice);
    const driver = new Driver().read(pooled(prices.whole));
    expect(limits(partly(driver.later(1_000), pooled(prices.part)))).toEqual([prices.whole]);
    // The part it shows suffices to know that the account is nearer.
    expect(limits(partly(driver.later(1_000), pooled(prices.nearer)))).toEqual([prices.nearer]);
    expect(limits(driver.later(1_000).read(pooled(prices.part)))).toEqual([prices.part]);
    // If no other list has come for a minute, this one is all that is known.
    driver.later(1_000).read(pooled(prices.nearer));
    expect(limits(partly(driver.later(61_000), pooled(prices.part)))).toEqual([prices.part]);
  });

  test('does not make a position grow that it left out, if the next read shows it no larger than before', () => {
    const lagging = () => {
      const driver = new Driver({ readLagMs: 3_000 }).ask(action(half)).read(at({}));
      return partly(driver.later(5_000), other());
    };
    const back = lagging()
      .later(1_000)
      .read(at({ mark: '990' }), other());
    expect(back.reasons('readIgnored')).toEqual([]);
    expect(findPosition(back.state.read, '42')?.markPrice).toBe('990');
    const grown = lagging()
      .later(1_000)
      .read(at({ mark: '990', size: '2' }), other());
    expect(grown.reasons('readIgnored')).toEqual(['staleGrowth']);
  });

  test('lacked by empty lists, back at the same size: the read counts at once unless our order may have closed it', () => {
    const emptied = (driver: Driver) =>
      driver
        .later(5_000)
        .read()
        .later(1_000)
        .read(at({ mark: '990' }));
    const untouched = emptied(new Driver({ readLagMs: 3_000 }).ask(action(half)).read(at({})));
    expect(untouched.reasons('readIgnored')).toEqual([]);
    expect(findPosition(untouched.state.read, '42')?.markPrice).toBe('990');
    const ordered = new Driver({ readLagMs: 3_000 }).read(at({})).ask(action(all));
    ordered.place();
    expect(emptied(ordered).reasons('readIgnored')).toEqual(['staleGrowth']);
  });

  test('takes nothing from a position that it does not show: stop, target and anchor stay', () => {
    const driver = new Driver().read(at({})).ask(action(protect), action(half, { ruleId: 'other' }));
    driver.place();
    driver.place();
    const { orders, covers } = driver.state;
    for (let minute = 0; minute < 10; minute += 1) partly(driver.later(5_000), other());
    expect(driver.state.orders.map(({ request }) => request)).toEqual(orders.map(({ request }) => request));
    expect(driver.state.covers[0]?.anchor).toEqual(covers[0]?.anchor);
    expect(ends(driver)).toEqual(['open']);
    expect(driver.next().kind).toBe('idle');
  });

  test('fails the intent of a position hidden too long; the intent opens again when the position is seen', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    for (let read = 0; read < 40; read += 1) {
      partly(driver.later(5_000), other());
      driver.next();
    }
    expect(ends(driver)).toEqual(['failed:blocked:positionNotSeen']);
    partly(driver, at({}));
    expect(ends(driver)).toEqual(['open']);
    expect(driver.place().request.amount).toBe('0.5');
  });

  describe('in hedge mode may hide the other side', () => {
    const long = at({});
    const leg = { ...long, positionSide: 'LONG' } as const;

    test('a read of the market alone settles it', () => {
      const driver = partly(new Driver().ask(action(half)), leg).later(10);
      driver.answerRead(leg);
      expect(driver.place().request.amount).toBe('0.5');
    });

    test('if that read has the bad record too, nothing is sent that could raise the net exposure', () => {
      const driver = partly(new Driver().ask(action(half)), leg).later(10);
      driver.start('readPositions');
      const observation = { ...readAt(driver.nowMs, leg), complete: false, ofMarket: true };
      driver.end({ kind: 'readPositions', observation });
      expect(driver.next().kind).toBe('idle');
      expect(ends(driver)).toEqual(['failed:hedged']);
    });
  });
});

describe('a position that a complete list does not show', () => {
  test('keeps its target and its orders, and gets no further orders', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    for (let read = 0; read < 20; read += 1) driver.later(1_000).read();
    expect(driver.next()).toMatchObject({ kind: 'idle', why: 'blocked' });
    expect(ends(driver)).toEqual(['open']);
    driver.read(at({}));
    expect(driver.place().request.amount).toBe('0.5');
    expect(driver.reasons('targetSet')).toEqual(['by']);
  });

  test('counts against the other side of its market', () => {
    const long = readPositionOf({ positionId: '1', positionSide: 'LONG' });
    const short = readPositionOf({ positionId: '2', positionSide: 'SHORT', direction: 'short' });
    const driver = new Driver().read(long, short).read(short);
    driver.ask(action(all, { subject: 'position:2' }));
    expect(ends(driver)).toEqual(['failed:hedged']);
  });

  test('is closed at once if another one has appeared on its side', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read(other());
    expect(driver.cancel().why).toBe('positionGone');
    expect(driver.reasons('positionAbsent')).toEqual(['newPosition']);
  });

  test('is not closed by another one that was there beside it', () => {
    const driver = new Driver().read(at({}), other()).ask(action(protect));
    driver.place();
    driver.read(other());
    expect(driver.next().kind).toBe('idle');
  });

  test('survives a process change: the successor does not cancel its orders', () => {
    for (const takeOver of ['recover', 'epoch'] as const) {
      const driver = new Driver().read(at({})).ask(action(protect));
      driver.place();
      driver.read();
      const { settings } = driver.context;
      driver.state =
        takeOver === 'recover'
          ? recover(driver.state, settings, driver.nowMs).state
          : startEpoch(driver.state, 'next', settings, driver.nowMs);
      for (let second = 0; second < 20; second += 1) {
        driver.later(1_000).read();
        expect(driver.next().kind).not.toBe('cancelAll');
      }
      expect(driver.state.orders).toHaveLength(1);
    }
  });

  describe('keeps its stop under every cancel, as the stop could not be placed again', () => {
    const MARKET_CANCEL: ActionSpec = { kind: 'cancelAll', types: ['futures'], scope: 'market' };
    const cover = action(protect, { ruleId: 'cover' });

    test.for([
      ['of a rule', [cover, action(MARKET_CANCEL, { ruleId: 'clear' })]],
      ['of what has to go', []],
    ] as const)('%s', ([, asked]) => {
      const seen = new Driver().read(at({})).ask(cover);
      seen.place();
      expect(
        seen
          .ordersAreTaken()
          .ask(...asked)
          .next().kind,
      ).toBe('cancelAll');
      const hidden = new Driver().read(at({})).ask(cover);
      hidden.place();
      hidden.read().read();
      expect(
        hidden
          .ordersAreTaken()
          .ask(...asked)
          .next().kind,
      ).not.toBe('cancelAll');
      expect(hidden.state.orders).toHaveLength(1);
    });

    test('of the account', () => {
      const driver = new Driver().read(at({})).ask(cover);
      driver.place();
      const wide = action(
        { ...MARKET_CANCEL, scope: 'account' },
        { ruleId: 'clear', subjectKind: 'account' },
      );
      const { settings } = driver.context;
      const next = () => {
        const context = driver.ordersAreTaken().context;
        const observed = observeAccountRequests(newAccountLane('desk'), [wide], true, settings, driver.nowMs);
        return advanceAccount(observed, [driver.state], context, driver.nowMs).step.kind;
      };
      expect(next()).not.toBe('idle');
      driver.read().read();
      expect(next()).toBe('idle');
    });

    test('but not for a reduction that has probably closed it', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place();
      driver.ordersAreTaken().later(5_000).read();
      expect(isCancelHeldBack(driver.state)).toBe(false);
      const stopped = new Driver().read(at({})).ask(action(protect));
      stopped.place();
      stopped.later(5_000).read();
      expect(isCancelHeldBack(stopped.state)).toBe(true);
    });
  });

  test('notifies its owner once when it vanishes and once when it is back', () => {
    const driver = new Driver().read(at({})).ask(action(protect));
    driver.place();
    driver.read().read().read(at({}));
    expect(driver.reasons('positionAbsent')).toEqual(['presumedClosed', 'backAgain']);
    expect(driver.events.some(({ alarm }) => alarm)).toBe(false);
  });
});

describe('a position that our order may have closed', () => {
  describe('is not proven closed by an empty list, whether the market has reached the order or not', () => {
    const closures = ({ state, context, nowMs }: Driver) =>
      explainedClosures([state], new Set(['43']), context.settings, nowMs);

    test.each(['NEW', 'FILLED'] as const)('with order status %s', (status) => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place({ status: { known: true, value: status } });
      driver.later(5_000).read();
      expect(ends(driver)).toEqual(['open']);
      expect(driver.reasons('positionAbsent')).toEqual(['probablyClosedByOurs']);
      expect(driver.reasons('priced')).toEqual([]);
      // No alarm for a minute: it is probably done.
      driver.later(60_000).read();
      expect(driver.reasons('positionAbsent')).toEqual(['probablyClosedByOurs']);
      expect(closures(driver)).toEqual(['42']);
      // The first list with another position shows that it is gone; then the fill is reported.
      readElsewhere(driver.later(5_000));
      expect(ends(driver)).toEqual(['reached:positionGone']);
      expect(driver.reasons('priced')).toEqual(['filled']);
    });

    test('three minutes of empty lists confirm it, and the fill is reported', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place();
      for (const ms of [5_000, 90_000, 89_000]) expect(ends(driver.later(ms).read())).toEqual(['open']);
      driver.later(2_000).read();
      expect(ends(driver)).toEqual(['reached:positionGone']);
      expect(driver.reasons('positionAbsent')).toEqual(['probablyClosedByOurs', 'confirmed']);
      expect(driver.reasons('priced')).toEqual(['filled']);
    });

    test('the fill is reported although the process died meanwhile', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place();
      driver.later(5_000).read();
      driver.state = recover(driver.state, driver.context.settings, driver.nowMs).state;
      readElsewhere(driver.later(5_000));
      expect(driver.reasons('priced')).toEqual(['filled']);
    });

    test('a lane whose rule has ended keeps watching until that is certain', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place({ status: { known: true, value: 'FILLED' } });
      driver.later(5_000).read().later(170_000).ask();
      driver.later(1).ask();
      expect(hasNothingToDo(driver.state)).toBe(false);
      readElsewhere(driver.later(10_000));
      expect(driver.reasons('priced')).toEqual(['filled']);
    });

    test('two lists that show other positions confirm it', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place();
      readElsewhere(driver.later(5_000).read().later(1_000));
      expect(driver.reasons('positionAbsent')).toEqual(['probablyClosedByOurs']);
      readElsewhere(driver.later(1_000));
      expect(driver.reasons('positionAbsent')).toEqual(['probablyClosedByOurs', 'closedByOurs']);
    });

    test('alternating empty lists raise no alarm, two in a row do, with the market at a stop', () => {
      const driver = new Driver().read(at({})).ask(action(protect));
      driver.place();
      const near = at({ mark: '970.5' });
      for (let turn = 0; turn < 5; turn += 1) driver.later(2_000).read(near).later(500).read();
      expect(driver.events.filter(({ alarm }) => alarm)).toEqual([]);
      driver.later(500).read();
      expect(driver.events.filter(({ alarm }) => alarm)).toMatchObject([{ reason: 'probablyClosedByOurs' }]);
    });

    test('a later confirmation still knows that the closing was ours', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place();
      for (const ms of [5_000, 90_000, 95_000]) driver.later(ms).read();
      const { state, context } = driver;
      const later = { ...state, orders: [], absent: [] };
      const known = (nowMs: number) => explainedClosures([later], new Set(), context.settings, nowMs);
      expect(known(driver.nowMs + 60_000)).toEqual(['42']);
      expect(known(driver.nowMs + 600_000)).toEqual([]);
    });

    test('when it is back in the list its intent goes on', () => {
      const driver = new Driver().read(at({})).ask(action(all));
      driver.place();
      driver.later(5_000).read().later(5_000).read(at({}));
      expect(ends(driver)).toEqual(['open']);
      expect(driver.reasons('priced')).toEqual([]);
      expect(driver.reasons('positionAbsent')).toEqual(['probablyClosedByOurs', 'backAgain']);
    });
  });

  test('reaches its target at once; its other orders are cancelled when that is certain', () => {
    const driver = new Driver().read(at({})).ask(action(protect), action(all, { ruleId: 'closing' }));
    driver.place();
    driver.place();
    readElsewhere(driver);
    expect(ends(driver)).toEqual(['reached:positionGone']);
    expect(driver.reasons('positionAbsent')).toEqual(['explained']);
    expect(explainedClosures([driver.state], new Set(['43']), driver.context.settings, driver.nowMs)).toEqual(
      ['42'],
    );
    expect(driver.next().kind).toBe('idle');
    expect(gone(driver).cancel().why).toBe('positionGone');
  });

  test('an order that was cancelled since the newest read explains the closing, too', () => {
    const driver = new Driver().read(at({})).ask(action(all));
    driver.place();
    driver.later(4_000).read(at({ mark: '990' }));
    driver.refuse({ name: 'reduceOnlyRefused', code: 116 });
    driver.answerRead(at({ mark: '990' }));
    driver.cancel();
    driver.start('readPositions');
    driver.end({ kind: 'readPositions', observation: elsewhere(driver) });
    expect(ends(driver)).toEqual(['reached:positionGone']);
  });

  test('an order that was filled at creation explains it', () => {
    const driver = new Driver().read(at({})).ask(action(all));
    driver.place({ status: { known: true, value: 'FILLED' } });
    driver.start('readPositions');
    driver.end({ kind: 'readPositions', observation: elsewhere(driver) });
    expect(ends(driver)).toEqual(['reached:positionGone']);
  });

  test('two orders for half of it, sent in each other’s place, do not explain it: only one was to fill', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    const [first] = driver.state.orders;
    if (first === undefined) throw new Error('nothing was placed');
    const other = {
      ...first,
      status: 'unsure',
      request: { ...first.request, clientOrderId: 'bw2.other' },
    } as const;
    driver.state = { ...driver.state, orders: [...driver.state.orders, other] };
    driver.read();
    expect(ends(driver)).toEqual(['open']);
    expect(driver.reasons('positionAbsent')).toEqual(['presumedClosed']);
  });

  test('neither a partial order nor a stop that the market has not reached explains it', () => {
    const driver = new Driver().read(at({})).ask(action(half));
    driver.place();
    driver.read();
    expect(ends(driver)).toEqual(['open']);
    const covered = new Driver().read(at({})).ask(action(protect));
    covered.place();
    covered.read();
    expect(covered.reasons('positionAbsent')).toEqual(['presumedClosed']);
  });
});
