import type { Control } from '../core/controls/controls.ts';
import { exchangeLinkOf } from '../core/lines/exchange-link.ts';
import { degradedWords } from '../core/lines/process-troubles.ts';
import { within } from '../core/ports/within.ts';
import type { OutputOf } from '../core/schema/parts.ts';
import type { AccountView } from '../core/view/account-view.ts';
import { headlineOf } from '../core/view/state-line.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import type { Scope } from './access.ts';
import type { overview } from './api/schemas.ts';
import { UNKNOWN_READINESS } from './health.ts';
import type { WebSources } from './sources.ts';

/** Maximum age of cached figures. */
const QUEUES_MS = 2000;
const HEALTH_MS = 1000;
/** A source without an answer in this time counts as unknown: a hung Redis must not hold back what is known. */
const ANSWER_MS = 3000;

export type Overview = OutputOf<typeof overview>;

/** The overview of all accounts; concurrent callers share its queries. */
export type OverviewSource = () => Promise<Overview>;

export function createOverview(
  sources: WebSources,
  can: (scope: Scope) => boolean,
  views: () => Promise<readonly AccountView[]>,
): OverviewSource {
  const inTime = <T>(work: Promise<T>): Promise<T> => within(systemTimers, ANSWER_MS, work);
  const queues = kept(QUEUES_MS, sources.nowMs, () => inTime(sources.process.queues()));
  const health = kept(HEALTH_MS, sources.nowMs, () => inTime(sources.process.readiness()));
  const controls = kept(0, sources.nowMs, async () => {
    const refusedControls: string[] = [];
    const inForce = await inTime(sources.controls.list((words) => refusedControls.push(words)));
    return { inForce, refusedControls };
  });
  return async () => {
    const { process, deposits } = sources;
    const [accounts, lines, found, listed] = await Promise.all([
      views(),
      queues().catch(() => []),
      health().catch(() => UNKNOWN_READINESS),
      controls().catch(() => undefined),
    ]);
    const { inForce = controlsOf(accounts), refusedControls = [] } = listed ?? {};
    const degraded = process.degraded();
    const offers = sources.views.ids().some((id) => deposits.offer(id) !== undefined);
    return {
      version: process.version,
      instance: process.instance,
      atMs: sources.nowMs(),
      startedAtMs: process.startedAtMs,
      mode: modeOf(accounts),
      accounts: sources.views.ids().length,
      firing: firingOf(accounts),
      headline: headlineOf(accounts),
      pauses: inForce.flatMap((one) => (one.kind === 'pause' ? [one] : [])),
      silences: inForce.flatMap((one) => (one.kind === 'silence' ? [one] : [])),
      acknowledgements: inForce.flatMap((one) => (one.kind === 'acknowledgement' ? [one] : [])),
      refusedControls,
      health: found,
      degraded,
      reachesAll: process.reachesAll(),
      degradedWords: Object.fromEntries(degraded.map((reason) => [reason, degradedWords(reason)])),
      exchange: exchangeLinkOf(accounts),
      oldestJudgedAtMs: oldestOf(accounts),
      queues: lines,
      polling: process.polling(),
      may: { control: can('control'), operate: can('operate'), topUp: can('operate') && offers },
    };
  };
}

function oldestOf(accounts: readonly AccountView[]): number | null {
  const times = accounts.map(({ judgedAtMs }) => judgedAtMs).filter((atMs) => atMs !== null);
  return times.length === 0 ? null : Math.min(...times);
}

function modeOf(accounts: readonly AccountView[]): Overview['mode'] {
  const modes = new Set(accounts.flatMap(({ mode }) => (mode === null ? [] : [mode])));
  if (modes.size > 1) return 'mixed';
  const [mode = 'observe'] = modes;
  return mode;
}

function firingOf(accounts: readonly AccountView[]): Overview['firing'] {
  const firing = { critical: 0, warning: 0, info: 0 };
  for (const { rules } of accounts) {
    for (const { phase, severity } of rules) if (phase === 'firing') firing[severity ?? 'critical'] += 1;
  }
  return firing;
}

/** Returns the controls in the last known account views, each once; used if the controls cannot be listed. */
function controlsOf(accounts: readonly AccountView[]): readonly Control[] {
  const seen = accounts.flatMap(({ pause, silences, notices }) => [
    ...(pause === null ? [] : [pause]),
    ...silences,
    ...notices.flatMap(({ acknowledged }) => (acknowledged === null ? [] : [acknowledged])),
  ]);
  return [...new Map(seen.map((control) => [control.id, control])).values()];
}

/** Caches the answer of `ask` for `maxAgeMs`. Callers share a pending answer; a rejected one is not kept. */
export function kept<T>(maxAgeMs: number, nowMs: () => number, ask: () => Promise<T>): () => Promise<T> {
  let atMs = Number.NEGATIVE_INFINITY;
  let answer: Promise<T> | undefined;
  let pending = false;
  return () => {
    const now = nowMs();
    const isFresh = pending || (now - atMs < maxAgeMs && now >= atMs);
    if (answer !== undefined && isFresh) return answer;
    atMs = now;
    pending = true;
    answer = ask().finally(() => {
      pending = false;
    });
    answer.catch(() => {
      answer = undefined;
    });
    return answer;
  };
}
