import type { AuditReader } from '../../src/core/ports/audit-reader.ts';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import type { Telemetry } from '../../src/core/ports/telemetry.ts';
import type { RequestRecord } from '../../src/simulator/http/request-log.ts';
import type { SimulatedExchange } from '../../src/simulator/simulated-exchange.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { type AuditTrail, auditTrailOf } from './audit-trail.ts';
import { breachSince, isBreached } from './breach.ts';
import { endViolations } from './end-check.ts';
import { type Hosts, ledgerViolations } from './ledger-check.ts';
import { FAULTS } from './matrix.ts';
import { MissedCheck } from './missed-check.ts';
import { askedMs } from './other-configs.ts';
import { type FaultWorld, TROUBLED_MS } from './parts.ts';
import { ToldCheck } from './told-check.ts';
import { TruthCheck } from './truth-check.ts';
import { type Edge, troublesOf, watchViolations } from './watch-check.ts';

/** The result of a world of the fault matrix. */
export interface Judged {
  readonly seed: number;
  /** Violations; each names an invariant of the design by its number. Empty: all hold. */
  readonly violations: readonly string[];
  readonly polls: number;
  /** Orders of the daemons that the exchange accepted. */
  readonly orders: number;
  /** Requests that a fault hit. */
  readonly hits: number;
  /** Of the world's faults, those that hit something, by name and kind of request. */
  readonly pairs: readonly (readonly [fault: string, request: string])[];
  readonly readings: readonly string[];
  /** Kinds of events that happened in the world. */
  readonly events: readonly string[];
}

/** A started step completes: its requests may still arrive this long after a pause began. */
const PAUSE_GRACE_MS = 15_000;
/** Within this time each daemon has read a change made in the store. */
const LEARNT_MS = 2_000;
/** How far the exchange's log may lag: it notes the time up to which its market has come. */
const LOG_LAG_MS = 500;
const LOOK_MS = 500;
/** Prices have a tick every 250 ms. */
const KEEP_UP_MS = 50;
const COMMANDS: ReadonlySet<string> = new Set(['stopLimit', 'cancelAll']);
/** From the breach to the first accepted order, for an account without trouble. */
const UNTROUBLED_REACTION_MS = 12_000;
const LAST_LOOK_MS = 15_000;
/** Nothing is read and answered sooner than this after a breach. */
const SOONEST_MS = 2_000;

/** A played world of the matrix, in virtual time or on real parts, and the observations. */
export interface Played {
  readonly faultWorld: FaultWorld;
  /** Exchange time, in Unix milliseconds, from which the times of the world count. */
  readonly startMs: number;
  readonly exchange: SimulatedExchange;
  readonly audit: AuditReader;
  readonly log: readonly RequestRecord[];
  /** Time since the start from which the second account was breached long enough to be seen. */
  readonly breachMs: number | undefined;
  readonly polls: number;
  /** All output of the daemons: telemetry, notices, logs. */
  readonly said: string;
  readonly errors: readonly unknown[];
}

/** Plays a world in virtual time and checks its invariants by the exchange's ledger and request log. */
export async function judge(faultWorld: FaultWorld): Promise<Judged> {
  const { spec, second } = faultWorld;
  const truth = new TruthCheck();
  const told = new ToldCheck();
  const missed = new MissedCheck(faultWorld);
  const observer: Telemetry = {
    emit: (event) => {
      truth.hear(event, world.elapsedMs());
      told.hear(event, world.elapsedMs());
    },
  };
  const world: World = openWorld(spec, { observe: () => observer });
  const { exchange, audit, startMs, daemons } = world;
  const log: RequestRecord[] = [];
  let breachMs: number | undefined;
  const asked = askedMs(spec.daemons[0]?.config);
  keepUp(world);
  for (let atMs = LOOK_MS; atMs <= spec.durationMs; atMs += LOOK_MS) {
    const isOver = (): boolean => {
      truth.look(world, world.elapsedMs());
      return world.elapsedMs() >= atMs;
    };
    await world.run(isOver);
    missed.look(world);
    log.push(...exchange.log.list({ after: log.at(-1)?.seq ?? 0 }));
    breachMs = breachSince(breachMs, isBreached(exchange, second), atMs, asked);
  }
  const said = JSON.stringify(daemons.map(({ events, notices }) => [events, notices]));
  const polls = daemons.reduce((sum, one) => sum + one.polls, 0);
  const played = { faultWorld, startMs, exchange, audit, log, breachMs, polls, said, errors: world.errors };
  return await judgePlayed(played, (trail) => [
    ...truth.violations(world),
    ...told.violations(world, trail),
    ...missed.violations(world, trail),
  ]);
}

