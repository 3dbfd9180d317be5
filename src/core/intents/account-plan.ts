import type { AccountQuantities } from '../quantities/account.ts';
import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  toDecimal,
  toNumber,
  ZERO,
} from '../quantities/decimal.ts';
import { type JointPool, marginBehind, type Pooled, type PoolMarket } from '../quantities/joint-pool.ts';
import type { PositionQuantities } from '../quantities/position.ts';
import { unknown } from '../quantities/quantity.ts';
import type { MarketSettings } from '../quantities/settings.ts';
import { reported } from '../quantities/units.ts';
import type { ReduceTarget } from '../rules/rule.ts';
import { distanceTarget } from './targets.ts';

export type AccountTarget = Extract<ReduceTarget, { kind: 'untilJointDistance' | 'untilMarginUsage' }>;

export function isAccountTarget(target: ReduceTarget): target is AccountTarget {
  return target.kind === 'untilJointDistance' || target.kind === 'untilMarginUsage';
}

/** Sizes to leave, base amounts by position id. */
export type Sizes = ReadonlyMap<string, DecimalString>;

export interface PlanScene {
  /** Positions that may be reduced. */
  readonly matching: ReadonlySet<string>;
  /** Sizes that earlier plans of the same episode and stage leave; they only fall. */
  readonly targets: Sizes;
  /** An earlier plan that misses its target by at most this part of it is kept. */
  readonly tolerance: number;
}

/** One side of a market that may be reduced, in shares of the pool's buffer per base unit. */
interface Side {
  readonly market: string;
  /** 1: a long side. */
  readonly sign: number;
  /** `left`: what earlier plans leave of the position. */
  readonly legs: readonly { readonly position: PositionQuantities; readonly left: number }[];
  /** Base units that may still be taken away. */
  readonly room: number;
  readonly pullPerBase: number;
  /** By how much a reduction lowers maintenance margin; the buffer gains it. */
  readonly bufferPerBase: number;
  readonly costPerBase: number;
  /** Margin that a reduction frees, money. */
  readonly marginPerBase: number;
}

/** Cost of a reduction in a market without a configured one, a share of the notional. */
const USUAL_COST = 0.001;

/**
 * Returns the sizes to leave so that the account reaches a target at the least cost. No reduction may by itself bring
 * liquidation nearer, such as closing a hedge first. `undefined`: an input is unknown, or no reduction helps.
 */
export function planAccount(
  target: AccountTarget,
  account: AccountQuantities,
  scene: PlanScene,
): Sizes | undefined {
  const { pool } = account;
  if (pool.kind !== 'value') return undefined;
  if (target.kind === 'untilMarginUsage') {
    const isSided = account.positions.every(({ direction }) => direction.kind !== 'unknown');
    return isSided ? planMarginUsage(target, pool.value, account, scene) : undefined;
  }
  return pool.value.kind === 'apart'
    ? planApart(target.distance, account, scene)
    : planPooled(target.distance, pool.value, account, scene);
}

/** Plans positions that share no margin: each is reduced to its own distance, or closed where that does not help. */
function planApart(
  wanted: number,
  account: AccountQuantities,
  { matching, targets, tolerance }: PlanScene,
): Sizes | undefined {
  const planned = new Map(targets);
  let isShort = false;
  // What hedges a position may be missing from an incomplete list.
  const pool = account.isEveryPositionSeen ? account.pool : unknown('listIncomplete');
  for (const position of account.positions) {
    const { positionId, market, liquidationDistance, direction, record } = position;
    const terms = account.settings.marketSettings(market);
    if (!matching.has(positionId) || terms === undefined) continue;
    if (liquidationDistance.kind !== 'value' || direction.kind !== 'value') continue;
    const otherSideBase = account.positions
      .filter(
        (other) =>
          other.market === market &&
          other.direction.kind === 'value' &&
          other.direction.value !== direction.value,
      )
      .reduce((sum, other) => sum.plus(toDecimal(other.record.amount).abs()), ZERO);
    const sizeBase = toDecimal(record.amount).abs();
    const distance = liquidationDistance.value;
    isShort ||= distance < wanted;
    // With only its own margin behind it, a smaller position is no further from liquidation.
    const size =
      distance < wanted && marginBehind(position, pool, account.settings) === 'own'
        ? ZERO
        : distanceTarget({ sizeBase, otherSideBase, direction: direction.value, distance, wanted }, terms);
    if (size === undefined || size.gte(sizeBase)) continue;
    const before = targets.get(positionId);
    const isLittle =
      before !== undefined &&
      toNumber(before) - toNumber(size) <= tolerance * (position.size - toNumber(size));
    if (!isLittle) leave(planned, positionId, toNumber(size));
  }
  return isShort && planned.size === 0 ? undefined : planned;
}

