import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { playUnprotected, runUntilLiquidated } from './baseline.ts';
import { judgeControl } from './control.ts';
import { DAEMON, type FieldCase } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';
import { playerPrevents } from './player.ts';

/** Too frequent to print. */
const ROUTINE: ReadonlySet<LedgerEntry['kind']> = new Set(['price_set', 'account_created', 'funding']);

interface Line {
  readonly atMs: number;
  readonly words: string;
}

/** Replays a case with the exchange's view and the daemon's decisions, as text or as one JSON object. */
export async function replayCase(
  { kind, fieldCase }: { readonly kind: 'case' | 'control' | 'scenario'; readonly fieldCase: FieldCase },
  asJson: boolean,
): Promise<string> {
  const { id, levels, world: spec, threshold, times } = fieldCase;
  const baseline = await playUnprotected(fieldCase);
  const isPrevented = kind !== 'control' && (await playerPrevents(fieldCase, baseline));
  const harm = kind === 'control' ? (await judgeControl(fieldCase)).harm : [];
  const world = openWorld(spec);
  await runUntilLiquidated(world);
  const lines = linesOf(world);
  const { breachMs, liquidatedMs } = baseline;
  const facts = {
    id,
    kind,
    levels,
    threshold,
    fallMs: times.fallMs,
    breachMs,
    liquidatedMs,
    playerPrevents: isPrevented,
    harm,
  };
  if (asJson) return `${JSON.stringify({ ...facts, lines, spec })}\n`;
  const seconds = (ms: number | undefined): string =>
    ms === undefined ? 'never' : `${(ms / 1_000).toFixed(1)} s`;
  return [
    `Case ${id} (${kind})`,
    ...Object.entries(levels).map(([factor, value]) => `  ${factor}: ${value}`),
    `The fall begins at ${seconds(times.fallMs)}, crosses ${100 * threshold} % at ${seconds(breachMs)}, and liquidates the unprotected account at ${seconds(liquidatedMs)}.`,
    ...(kind === 'control'
      ? [`Harm: ${harm.join('; ') || 'none'}.`]
      : [`The player ${isPrevented ? 'prevents' : 'does not prevent'} it.`]),
    '',
    ...lines.map(({ atMs, words }) => `${(atMs / 1_000).toFixed(2).padStart(9)}  ${words}`),
    ...world.errors.map((error) => `unexpected: ${String(error)}`),
    '',
  ].join('\n');
}

function linesOf(world: World): readonly Line[] {
  const { exchange, startMs } = world;
  const ledger = exchange.model
    .ledger()
    .filter(({ kind, accountId }) => !ROUTINE.has(kind) && (accountId === ACCOUNT || accountId === null))
    .map((entry): Line => ({ atMs: entry.atMs - startMs, words: `exchange: ${wordsOf(entry)}` }));
  const requests = exchange.log
    .list({ account: ACCOUNT })
    .filter(({ endpoint, outcome }) => endpoint !== 'openPositions' || outcome !== 'served')
    .map(
      ({ atMs, endpoint, outcome, status, faults }): Line => ({
        atMs: atMs - startMs,
        words: `request:  ${endpoint} ${outcome} ${status ?? 'no reply'} ${faults.filter((kind) => kind !== 'latency').join(' ')}`,
      }),
    );
  const decided = world.daemon(DAEMON).events.flatMap((event): Line[] => {
    if (event.kind !== 'audited') return [];
    const { atMs, kind, market, reason, words } = event.event;
    return [{ atMs: atMs - startMs, words: `daemon:   ${kind} ${market ?? ''} ${reason ?? ''}: ${words}` }];
  });
  return [...ledger, ...requests, ...decided].sort((a, b) => a.atMs - b.atMs);
}

function wordsOf({ kind, market, side, amount, price, reason, details }: LedgerEntry): string {
  const told = Object.entries(details ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${String(value)}`);
  return [kind, market, side, amount, price && `at ${price}`, reason, ...told].filter(Boolean).join(' ');
}