/** Checks the invariants by the exchange's ledger and request log. `found`: violations found elsewhere. */
export async function judgePlayed(
  played: Played,
  found: (trail: AuditTrail) => readonly string[],
): Promise<Judged> {
  const { faultWorld, exchange, startMs, log, polls, audit } = played;
  const { spec, readings, sparesSecond, pairs } = faultWorld;
  const trail = await auditTrailOf({ audit, startMs, spec });
  const entries = exchange.model.ledger();
  const hosts = hostsOf(spec, startMs, log);
  const violations = [
    ...ledgerViolations(entries, trail, startMs, hosts).map((words) => `1 or 4: ${words}`),
    ...calmViolations(played, trail),
    ...endViolations(exchange, faultWorld, trail),
    ...nonceViolations(log),
    ...heldBackViolations(played),
    ...livenessViolations(played),
    ...watchViolations(spec, startMs, log),
    ...found(trail),
    ...(sparesSecond ? sparedViolations(played, trail) : []),
    ...(await recordViolations(played)),
  ];
  return {
    seed: spec.seed,
    violations,
    polls,
    orders: entries.filter((entry) => entry.kind === 'order_placed' && isOurs(entry)).length,
    hits: log.filter(({ faults }) => faults.length > 0).length,
    pairs: pairs.filter(([fault, endpoint]) => {
      const { kind = '' } = FAULTS[fault] ?? {};
      return log.some((request) => request.endpoint === endpoint && request.faults.includes(kind));
    }),
    readings,
    events: [...new Set((spec.events ?? []).map(({ kind }) => kind))],
  };
}

/**
 * The exchange applies prices only when a request arrives. It is polled between any two ticks, so that none is skipped.
 */
function keepUp(world: World): void {
  world.schedule(world.elapsedMs() + KEEP_UP_MS, () => {
    world.exchange.catchUp();
    keepUp(world);
  });
}

/** The default of `acting.maxOrderReadAge`: nothing older decides what an order takes. */
const OLDEST_READ_MS = 2_000;

/** When the newest list that had been answered at a time was read; that time if none is young enough to go by. */
function newestListMs(log: readonly RequestRecord[], accountId: string, untilMs: number): number {
  const newest = log.findLast(
    ({ endpoint, account, handledAtMs, status, faults, delivered }) =>
      endpoint === 'openPositions' &&
      account === accountId &&
      status === 200 &&
      delivered &&
      faults.length === 0 &&
      (handledAtMs ?? Infinity) <= untilMs,
  )?.handledAtMs;
  const isYoung = newest !== null && newest !== undefined && newest >= untilMs - OLDEST_READ_MS;
  return isYoung ? newest : untilMs;
}

/** After the store is back: it must be steady, running work must end, and the first in line goes first. */
const HANDED_BACK_AFTER_MS = 8_000;

/** If one of two hosts does not reach the store, both may act: the design bounds that by the targets, and audits it. */
export function hostsOf(
  { daemons, events = [] }: WorldSpec,
  startMs: number,
  log: readonly RequestRecord[] = [],
): Hosts {
  const listedMs = (accountId: string, sentMs: number): number => newestListMs(log, accountId, sentMs);
  const losesStore = events.some(
    ({ kind, ...event }) => kind === 'store' || ('to' in event && event.to === 'store'),
  );
  if (daemons.length === 1 || !losesStore) return { mayBeApart: false, isOneSided: () => false, listedMs };
  const isCutOff = (name: string, atMs: number): boolean => {
    const own = events.filter(
      (event) => event.kind === 'link' && event.to === 'store' && event.daemon === name && event.atMs <= atMs,
    );
    const last = own.toSorted((a, b) => a.atMs - b.atMs).at(-1);
    return last?.kind === 'link' && (last.state !== 'up' || atMs - last.atMs < HANDED_BACK_AFTER_MS);
  };
  return {
    mayBeApart: true,
    listedMs,
    isOneSided: (atMs) => {
      const cutOff = daemons.filter(({ name }) => isCutOff(name, atMs - startMs));
      return cutOff.length > 0 && cutOff.length < daemons.length;
    },
  };
}

/**
 * Invariants 2 and 15: a calm account keeps its position, and no request orders or cancels anything. An unknown
 * liquidation state counts as a margin call by design, even if a fault made it up.
 */
