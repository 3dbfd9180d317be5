import { isHeld } from '../../../../src/core/lanes/absence.ts';
import { checkAtRest } from './at-rest.ts';
import { History } from './history.ts';
import { fire, type Move, playOf } from './moves.ts';
import { type Choices, LATE_ARRIVAL_MS, setupOf } from './setup.ts';
import { type Stats, Violation } from './tally.ts';

export function play(choices: Choices, moves: readonly Move[], stats: Stats): History {
  const history = new History(setupOf(choices), stats);
  try {
    history.reads.poll(0, true, true, false);
    fire(history, [0, 2, 1, 2, 0, 3][(choices[25] ?? 0) % 6] ?? 0, choices[19] ?? 0, 0);
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

/** Moves the market through every open order while the lane does not run: orders that add up to too much show. */
function sweep(history: History): void {
  const { exchange, setup } = history.world;
  exchange.liquidity = Number.POSITIVE_INFINITY;
  exchange.advanceTo(exchange.nowMs + LATE_ARRIVAL_MS + 200);
  const from = exchange.mark;
  for (const percent of [0.5, 1, 1.5, 2, 2.5, 3, 2, 1, 0, -1, -2, 0]) {
    const mark = Math.round(from * (1 - (setup.sign * percent) / 100));
    exchange.moveTo(mark, mark);
  }
}

const STEPS_PER_SECOND = 60;
/** How long a position that no list shows counts as open. */
const ABSENT_MS = 180_000;

/**
 * Ends all faults and the pause. Every open intent then has to end within its time to live times its renewals, with its
 * target reached or with a counted failure.
 */
function settle(history: History, drift: number): void {
  for (const actor of history.world.actors) actor.paused = false;
  history.reads.endBlindness();
  history.accountWide.finish();
  const { settings, sign } = history.world.setup;
  history.world.watch.ended.clear();
  const open = (): string[] =>
    history.world.actor.state.intents.filter((intent) => intent.end === null).map((intent) => intent.key);
  const waiting = new Set(open());
  const livesMs = settings.intentTtlMs * (settings.maxRenewals + 1);
  const deadline = history.world.exchange.nowMs + livesMs + 2 * ABSENT_MS;
  while (history.world.exchange.nowMs < deadline) {
    history.reads.poll(0, true, true, false);
    exhaust(history);
    const present = new Set(open());
    for (const key of waiting)
      if (history.world.watch.ended.has(key) || !present.has(key)) waiting.delete(key);
    if (waiting.size === 0) break;
    const { state } = history.world.actor;
    const isUnseen = state.intents.every(({ end, positionId }) => end !== null || isHeld(state, positionId));
    const by = drift % 3 === 0 ? 4 : drift % 3 === 1 ? -12 : -30;
    history.world.exchange.liquidity = Number.POSITIVE_INFINITY;
    history.world.exchange.moveTo(
      history.world.exchange.mark + by * sign,
      history.world.exchange.mark + by * sign,
    );
    history.world.exchange.advanceTo(history.world.exchange.nowMs + (isUnseen ? ABSENT_MS / 3 : 1_000));
  }
  if (waiting.size > 0) throw new Violation(`starved: ${[...waiting].join(', ')}`);
  confirmClosures(history);
}

/** Positions that count as open without being shown are closed in time, and their orders cancelled. */
function confirmClosures(history: History): void {
  const isWaiting = (): boolean =>
    (history.world.actor.state.absent ?? []).some(({ phase }) => phase !== 'closed');
  for (let read = 0; read < 5 && isWaiting(); read++) {
    history.world.exchange.advanceTo(history.world.exchange.nowMs + ABSENT_MS / 3);
    history.reads.poll(0, true, true, false);
    exhaust(history);
  }
  if (isWaiting()) throw new Violation('a closed position is waited for');
}

function exhaust(history: History): void {
  for (let step = 0; step < STEPS_PER_SECOND; step++) {
    const done = history.sender.work(() => 'none', 0, 0);
    if (done.kind === 'idle') checkAtRest(history.world);
    if (done.kind === 'idle' || done.kind === 'wait') return;
  }
  throw new Violation('the lane does not come to rest');
}
