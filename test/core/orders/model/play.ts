import type { DecimalString } from '../../../../src/core/decimal.ts';
import type { ReduceTarget } from '../../../../src/core/rule.ts';
import type { AccountSettings, MarketSettings } from '../../../../src/core/settings.ts';
import type { Readings } from './exchange.ts';
import { type Fault, History, type Setup, type Stats, Violation } from './history.ts';
import { MARKET } from './views.ts';

/** One thing that happens: a kind and three numbers whose meaning depends on it. */
export type Move = readonly [kind: number, a: number, b: number, c: number];
/** Choices of a history: each a small number. */
export type Choices = readonly number[];

const market: MarketSettings = {
  amountStep: '0.001' as DecimalString,
  priceStep: '0.1' as DecimalString,
  minAmount: '0.001' as DecimalString,
  maintenanceMargin: 0.03,
  basisAllowance: 0.001,
};

const coarseMarket: MarketSettings = { ...market, minAmount: '0.005' as DecimalString };
/** A step of half a percent and more: coarser than the slippage. */
const coarsePrices: MarketSettings = { ...market, priceStep: '5' as DecimalString };
const MARKETS = [market, coarseMarket, market, coarsePrices];

export const LATE_ARRIVAL_MS = 2_000;

export function setupOf(choices: Choices): Setup {
  const at = (index: number): number => choices[index] ?? 0;
  const oneIn = (index: number, n: number): boolean => at(index) % n === 1;
  const readings: Readings = {
    idScope: oneIn(0, 2) ? 'open' : 'ever',
    cancelCoversStops: at(1) % 5 < 3,
    trigger: oneIn(2, 2) ? 'mark' : 'last',
    triggersAtEquality: oneIn(3, 2),
    nonce: oneIn(4, 4) ? 'increasing' : 'unique',
    readLagMs: oneIn(5, 3) ? 500 : 0,
    hedgeMode: oneIn(6, 3),
    showsOpenDate: at(21) % 4 !== 1,
    liquidates: oneIn(22, 2) ? 'parts' : 'whole',
  };
  const config: Setup['config'] = { market: MARKETS[at(12) % MARKETS.length] };
  const settings: AccountSettings = {
    accountId: 'desk',
    mode: oneIn(7, 16) ? 'observe' : 'enforce',
    labels: {},
    bothSign: 'signed',
    ltvUnit: 'auto',
    nonceMode: readings.nonce,
    cancelCoversStops: readings.cancelCoversStops,
    cancel: oneIn(8, 8) ? 'never' : 'always',
    hedge: oneIn(9, 6) ? 'perLeg' : 'net',
    overshoot: oneIn(10, 2) ? 'audited' : 'never',
    lateArrivalMs: oneIn(23, 8) ? 0 : LATE_ARRIVAL_MS,
    readLagMs: readings.readLagMs,
    fillWithinMs: oneIn(24, 8) ? 100 : 1_500,
    intentTtlMs: 12_000,
    maxSnapshotAgeMs: 3_000,
    maxRenewals: 1,
    maxAttempts: 4,
    largestReduction: oneIn(11, 8) ? 0.6 : 1,
    cadence: { calmMs: 1_000, alertMs: 1_000 },
    marketSettings: (name) => (name === MARKET ? config.market : undefined),
  };
  return {
    readings,
    settings,
    config,
    ownerActs: oneIn(13, 2),
    lots: [10, 7, 100, 24, 16, 33][at(14) % 6] ?? 10,
    leverage: [10, 5, 12, 3][at(15) % 4] ?? 10,
    sign: oneIn(16, 2) ? -1 : 1,
    vouched: oneIn(18, 2),
    otherLots: [4, 10, 0, 7][at(17) % 4] ?? 4,
  };
}

