import { decimal } from '../../../src/core/quantities/decimal.ts';
import type { FaultSpec } from '../../../src/simulator/http/faults.ts';
import {
  interpolate,
  type PriceSource,
  sourceFromPoints,
} from '../../../src/simulator/prices/price-source.ts';
import type { AccountSpec, TimedEvent, WorldSpec } from '../../../src/world/spec.ts';

/** Milliseconds since the path began, and the price from then on (steps) or at that time (slope). */
export type Path = readonly (readonly [atMs: number, price: number])[];

/**
 * One account with its own markets and rules. In all texts `@A` stands for its market A, and so on: no scenario sees
 * the prices of another, so many can be played together.
 */
export interface Scenario {
  /** Capitals and digits: part of the names of its markets; in lower case the account's id. */
  readonly id: string;
  readonly about: string;
  /** The required result in both plays, so that they are not equal by doing nothing. */
  readonly leadsTo: 'orders' | 'wouldPlace' | 'refused' | 'liquidation' | 'nothing';
  readonly account: Omit<AccountSpec, 'id'>;
  readonly paths: Readonly<Record<string, Path>>;
  /** As in a config file; their ids are prefixed with the scenario's. */
  readonly rules: readonly RuleText[];
  /** Shipped rules and rule sets that the account uses too. */
  readonly uses?: readonly (string | { readonly use: string; readonly without: readonly string[] })[];
  /** Further keys of the account in the config. */
  readonly keys?: Readonly<Record<string, unknown>>;
  readonly faults?: readonly FaultSpec[];
  /** Latency of every request before the exchange handles it. */
  readonly latencyMs?: number;
  /** The liquidation price, if it is so near that it limits activations: they end halfway to it. */
  readonly liquidatedAt?: number;
  /** Times are since the path began. */
  readonly events?: readonly TimedEvent[];
}

export type RuleText = { readonly id: string } & Readonly<Record<string, unknown>>;

/** Scenarios that share an exchange, its readings and a daemon. */
export interface Group {
  readonly name: string;
  readonly readings?: Readonly<Record<string, unknown>>;
  /** Further keys of `exchange` in the config. */
  readonly exchange?: Readonly<Record<string, unknown>>;
  readonly scenarios: readonly Scenario[];
}

export const START_PRICE = 1_000;
/** Every account is polled at this interval, near a threshold or not. */
export const CADENCE_MS = 1_000;
export const PRICE_STEP = '0.01';
const TERMS = { amountStep: '0.01', priceStep: PRICE_STEP, minAmount: '0.01', maintenanceMargin: '0.03' };
/** Interval of price moves on a slope. */
const TICK_MS = 50;

export const accountIdOf = ({ id }: Pick<Scenario, 'id'>): string => id.toLowerCase();

/** The price jumps at each point and stays there until the next. */
export function steps(...points: Path): Path {
  return points.flatMap(([atMs, price], index) => {
    const before = points[index - 1]?.[1] ?? START_PRICE;
    return [[atMs - 1, before] as const, [atMs, price] as const];
  });
}

/** The price moves linearly from point to point, beginning at the start price. */
export function slope(...points: Path): Path {
  return [[0, START_PRICE], ...points];
}

function named<T>(scenario: Pick<Scenario, 'id'>, value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(/@([A-Z])/g, `${scenario.id}$1_PERP`)) as T;
}

function marketsOf({ id, paths }: Scenario): readonly string[] {
  return Object.keys(paths).map((letter) => `${id}${letter}_PERP`);
}

/**
 * Delays the paths and events of a scenario: so that accounts do not all act at once, and prices move at all phases of
 * the ticks.
 */
function offsetOf({ scenarios }: Group, scenario: Scenario): number {
  return (scenarios.indexOf(scenario) * APART_MS) % SPREAD_MS;
}

const APART_MS = 270;
const SPREAD_MS = 5_000;

/** By market, as they are played. */
export function pathsOf(group: Group): ReadonlyMap<string, Path> {
  return new Map(
    group.scenarios.flatMap((scenario) => {
      const offsetMs = offsetOf(group, scenario);
      return Object.entries(scenario.paths).map(([letter, path]): [string, Path] => [
        `${scenario.id}${letter}_PERP`,
        path.map(([atMs, price]) => [atMs + offsetMs, price] as const),
      ]);
    }),
  );
}

export function scenarioOf({ scenarios }: Group, market: string): Scenario | undefined {
  return scenarios.find((scenario) => marketsOf(scenario).includes(market));
}

/** Price sources of a group whose paths begin at `beginMs`, in Unix milliseconds. */
export function sourcesOf(group: Group, beginMs: number): ReadonlyMap<string, PriceSource> {
  return new Map([...pathsOf(group)].map(([market, path]) => [market, sourceOf(path, beginMs)]));
}

