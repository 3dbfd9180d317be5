import process from 'node:process';
import type { Daemon } from '../../src/app/daemon.ts';
import type { PrivateRedis } from '../../src/redis-server/private-redis.ts';
import type { SeedAccount } from '../../src/simulator/model/types.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import type { PageOverview } from '../../src/web/page/contract.d.ts';
import { startReceiver } from '../notify/receiver.ts';
import type { Closers } from '../support/closers.ts';
import { accountHead, configHead, drift, openParts, seed, startOn, until } from './desk.ts';

/** The pictures of all states: how to reach each one, and what the page must say then. */

/** Every fifth is short and every third far from liquidation, so that a crash hits most but not all. */
function seeds(mode: Mode, count: number): readonly SeedAccount[] {
  return Array.from({ length: count }, (_, index) =>
    seed(
      `desk-${String(index + 1).padStart(3, '0')}`,
      mode === 'approve' || index % 3 === 2 ? '25000' : '4600',
      ['BTC_PERP', index % 5 === 4 ? 'short' : 'long', '0.5'],
    ),
  );
}

const HOOK = 'a-secret-of-a-receiver-for-pictures';
const RULES: Readonly<Record<Mode, string>> = {
  enforce: `  - id: near-liquidation
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 10%, slippage: 0.5% } }]
    severity: critical
`,
  approve: `  - id: halve
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
`,
};

export type Mode = 'enforce' | 'approve';

export interface Scene {
  readonly count: number;
  readonly simulator: RunningSimulator;
  readonly redis: PrivateRedis;
  readonly daemon: Daemon;
}

export async function openScene(mode: Mode, count: number, closers: Closers): Promise<Scene> {
  const parts = await openParts(
    // A separate Redis for this scene: it is stopped while the daemon uses it.
    { env: { ...process.env, REDIS_URL: undefined }, name: 'states', accounts: seeds(mode, count) },
    closers,
  );
  const { simulator, redis } = parts;
  const receiver = await startReceiver();
  closers.add(() => receiver.close());
  const rule = mode === 'enforce' ? 'near-liquidation' : 'halve';
  const accounts = simulator.accounts.map(({ id }) => `${accountHead(id)}    rules: [${rule}]\n`);
  // With a longer wait or `fillWithin` too little time would be left to ask: the rule would act at once.
  const text = `${configHead(mode, parts)}cadence: { calm: 2s, alert: 1s }
${mode === 'enforce' ? 'acting: { fillWithin: 120s }\n' : `approval: { within: 5m, withoutAnswer: hold }\nchannels: { hook: { type: webhook, url: "${receiver.url}/hook", secret: { env: HOOK } } }\n`}markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('')}rules:
${RULES[mode]}`;
  return { count, simulator, redis, daemon: await startOn(simulator, text, closers, { HOOK }) };
}

/** Waits until the API reports the expected states and failures. */
async function untilSaid({ daemon }: Scene, words: RegExp): Promise<void> {
  let said = '';
  const isSaid = async () => {
    const reply = await fetch(`${daemon.webUrl()}/api/v1/overview`);
    const { headline, degraded } = (await reply.json()) as PageOverview;
    said = [headline.words, ...degraded].join(' ');
    return words.test(said);
  };
  await until(isSaid, String(words)).catch((cause: unknown) => {
    throw new Error(`it says: ${said}`, { cause });
  });
}

export interface State {
  readonly name: string;
  readonly mode: Mode;
  /** Brings the state about. */
  enter(scene: Scene): Promise<void>;
  readonly headline: RegExp;
  readonly firstLine: RegExp;
}

/** Nothing else is wrong, such as a schedule disturbed by load, which the page mentions for a minute. */
const ALL_CALM = /^(desk-001 calm: [^;]+|\d+ accounts calm)\.$/;

/** In the order in which one exchange and one daemon pass through the states of a mode. */
export const STATES: readonly State[] = [
  {
    name: 'calm',
    mode: 'enforce',
    enter: (scene) => untilSaid(scene, ALL_CALM),
    headline: ALL_CALM,
    firstLine: /Calm: [\d.]+ % from liquidation/,
  },
  {
    name: 'crash',
    mode: 'enforce',
    async enter(scene) {
      await drift(scene.simulator, 22, -0.004);
      await untilSaid(scene, /waiting for (its|their) trigger/);
    },
    headline: /^(desk-001 waiting for its trigger: sell |\d+ accounts waiting for their trigger: )/,
    firstLine: /Waiting for its trigger: sell [\d.]+ BTC_PERP once the price is /,
  },
  {
    name: 'exchange-down',
    mode: 'enforce',
    async enter(scene) {
      scene.simulator.injectFault({ effect: { kind: 'reset' }, target: {} });
      await untilSaid(
        scene,
        scene.count === 1 ? /^desk-001 blind: / : new RegExp(`^${scene.count} accounts blind: `),
      );
    },
    headline: /^(desk-001|\d+ accounts) blind: the exchange is unreachable/,
    firstLine: /Blind: the exchange is unreachable/,
  },
  {
    name: 'redis-down',
    mode: 'enforce',
    async enter(scene) {
      scene.simulator.clearFaults();
      await untilSaid(scene, /^(?!.*blind)/);
      await scene.redis.stop();
      await untilSaid(scene, /Redis is down|redis/);
    },
    headline: /Redis is (down|lost)/,
    firstLine: /Redis is down|Waiting for its trigger/,
  },
  {
    name: 'awaiting-approval',
    mode: 'approve',
    enter: (scene) => untilSaid(scene, /waiting for approval/),
    headline: /^(desk-001|\d+ accounts) waiting for approval/,
    firstLine: /Waiting for approval until .*: (sell|buy) 0\.25 BTC_PERP once the price is /,
  },
];