const TARGETS: readonly ReduceTarget[] = [
  { kind: 'by', fraction: 0.5 },
  { kind: 'to', fraction: 0 },
  { kind: 'to', fraction: 0.3 },
  { kind: 'untilDistance', distance: 0.15 },
  { kind: 'by', fraction: 0.25 },
  { kind: 'toNotional', notional: '4' },
];

const FAULTS: readonly Fault[] = [
  'none',
  'lostAfter',
  'late',
  'lostBefore',
  'none',
  'crashAfter',
  'late',
  'crashBefore',
  'none',
  'refused',
  'limited',
  'duplicateReport',
  'none',
];

type Play = (history: History, a: number, b: number, c: number) => void;

const work: Play = (history, a, b, c) => {
  const chosen = FAULTS[c % FAULTS.length] ?? 'none';
  const aim = b % 5 === 0 ? 'cancelAll' : b % 5 === 1 ? 'readPositions' : 'place';
  for (let step = 0; step <= a % 6; step++) {
    const done = history.work((kind) => (kind === aim ? chosen : 'none'), (b * 37) % 2_100, (a * 53) % 500);
    if (done.kind === 'idle') return;
    if (done.kind === 'wait') {
      if (b % 2 === 0) history.exchange.advanceTo(done.untilMs);
      else return;
    }
  }
};

const poll: Play = (history, a, b) => {
  const isComplete = a % 11 !== 1;
  history.poll((b * 29) % 500, isComplete, a % 13 !== 2, a % 17 === 3);
};

const PRICE_MOVES = [-3, 3, -15, 15, -40, 40, -120, 120, -250, 300, -500];
const LIQUIDITY = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 1, 3];

const move: Play = (history, a, b, c) => {
  const { exchange, setup } = history;
  exchange.liquidity = LIQUIDITY[b % LIQUIDITY.length] ?? 0;
  const by = (PRICE_MOVES[a % PRICE_MOVES.length] ?? 0) * (c % 3 === 1 ? 1 : setup.sign);
  const basis = (c % 15) - 7;
  exchange.moveTo(exchange.mark + by + basis, exchange.mark + by);
};

const wait: Play = (history, a) =>
  history.exchange.advanceTo(history.exchange.nowMs + 50 + ((a * 97) % 2_500));

const fire: Play = (history, a, b) => {
  history.fire(a % 4, TARGETS[b % TARGETS.length] ?? null);
  history.poll(0, true, true, false);
};

const own: Play = (history, a, b, c) => {
  const { exchange, setup } = history;
  const [position] = c % 2 === 0 ? exchange.positions : [...exchange.positions].reverse();
  if (!setup.ownerActs || position === undefined) return;
  history.seen('ownerActed');
  const lots = 1 + (b % 12);
  if (a % 5 < 2) exchange.ownerReduces(position.id, lots);
  else if (a % 5 < 4) {
    exchange.ownerAdds(position.id, lots);
    history.ownerAddedMs = exchange.nowMs;
  } else history.rebuild(lots, c % 3 === 0);
};

const escalate: Play = (history, a, b) =>
  history.escalate(a % 2, TARGETS[b % TARGETS.length] ?? { kind: 'to', fraction: 0 });
const resolve: Play = (history, a) => history.resolve(a % 4);
const deliverLate: Play = (history) => history.deliverLate();

/** What breaks the run of things; rare, so that enough happens in between. */
const upset: Play = (history, a, b) => {
  const kind = b % 8;
  if (kind < 3) history.crash();
  else if (kind === 3) history.newLife();
  else if (kind === 4) history.takeTurns();
  else if (kind === 5) history.silence();
  else if (a % 2 === 0) history.pause();
};

/** What people do: by hand, in the config, to the whole account. */
const intervene: Play = (history, a, b, c) => {
  const kind = a % 8;
  if (kind < 2) history.operate('reduce', (b % 4) / 4);
  else if (kind === 2) history.operate('flatten', 0);
  else if (kind === 3) history.operate('withdraw', 0);
  else if (kind === 4) history.reload(b % 3 === 0 ? undefined : MARKETS[b % MARKETS.length]);
  else if (kind === 5) history.blind((b * 331) % 20_000);
  else history.cancelAccount(FAULTS[c % FAULTS.length] ?? 'none');
};

