import { describe, expect, test } from 'vitest';
import type { LaneRequest } from '../../../src/core/intents/intent.ts';
import { observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import { NO_ROUTES, type RouteInputs, routeRequests } from '../../../src/core/lanes/route-requests.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { ActionSpec } from '../../../src/core/rules/rule.ts';
import { position } from '../rules/fixtures.ts';
import { at, Driver } from './driver.ts';
import { action } from './fixtures.ts';

const UNTIL: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'untilJointDistance', distance: 0.1 },
  slippageSteps: [0.01],
  positions: ['*'],
};
const request = action(UNTIL, { subjectKind: 'account', subject: 'account' });

const size = (text: string): DecimalString => text as DecimalString;
const entry = (plannedBase: string): LaneRequest => ({
  request,
  positionId: '42',
  plannedBase: size(plannedBase),
});

function ask(driver: Driver, plannedBase: string): Driver {
  const { state, context, nowMs } = driver;
  driver.apply(observeRequests(state, [entry(plannedBase)], true, context.settings, nowMs));
  return driver;
}

const target = (driver: Driver): string | null | undefined => driver.intents()[0]?.targetBase;

describe('a target planned by the account, in a lane', () => {
  test('is the size to be left, rounded up to the step', () => {
    const driver = ask(new Driver().read(at({})), '0.61234567').read(at({}));
    expect(target(driver)).toBe('0.613');
    expect(driver.place().request.amount).toBe('0.387');
  });

  test('follows the plan down, never up', () => {
    const driver = ask(new Driver().read(at({})), '0.6').read(at({}));
    expect(target(ask(driver, '0.4').read(at({})))).toBe('0.4');
    expect(target(ask(driver, '0.7').read(at({})))).toBe('0.4');
  });

  test('opens again if a later plan asks for more than was reached', () => {
    const driver = ask(new Driver({ marginModel: 'cross' }).read(at({})), '0.6').read(at({}));
    driver.read(at({ size: '0.6' }));
    expect(driver.intents()[0]?.end).toEqual({ how: 'reached', why: 'target' });
    expect(
      ask(driver, '0.6')
        .read(at({ size: '0.6' }))
        .intents()[0]?.end,
    ).not.toBeNull();
    ask(driver, '0.3').read(at({ size: '0.6' }));
    expect(driver.intents()[0]).toMatchObject({ end: null, targetBase: '0.3' });
  });

  test('does not apply to a position that was rebuilt under its id', () => {
    const driver = ask(new Driver().read(at({})), '0.2').read(at({}));
    driver.read(at({ openDate: 2 }));
    expect(driver.intents()[0]).toMatchObject({ targetBase: null, plannedBase: null });
  });
});

describe('routes of a reduction for the whole account', () => {
  const btc = position({ positionId: '1', market: 'BTC_PERP' });
  const eth = position({ positionId: '2', market: 'ETH_PERP' });
  const inputs = (changes: Partial<RouteInputs> = {}): RouteInputs => ({
    active: [request],
    conclusive: true,
    complete: true,
    positions: [btc, eth],
    accountId: 'desk',
    intentTtlMs: 60_000,
    nowMs: 1_000,
    plan: (_request, _target, refs) =>
      new Map(refs.flatMap(({ positionId }) => (positionId === '1' ? [['1', size('0.5')]] : []))),
    ...changes,
  });

  test('lead to the markets with something to reduce, with the size to be left', () => {
    const routed = routeRequests(NO_ROUTES, inputs());
    expect([...routed.byMarket]).toEqual([['BTC_PERP', [{ request, positionId: '1', plannedBase: '0.5' }]]]);
  });

  test('are planned anew with every list, given the earlier plan', () => {
    const first = routeRequests(NO_ROUTES, inputs());
    const seen: (string | undefined)[][] = [];
    const plan: RouteInputs['plan'] = (_request, _target, refs) => {
      seen.push(refs.map(({ plannedBase }) => plannedBase));
      return new Map([
        ['1', size('0.4')],
        ['2', size('0.9')],
      ]);
    };
    const second = routeRequests(first.state, inputs({ plan }));
    expect(seen).toEqual([['0.5', undefined]]);
    expect([...second.byMarket.keys()]).toEqual(['BTC_PERP', 'ETH_PERP']);
    const blind = routeRequests(second.state, inputs({ plan, complete: false, positions: [] }));
    expect(seen).toHaveLength(1);
    expect(blind.byMarket).toEqual(second.byMarket);
  });

  test('wait for what the plan depends on, and fail with an event if it never comes', () => {
    const plan = () => undefined;
    const first = routeRequests(NO_ROUTES, inputs({ plan }));
    expect(first.waiting).toEqual([request]);
    const late = routeRequests(first.state, inputs({ plan, nowMs: 11_001 }));
    expect(late.events.map(({ reason }) => reason)).toEqual(['failed:planUnknown']);
    expect(routeRequests(late.state, inputs({ plan, nowMs: 61_000 })).events).toEqual([]);
    // Once, also where reads in between show no positions.
    const blind = routeRequests(late.state, inputs({ positions: [], complete: false, nowMs: 12_000 }));
    expect(routeRequests(blind.state, inputs({ plan, nowMs: 13_000 })).events).toEqual([]);
    const known = routeRequests(NO_ROUTES, inputs());
    expect(routeRequests(known.state, inputs({ plan })).byMarket).toEqual(known.byMarket);
  });

  test('are silent if nothing is needed', () => {
    const plan = () => new Map<string, DecimalString>();
    const first = routeRequests(NO_ROUTES, inputs({ plan }));
    expect(first.waiting).toEqual([]);
    expect(routeRequests(first.state, inputs({ plan, nowMs: 11_001 })).events).toEqual([]);
  });

  test('forget the plan of a position that was rebuilt under its id', () => {
    const first = routeRequests(NO_ROUTES, inputs());
    const rebuilt = position({ ...btc, openDate: 2 });
    const seen: (string | undefined)[][] = [];
    routeRequests(
      first.state,
      inputs({
        positions: [rebuilt, eth],
        plan: (_request, _target, refs) => {
          seen.push(refs.map(({ plannedBase }) => plannedBase));
          return new Map();
        },
      }),
    );
    expect(seen).toEqual([[undefined, undefined]]);
  });
});
