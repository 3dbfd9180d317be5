import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { move, openScene } from '../daemon/scene.ts';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';
import { startPrivateRedis } from '../support/redis.ts';

/**
 * A busy daemon: positions, credit lines, rules that fire and wait, accepted and lost orders, an open reduction, a
 * pause, a failing channel, and an exchange that misbehaves in every way that is counted.
 */
export interface Scene {
  readonly simulator: RunningSimulator;
  readonly daemon: Daemon;
  readonly events: readonly DaemonEvent[];
  /** Plays the next step; called repeatedly. */
  goOn(): Promise<void>;
}

export const TOKEN = 'a-token-that-only-prometheus-has';

export async function openEverything(): Promise<Scene> {
  const simulator = await openScene({ accounts: 6, speed: 1 });
  const [fine, refusing, busy] = await Promise.all([
    startReceiver(),
    startReceiver({ status: 404 }),
    startReceiver({ status: 503 }),
  ]);
  for (const receiver of [fine, refusing, busy]) closeAfterTest(() => receiver.close());
  const redis = await startPrivateRedis();
  closeAfterTest(() => redis.stop());
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-scene-'));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  const configFile = path.join(folder, 'breakwater.yaml');
  const prefix = redis.prefix.replace(/:$/, '');
  const text = configText(
    simulator,
    { fine, refusing, busy },
    `{ url: "${redis.url}", prefix: "${prefix}" }`,
  );
  await writeFile(configFile, text);
  const events: DaemonEvent[] = [];
  const env = { ...keysOf(simulator), READ_TOKEN: TOKEN };
  misbehave(simulator);
  const daemon = await startDaemon({
    configFile,
    env,
    telemetry: [{ emit: (event) => void events.push(event) }],
  });
  closeAfterTest(async () => {
    if (!(await daemon.stop('the test ended', 30_000))) throw new Error('the daemon did not stop in time');
  });
  const pause = ['pause', '--account', 'account-2', '--reason', 'a test', '--config', configFile];
  await runCommandLine(pause, { env });
  // A refused config, an adopted one, and an unreadable job.
  await writeFile(configFile, `${text}\nnonsense: yes\n`);
  await daemon.reload();
  await writeFile(configFile, text.replace('remindEvery: 1s', 'remindEvery: 2s'));
  await daemon.reload();
  const act = daemon.shared!.queues.all.find(({ name }) => name === 'act');
  await act?.add('run', { version: 99 });
  await forgetLives(daemon, events, prefix);
  return { simulator, daemon, events, goOn: story(simulator) };
}

/** Redis loses its store epoch: a new one begins. */
async function forgetLives(daemon: Daemon, events: readonly DaemonEvent[], prefix: string): Promise<void> {
  const stored = () =>
    new Set(
      events.flatMap((event) =>
        event.kind === 'commit' && event.result === 'committed' ? [event.accountId] : [],
      ),
    );
  await expect.poll(() => stored().size).toBe(daemon.config().accounts.length);
  const keys = await daemon.shared!.redis.keys(`${prefix}:*:epoch`);
  if ((await daemon.shared!.redis.del(...keys)) === 0) throw new Error('there is no store epoch');
}

function keysOf({ accounts }: RunningSimulator): Record<string, string> {
  return Object.fromEntries(
    accounts.flatMap(({ apiKey, apiSecret }, index) => [
      [`KEY_${index + 1}`, apiKey],
      [`SECRET_${index + 1}`, apiSecret],
    ]),
  );
}

const WAVE_STEPS = 8;

/** Falls until the observed twin gets a margin call; then rises and falls in turn, so that everything repeats. */
function story(simulator: RunningSimulator): () => Promise<void> {
  let wave: number | undefined;
  return async () => {
    troubleAgain(simulator);
    const [twin] = simulator.model.openPositions('account-6');
    if (wave === undefined && twin?.liquidationState === 'margin_call') wave = 0;
    const isRising = wave !== undefined && Math.floor(wave / WAVE_STEPS) % 2 === 0;
    const by = wave === undefined ? -0.008 : isRising ? 0.003 : -0.003;
    if (wave !== undefined) wave += 1;
    for (const market of ['BTC_PERP', 'BTC_USDT']) move(simulator, by, market);
  };
}

