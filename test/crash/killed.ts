import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Point } from '../../src/pipeline/points.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { type ChildDaemon, startChild } from '../daemon/child.ts';
import { drift, move, openScene, ours, sizeOf } from '../daemon/scene.ts';
import { eventually, openDaemonWorld } from '../daemon/world.ts';

const RULES = `  - id: rule
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10s
    do:
      - notify: { channels: [log] }
      - cancelAll: { types: [futures], scope: ACCOUNT_OR_MARKET }
      - reduce: { by: 50%, slippage: 1% }
`;

export interface KillCase {
  readonly point: Point;
  /** Which pass of the point kills the daemon. */
  readonly pass: number;
  readonly scope: 'market' | 'account';
  /** Default: it keeps its state in Redis. */
  readonly withoutRedis?: true;
}

/** Bound on the silence of an account after a kill, until the next read that the exchange sees. */
const MOST_SILENCE_MS = 5_000;
/** The part of it that starting a process takes; on a slower machine it grows in proportion. */
const USUAL_START_MS = 1_500;
/** From watching to its first read. */
const MOST_REST_MS = 3_500;
/** Scenes played at once; starting their processes takes most of the time. */
const AT_ONCE = 2;

interface Played {
  readonly startMs: number;
  readonly restMs: number;
  readonly sizeBase: number;
  readonly exitCode: number | NodeJS.Signals | null;
}

/**
 * Kills the daemon at each point in a separate scene, restarts it, and checks the outcome. The scenes play before the
 * tests, several at a time; each test judges one.
 */
export function killAndRestart(cases: readonly KillCase[]): void {
  const played = new Map<KillCase, PromiseSettledResult<Played>>();

  beforeAll(async () => {
    const waiting = [...cases];
    const playOn = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [result] = await Promise.allSettled([play(next)]);
        played.set(next, result);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, playOn));
  }, 420_000);

  afterAll(() => {
    const done = [...played.values()].flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    process.stdout.write(
      `silence after a kill: ${spread(done.map(({ startMs }) => startMs))} to start, ` +
        `${spread(done.map(({ restMs }) => restMs))} from then to the first read\n`,
    );
  });

  describe('killed', () => {
    test.each(cases)(
      'at $point (pass $pass, $scope, without Redis: $withoutRedis): restarted, it reads again in time and reaches the target, not less',
      (scene) => {
        const result = played.get(scene);
        if (result?.status !== 'fulfilled') throw result?.reason ?? new Error('not played');
        const { startMs, restMs, sizeBase, exitCode } = result.value;
        const slowness = Math.max(1, startMs / USUAL_START_MS);
        expect(startMs + restMs).toBeLessThan(MOST_SILENCE_MS * slowness);
        expect(restMs).toBeLessThan(MOST_REST_MS * slowness);
        expect(sizeBase).toBeCloseTo(TARGET, 3);
        expect(exitCode).toBe(0);
      },
    );
  });
}

/** Half of what the scene opens. */
const TARGET = 0.25;
const AWAY = 0.015;
const AWAY_EVERY_MS = 3_000;
const MOST_MOVES = 30;

/**
 * The number of requests per order depends on which read arrives first. A market that moves away from the stop makes
 * the daemon cancel, read and place again, so that every point is passed often enough.
 */
async function endedWhileMarketMoves(
  killed: ChildDaemon,
  simulator: RunningSimulator,
): Promise<number | NodeJS.Signals | null> {
  for (let moves = 0; moves <= MOST_MOVES; moves++) {
    const timer = new AbortController();
    const waited = sleep(AWAY_EVERY_MS, 'alive' as const, { signal: timer.signal }).catch(
      () => 'alive' as const,
    );
    const end = await Promise.race([killed.ended, waited]);
    timer.abort();
    if (end !== 'alive') return end;
    if (ours(simulator, 'long').length > 0) move(simulator, AWAY);
  }
  throw new Error(`the point was never passed:\n${killed.output()}`);
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return `median ${Math.round(median)}, at most ${Math.round(sorted.at(-1) ?? Number.NaN)} ms`;
}

async function play({ point, pass, scope, withoutRedis }: KillCase): Promise<Played> {
  const simulator = await openScene();
  const parts = {
    accounts: { long: { rules: ['rule'] } },
    rules: RULES.replace('ACCOUNT_OR_MARKET', scope),
  };
  const world = await openDaemonWorld(simulator, parts, withoutRedis ? { redis: 'none' } : {});
  const killed = startChild(world, { killAt: point, killAfter: pass });
  const end = await endedWhileMarketMoves(killed, simulator);
  if (end !== 'SIGKILL') throw new Error(`ended with ${end} before the point:\n${killed.output()}`);
  const killedMs = simulator.model.nowMs();
  const killedAtMs = performance.now();
  const reads = () =>
    simulator
      .requestLog({ account: 'long' })
      .filter(({ endpoint, atMs }) => endpoint === 'openPositions' && atMs > killedMs);
  const again = startChild(world);
  await again.watching;
  const startMs = performance.now() - killedAtMs;
  await eventually(() => reads().length > 0, 'a read', again.output);
  const restMs = (reads()[0]?.atMs ?? 0) - killedMs - startMs;
  await eventually(() => ours(simulator, 'long').length > 0, 'an order', again.output);
  // An order sent after an activation on the wrong side is split: the farther part fills further down.
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') <= TARGET, 'the fills');
  await eventually(() => simulator.model.openOrders('long').length === 0, 'no order left', again.output);
  const settled = reads().length + 3;
  await eventually(() => reads().length >= settled, 'further reads', again.output);
  const sizeBase = sizeOf(simulator, 'long');
  return { startMs, restMs, sizeBase, exitCode: await again.stop() };
}
