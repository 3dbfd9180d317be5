import { toNumber } from '../../src/core/quantities/decimal.ts';
import type { ExchangeModel } from '../../src/simulator/model/exchange-model.ts';
import type { PositionSheet } from '../../src/simulator/model/views.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { weightOf } from './coins.ts';
import type { Levels } from './factors.ts';
import type { FieldCase } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';

/** The fate of the account without protection. */
export interface Baseline {
  /** Milliseconds since the start; undefined if it survives. */
  readonly liquidatedMs: number | undefined;
  /** When the distance to liquidation first fell below the threshold; undefined if never. */
  readonly breachMs: number | undefined;
  /**
   * The uniform move of all markets that would liquidate the account then, as a fraction; infinite before the first
   * look.
   */
  readonly distanceAt: (atMs: number) => number;
  /** The price that activates stops. */
  readonly triggerAt: (market: string, atMs: number) => number;
}

/** Interval of looks between two ticks. */
const LOOK_MS = 1_000;
/** Looks begin this long before the threshold should be crossed. */
const LOOK_BEFORE_MS = 15_000;

export function unprotected(spec: WorldSpec): WorldSpec {
  const events = (spec.events ?? []).filter((event) => !('daemon' in event));
  return { ...spec, daemons: [], events };
}

export async function playUnprotected(fieldCase: FieldCase): Promise<Baseline> {
  const { world: spec, levels, threshold } = fieldCase;
  const world = openWorld(unprotected(spec));
  const markets = [...new Set((spec.exchange.accounts[0]?.positions ?? []).map(({ market }) => market))];
  const looks: Look[] = [];
  const look = (): void => {
    world.exchange.catchUp();
    const { model } = world.exchange;
    const sheets = markets.flatMap((name) => model.market(name) ?? []);
    looks.push({
      atMs: world.elapsedMs(),
      distance: distanceOf(model, levels),
      triggers: new Map(sheets.map((sheet) => [sheet.spec.name, toNumber(sheet[levels.stopTriggerSource])])),
    });
  };
  for (const atMs of lookTimes(fieldCase)) world.schedule(atMs, look);
  await runUntilLiquidated(world);
  return {
    liquidatedMs: liquidatedMs(world),
    breachMs: looks.find(({ distance }) => distance < threshold)?.atMs,
    distanceAt: (atMs) => newest(looks, atMs)?.distance ?? Number.POSITIVE_INFINITY,
    triggerAt: (market, atMs) => newest(looks, atMs)?.triggers.get(market) ?? Number.NaN,
  };
}

interface Look {
  readonly atMs: number;
  readonly distance: number;
  readonly triggers: ReadonlyMap<string, number>;
}

/** Times of looks: at every tick of a price, and periodically in between. */
function lookTimes({ world: { prices = [], durationMs }, times }: FieldCase): readonly number[] {
  const fromMs = Math.max(0, Math.floor((times.breachMs - LOOK_BEFORE_MS) / LOOK_MS) * LOOK_MS);
  const found = new Set<number>();
  for (let atMs = fromMs; atMs < durationMs; atMs += LOOK_MS) found.add(atMs);
  for (const price of prices.slice(0, 1)) {
    if (!('points' in price)) continue;
    for (const [atMs] of price.points) if (atMs >= fromMs) found.add(atMs);
  }
  return [...found].sort((a, b) => a - b);
}

function newest(looks: readonly Look[], atMs: number): Look | undefined {
  let [low, high] = [0, looks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((looks[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
    else high = middle;
  }
  return looks[low - 1];
}

/** Interval of checks for a liquidation. */
const STEP_MS = 1_000;

/** Runs to the end, to the liquidation of the account, or until the condition holds. */
export async function runUntilLiquidated(world: World, isOver: () => boolean = () => false): Promise<void> {
  const { durationMs } = world.spec;
  for (let untilMs = STEP_MS; ; untilMs += STEP_MS) {
    await world.run(Math.min(untilMs, durationMs));
    if (untilMs >= durationMs || liquidatedMs(world) !== undefined || isOver()) return;
  }
}

export function liquidatedMs({ exchange, startMs }: World): number | undefined {
  const [entry] = exchange.model.ledger({ kinds: ['liquidation_started'], accountId: ACCOUNT });
  return entry === undefined ? undefined : entry.atMs - startMs;
}

/** Distance of the pool, or with isolated margin of the nearest position. */
function distanceOf(model: ExchangeModel, { money }: Levels): number {
  const positions = model.openPositions(ACCOUNT);
  if (model.readings().marginModel === 'isolated') return Math.min(...positions.map(ownDistance));
  const { equity, maintenanceMargin, collateral } = model.account(ACCOUNT);
  const maintenance = toNumber(maintenanceMargin);
  let exposure = 0;
  for (const [asset, amount] of Object.entries(collateral)) {
    const mark = model.market(`${asset}_${money}`)?.mark;
    if (mark !== undefined) exposure += weightOf(asset) * toNumber(amount) * toNumber(mark);
  }
  for (const { direction, amount, markPrice } of positions) {
    exposure += (direction === 'long' ? 1 : -1) * toNumber(amount) * toNumber(markPrice);
  }
  // With a fall maintenance shrinks, with a rise it grows.
  const perMove = exposure > 0 ? exposure - maintenance : maintenance - exposure;
  return (toNumber(equity) - maintenance) / perMove;
}

function ownDistance({ direction, markPrice, liquidationPrice }: PositionSheet): number {
  if (liquidationPrice === null) return Number.POSITIVE_INFINITY;
  const [mark, liquidation] = [toNumber(markPrice), toNumber(liquidationPrice)];
  return ((direction === 'long' ? 1 : -1) * (mark - liquidation)) / mark;
}
