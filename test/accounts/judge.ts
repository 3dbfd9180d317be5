import type { CreditLineRecord, PositionRecord } from '../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../src/core/quantities/account.ts';
import { CreditLineQuantities } from '../../src/core/quantities/credit-line.ts';
import { formatDecimal, isDecimalString, toDecimal, toNumber } from '../../src/core/quantities/decimal.ts';
import type { PositionQuantities } from '../../src/core/quantities/position.ts';
import type { AccountSettings } from '../../src/core/quantities/settings.ts';
import type { Instant, Snapshot } from '../../src/core/quantities/snapshot.ts';
import { stockOf } from '../../src/core/quantities/units.ts';
import { type AccountState, emptyAccountState } from '../../src/core/rules/account-state.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../src/core/rules/evaluate.ts';
import { createExchangeClient, type ExchangeClient } from '../../src/exchange/client.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';
import { SETTINGS } from '../core/rules/fixtures.ts';
import { ACCOUNT, buildAccount, doDeed } from './build.ts';
import { type AccountCase, COIN_WEIGHT } from './generate.ts';

/** Changes what the client read before it is judged: a planted fault. */
export interface Planted {
  readonly position?: (record: PositionRecord) => PositionRecord;
  readonly creditLine?: (record: CreditLineRecord) => CreditLineRecord;
}

interface Verdict {
  /** Figures that differ from the exchange's own by more than the digits sent allow, in words. */
  readonly findings: readonly string[];
  /** How often each figure agreed, and how often it was unknown, by reason. */
  readonly tally: Readonly<Record<string, number>>;
}

/**
 * Builds an account at the simulated exchange, reads it twice with the client, and compares what Breakwater computes
 * with the exchange's own figures.
 */
export async function judgeAccount(account: AccountCase, planted: Planted = {}): Promise<Verdict> {
  const simulator = await buildAccount(account);
  const client = clientOf(simulator);
  try {
    const report = new Report();
    let state = emptyAccountState(ACCOUNT);
    for (const [read, deeds] of [[], account.deeds].entries()) {
      for (const deed of deeds) doDeed(simulator, account, deed);
      state = await judgeRead({ account, simulator, client, planted, state, read: read + 1 }, report);
    }
    for (const error of simulator.internalErrors) report.find(`the exchange failed: ${String(error)}`);
    return { findings: report.findings, tally: Object.fromEntries(report.tally) };
  } finally {
    await client.close();
    await simulator.close();
  }
}

class Report {
  readonly findings: string[] = [];
  readonly tally = new Map<string, number>();

  find(words: string): void {
    this.findings.push(words);
  }