function planPooled(
  wanted: number,
  pool: Pooled,
  account: AccountQuantities,
  scene: PlanScene,
): Sizes | undefined {
  const sides = pool.markets.flatMap((market) => sideOf(market, account, scene) ?? []);
  const before = project(pool, account, scene);
  const worst = Math.max(Math.abs(before.pull), ...[...before.pulls.values()].map(Math.abs));
  const enough = scene.targets.size === 0 ? wanted : wanted * (1 - scene.tolerance);
  if (worst * enough <= 1) return scene.targets;
  // First every market alone, then all of them together.
  const taken = new Map<Side, number>();
  let pull = before.pull;
  let buffer = 1;
  for (const side of sides) {
    const own = Math.abs(before.pulls.get(side.market) ?? 0);
    const perBase = gainPerBase(side, wanted) / before.buffer;
    const base = Math.min(side.room, Math.max(0, own * wanted - 1) / perBase);
    if (base <= 0) continue;
    taken.set(side, base);
    pull -= (side.sign * side.pullPerBase * base) / before.buffer;
    buffer += (side.bufferPerBase * base) / before.buffer;
  }
  const helping = sides.filter(({ sign }) => sign === Math.sign(pull));
  const missing = (Math.abs(pull) * wanted - buffer) * before.buffer;
  takeCheapest(helping, taken, missing, (side) => gainPerBase(side, wanted));
  holdHedges(taken, { ...pool, direction: Math.sign(before.pull) }, account, scene);
  const sizes = leaveAll(taken, scene);
  return sizes.size === 0 ? undefined : sizes;
}

/** Gain of a reduction by one base unit, in shares of the buffer. */
function gainPerBase({ pullPerBase, bufferPerBase }: Side, wanted: number): number {
  return wanted * pullPerBase + bufferPerBase;
}

/** Takes reductions until they cover `missing`: the cheapest first, and the same share of equally cheap ones. */
function takeCheapest(
  sides: readonly Side[],
  taken: Map<Side, number>,
  missing: number,
  gain: (side: Side) => number,
): void {
  const roomOf = (side: Side): number => side.room - (taken.get(side) ?? 0);
  const worth = (side: Side): number => gain(side) / side.costPerBase;
  const dearestLast = sides.filter((side) => gain(side) > 0).toSorted((a, b) => worth(b) - worth(a));
  let open = missing;
  for (let index = 0; index < dearestLast.length && open > 0; ) {
    const best = worth(dearestLast[index]!);
    const equal = dearestLast.slice(index).filter((side) => worth(side) >= best * (1 - SAME_WORTH));
    index += equal.length;
    const all = equal.reduce((sum, side) => sum + roomOf(side) * gain(side), 0);
    const share = all > 0 ? Math.min(1, open / all) : 0;
    for (const side of equal) taken.set(side, (taken.get(side) ?? 0) + roomOf(side) * share);
    open -= all * share;
  }
}

/** Gains per cost that differ by less count as equal: rounding of liquidation prices alone sets them this far apart. */
const SAME_WORTH = 0.05;

/** Limits the closing of hedges so that liquidation comes no nearer even if the other orders do not fill. */
function holdHedges(
  taken: Map<Side, number>,
  pool: Pooled & { readonly direction: number },
  account: AccountQuantities,
  scene: PlanScene,
): void {
  const worst = Math.max(Math.abs(pool.pull), ...pool.markets.map((market) => Math.abs(market.pull)));
  const hedges = [...taken].filter(([side]) => side.sign === -pool.direction);
  const pending = pool.markets
    .flatMap((market) => sideOf(market, account, { ...scene, targets: new Map() }) ?? [])
    .filter((side) => side.sign === -pool.direction)
    .reduce((sum, side) => sum + side.pullPerBase * pendingBase(side, scene), 0);
  const wanted = hedges.reduce((sum, [side, base]) => sum + side.pullPerBase * base, 0);
  const allowed = Math.max(0, worst - Math.abs(pool.pull) - pending);
  if (wanted <= allowed) return;
  for (const [side, base] of hedges) taken.set(side, (base * allowed) / wanted);
}

/** Amount that earlier plans take from a side but the last read still shows. */
function pendingBase({ legs }: Side, { targets }: PlanScene): number {
  return legs.reduce((sum, { position }) => sum + position.size - leftOf(position, targets), 0);
}

function leftOf({ positionId, size }: PositionQuantities, targets: Sizes): number {
  const target = targets.get(positionId);
  return target === undefined ? size : Math.min(size, toNumber(target));
}

