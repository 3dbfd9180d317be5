import type { RequestRecord } from '../../src/simulator/http/request-log.ts';
import type { TimedEvent, WorldSpec } from '../../src/world/spec.ts';

/** Grace after a host or its link to the exchange recovers: hanging requests time out, circuit breaks are retried. */
const SETTLED_MS = 12_000;
/** Two calm intervals, plus the five seconds within which a process must notice the loss of the store. */
const LONGEST_GAP_MS = 11_000;
const STEP_MS = 500;

/**
 * Invariants 10, 12 and 13: while one daemon runs and reaches the exchange, the positions of every account are polled,
 * whatever happens to the store, other hosts, config files and clocks. Returns gaps that are too long, in words.
 */
export function watchViolations(
  spec: WorldSpec,
  startMs: number,
  log: readonly RequestRecord[],
): readonly string[] {
  const ableAt = abilityOf(spec);
  return spec.exchange.accounts.flatMap(({ id }) => {
    if (isHeldUp(spec, id)) return [];
    const askedMs = log
      .filter(({ account, endpoint }) => account === id && endpoint === 'openPositions')
      .map(({ atMs }) => atMs - startMs);
    return gapsOf([0, ...askedMs, spec.durationMs]).flatMap(([fromMs, toMs]) => {
      let ableMs = 0;
      for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS) if (ableAt(atMs)) ableMs += STEP_MS;
      return ableMs > LONGEST_GAP_MS
        ? [
            `10 or 13: nobody asked for the positions of ${id} from ${fromMs} to ${toMs} ms, and one could for ${ableMs} ms`,
          ]
        : [];
    });
  });
}

function gapsOf(timesMs: readonly number[]): readonly (readonly [fromMs: number, toMs: number])[] {
  return timesMs.slice(1).flatMap((toMs, index) => {
    const fromMs = timesMs[index] ?? toMs;
    return toMs - fromMs > LONGEST_GAP_MS ? [[fromMs, toMs] as const] : [];
  });
}

/**
 * Requests wait in the daemon if the exchange demands it (for the account or the whole address), and behind a hanging
 * one.
 */
function isHeldUp({ faults = [] }: WorldSpec, accountId: string): boolean {
  return faults.some(({ fault: { effect, target } }) => {
    const concerns = target?.account === undefined || target.account === accountId;
    if (effect.kind === 'gatewayStatus' && effect.status === 429) return true;
    const isSlow =
      effect.kind === 'hang' ||
      effect.kind === 'latency' ||
      ('connection' in effect && effect.connection === 'hang');
    const isBusy = 'status' in effect && effect.status === 429;
    return concerns && (isBusy || (isSlow && target?.endpoint === 'openPositions'));
  });
}

/** Times at which some daemon could have polled for long enough. */
function abilityOf({ daemons, events = [] }: WorldSpec): (atMs: number) => boolean {
  // Where nonces must arrive in order, requests of a key are sequential, also behind a hanging one of another host.
  const isOneByOne = daemons.some(({ config }) => config.includes('nonce: increasing'));
  const troubles = daemons.map(({ name, startAtMs = 0 }) => [
    { fromMs: Number.NEGATIVE_INFINITY, toMs: startAtMs + SETTLED_MS },
    ...daemons.flatMap((other) =>
      troublesOf(events, (event) =>
        other.name === name || (isOneByOne && event.kind === 'link') ? edgeFor(event, other.name) : undefined,
      ),
    ),
  ]);
  const regions = [0, 1].flatMap((index) =>
    troublesOf(events, (event) => {
      if (event.kind !== 'region' || event.index !== index) return undefined;
      return event.state.mode === 'up' ? 'sound' : 'broken';
    }),
  );
  const isIn = (spans: readonly Span[], atMs: number): boolean =>
    spans.some(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs);
  return (atMs) => !isIn(regions, atMs) && troubles.some((spans) => !isIn(spans, atMs));
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export type Edge = 'broken' | 'sound' | undefined;

function edgeFor(event: TimedEvent, daemon: string): Edge {
  if (!('daemon' in event) || event.daemon !== daemon) return undefined;
  switch (event.kind) {
    case 'kill':
    case 'stop':
    case 'suspend':
      return 'broken';
    case 'start':
    case 'resume':
      return 'sound';
    case 'link':
      if (event.to === 'store') return undefined;
      return event.state === 'up' ? 'sound' : 'broken';
    default:
      return undefined;
  }
}

/**
 * Intervals from each failure to the following recovery, plus the time to settle. Troubles of several kinds may
 * overlap.
 */
export function troublesOf(
  events: readonly TimedEvent[],
  edgeOf: (event: TimedEvent) => Edge,
): readonly Span[] {
  const edges = events
    .map((event) => ({ atMs: event.atMs, edge: edgeOf(event) }))
    .filter(({ edge }) => edge !== undefined)
    .toSorted((a, b) => a.atMs - b.atMs);
  return edges.flatMap(({ atMs, edge }) => {
    if (edge !== 'broken') return [];
    const mended = edges.find((other) => other.atMs > atMs && other.edge === 'sound');
    return [{ fromMs: atMs, toMs: (mended?.atMs ?? Number.POSITIVE_INFINITY) + SETTLED_MS }];
  });
}
