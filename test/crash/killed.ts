import { expect } from 'vitest';
import type { Point } from '../../src/pipeline/points.ts';
import { startChild } from '../daemon/child.ts';
import { drift, openScene, ours, sizeOf } from '../daemon/scene.ts';
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
  /** Killed when it passes the point for this time. */
  readonly pass: number;
  readonly scope: 'market' | 'account';
}

export const NAME = 'killed at $point (pass $pass, $scope): restarted, it ends at the target and not below';

/** No account is silent for longer after a kill. */
const MOST_SILENCE_MS = 5_000;
const USUAL_STARTUP_MS = 1_000;

export async function survives({ point, pass, scope }: KillCase): Promise<void> {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['rule'] } },
    rules: RULES.replace('ACCOUNT_OR_MARKET', scope),
  });
  const killed = startChild(world, { killAt: point, killAfter: pass });
  expect(await killed.ended).toBe('SIGKILL');
  const killedMs = simulator.model.nowMs();
  const reads = () =>
    simulator
      .requestLog({ account: 'long' })
      .filter(({ endpoint, atMs }) => endpoint === 'openPositions' && atMs > killedMs);
  const startedAtMs = performance.now();
  const again = startChild(world);
  await again.watching;
  const startupMs = performance.now() - startedAtMs;
  await eventually(() => reads().length > 0, 'a read', again.output);
  const silenceMs = (reads()[0]?.atMs ?? 0) - killedMs;
  // A busy machine takes longer to start a process; that is not the daemon's silence.
  expect(silenceMs).toBeLessThan(MOST_SILENCE_MS + Math.max(0, startupMs - USUAL_STARTUP_MS));
  await eventually(() => ours(simulator, 'long').length > 0, 'an order', again.output);
  await drift(simulator, -0.0005, () => sizeOf(simulator, 'long') < 0.5, 'a fill');
  await eventually(() => simulator.model.openOrders('long').length === 0, 'no order left', again.output);
  const settled = reads().length + 3;
  await eventually(() => reads().length >= settled, 'further reads', again.output);
  expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
  expect(await again.stop()).toBe(0);
}