/** Returns the larger side of a market, as far as it matches; undefined if it may not be reduced. */
function sideOf(
  { market, positions, pull, pullPerBase }: PoolMarket,
  account: AccountQuantities,
  { matching, targets }: PlanScene,
): Side | undefined {
  const terms = account.settings.marketSettings(market);
  const sign = Math.sign(pull);
  if (terms === undefined || sign === 0) return undefined;
  const isOnSide = ({ direction }: PositionQuantities): boolean =>
    direction.kind === 'value' && (direction.value === 'long' ? 1 : -1) === sign;
  const legs = positions
    .filter((position) => isOnSide(position) && matching.has(position.positionId))
    .map((position) => ({ position, left: leftOf(position, targets) }));
  const otherSide = positions
    .filter((position) => !isOnSide(position))
    .reduce((sum, { size }) => sum + size, 0);
  const left = legs.reduce((sum, leg) => sum + leg.left, 0);
  const [first] = legs;
  if (first?.position.markPrice.kind !== 'value') return undefined;
  return {
    market,
    sign,
    legs,
    // More than the net would turn the market's exposure to the other side.
    room: Math.max(0, left - otherSide),
    pullPerBase,
    bufferPerBase: bufferPerBase(pullPerBase, sign, terms),
    costPerBase: first.position.markPrice.value * (terms.reductionCost ?? USUAL_COST),
    marginPerBase: marginPerBase(first.position),
  };
}

function bufferPerBase(pullPerBase: number, sign: number, { maintenanceMargin }: MarketSettings): number {
  return (maintenanceMargin * pullPerBase) / (1 - sign * maintenanceMargin);
}

/** Returns the pool once earlier plans are carried out; pulls are shares of the buffer left then. */
function project(pool: Pooled, account: AccountQuantities, scene: PlanScene) {
  const pulls = new Map<string, number>();
  let buffer = 1;
  for (const market of pool.markets) {
    const terms = account.settings.marketSettings(market.market);
    let pull = market.pull;
    for (const position of market.positions) {
      const gone = position.size - leftOf(position, scene.targets);
      if (gone === 0 || position.direction.kind !== 'value') continue;
      const sign = position.direction.value === 'long' ? 1 : -1;
      pull -= sign * market.pullPerBase * gone;
      if (terms !== undefined) buffer += bufferPerBase(market.pullPerBase, sign, terms) * gone;
    }
    pulls.set(market.market, pull);
  }
  for (const [market, pull] of pulls) pulls.set(market, pull / buffer);
  return { pulls, pull: [...pulls.values()].reduce((sum, pull) => sum + pull, 0), buffer };
}

/** Frees margin where that costs least; the funds stay the same. */
function planMarginUsage(
  { asset, usage }: Extract<AccountTarget, { kind: 'untilMarginUsage' }>,
  pool: JointPool,
  account: AccountQuantities,
  scene: PlanScene,
): Sizes | undefined {
  const free = account.freeMargin(asset);
  const margin = account.total(asset, ({ record }) => reported(record.margin));
  if (free.kind !== 'value' || margin.kind !== 'value') return undefined;
  const positions = account.positionsIn(asset);
  const released = positions.reduce(
    (sum, position) => sum + marginPerBase(position) * (position.size - leftOf(position, scene.targets)),
    0,
  );
  const funds = margin.value + free.value;
  const enough = scene.targets.size === 0 ? usage : usage + scene.tolerance * (1 - usage);
  if (margin.value - released <= enough * funds) return scene.targets;
  const before = pool.kind === 'apart' ? undefined : project(pool, account, scene);
  const direction = Math.sign(before?.pull ?? 0);
  const markets: readonly PoolMarket[] = pool.kind === 'apart' ? positions.map(standsAlone) : pool.markets;
  const sides = markets
    .flatMap((market) => sideOf(market, account, scene) ?? [])
    .filter(({ legs }) => legs.some(({ position }) => positions.includes(position)))
    .filter(({ sign }) => direction === 0 || sign === direction);
  const taken = new Map<Side, number>();
  takeCheapest(sides, taken, margin.value - released - usage * funds, (side) => side.marginPerBase);
  return leaveAll(taken, scene);
}

function standsAlone(position: PositionQuantities): PoolMarket {
  const pull = position.direction.kind === 'value' && position.direction.value === 'short' ? -1 : 1;
  const { market, liquidationDistance: distance } = position;
  return { market, positions: [position], pull, pullPerBase: 0, distance };
}

function marginPerBase({ record, size }: PositionQuantities): number {
  return record.margin === undefined || size === 0 ? 0 : toNumber(record.margin) / size;
}

function leaveAll(taken: ReadonlyMap<Side, number>, { targets }: PlanScene): Sizes {
  const planned = new Map(targets);
  for (const [{ legs }, base] of taken) {
    const all = legs.reduce((sum, { left }) => sum + left, 0);
    if (base <= 0) continue;
    for (const { position, left } of legs) {
      leave(planned, position.positionId, left - (base * left) / all);
    }
  }
  return planned;
}

/** More digits than any amount step has, but few enough to drop rounding errors. */
const DIGITS = 12;

function leave(planned: Map<string, DecimalString>, positionId: string, left: number): void {
  const size = formatDecimal(decimalFromNumber(Number(Math.max(0, left).toPrecision(DIGITS))));
  const before = planned.get(positionId);
  if (before === undefined || toNumber(size) < toNumber(before)) planned.set(positionId, size);
}
