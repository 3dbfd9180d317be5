import type { Candidate } from './tune-case.ts';

/** The space of a search. Shares are fractions, times are written as in a config. */
export interface CandidateSpace {
  /** Variants of `protect`; `null`: no standing stop. */
  readonly covers: readonly (CoverDraft | null)[];
  /** Distances to liquidation below which a rule acts; `null`: no such rule. */
  readonly thresholds: readonly (number | null)[];
  /** Extents of a reduction: until a multiple of the threshold, until a distance, or by a share. */
  readonly steps: readonly StepDraft[];
  /** How long the condition must hold first. */
  readonly holds: readonly string[];
}

/** One standing stop, or a ladder of them; a ladder is one entry of `covers`. */
export type CoverDraft =
  | { readonly at: number }
  | { readonly ladder: readonly { readonly at: number; readonly close: number | 'rest' }[] };

export type StepDraft = { readonly times: number } | { readonly until: number } | { readonly by: number };

/** Keeps floating-point noise out of a config. */
const PERCENT_DIGITS = 6;

/** A lone standing stop near liquidation, and closing at the exchange's margin call. Every table has both. */
export const ANCHORS: readonly Candidate[] = [
  {
    name: 'lone stop at 95%',
    isAnchor: true,
    reach: { way: 0.95, distance: 0 },
    rules: [coverRule({ at: 0.95 })],
  },
  {
    name: 'close at margin call',
    isAnchor: true,
    reach: { way: 1, distance: 0.02 },
    rules: [
      {
        id: 'margin-called',
        on: 'position',
        when: { liquidationState: { in: ['margin_call', 'liquidation', 'unrecognised'] } },
        do: [{ reduce: { to: '0%', slippage: ['3%', '5%'] } }],
      },
    ],
  },
];

/** The space of an ordinary search: several hundred sets. */
export const USUAL_SPACE: CandidateSpace = {
  covers: [null, { at: 0.6 }, { at: 0.75 }, { at: 0.85 }, { at: 0.9 }, { at: 0.95 }],
  thresholds: [null, 0.02, 0.03, 0.04, 0.05, 0.08, 0.12],
  steps: [{ times: 1.5 }, { times: 2 }, { times: 3 }, { until: 0.3 }, { by: 0.3 }, { by: 0.5 }, { by: 1 }],
  holds: ['0s', '3s', '10s'],
};

/** Ladders of two and three rungs, for configs whose `protect` supports them. */
export const USUAL_LADDERS: readonly CoverDraft[] = [
  ladder([0.75, 0.3], [0.88, 0.4]),
  ladder([0.8, 0.3], [0.9, 0.4]),
  ladder([0.85, 0.3], [0.92, 0.4]),
  ladder([0.6, 0.2], [0.8, 0.4]),
  ladder([0.85, 0.5]),
  ladder([0.75, 0.5]),
];

function ladder(...rungs: readonly (readonly [at: number, close: number])[]): CoverDraft {
  return {
    ladder: [...rungs.map(([at, close]) => ({ at, close })), { at: 0.95, close: 'rest' as const }],
  };
}

/** Every combination once, except the one without a rule. */
export function candidatesOf({ covers, thresholds, steps, holds }: CandidateSpace): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const cover of covers) {
    for (const threshold of thresholds) {
      const ways =
        threshold === null ? [undefined] : steps.flatMap((step) => holds.map((hold) => ({ step, hold })));
      for (const way of ways) {
        const one = candidate(cover, threshold === null || way === undefined ? null : { threshold, ...way });
        if (one !== undefined) found.set(one.name, one);
      }
    }
  }
  return [...found.values()];
}

interface Reduction {
  readonly threshold: number;
  readonly step: StepDraft;
  readonly hold: string;
}

function candidate(cover: CoverDraft | null, reduction: Reduction | null): Candidate | undefined {
  if (cover === null && reduction === null) return undefined;
  const parts = [
    ...(cover === null ? [] : [{ name: coverName(cover), rule: coverRule(cover) }]),
    ...(reduction === null ? [] : [{ name: reductionName(reduction), rule: reductionRule(reduction) }]),
  ];
  return {
    name: parts.map(({ name }) => name).join('; '),
    rules: parts.map(({ rule }) => rule),
    reach: { way: cover === null ? 1 : firstOf(cover), distance: reduction?.threshold ?? 0 },
  };
}

/** The rung that is reached first. */
function firstOf(cover: CoverDraft): number {
  return 'at' in cover ? cover.at : Math.min(...cover.ladder.map(({ at }) => at));
}

function coverName(cover: CoverDraft): string {
  if ('at' in cover) return `stop at ${percent(cover.at)}`;
  const rungs = cover.ladder.map(
    ({ at, close }) => `${percent(at)}: ${close === 'rest' ? close : percent(close)}`,
  );
  return `ladder ${rungs.join(', ')}`;
}

function coverRule(cover: CoverDraft): Candidate['rules'][number] {
  const where =
    'at' in cover
      ? { at: percent(cover.at) }
      : {
          ladder: cover.ladder.map(({ at, close }) => ({
            at: percent(at),
            close: close === 'rest' ? close : percent(close),
          })),
        };
  return {
    id: 'standing-stop',
    on: 'position',
    when: { liquidationDistance: { below: '500%' } },
    do: [{ protect: { ...where, slippage: '5%' } }],
  };
}

function reductionName({ threshold, step, hold }: Reduction): string {
  const held = hold === '0s' ? '' : ` for ${hold}`;
  const until = untilOf(step, threshold);
  return `below ${percent(threshold)}${held} ${until === undefined ? `by ${percent('by' in step ? step.by : 1)}` : `until ${percent(until)}`}`;
}

/** The condition clears a quarter beyond its threshold, or half way to the target if that is nearer. */
function reductionRule({ threshold, step, hold }: Reduction): Candidate['rules'][number] {
  const until = untilOf(step, threshold);
  const clear = Math.min(threshold * 1.25, until === undefined ? 1 : (threshold + until) / 2);
  const target =
    until === undefined ? { by: percent('by' in step ? step.by : 1) } : { untilDistance: percent(until) };
  return {
    id: 'near-liquidation',
    on: 'position',
    when: { liquidationDistance: { below: percent(threshold), clearAbove: percent(clear) } },
    ...(hold === '0s' ? {} : { for: hold }),
    do: [{ reduce: { ...target, slippage: ['2%', '3%', '5%'] } }],
    limits: { perHour: 30 },
    severity: 'critical',
  };
}

/** Distance at which a step ends; undefined: it goes by a share. */
function untilOf(step: StepDraft, threshold: number): number | undefined {
  if ('by' in step) return undefined;
  return 'until' in step ? step.until : threshold * step.times;
}

/** `12.5%` */
function percent(share: number): string {
  return `${Number((share * 100).toPrecision(PERCENT_DIGITS))}%`;
}
