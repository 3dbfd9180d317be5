import type { FaultEffect } from '../../src/simulator/http/faults.ts';
import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { TimedEvent, TimedFault } from '../../src/world/spec.ts';
import type { Levels } from './factors.ts';

/** Times of a case in milliseconds since its start. */
export interface Times {
  readonly fallMs: number;
  /** The planned time at which it reaches the threshold. */
  readonly breachMs: number;
  readonly endMs: number;
}

const LATENCIES = { '0.1 s': 100, '0.4 s': 400, '0.8 s': 800, '1.5 s': 1_500, '3 s': 3_000 } as const;
/** Latency of requests that are not slow. */
const FAST_MS = LATENCIES['0.1 s'];

/** Round trips, in milliseconds. */
export interface RoundTrips {
  readonly readMs: number;
  readonly orderMs: number;
}

export function roundTripsOf({ latency, slow }: Levels): RoundTrips {
  const slowMs = LATENCIES[latency];
  return {
    readMs: slow === 'orders only' ? FAST_MS : slowMs,
    orderMs: slow === 'reads only' ? FAST_MS : slowMs,
  };
}

const READS = ['openPositions', 'creditLine', 'mainBalance'];
const COMMANDS = ['stopLimit', 'cancelAll'];

/** Extra latency of the slow requests, half of it each way. */
export function slownessOf({ readMs, orderMs }: RoundTrips): TimedFault[] {
  const extraMs = Math.abs(readMs - orderMs) / 2;
  if (extraMs === 0) return [];
  return (readMs > orderMs ? READS : COMMANDS).flatMap((endpoint) =>
    (['request', 'reply'] as const).map((at) => ({
      atMs: 0,
      fault: { effect: { kind: 'latency', delayMs: extraMs, at }, target: { endpoint } },
    })),
  );
}

/** Length of a slot: within one, an endpoint either refuses or answers all requests. */
const SLOT_MS = 400;
const SHARES = { '0': 0, '10 %': 0.1, '30 %': 0.3 } as const;

/** Both kinds of 429, the three of 503, lost replies and resets, for each endpoint at its own times. */
export function refusalsOf({ errors }: Levels, times: Times, random: SeededRandom): TimedFault[] {
  const share = SHARES[errors];
  const faults: TimedFault[] = [];
  if (share === 0) return faults;
  for (const endpoint of [...READS, ...COMMANDS]) {
    for (let atMs = times.fallMs - 5_000; atMs < times.endMs; atMs += SLOT_MS) {
      if (random.uniform() >= share) continue;
      const effect = refusalBy(random);
      faults.push({ atMs, untilMs: atMs + SLOT_MS, fault: { effect, target: { endpoint } } });
    }
  }
  return faults;
}

function refusalBy(random: SeededRandom): FaultEffect {
  switch (random.below(5)) {
    case 0:
      return { kind: 'status', status: 429 };
    case 1: {
      const retryAfterMs = [0, 1_000, 60_000][random.below(3)] ?? 0;
      return { kind: 'gatewayStatus', status: 429, ...(retryAfterMs === 0 ? {} : { retryAfterMs }) };
    }
    case 2: {
      const meaning = (['executed', 'failed', 'overloaded'] as const)[random.below(3)] ?? 'failed';
      return { kind: 'unavailable', meaning };
    }
    case 3:
      return { kind: 'lostReply', connection: random.below(2) === 0 ? 'reset' : 'hang' };
    default:
      return { kind: 'reset' };
  }
}

/** Untrue contents of lists of positions. */
export function falseListsOf({ list }: Levels, times: Times, random: SeededRandom): TimedFault[] {
  const target = { endpoint: 'openPositions' };
  const atMs = Math.max(0, times.fallMs - Math.floor(random.uniform() * 20_000));
  switch (list) {
    case 'clean':
      return [];
    case 'one null record': {
      if (random.below(4) === 0)
        return [{ atMs, fault: { effect: { kind: 'nullRecord', inPlace: true }, target, probability: 0.5 } }];
      const market = random.below(2) === 0 ? 'TRX_PERP' : 'LTC_PERP';
      return [{ atMs, fault: { effect: { kind: 'nullRecord', market }, target } }];
    }
    case 'one broken record':
      return [{ atMs, fault: { effect: { kind: 'badRecord' }, target, probability: 0.6 } }];
    case 'empty string': {
      const field = random.below(2) === 0 ? {} : { field: 'liquidationState' };
      return [{ atMs, fault: { effect: { kind: 'emptyString', ...field }, target } }];
    }
    case 'empty for a minute': {
      // Over before the threshold is crossed, or shortly after; or beginning after a reply has shown it.
      const startMs =
        times.breachMs +
        (random.below(2) === 0 ? -70_000 + random.uniform() * 12_000 : random.uniform() * 3_000);
      const fromMs = Math.max(1_000, Math.floor(startMs));
      return [{ atMs: fromMs, untilMs: fromMs + 60_000, fault: { effect: { kind: 'emptyList' }, target } }];
    }
  }
}

export function cancelTroubleOf({ cancels }: Levels): TimedFault[] {
  if (cancels === 'work') return [];
  const effect: FaultEffect =
    cancels === 'refused'
      ? { kind: 'refusal', of: 'cancels', status: 403, message: 'Cancels are not possible now.' }
      : { kind: 'hang' };
  return [{ atMs: 0, fault: { effect, target: { endpoint: 'cancelAll' } } }];
}

/** Mean time between two, in milliseconds. */
const STALL_EVERY_MS = 8_000;

/** Stalls of the daemon's process: 0.2 to 3 s each, short ones more often. */
export function stallsOf(
  { stalls }: Levels,
  times: Times,
  daemon: string,
  random: SeededRandom,
): TimedEvent[] {
  const events: TimedEvent[] = [];
  if (stalls === 'none') return events;
  let atMs = times.fallMs - 5_000;
  for (;;) {
    atMs += Math.round(-STALL_EVERY_MS * Math.log(1 - random.uniform()));
    if (atMs >= times.endMs) return events;
    const lengthMs = Math.round(200 * 15 ** random.uniform());
    events.push({ atMs, kind: 'suspend', daemon });
    atMs += lengthMs;
    events.push({ atMs, kind: 'resume', daemon });
  }
}