function calmViolations(
  { startMs, log, faultWorld: { calm } }: Played,
  { events }: AuditTrail,
): readonly string[] {
  const isCalled = events.some(
    ({ accountId, words }) => accountId === calm && words.includes('unrecognised'),
  );
  if (isCalled) return [];
  return log
    .filter(({ account, endpoint }) => account === calm && COMMANDS.has(endpoint))
    .map(({ endpoint, atMs }) => `2 or 15: ${endpoint} for ${calm} at ${atMs - startMs} ms`);
}

/** Invariant 6: no nonce is used twice. */
function nonceViolations(log: readonly RequestRecord[]): readonly string[] {
  const seen = new Map<string, number>();
  for (const { account, nonce } of log) {
    if (account === null || nonce === null) continue;
    const id = `${account} ${nonce}`;
    seen.set(id, (seen.get(id) ?? 0) + 1);
  }
  return [...seen]
    .filter(([, times]) => times > 1)
    .map(([id, times]) => `6: nonce ${id} was used ${times} times`);
}

/** Invariant 7: no request for an account that is only observed, or paused. */
function heldBackViolations({ startMs, log, faultWorld: { observed, spec } }: Played): readonly string[] {
  const times = pausesOf(spec);
  return log.flatMap(({ account, endpoint, atMs }) => {
    if (!COMMANDS.has(endpoint) || account === null) return [];
    const elapsedMs = atMs - startMs;
    const isPaused = times.some(
      (pause) =>
        (pause.account === null || pause.account === account) &&
        elapsedMs > pause.fromMs + PAUSE_GRACE_MS &&
        elapsedMs < pause.toMs - LOG_LAG_MS,
    );
    if (isPaused) return [`7: ${endpoint} for ${account} at ${elapsedMs} ms, while paused`];
    return observed.includes(account)
      ? [`7: ${endpoint} for ${account} at ${elapsedMs} ms, only observed`]
      : [];
  });
}

/** A daemon without the store learns of a pause when it reaches the store again and has settled. */
function pausesOf({ daemons, events = [] }: WorldSpec) {
  const losses = troublesOf(events, edgeOfStore);
  const isOff = isOffOf(events);
  return events.flatMap((event) => {
    if (event.kind !== 'pause') return [];
    const { account, atMs } = event;
    const toMs = Math.min(
      ...events
        .filter((other) => other.kind === 'unpause' && other.account === account && other.atMs > atMs)
        .map((other) => other.atMs),
    );
    // A pause placed while a daemon was down is not on its disk either, if it starts during a loss.
    const unaware = daemons.filter(({ name }) => isOff(name, atMs));
    const unknown = losses.filter(
      (loss) =>
        loss.toMs > atMs &&
        (loss.fromMs < atMs + LEARNT_MS ||
          unaware.some(({ name }) => isOff(name, loss.fromMs) && !isOff(name, loss.toMs))),
    );
    return [{ account, fromMs: Math.max(atMs, ...unknown.map((loss) => loss.toMs)), toMs }];
  });
}

/** Whether a daemon is stopped or killed at a time, since before it. */
function isOffOf(events: readonly TimedEvent[]): (daemon: string, atMs: number) => boolean {
  const turns = events
    .flatMap((event) =>
      event.kind === 'stop' || event.kind === 'kill' || event.kind === 'start' ? [event] : [],
    )
    .toSorted((a, b) => a.atMs - b.atMs);
  return (daemon, atMs) =>
    (turns.findLast((turn) => turn.daemon === daemon && turn.atMs < atMs)?.kind ?? 'start') !== 'start';
}

function edgeOfStore(event: TimedEvent): Edge {
  if (event.kind !== 'store' && !(event.kind === 'link' && event.to === 'store')) return undefined;
  return event.state === 'up' ? 'sound' : 'broken';
}

/** Invariants 9 to 13: every account is read again when the troubles are over. */
function livenessViolations({ startMs, log, faultWorld: { spec } }: Played): readonly string[] {
  const fromMs = startMs + spec.durationMs - LAST_LOOK_MS;
  return spec.exchange.accounts
    .filter(
      ({ id }) =>
        !log.some(
          ({ account, endpoint, outcome, atMs }) =>
            account === id && endpoint === 'openPositions' && outcome === 'served' && atMs > fromMs,
        ),
    )
    .map(({ id }) => `9 to 13: nobody read the positions of ${id} in the last ${LAST_LOOK_MS / 1_000} s`);
}

