import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { startChild } from './child.ts';
import { openScene } from './scene.ts';
import { eventually, openDaemonWorld } from './world.ts';

/** What a stop may take longer than beside a Redis that answers, of the daemon's own time. It was 11 s. */
const LONGER_MS = 4_500;

const NO_RULE_THAT_FIRES = `  - id: calm
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ notify: {} }]
`;

test.runIf(hasRedisServer())(
  'a daemon stops within seconds while Redis hangs, and says what is left',
  async () => {
    const server = await startRedisServer();
    closeAfterTest(() => server.stop());
    const simulator = await openScene();
    const world = await openDaemonWorld(
      simulator,
      { accounts: { long: { rules: ['calm'] } }, rules: NO_RULE_THAT_FIRES },
      { redis: { url: server.url, prefix: 'bw', stateDir: 'kept' } },
    );
    /** Returns the daemon's own measure of its stop, and its log. */
    const stopped = async (hang: (output: () => string) => Promise<void>) => {
      const { child, ended, output, watching } = startChild(world, {
        args: ['--port', '0', '--stop-within', '60'],
      });
      await watching;
      await hang(output);
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
      server.resume();
      const [, durationMs] = /"event":"stopped","durationMs":(\d+)/.exec(output()) ?? [];
      return { durationMs: Number(durationMs), log: output() };
    };
    const healthy = await stopped(async () => undefined);
    expect(healthy.log).not.toContain('Redis did not answer');
    const mostMs = healthy.durationMs + LONGER_MS;
    const atOnce = await stopped(async () => server.pause());
    expect(atOnce.durationMs).toBeLessThan(mostMs);
    expect(atOnce.log).toContain('Redis did not answer: another process or the next start takes up');
    const alone = await stopped(async (output) => {
      server.pause();
      await eventually(() => output().includes('Redis is lost'), 'the loss noticed', output);
    });
    expect(alone.durationMs).toBeLessThan(mostMs);
    expect(alone.log).toContain('the next start hands back what was done without Redis');
    // It does.
    const next = await stopped(async (output) => {
      await eventually(() => output().includes('has been handed back'), 'the hand-back', output);
    });
    expect(next.log).not.toContain('Redis did not answer');
  },
);
