import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisState } from '../../src/state/state.ts';
import { ACCOUNT, type Crash, openCrash } from '../failovers/crash.ts';
import { Closers } from '../support/closers.ts';
import { startRedisServer } from '../support/redis.ts';
import { until } from '../support/until.ts';
import type { MixedCase, Version } from './mixed-case.ts';
import type { OtherTree } from './other-tree.ts';

const PREFIX = 'bw';
const HERE = path.join(import.meta.dirname, '../..');
/** Compile cache: compiling the sources takes most of a start. */
const COMPILED = path.join(HERE, 'node_modules/.cache/node-compile');
const STARTED_WITHIN_MS = 240_000;

export interface Mixed {
  readonly played: MixedCase;
  /** Violations in words; empty: everything held. */
  readonly violations: readonly string[];
  /** Warnings of each version, with their number. */
  readonly warnings: Readonly<Record<string, number>>;
  readonly orders: number;
  readonly durationMs: number;
}

/**
 * Plays one case: both versions together through a reduction in which one may be killed, then each of them alone
 * through another one, on the documents that the other left.
 */
export async function play(played: MixedCase, tree: OtherTree): Promise<Mixed> {
  const closers = new Closers();
  const startedMs = performance.now();
  const warnings = new Map<string, number>();
  try {
    const server = await startRedisServer({ persistent: true });
    closers.add(() => server.stop());
    const crash = await openCrash({ url: server.url, prefix: PREFIX }, closers);
    const start = (version: Version, instance: number): Promise<Child> =>
      startVersion({ version, instance, tree, crash, closers, warnings });
    const violations: string[] = [];
    try {
      await live(played, crash, start);
    } catch (error) {
      violations.push((error as Error).message);
    }
    violations.push(...(await judged(crash, server.url)));
    return {
      played,
      violations,
      warnings: Object.fromEntries(warnings),
      orders: crash.simulator.ledger({ kinds: ['order_placed'] }).length,
      durationMs: performance.now() - startedMs,
    };
  } finally {
    await closers.close();
  }
}

async function live(
  { first, killed, killedAfterMs, next }: MixedCase,
  crash: Crash,
  start: (version: Version, instance: number) => Promise<Child>,
): Promise<void> {
  const other = (version: Version): Version => (version === 'old' ? 'new' : 'old');
  const both = await Promise.all([start(first, 0), start(other(first), 1)]);
  crash.begin(0);
  const halved = crash.end(0);
  halved.catch(() => undefined);
  await sleep(killedAfterMs);
  if (killed !== 'none') await both.find(({ version }) => version === killed)?.end('SIGKILL');
  await halved;
  await both.find(({ version }) => version !== next)?.end('SIGTERM');
  const stayed = killed === next ? undefined : both.find(({ version }) => version === next);
  await aloneThrough(1, stayed ?? (await start(next, 0)), crash);
  await aloneThrough(2, await start(other(next), 0), crash);
}

async function aloneThrough(step: number, child: Child, crash: Crash): Promise<void> {
  crash.begin(step);
  await crash.end(step);
  // A repeated action would show within some polls.
  await sleep(1_500);
  await child.end('SIGTERM');
}

async function judged(crash: Crash, url: string): Promise<readonly string[]> {
  const redis = new Redis(url);
  const state = createRedisState({ redis, prefix: PREFIX, clock: systemClock });
  try {
    const violations: string[] = [];
    const records = await state.audit.tail(ACCOUNT, 10_000);
    const events = records.flatMap(({ record: { content } }) =>
      content.kind === 'action' ? [content.event] : [],
    );
    violations.push(...crash.violations(overshootsIn(events)));
    if (crash.size() !== crash.leftAfter(2)) violations.push(`the position is ${crash.size()} in the end`);
    const resting = crash.simulator.model.openOrders(ACCOUNT).length;
    if (resting > 0) violations.push(`${resting} orders are left`);
    const { kind, ...about } = await state.audit.verify(ACCOUNT);
    if (kind !== 'intact') violations.push(`the audit is ${kind}: ${JSON.stringify(about)}`);
    return violations;
  } finally {
    state.close();
    redis.disconnect();
  }
}

function overshootsIn(events: readonly AuditEvent[]): ReadonlySet<string> {
  return new Set(
    events.flatMap((event) =>
      event.kind === 'overshoot' && event.order !== undefined ? [event.order.clientOrderId] : [],
    ),
  );
}

interface Child {
  readonly version: Version;
  readonly end: (signal: NodeJS.Signals) => Promise<void>;
}

interface Starting {
  readonly version: Version;
  readonly instance: number;
  readonly tree: OtherTree;
  readonly crash: Crash;
  readonly closers: Closers;
  readonly warnings: Map<string, number>;
}

async function startVersion(starting: Starting): Promise<Child> {
  const { version, instance, tree, crash, closers, warnings } = starting;
  const main = path.join(version === 'old' ? tree.folder : HERE, 'src/cli/main.ts');
  const args = [main, 'run', '--config', crash.configFile, '--instance', String(instance)];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, ...crash.env },
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    await endOf(child, signal);
    process.off('exit', killWithUs);
  };
  closers.add(() => end('SIGKILL'));
  let output = '';
  const take = (chunk: Buffer): void => {
    const lines = `${output}${String(chunk)}`.split('\n');
    output = lines.pop() ?? '';
    for (const line of lines) note(version, line, warnings);
    said += lines.join('\n');
  };
  let said = '';
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const isWatching = (): boolean => {
    if (child.exitCode !== null) throw new Error('it ended');
    return said.includes('watching ');
  };
  const about = () => said.slice(-1_500);
  await until(isWatching, `the ${version} version to watch`, { about, withinMs: STARTED_WITHIN_MS });
  return { version, end };
}

async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

const WARNING = 40;

function note(version: Version, line: string, warnings: Map<string, number>): void {
  try {
    const { level, words: said = '' } = JSON.parse(line) as { level?: number | string; words?: string };
    const isWarning = typeof level === 'number' ? level >= WARNING : /warn|error|fatal/.test(level ?? '');
    if (!isWarning) return;
    const words = `${version}: ${said.replace(/\d+/g, 'N').slice(0, 160)}`;
    warnings.set(words, (warnings.get(words) ?? 0) + 1);
  } catch {
    // Not a line of the log.
  }
}
