import type { RequestStep } from '../../../../src/core/lanes/lane-state.ts';
import type { ReduceTarget } from '../../../../src/core/rules/rule.ts';
import type { History } from './history.ts';
import { MARKETS } from './setup.ts';
import type { Fault } from './wire.ts';

/** A move of a history: a kind, and three numbers whose meaning depends on it. */
export type Move = readonly [kind: number, a: number, b: number, c: number];
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
  'lostAfter',
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
    const done = history.sender.work(
      (kind) => (kind === aim ? chosen : 'none'),
      (b * 37) % 2_100,
      (a * 53) % 500,
    );
    if (done.kind === 'idle') return;
    if (done.kind === 'wait') {
      if (b % 2 === 0) history.world.exchange.advanceTo(done.untilMs);
      else return;
    }
  }
};

const poll: Play = (history, a, b) => {
  const isComplete = a % 11 !== 1;
  history.reads.poll((b * 29) % 500, isComplete, a % 13 !== 2, a % 17 === 3);
};

const PRICE_MOVES = [-3, 3, -15, 15, -40, 40, -120, 120, -250, 300, -500];
const LIQUIDITY = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 1, 3];

const move: Play = (history, a, b, c) => {
  const { exchange, setup } = history.world;
  exchange.liquidity = LIQUIDITY[b % LIQUIDITY.length] ?? 0;
  const by = (PRICE_MOVES[a % PRICE_MOVES.length] ?? 0) * (c % 3 === 1 ? 1 : setup.sign);
  const basis = (c % 15) - 7;
  exchange.moveTo(exchange.mark + by + basis, exchange.mark + by);
};

const wait: Play = (history, a) =>
  history.world.exchange.advanceTo(history.world.exchange.nowMs + 50 + ((a * 97) % 2_500));

export const fire: Play = (history, a, b) => {
  const { exchange, nowMs } = history.world;
  history.rules.fire(a % 4, TARGETS[b % TARGETS.length] ?? null, exchange.positions, nowMs);
  history.reads.poll(0, true, true, false);
};

const own: Play = (history, a, b, c) => {
  const { exchange, setup } = history.world;
  const [position] = c % 2 === 0 ? exchange.positions : [...exchange.positions].reverse();
  if (!setup.ownerActs || position === undefined) return;
  history.world.seen('ownerActed');
  // Sometimes all of it.
  const lots = b % 6 === 5 ? position.lots : 1 + (b % 12);
  if (a % 5 < 2) exchange.ownerReduces(position.id, lots);
  else if (a % 5 < 4) history.people.add(position.id, lots);
  else history.people.rebuild(lots, c % 3 === 0);
};

const escalate: Play = (history, a, b) =>
  history.rules.escalate(
    a % 2,
    TARGETS[b % TARGETS.length] ?? { kind: 'to', fraction: 0 },
    history.world.nowMs,
  );
const resolve: Play = (history, a) => history.rules.resolve(a % 4);
const deliverLate: Play = (history) => history.reads.deliverLate();

/** Disruptions; rare, so that enough happens in between. */
const upset: Play = (history, a, b) => {
  const kind = b % 8;
  if (kind < 3) history.world.crash();
  else if (kind === 3) history.world.newStore();
  else if (kind === 4) history.world.takeTurns();
  else if (kind === 5) history.world.silence();
  else if (a % 2 === 0) history.world.pause();
};

/** Acts of people: operator orders, config reloads, account-wide cancels; and reads that show no mark. */
const intervene: Play = (history, a, b, c) => {
  const kind = a % 8;
  if (kind < 2) history.people.operate('reduce', (b % 4) / 4);
  else if (kind === 2) history.people.operate(b % 2 === 0 ? 'flatten' : 'urgent', 0);
  else if (kind === 3) history.people.operate('withdraw', 0);
  else if (kind === 4) history.people.reload(b % 3 === 0 ? undefined : MARKETS[b % MARKETS.length]);
  else if (kind === 5) history.reads.blind((b * 331) % 20_000);
  else history.accountWide.cancel(FAULTS[c % FAULTS.length] ?? 'none');
};

const WORKED = 6;

function workOn(history: History, fault: Fault, aim: RequestStep['kind'], delayMs: number): void {
  let left = fault;
  for (let step = 0; step < WORKED; step++) {
    const done = history.sender.work(
      (kind) => {
        if (kind !== aim) return 'none';
        const chosen = left;
        left = 'none';
        return chosen;
      },
      delayMs,
      0,
    );
    if (done.kind === 'idle' || done.kind === 'wait') return;
  }
}

const LOST: readonly Fault[] = ['late', 'lostAfter', 'late', 'crashAfter'];

/**
 * An order with an unknown outcome, followed at once by something that makes the lane cancel or place again: the order
 * on its way must not add up with what follows.
 */
const overtake: Play = (history, a, b, c) => {
  fire(history, a % 2, b, 0);
  workOn(history, LOST[a % LOST.length] ?? 'late', 'place', (c * 37) % 2_100);
  const kind = c % 6;
  if (kind < 2) fire(history, 3, 0, 0);
  else if (kind === 2) history.accountWide.cancel('none');
  else if (kind === 3) history.people.operate('reduce', (b % 4) / 4);
  else if (kind === 4) history.world.newStore();
  else escalate(history, a, b + 1, 0);
  history.reads.poll(0, true, true, false);
  workOn(history, 'none', 'place', 0);
};

/** The owner trades exactly the amount of our order near its activation, which looks like the order's fill. */
const mimic: Play = (history, a, b, c) => {
  const { exchange, setup } = history.world;
  const order = exchange.orders[a % Math.max(exchange.orders.length, 1)];
  const position = exchange.positions.find(({ id }) => id === order?.tag.positionId);
  if (!setup.ownerActs || order === undefined || position === undefined) return;
  exchange.liquidity = 0;
  const mark = order.request.activation + ((c % 3) - 1) * 2;
  exchange.moveTo(mark, mark);
  exchange.ownerReduces(position.id, order.left);
  history.world.seen('mimicked');
  history.reads.poll(0, true, true, false);
  fire(history, b % 2, c, 0);
  escalate(history, b + 1, c + 1, 0);
  history.reads.poll(0, true, true, false);
  workOn(history, 'none', 'place', 0);
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
  [1, overtake],
  [1, mimic],
];

/** Kinds of moves are numbers below this. */
export const KINDS = PLAYS.reduce((sum, [weight]) => sum + weight, 0);

export function playOf(kind: number): Play {
  let left = kind % KINDS;
  for (const [weight, played] of PLAYS) {
    if (left < weight) return played;
    left -= weight;
  }
  return work;
}
