import { setTimeout as sleep } from 'node:timers/promises';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { Closers } from '../support/closers.ts';
import { until } from '../support/until.ts';
import { ACCOUNT, type Crash, openCrash } from './crash.ts';
import type { FailoverCase } from './failover-case.ts';
import { openServers, PREFIX, type Servers } from './servers.ts';

export interface Played {
  readonly played: FailoverCase;
  /** Violations in words; empty: everything held. */
  readonly violations: readonly string[];
  /** Whether a daemon went on from its own memory meanwhile. */
  readonly wentAlone: boolean;
  /** How the work done alone was handed back, by `HandedBack.how`. */
  readonly handedBack: readonly string[];
  readonly orders: number;
  readonly overshoots: number;
  /** From the further fall of the price to the end of the started work, in milliseconds. */
  readonly untilHalvedMs: number;
  readonly durationMs: number;
}

/** Plays one case: a reduction, a failover in the middle of it, and another reduction afterwards. */
export async function play(played: FailoverCase): Promise<Played> {
  const closers = new Closers();
  try {
    return await playIn(played, closers);
  } finally {
    await closers.close();
  }
}

async function playIn(played: FailoverCase, closers: Closers): Promise<Played> {
  const startedMs = performance.now();
  const events: DaemonEvent[] = [];
  const servers = await openServers(played, closers);
  const crash = await openCrash({ url: servers.url, prefix: PREFIX }, closers);
  const moment = Promise.withResolvers<void>();
  let counted = Number.POSITIVE_INFINITY;
  const emit = (event: DaemonEvent): void => {
    events.push(event);
    counted -= 1;
    if (counted <= 0) moment.resolve();
  };
  const daemons: Daemon[] = [];
  for (let ordinal = 0; ordinal < played.daemons; ordinal++) {
    const { configFile, env } = crash;
    const daemon = await startDaemon({ configFile, env, ordinal, telemetry: [{ emit }] });
    closers.add(() => daemon.stop('the case ended', 30_000));
    daemons.push(daemon);
  }
  await until(() => events.filter(({ kind }) => kind === 'evaluated').length > 3, 'first polls');
  await servers.prepare();
  crash.begin(0);
  counted = played.atEvent;
  await moment.promise;
  await sleep(played.delayMs);
  const troubledMs = performance.now();
  const story = { played, crash, servers, events, daemons };
  const { violations, untilHalvedMs } = await live(story, troubledMs + played.fallsAfterMs);
  const standbys = events.flatMap((event) => (event.kind === 'standby' ? [event] : []));
  return {
    played,
    violations,
    wentAlone: standbys.some(({ state }) => state === 'alone'),
    handedBack: standbys.flatMap((event) =>
      event.state === 'shared' ? event.accounts.map(({ how }) => how) : [],
    ),
    orders: crash.simulator.ledger({ kinds: ['order_placed'] }).length,
    overshoots: overshootsIn(events).size,
    untilHalvedMs,
    durationMs: performance.now() - startedMs,
  };
}

interface Story {
  readonly played: FailoverCase;
  readonly crash: Crash;
  readonly servers: Servers;
  readonly events: readonly DaemonEvent[];
  readonly daemons: readonly Daemon[];
}

/** Continues after the moment, and returns the violations at the end. */
async function live(story: Story, troubledMs: number) {
  const { played, crash, servers, events, daemons } = story;
  const violations: string[] = [];
  let untilHalvedMs = Number.POSITIVE_INFINITY;
  try {
    const troubled = servers.trouble();
    troubled.catch(() => undefined);
    await sleep(played.fallsAfterMs);
    await crash.end(0);
    untilHalvedMs = performance.now() - troubledMs;
    await troubled;
    await servers.settled();
    await until(() => areShared(events, daemons.length), 'shared state', { about: () => lastOf(events) });
    const from = events.length;
    await until(() => events.slice(from).some(({ kind }) => kind === 'ticked'), 'ticks of the queue');
    crash.begin(1);
    await crash.end(1);
    await restOf(story, events.length);
  } catch (error) {
    violations.push(`${(error as Error).message} ${JSON.stringify(lastOf(events))}`);
  }
  violations.push(...crash.violations(overshootsIn(events)));
  if (crash.size() !== crash.leftAfter(1)) violations.push(`the position is ${crash.size()} in the end`);
  // A swapped primary may accept writes for some seconds more, and is lost only then.
  let verdict: unknown;
  const isWhole = async (): Promise<boolean> => {
    const found = await daemons[0]?.state.audit.verify(ACCOUNT);
    verdict = found;
    return areShared(events, daemons.length) && found?.kind === 'intact';
  };
  await until(isWhole, 'a whole audit', { everyMs: 1_000, about: () => verdict }).catch((error: unknown) => {
    violations.push((error as Error).message);
  });
  return { violations, untilHalvedMs };
}

/** Waits for some polls of every daemon's account: a repeated action would show. */
async function restOf({ events, crash }: Story, from: number): Promise<void> {
  const polls = (): number => events.slice(from).filter(({ kind }) => kind === 'evaluated').length;
  await until(() => polls() > 6, 'polls at the end');
  await until(() => crash.simulator.model.openOrders(ACCOUNT).length === 0, 'no order of ours in the end');
}

/** Waits until each daemon that was alone has handed back. */
function areShared(events: readonly DaemonEvent[], daemons: number): boolean {
  const states = events.flatMap((event) => (event.kind === 'standby' ? [event.state] : []));
  const alone = states.filter((state) => state === 'alone').length;
  return alone <= daemons * 10 && alone === states.length - alone;
}

function overshootsIn(events: readonly DaemonEvent[]): ReadonlySet<string> {
  return new Set(
    events.flatMap((event) =>
      event.kind === 'audited' && event.event.kind === 'overshoot' && event.event.order !== undefined
        ? [event.event.order.clientOrderId]
        : [],
    ),
  );
}

/** Details for debugging. */
function lastOf(events: readonly DaemonEvent[]): readonly string[] {
  const quiet = new Set(['evaluated', 'read', 'ticked', 'call', 'commit', 'auditHead']);
  return events
    .filter(({ kind }) => !quiet.has(kind))
    .slice(-12)
    .map((event) => `${event.kind}${'error' in event ? `: ${String(event.error)}` : ''}`);
}