  count(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  /** A figure and the exchange's own, which may differ by the digits sent. */
  compare(what: string, got: number, own: number, tolerance: number): void {
    if (Math.abs(got - own) <= tolerance) this.count(what);
    else this.find(`${what} ${got}, the exchange's own ${own}, tolerance ${tolerance}`);
  }
}

interface ReadScene {
  readonly account: AccountCase;
  readonly simulator: RunningSimulator;
  readonly client: ExchangeClient;
  readonly planted: Planted;
  readonly state: AccountState;
  readonly read: number;
}

async function judgeRead(scene: ReadScene, report: Report): Promise<AccountState> {
  const { account, simulator, client, planted, state, read } = scene;
  const [positions, lines] = [await client.openPositions(), await client.creditLines()];
  if (positions.kind === 'failed' || lines.kind === 'failed') {
    report.find(`read ${read} failed`);
    return state;
  }
  const value = {
    ...positions.value,
    records: positions.value.records.map(planted.position ?? ((record) => record)),
  };
  const records = lines.value.records.map(planted.creditLine ?? ((record) => record));
  if (!value.complete || !lines.value.complete) report.find(`read ${read}: a record was set aside`);
  const settings = settingsOf(account, simulator);
  const at: Instant = { wallMs: read * 1_000, monotonicMs: read * 1_000, clockId: 'test' };
  const snapshot: Snapshot = {
    version: 1,
    accountId: ACCOUNT,
    at,
    sources: { positions: { kind: 'read', value, ageMs: 0 } },
    ownStops: [],
  };
  const seen = new AccountQuantities(snapshot, settings, at, state.positions);
  const evaluation = evaluate({ snapshot, state, now: at }, compileRules([], settings));
  comparePositions(seen, simulator, report);
  compareJoint(seen, scene, report);
  compareCreditLines(
    records.map((record) => new CreditLineQuantities(record, settings)),
    simulator,
    report,
  );
  return evaluation.state;
}

type Own = ReturnType<RunningSimulator['model']['openPositions']>[number];

/** For doubles that were divided and subtracted a few times. */
const ROUNDING = 1e-11;

function comparePositions(seen: AccountQuantities, { model }: RunningSimulator, report: Report): void {
  const own = new Map(model.openPositions(ACCOUNT).map((view) => [String(view.positionId), view]));
  if (seen.positions.length !== own.size) report.find(`${seen.positions.length} positions, ${own.size} open`);
  for (const position of seen.positions) {
    const view = own.get(position.positionId);
    if (view === undefined) report.find(`position ${position.positionId} is not open`);
    else comparePosition(position, { own: view, settings: seen.settings }, report);
  }
}

interface PositionScene {
  readonly own: Own;
  readonly settings: AccountSettings;
}

function comparePosition(
  position: PositionQuantities,
  { own, settings }: PositionScene,
  report: Report,
): void {
  const { direction, markPrice, markError, liquidationDistance } = position;
  if (toNumber(own.amount) !== position.size) report.find(`size ${position.size}`);
  if (direction.kind !== 'value') {
    const why = direction.kind === 'unknown' ? direction.why : direction.kind;
    if (isAmbiguous(position, { own, settings })) report.count(`direction: ${why}`);
    else report.find(`direction ${why}, the exchange's own ${own.direction}`);
    return;
  }
  if (direction.value !== own.direction) {
    report.find(`direction ${direction.value}, the exchange's own ${own.direction}`);
    return;
  }
  report.count('direction');
  const mark = toNumber(own.markPrice);
  if (markPrice.kind !== 'value' || markError.kind !== 'value') {
    report.find(`mark ${markPrice.kind}`);
    return;
  }
  const rounding = ROUNDING * (mark + toNumber(own.basePrice));
  report.compare('mark', markPrice.value, mark, markError.value + rounding);
  if (own.liquidationPrice === null) {
    if (liquidationDistance.kind === 'none') report.count('distance: none');
    else report.find(`distance ${liquidationDistance.kind}, the exchange has no liquidation price`);
    return;
  }
  const distance = distanceOf(own) ?? Number.NaN;
  const error = ((markError.value + rounding) * toNumber(own.liquidationPrice)) / mark ** 2 + ROUNDING;
  if (liquidationDistance.kind === 'value') {
    report.compare('distance', liquidationDistance.value, distance, error * 1.01);
  } else if (
    liquidationDistance.kind === 'unknown' &&
    liquidationDistance.why === 'disagreement' &&
    distance < error &&
    own.liquidationState !== 'liquidation'
  ) {
    report.count('distance: disagreement');
  } else {
    report.find(`distance ${JSON.stringify(liquidationDistance)}, the exchange's own ${distance}`);
  }
}

function distanceOf({ direction, markPrice, liquidationPrice }: Own): number | undefined {
  if (liquidationPrice === null) return undefined;
  const gap = markPrice.minus(liquidationPrice);
  return (toNumber(gap) / toNumber(markPrice)) * (direction === 'long' ? 1 : -1);
}

/** Whether the figures sent fit the other side as well, or not even the true one: then nothing shows the direction. */
function isAmbiguous({ record, market }: PositionQuantities, { own, settings }: PositionScene): boolean {
  const stated = record.positionSide?.known === true && record.positionSide.value !== 'BOTH';
  if (stated || record.amount.startsWith('-')) return false;
  // A coin held as collateral moves the liquidation price of its market.
  if (settings.holdings?.[stockOf(market)] !== undefined) return true;
  return fitsBothSides(own);
}

/** Whether the figures of a position, sent without its side, fit the other side as well, or not even the true one. */
export function fitsBothSides(own: Own): boolean {
  if (own.liquidationPrice === null || own.liquidationState === 'liquidation') return true;
  const sign = own.direction === 'long' ? 1 : -1;
  const gain = (toNumber(own.unrealizedPnl) / toNumber(own.amount)) * sign;
  const [base, liquidation] = [toNumber(own.basePrice), toNumber(own.liquidationPrice)];
  const slack = ROUNDING * base;
  const fits = (mark: number, side: number): boolean => mark > 0 && side * (mark - liquidation) > -slack;
  return fits(base - gain, -sign) || !fits(base + gain, sign) || sign * (base + gain - liquidation) < slack;
}

/** The uniform move that uses up what the account has above its maintenance margin, and how exactly it can be known. */
function ownJointDistance({ simulator, account }: ReadScene, seen: AccountQuantities) {
  const { model } = simulator;
  const views = model.openPositions(ACCOUNT);
  const { equity, maintenanceMargin } = model.account(ACCOUNT);
  const rates = new Map(account.markets.map(({ coin, maintenanceMargin: rate }) => [coin, Number(rate)]));
  const rateOf = (market: string): number => rates.get(stockOf(market)) ?? Number.NaN;
  const slope =
    views.reduce((sum, { market, amount, direction, markPrice }) => {
      const sign = direction === 'long' ? 1 : -1;
      return sum + (sign - rateOf(market)) * toNumber(amount) * toNumber(markPrice);
    }, 0) + Object.values(holdingsOf(simulator, account)).reduce((sum, worth) => sum + worth, 0);
  const buffer = toNumber(equity.minus(maintenanceMargin));
  const joint = account.marginModel === 'cross' ? buffer / Math.abs(slope) : Number.POSITIVE_INFINITY;
  // One that is passed without liquidation is a disagreement, and unknown.
  const distances = views.flatMap((view) => distanceOf(view) ?? []).filter((distance) => distance >= 0);
  let inverse = 0;
  let worst = 0;
  // A position of unknown side bounds the distance as exactly as either reading of it.
  const read = seen.positions.flatMap((one) => (one.direction.kind === 'unknown' ? one.ifEither : [one]));
  for (const { liquidationPrice, markPrice, markError, market } of read) {
    if (markPrice.kind !== 'value' || markError.kind !== 'value') continue;
    // Without a liquidation price it counts by its value.
    worst = Math.max(worst, markError.value / markPrice.value);
    if (liquidationPrice.kind !== 'value') continue;
    const step = Number(account.markets.find(({ coin }) => coin === stockOf(market))?.priceStep);
    const distance = Math.abs(markPrice.value - liquidationPrice.value) / markPrice.value;
    const lever = Math.max(1, liquidationPrice.value / markPrice.value);
    const error = (step + markError.value * lever) / markPrice.value / Math.max(distance, 1e-9);
    inverse += error / Math.max(distance, 1e-9);
    worst = Math.max(worst, error);
  }
  // What has no liquidation price of its own counts by the buffer that another market shows.
  const hidden =
    views.some((view) => view.liquidationPrice === null) ||
    Object.keys(seen.settings.holdings ?? {}).length > 0;
  const exact = views.length === 0 ? FAR : Math.min(FAR, joint, ...distances);
  const tolerance = exact ** 2 * inverse + (hidden ? exact * worst : 0) + 1e-9 * exact;
  return { exact, tolerance, buffer, equity: toNumber(equity) };
}

/** Differences of more than this part are too coarse to say anything. */
const TOO_COARSE = 0.1;

function compareJoint(seen: AccountQuantities, scene: ReadScene, report: Report): void {
  const { jointDistance } = seen;
  const { exact, tolerance, buffer, equity } = ownJointDistance(scene, seen);
  const state = scene.simulator.model.account(ACCOUNT).liquidationState;
  if (state === 'liquidation' || buffer <= 1e-6 * Math.abs(equity)) report.count('joint: at liquidation');
  else if (jointDistance.kind === 'none') {
    if (exact < FAR) report.find(`joint none, the exchange's own ${exact}`);
    else report.count('joint: none');
  } else if (jointDistance.kind === 'unknown') {
    const isTrue = TRUE_REASONS[jointDistance.why]?.(seen) === true;
    if (isTrue) report.count(`joint: ${jointDistance.why}`);
    else report.find(`joint ${jointDistance.why}, the exchange's own ${exact}`);
  } else if (tolerance > TOO_COARSE * exact) report.count('joint: too coarse');
  else if (jointDistance.kind === 'value' && isNearerUntold(seen, scene, jointDistance.value, exact))
    report.count('joint: nearer, as nothing tells');
  else if (jointDistance.kind === 'atMost') {
    if (exact <= jointDistance.value + tolerance) report.count('joint: at most');
    else report.find(`joint at most ${jointDistance.value}, the exchange's own ${exact}`);
  } else report.compare('joint', Math.min(FAR, jointDistance.value), exact, tolerance);
}

/**
 * Whether the account's figures leave something open, and the nearer of what is possible was taken: nothing is free, so
 * that nothing shows whether a coin counts in its market's liquidation price; or no liquidation price shows that each
 * position has its own margin.
 */
function isNearerUntold(
  { positions, settings }: AccountQuantities,
  { account }: ReadScene,
  joint: number,
  own: number,
): boolean {
  const isCoinOpen =
    positions.some(({ market }) => settings.holdings?.[stockOf(market)] !== undefined) &&
    positions.some(({ record }) => Number(record.freeMargin) <= 0);
  const isModelOpen =
    settings.marginModel === 'auto' &&
    account.marginModel === 'isolated' &&
    positions.every(({ liquidationPrice }) => liquidationPrice.kind === 'none');
  return (isCoinOpen || isModelOpen) && joint < own;
}

/** When an unknown joint distance says the truth. */
const TRUE_REASONS: Readonly<Record<string, (seen: AccountQuantities) => boolean>> = {
  directionUnknown: ({ positions }) => positions.some(({ direction }) => direction.kind !== 'value'),
  disagreement: ({ positions }) =>
    positions.some(({ disagreement }) => disagreement.kind === 'value' && disagreement.value),
  // Nothing is free, and no liquidation price shows what is left.
  notPositive: ({ positions }) => positions.some(({ record }) => Number(record.freeMargin) <= 0),
};

/** A move so large that no rule asks for it. */
const FAR = 100;

function compareCreditLines(
  lines: readonly CreditLineQuantities[],
  { model }: RunningSimulator,
  report: Report,
): void {
  const own = model.creditLines(ACCOUNT);
  if (lines.length !== own.length) report.find(`${lines.length} credit lines, ${own.length} open`);
  for (const [index, line] of lines.entries()) {
    const loan = own[index];
    if (loan === undefined) continue;
    for (const field of ['currentLtv', 'initialLtv', 'marginCallLtv', 'liquidationLtv'] as const) {
      const ltv = line.ltv(field);
      if (ltv.kind === 'value') report.compare(field, ltv.value, toNumber(loan[field]), 1e-9);
      else report.find(`${field} ${JSON.stringify(ltv)}`);
    }
    const { exactDebt } = line;
    const debt = formatDecimal(loan.amount.plus(loan.totalFunding));
    if (exactDebt.kind !== 'value' || !toDecimal(exactDebt.value).eq(toDecimal(debt)))
      report.find(`debt ${JSON.stringify(exactDebt)}, the exchange's own ${debt}`);
    else report.count('debt');
  }
}

/** Worth of the coins held as collateral, as a person would configure it. */
function holdingsOf({ model }: RunningSimulator, { money, markets }: AccountCase): Record<string, number> {
  const { collateral } = model.account(ACCOUNT);
  return Object.fromEntries(
    markets.flatMap(({ coin }) => {
      const held = collateral[coin];
      const mark = model.market(`${coin}_${money}`)?.mark;
      return held === undefined || mark === undefined
        ? []
        : [[coin, toNumber(held) * toNumber(mark) * (toNumber(held) < 0 ? 1 : COIN_WEIGHT)]];
    }),
  );
}

function settingsOf(account: AccountCase, simulator: RunningSimulator): AccountSettings {
  const holdings = holdingsOf(simulator, account);
  return {
    ...SETTINGS,
    accountId: ACCOUNT,
    bothSign: account.shortAmount,
    ltvUnit: 'auto',
    marginModel: account.seed % 2 === 0 ? 'auto' : account.marginModel,
    ...(Object.keys(holdings).length === 0 ? {} : { holdings }),
    marketSettings: (market) => {
      const terms = account.markets.find(({ coin }) => coin === stockOf(market));
      if (terms === undefined) return undefined;
      return {
        amountStep: exact(terms.amountStep),
        priceStep: exact(terms.priceStep),
        minAmount: exact(terms.minAmount),
        maintenanceMargin: Number(terms.maintenanceMargin),
        basisAllowance: 0.001,
        money: account.money,
      };
    },
  };
}

function exact(text: string) {
  if (!isDecimalString(text)) throw new TypeError(`not a decimal: ${text}`);
  return text;
}

function clientOf(simulator: RunningSimulator): ExchangeClient {
  const [keys] = simulator.accounts;
  if (keys === undefined) throw new TypeError('no account');
  return createExchangeClient({
    baseUrls: simulator.baseUrls,
    credentials: { apiKey: keys.apiKey, apiSecret: keys.apiSecret },
    retry: { maxAttempts: 1 },
    timeouts: { attemptMs: 60_000, storeMs: 60_000 },
    nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock) },
    limiter: {
      store: createMemoryRateLimitStore(systemClock),
      fallback: createMemoryRateLimitStore(systemClock),
    },
  });
}
