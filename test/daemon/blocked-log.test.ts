import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { ACCOUNTS, closeAfterTest } from '../contract/support/world.ts';
import { freePort } from '../support/redis.ts';
import { inTurn } from '../support/slice.ts';
import { openScene, ours } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld } from './world.ts';

const plays = inTurn(['a full pipe', 'a full disk', 'no reader'], 2, 'logs that are blocked');

/** A log that nobody reads, or that cannot be written: logging never blocks a poll. */

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
const RULES = `  - id: rule
    on: position
    when: { size: { above: 0.1 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
/** Size of the log while nobody reads it, in bytes: far more than a pipe holds. */
const FULL = 1024 * 1024;

interface Child {
  readonly process: ChildProcess;
  readonly port: number;
  readonly ended: Promise<unknown>;
  readonly errors: () => string;
}

/** `breakwater run` with its log going to the given standard output. */
async function startLogging(world: DaemonWorld, stdout: 'pipe' | number): Promise<Child> {
  const port = await freePort();
  const args = [
    'run',
    '--config',
    world.configFile,
    '--json',
    '--log-level',
    'trace',
    '--port',
    String(port),
  ];
  const child = spawn(process.execPath, [MAIN, ...args, '--stop-within', '5'], {
    stdio: ['ignore', stdout, 'pipe'],
    env: { ...process.env, ...world.env },
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += String(chunk);
  });
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as unknown);
  closeAfterTest(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  });
  return { process: child, port, ended, errors: () => errors };
}

const reads = (simulator: RunningSimulator): number =>
  simulator.requestLog({ account: 'long' }).filter(({ endpoint }) => endpoint === 'openPositions').length;

async function goesOn(simulator: RunningSimulator, child: Child, more: number): Promise<void> {
  const before = reads(simulator);
  await eventually(() => reads(simulator) >= before + more, 'further polls', child.errors);
}

async function lostLines({ port }: Child): Promise<number> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`);
  const counted = [...(await reply.text()).matchAll(/^breakwater_log_lines_lost_total\{[^}]*\} (\d+)$/gm)];
  return counted.reduce((sum, [, count]) => sum + Number(count), 0);
}

const [LONG] = ACCOUNTS;
/** Enough accounts to log a lot. */
const MANY = Array.from({ length: 12 }, (_, index) => `long${index === 0 ? '' : index}`);

async function openWorldWithRule(ids: readonly string[] = ['long']) {
  if (LONG === undefined) throw new Error('no account');
  const simulator = await openScene({ accounts: ids.map((id) => ({ ...LONG, id })) });
  const world = await openDaemonWorld(simulator, {
    accounts: Object.fromEntries(ids.map((id) => [id, { rules: ['rule'] }])),
    rules: RULES,
    cadence: '{ calm: 100ms, alert: 100ms }',
  });
  return { simulator, world };
}

test.runIf(plays('a full pipe'))(
  'standard output is a full pipe that nobody reads: it polls and acts, drops and counts lines, and ends gracefully',
  async () => {
    const { simulator, world } = await openWorldWithRule(MANY);
    const child = await startLogging(world, 'pipe');
    await eventually(() => ours(simulator, 'long').length > 0, 'an order', child.errors);
    const lost = async () => (await lostLines(child)) > 0;
    await eventually(lost, 'lines that were lost', child.errors, 500);
    await goesOn(simulator, child, 10);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
    // First read after the fact: only whole lines were kept, within the bound.
    const kept = await readAll(child.process);
    expect(kept.length).toBeLessThan(2 * FULL);
    const lines = kept.split('\n').slice(0, -1);
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('event');
  },
);

async function readAll({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of stdout ?? []) text += String(chunk);
  return text;
}

test.runIf(plays('a full disk'))(
  'on a full disk the daemon survives, and counts the lines that it could not write',
  async () => {
    const { simulator, world } = await openWorldWithRule();
    const full = await open('/dev/full', 'w');
    closeAfterTest(() => full.close());
    const child = await startLogging(world, full.fd);
    await eventually(() => ours(simulator, 'long').length > 0, 'an order', child.errors);
    await goesOn(simulator, child, 5);
    expect(await lostLines(child)).toBeGreaterThan(0);
    child.process.kill('SIGTERM');
    expect(await child.ended).toBe(0);
  },
);

test.runIf(plays('no reader'))('when the reader of the log goes away the daemon goes on', async () => {
  const { simulator, world } = await openWorldWithRule();
  const child = await startLogging(world, 'pipe');
  await eventually(() => reads(simulator) > 0, 'polls', child.errors);
  child.process.stdout?.destroy();
  await eventually(() => ours(simulator, 'long').length > 0, 'an order', child.errors);
  await goesOn(simulator, child, 5);
  expect(await lostLines(child)).toBeGreaterThan(0);
  child.process.kill('SIGTERM');
  expect(await child.ended).toBe(0);
});