/** One refused nonce, one rate limit, one odd record. Of few replies on a slow machine all may come too late. */
function troubleAgain(simulator: RunningSimulator): void {
  const inject = (endpoint: string, effect: FaultEffect) =>
    simulator.injectFault({ effect, target: { endpoint }, count: 1 });
  inject('openPositions', { kind: 'status', status: 401, message: 'Nonce has already been used.' });
  inject('mainBalance', { kind: 'status', status: 429, message: 'Rate limit exceeded.' });
  inject('transferHistory', { kind: 'badRecord' });
}

function misbehave(simulator: RunningSimulator): void {
  const inject = (endpoint: string, count: number, effect: FaultEffect) =>
    simulator.injectFault({ effect, target: { endpoint }, count, skip: 3 });
  inject('orderHistory', 12, { kind: 'reset' });
  inject('stopLimit', 1, { kind: 'lostReply' });
  inject('cancelAll', 1, { kind: 'lostReply' });
}

interface Channels {
  readonly fine: Receiver;
  readonly refusing: Receiver;
  readonly busy: Receiver;
}

function configText(simulator: RunningSimulator, channels: Channels, redis: string): string {
  const account = (number: number, rules: string, more = ''): string => `  - id: account-${number}
    apiKey: { env: KEY_${number} }
    apiSecret: { env: SECRET_${number} }
    watch: { creditLine: yes, mainBalance: [USDT], transfers: yes, spotOrders: yes }
    rules: [${rules}, waiting]
${more}`;
  return `mode: enforce
exchange:
  baseUrls: ["${simulator.baseUrl}"]
  lateArrival: 200ms
  timeouts: { attempt: 500ms, call: 1s }
  # So small that calls have to wait for it.
  limits: { transfers: { limit: 4, period: 1s } }
redis: ${redis}
insecure: [redis]
cadence: { calm: 1s, alert: 1s }
acting: { cancel: always, fillWithin: 1s, intentTtl: 1h, maxAttempts: 1000 }
web: { port: 0, token: { env: READ_TOKEN } }
channels:
  fine: { type: webhook, url: "${channels.fine.url}" }
  refusing: { type: webhook, url: "${channels.refusing.url}", giveUpAfter: 1s }
  busy: { type: webhook, url: "${channels.busy.url}", giveUpAfter: 2s }
notify: { remindEvery: 1s }
stress: { at: "*/10 * * * * *", scenarios: [shock-down-5], conditions: [calm] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
  ETH_PERP: { amountStep: "0.01", priceStep: "0.01", minAmount: "0.01", maintenanceMargin: 3% }
accounts:
${[
  account(1, 'near, called'),
  account(2, 'cover'),
  account(3, 'trim'),
  // Its market does not move, so its reduction stays open.
  account(4, 'far, ltv'),
  account(5, 'unlisted'),
  account(6, 'near, called', '    mode: observe\n'),
].join('')}
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 9%, clearAbove: 9.2% } }
    severity: critical
    do: [{ notify: {} }, { reduce: { untilDistance: 9.5%, slippage: 1% } }]
  - id: trim
    on: position
    where: { direction: long }
    when: { size: { above: 0 } }
    do: [{ reduce: { by: 5%, slippage: 1% } }]
  - id: far
    on: position
    when: { liquidationDistance: { below: 90% } }
    severity: critical
    do: [{ notify: {} }, { reduce: { to: 10%, slippage: 1% } }]
  - id: unlisted
    on: position
    where: { market: BTC_USDT }
    when: { size: { above: 0 } }
    do: [{ reduce: { by: 10%, slippage: 1% } }]
  - id: cover
    on: position
    when: { size: { above: 0 } }
    severity: info
    do: [{ protect: { at: 50%, slippage: 1% } }]
  - id: called
    on: position
    when: { liquidationState: { in: [margin_call, liquidation, unrecognised] } }
    severity: critical
    do: [{ notify: {} }]
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 10% } }
    do: [{ notify: { cure: [50%] } }]
  - id: waiting
    on: account
    when: { dataAge: { source: positions, above: 0s } }
    for: 1h
`;
}
