import { z } from 'zod';
import type { DecisionInputs } from '../audit/audit-record.ts';
import type { HistoryMoment, HistorySample } from '../ports/history-reader.ts';
import { valueOf } from '../quantities/quantity.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { creditLineKey, creditLineParts } from '../rules/memory.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { evaluatedAccount, positionKey } from '../rules/subjects.ts';
import { named, type OutputOf, timeMs } from '../schema/parts.ts';

/** How near something was to liquidation, or a credit line to its margin call, at one moment. Plain JSON. */
export const sightingSchema = named('Sighting', () => ({
  subject: z.string(),
  of: z.enum(['market', 'allMarkets', 'creditLine']),
  name: z.string().describe('The market, or the asset of the credit line; empty for `allMarkets`.'),
  atMs: timeMs(),
  distance: z
    .number()
    .nullable()
    .describe('How far the price may move, or the collateral fall, a fraction; null: unknown.'),
  called: z
    .enum(['marginCall', 'liquidation'])
    .nullable()
    .describe("The exchange's call at that time; null: none."),
}));
export type Sighting = OutputOf<typeof sightingSchema>;

/** Subject of the account as a whole in the history: how far all markets may move together. */
export const ALL_MARKETS: SubjectKey = 'account';

/** Sightings of one stored moment; the history shows margin calls of credit lines only. */
export function sightingsInHistory({ atMs, samples }: HistoryMoment): readonly Sighting[] {
  return samples.flatMap((sample) => sightingOf(sample, atMs));
}

function sightingOf({ subject, values }: HistorySample, atMs: number): readonly Sighting[] {
  if (subject === ALL_MARKETS) {
    const { jointDistance: distance } = values;
    return typeof distance === 'number'
      ? [{ subject, of: 'allMarkets', name: '', atMs, distance, called: null }]
      : [];
  }
  const creditLine = creditLineParts(subject);
  if (creditLine !== undefined) {
    const { currentLtv, marginCallLtv } = values;
    if (typeof currentLtv !== 'number' || typeof marginCallLtv !== 'number' || marginCallLtv <= 0) return [];
    return [creditLineSighting(subject, creditLine.asset, atMs, 1 - currentLtv / marginCallLtv)];
  }
  const { market, liquidationDistance: distance } = values;
  return typeof market === 'string' && typeof distance === 'number'
    ? [{ subject, of: 'market', name: market, atMs, distance, called: null }]
    : [];
}

function creditLineSighting(subject: SubjectKey, name: string, atMs: number, distance: number): Sighting {
  return { subject, of: 'creditLine', name, atMs, distance, called: distance <= 0 ? 'marginCall' : null };
}

/** Sightings in the inputs of a decision. */
export function sightingsInDecision(
  { snapshot, state }: Pick<DecisionInputs, 'snapshot' | 'state'>,
  settings: AccountSettings,
): readonly Sighting[] {
  const { at } = snapshot;
  const account = evaluatedAccount(snapshot, settings, at, state);
  const atMs = at.wallMs;
  const positions = account.positions.map((position): Sighting => {
    const { market, positionId } = position.record;
    const state = valueOf(position.liquidationState);
    return {
      subject: positionKey(positionId),
      of: 'market',
      name: market,
      atMs,
      distance: valueOf(position.liquidationDistance),
      called: state === 'liquidation' ? 'liquidation' : state === 'margin_call' ? 'marginCall' : null,
    };
  });
  const creditLines = account.creditLines.flatMap((creditLine): readonly Sighting[] => {
    const distance = valueOf(creditLine.collateralMayFall('marginCallLtv'));
    const { record } = creditLine;
    return distance === null ? [] : [creditLineSighting(creditLineKey(record), record.asset, atMs, distance)];
  });
  const { jointDistance } = account;
  const joint = jointDistance.kind === 'value' ? jointDistance.value : null;
  const together: readonly Sighting[] =
    positions.length < 2 || joint === null
      ? []
      : [{ subject: ALL_MARKETS, of: 'allMarkets', name: '', atMs, distance: joint, called: null }];
  return [...positions, ...creditLines, ...together];
}

const CALLS = { liquidation: 0, marginCall: 1 } as const;

/** Negative if `a` is nearer to harm. Calls come first, unknown distances last. */
export function compareSightings(a: Sighting, b: Sighting): number {
  const call = ({ called }: Sighting): number => (called === null ? 2 : CALLS[called]);
  const distance = (one: Sighting): number => one.distance ?? Number.POSITIVE_INFINITY;
  const [near, far] = [distance(a), distance(b)];
  return call(a) - call(b) || (near === far ? a.atMs - b.atMs : near < far ? -1 : 1);
}

/** Keeps only the nearest sighting of each subject, instead of all samples of a day. */
export class NearestSightings {
  readonly #bySubject = new Map<SubjectKey, Sighting>();

  add(sightings: readonly Sighting[]): void {
    for (const one of sightings) {
      const before = this.#bySubject.get(one.subject);
      if (before === undefined || compareSightings(one, before) < 0) this.#bySubject.set(one.subject, one);
    }
  }

  /** Nearest first. */
  get all(): readonly Sighting[] {
    return [...this.#bySubject.values()].toSorted(compareSightings);
  }
}