/** The longest pause of polls after a gateway's 429 with the `Retry-After` of the matrix (2 s): four times that. */
const GATEWAY_PAUSE_MS = 8_000;
/** A calm account may be read this long after a breach. */
const CALM_CADENCE_MS = 4_000;

/**
 * Whether polls of every account paused near a breach: a gateway's 429 applies to the whole address, whichever
 * account's request drew it (live notes, transport), and polls pause after it (design section 4).
 */
function isPausedByGateway({ log, startMs }: Played, breachMs: number): boolean {
  return log.some(
    ({ atMs, status, faults }) =>
      status === 429 &&
      faults.includes('gatewayStatus') &&
      atMs - startMs >= breachMs - GATEWAY_PAUSE_MS &&
      atMs - startMs <= breachMs + CALM_CADENCE_MS,
  );
}

/** Invariant 13: trouble of one account's requests delays no reduction of another. */
function sparedViolations(played: Played, trail: AuditTrail): readonly string[] {
  const { exchange, startMs, breachMs, faultWorld } = played;
  const { second } = faultWorld;
  if (breachMs === undefined || breachMs > TROUBLED_MS) return [];
  if (isPausedByGateway(played, breachMs)) return [];
  // What the exchange liquidates from the start is not a matter of reacting in time.
  const begun = exchange.model.ledger({ accountId: second, kinds: ['liquidation_started'] })[0];
  if (begun !== undefined && begun.atMs - startMs <= breachMs + SOONEST_MS) return [];
  // The smaller sides of hedges: closing one would raise the exposure.
  const own = trail.events.filter(({ accountId }) => accountId === second);
  const meant = own.filter(({ kind }) => kind === 'intentOpened').map(({ positionId }) => positionId);
  const hedges = new Set(
    own.filter(({ reason }) => reason === 'failed:hedged').map(({ positionId }) => positionId),
  );
  if (meant.length > 0 && meant.every((positionId) => hedges.has(positionId))) return [];
  // The market recovered before an order could follow.
  const lastMs = startMs + breachMs + UNTROUBLED_REACTION_MS;
  const isCleared = (key: string | undefined): boolean => {
    const last = own.findLast((one) => one.key === key);
    return last?.reason === 'resolved:ruleResolved' && last.atMs <= lastMs;
  };
  const hasCleared = own.every(({ kind, key }) => kind !== 'intentOpened' || isCleared(key));
  if (meant.length > 0 && hasCleared) return [];
  const first = exchange.model.ledger({ accountId: second, kinds: ['order_placed'] }).find(isOurs);
  const waitedMs = first === undefined ? Number.POSITIVE_INFINITY : first.atMs - startMs - breachMs;
  return waitedMs <= UNTROUBLED_REACTION_MS
    ? []
    : [
        `13: the first order for ${second}, which nothing troubles, came ${waitedMs} ms after the breach at ${breachMs} ms`,
      ];
}

function secretsOf({ exchange, faultWorld: { spec } }: Played): readonly string[] {
  return spec.exchange.accounts.flatMap(({ id }) => {
    const { apiKey, apiSecret } = exchange.accounts.access(id);
    return [apiKey, apiSecret];
  });
}

/** Invariants 8 and 9: no secret in any record, every chain intact, no unexpected error. */
async function recordViolations(played: Played): Promise<readonly string[]> {
  const { audit, said, errors, exchange, faultWorld } = played;
  const { spec } = faultWorld;
  const records = await Promise.all(spec.exchange.accounts.map(({ id }) => audit.tail(id, 1_000_000)));
  const recorded = said + JSON.stringify(records);
  const secrets = secretsOf(played);
  const chains = await Promise.all(spec.exchange.accounts.map(({ id }) => audit.verify(id)));
  const losesStore = (spec.events ?? []).some(
    (event) => event.kind === 'store' || (event.kind === 'link' && event.to === 'store'),
  );
  const unexpected = errors.filter((error) => !(losesStore && error instanceof StoreLostError));
  return [
    ...(secrets.some((secret) => recorded.includes(secret))
      ? ['8: a key or secret is in what was recorded']
      : []),
    ...chains.filter(({ kind }) => kind !== 'intact').map((chain) => `9: ${JSON.stringify(chain)}`),
    ...unexpected.map((error) => `bug: ${String(error)}`),
    ...exchange.internalErrors.map((error) => `bug of the simulated exchange: ${String(error)}`),
  ];
}