const PLAYS: readonly (readonly [weight: number, play: Play])[] = [
  [20, work],
  [10, poll],
  [12, move],
  [4, wait],
  [4, fire],
  [4, own],
  [2, escalate],
  [2, resolve],
  [2, deliverLate],
  [4, upset],
  [4, intervene],
];

/** Kinds of moves are numbers below this. */
export const KINDS = PLAYS.reduce((sum, [weight]) => sum + weight, 0);

function playOf(kind: number): Play {
  let left = kind % KINDS;
  for (const [weight, played] of PLAYS) {
    if (left < weight) return played;
    left -= weight;
  }
  return work;
}

export function play(choices: Choices, moves: readonly Move[], stats: Stats): History {
  const history = new History(setupOf(choices), stats);
  try {
    history.poll(0, true, true, false);
    fire(history, [0, 0, 1, 2, 0, 3][(choices[18] ?? 0) % 6] ?? 0, choices[19] ?? 0, 0);
    for (const [kind, a, b, c] of moves) playOf(kind)(history, a, b, c);
    const drift = choices[20] ?? 0;
    if (drift % 2 === 0) sweep(history);
    settle(history, drift);
    sweep(history);
    history.close();
    return history;
  } catch (error) {
    if (error instanceof Violation) error.message += `\n${history.describe()}`;
    throw error;
  }
}

/** The market runs through every order that may be open, with nobody looking: what adds up too much shows. */
function sweep(history: History): void {
  const { exchange, setup } = history;
  exchange.liquidity = Number.POSITIVE_INFINITY;
  exchange.advanceTo(exchange.nowMs + LATE_ARRIVAL_MS + 200);
  const from = exchange.mark;
  for (const percent of [0.5, 1, 1.5, 2, 2.5, 3, 2, 1, 0, -1, -2, 0]) {
    const mark = Math.round(from * (1 - (setup.sign * percent) / 100));
    exchange.moveTo(mark, mark);
  }
}

const STEPS_PER_SECOND = 60;

/**
 * Faults end, the pause is lifted: every intent that is open has to end within its time to live, times the
 * renewals it has, in the target reached or in a counted failure.
 */
function settle(history: History, drift: number): void {
  for (const actor of history.actors) actor.paused = false;
  history.endBlindness();
  history.finishAccount();
  const { settings, sign } = history.setup;
  history.ended.clear();
  const open = (): string[] =>
    history.actor.state.intents.filter((intent) => intent.end === null).map((intent) => intent.key);
  const waiting = new Set(open());
  const deadline = history.exchange.nowMs + settings.intentTtlMs * (settings.maxRenewals + 1) + 3_000;
  while (history.exchange.nowMs < deadline) {
    history.poll(0, true, true, false);
    exhaust(history);
    const present = new Set(open());
    for (const key of waiting) if (history.ended.has(key) || !present.has(key)) waiting.delete(key);
    if (waiting.size === 0) break;
    const by = drift % 3 === 0 ? 4 : drift % 3 === 1 ? -12 : -30;
    history.exchange.liquidity = Number.POSITIVE_INFINITY;
    history.exchange.moveTo(history.exchange.mark + by * sign, history.exchange.mark + by * sign);
    history.exchange.advanceTo(history.exchange.nowMs + 1_000);
  }
  if (waiting.size > 0) throw new Violation(`starved: ${[...waiting].join(', ')}`);
}

function exhaust(history: History): void {
  for (let step = 0; step < STEPS_PER_SECOND; step++) {
    const done = history.work(() => 'none', 0, 0);
    if (done.kind === 'idle') history.checkAtRest();
    if (done.kind === 'idle' || done.kind === 'wait') return;
  }
  throw new Violation('the lane does not come to rest');
}