function sourceOf(path: Path, beginMs: number): PriceSource {
  const points = path.map(([atMs, price]) => ({ atMs: beginMs + atMs, price: decimal(price.toFixed(2)) }));
  return sourceFromPoints(interpolate(points, TICK_MS, decimal(PRICE_STEP)));
}

/** When the last path of a group has ended with its consequences, since the paths began. */
export function durationOf(group: Group): number {
  return Math.max(...[...pathsOf(group).values()].map((path) => path.at(-1)?.[0] ?? 0)) + SETTLE_MS;
}

const SETTLE_MS = 5_000;

/** The smallest and the largest price of a market within a time, both ends included. */
export function pricesWithin(path: Path, fromMs: number, toMs: number): Range {
  const inside = path.filter(([atMs]) => atMs > fromMs && atMs <= toMs).map(([, price]) => price);
  const prices = [...inside, priceAt(path, fromMs), priceAt(path, toMs)];
  return { least: Math.min(...prices), most: Math.max(...prices) };
}

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** As the source plays it: on a slope the price is that of the last tick. */
function priceAt(path: Path, atMs: number): number {
  const next = path.findIndex(([pointMs]) => pointMs > atMs);
  if (next === -1) return path.at(-1)?.[1] ?? START_PRICE;
  const [from, to] = [path[next - 1], path[next]];
  if (from === undefined || to === undefined) return START_PRICE;
  const playedMs = Math.floor((atMs - from[0]) / TICK_MS) * TICK_MS;
  return from[1] + ((to[1] - from[1]) * playedMs) / (to[0] - from[0]);
}

/** The same exchange for both plays; its prices are constant until the paths begin. */
export function exchangeOf(group: Group): WorldSpec['exchange'] {
  const markets = group.scenarios.flatMap(marketsOf);
  return {
    accounts: group.scenarios.map((scenario) =>
      named(scenario, { ...scenario.account, id: accountIdOf(scenario) }),
    ),
    prices: Object.fromEntries(markets.map((market) => [market, String(START_PRICE)])),
    markets: Object.fromEntries(markets.map((market) => [market, TERMS])),
    ...(group.readings === undefined ? {} : { readings: group.readings }),
  };
}

export function faultsOf({ scenarios }: Group): readonly FaultSpec[] {
  return scenarios.flatMap((scenario) => {
    const { latencyMs, faults = [] } = scenario;
    const latency: readonly FaultSpec[] =
      latencyMs === undefined ? [] : [{ effect: { kind: 'latency', delayMs: latencyMs } }];
    return [...latency, ...faults].map((fault) => {
      const target = Object.assign({ account: accountIdOf(scenario) }, fault.target);
      return Object.assign({}, fault, { target });
    });
  });
}

export function eventsOf(group: Group): readonly TimedEvent[] {
  return group.scenarios.flatMap((scenario) =>
    later(named(scenario, scenario.events ?? []), offsetOf(group, scenario)),
  );
}

export function later(events: readonly TimedEvent[], byMs: number): readonly TimedEvent[] {
  return events.map((event) => Object.assign({}, event, { atMs: event.atMs + byMs }));
}

/** One text for both: JSON is YAML. */
export function configText(
  group: Group,
  { baseUrl, redis }: { readonly baseUrl: string; readonly redis: unknown },
): string {
  const rules = group.scenarios.flatMap((scenario) =>
    named(scenario, scenario.rules).map((rule) => Object.assign({}, rule, { id: ruleId(scenario, rule.id) })),
  );
  const accounts = group.scenarios.map((scenario) => ({
    id: accountIdOf(scenario),
    apiKey: { env: `KEY_${scenario.id}` },
    apiSecret: { env: `SECRET_${scenario.id}` },
    rules: [...scenario.rules.map(({ id }) => ruleId(scenario, id)), ...(scenario.uses ?? [])],
    ...scenario.keys,
  }));
  const { maintenanceMargin: _, ...terms } = TERMS;
  const config = {
    mode: 'enforce',
    exchange: { baseUrls: [baseUrl], lateArrival: '2s', ...group.exchange },
    // Operator orders need a seal, because the Redis has no password.
    ...(redis === undefined
      ? {}
      : { redis, insecure: ['redis'], operators: { key: { env: 'OPERATORS_KEY' } } }),
    web: { port: 0 },
    cadence: { calm: `${CADENCE_MS}ms`, alert: `${CADENCE_MS}ms` },
    acting: { fillWithin: '12s' },
    markets: { '*_PERP': { ...terms, maintenanceMargin: '3%', money: 'USDT' } },
    accounts,
    rules,
  };
  return JSON.stringify(config, undefined, 1);
}

function ruleId({ id }: Scenario, rule: string): string {
  return `${id.toLowerCase()}-${rule}`;
}
