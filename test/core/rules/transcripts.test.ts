import path from 'node:path';
import { expect, test } from 'vitest';
import { FIELD_CATALOGUE, type FieldSpec } from '../../../src/core/fields/field-catalogue.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { type Evaluation, evaluate } from '../../../src/core/rules/evaluate.ts';
import type {
  ActionSpec,
  ActiveWindow,
  Comparison,
  ConditionSpec,
  FieldParameter,
  RuleSpec,
  SubjectFilter,
} from '../../../src/core/rules/rule.ts';
import { Dice } from '../../support/dice.ts';
import { rule, settings } from './fixtures.ts';
import { marketOf, PlayedAccount } from './played-account.ts';

/**
 * An account with a rule on every field of the catalogue, over polls in which one thing or another is missing.
 * transcripts/ keeps the decisions, requests, words and forecasts, and when the next poll is due.
 * `npm test -- test/core/rules/transcripts.test.ts --update` rewrites them.
 */

const POLLS = 14;

const CHANGES: readonly Partial<AccountSettings>[] = [
  {},
  { marginModel: 'cross', holdings: { BTC: 50_000 } },
  { marginModel: 'isolated', bothSign: 'unsigned', ltvUnit: 'percent', withdrawalAllowList: ['home'] },
];

const SEEDS = [1, 2, 3, 4];

test.for(SEEDS)('account %i', async (seed) => {
  const file = path.join(import.meta.dirname, 'transcripts', `${seed}.txt`);
  await expect(transcriptOf(seed)).toMatchFileSnapshot(file);
});

test('the rules are of every kind: modes, windows, durations, subjects, severities, actions', () => {
  const rules = SEEDS.flatMap(rulesOn);
  const kinds = (of: (one: RuleSpec) => unknown): ReadonlySet<unknown> => new Set(rules.map(of));
  expect(kinds(({ mode }) => mode)).toEqual(new Set([undefined, 'observe', 'approve']));
  expect(kinds(({ activeWindow }) => activeWindow)).toEqual(new Set([undefined, INSIDE, OUTSIDE]));
  expect(kinds(({ forMs }) => forMs)).toEqual(new Set([0, 2_000]));
  expect(kinds(({ keepFiringForMs }) => keepFiringForMs)).toEqual(new Set([0, 5_000]));
  const subjects = ['', 'asset', 'direction', 'market', 'positionId'];
  expect(kinds(({ where }) => Object.keys(where).join())).toEqual(new Set(subjects));
  expect(kinds(({ severity }) => severity)).toEqual(new Set(['info', 'warning', 'critical']));
  expect(kinds(({ when }) => when.kind)).toEqual(new Set(['field', 'not']));
  const actions = ['position', 'creditLine', 'account'].flatMap((on) =>
    ['notify', 'protect', 'reduce'].map((kind) => `${on} ${kind}`),
  );
  expect(kinds((one) => `${one.on} ${one.actions.at(-1)?.kind}`)).toEqual(new Set(actions));
});

function transcriptOf(seed: number): string {
  const dice = new Dice(seed);
  const own = settings({ ...CHANGES[seed % CHANGES.length], marketSettings: marketOf });
  const compiled = compileRules(rulesOn(seed), own);
  const account = new PlayedAccount(dice);
  let state = emptyAccountState('desk-1');
  const lines: string[] = [];
  let said = new Map<string, string>();
  let asked: ReadonlySet<string> = new Set();
  const nth = nthEpisodes();
  for (let poll = 0; poll < POLLS; poll++) {
    account.move();
    const laneNowMs = dice.hits(0.5) ? account.now.wallMs : undefined;
    const options = { leastIntervalMs: dice.of(0, 800), ...(laneNowMs === undefined ? {} : { laneNowMs }) };
    const evaluation = evaluate(
      { snapshot: account.snapshot(own), state, now: account.now, options },
      compiled,
    );
    state = JSON.parse(JSON.stringify(evaluation.state)) as typeof state;
    const decided = new Map(
      evaluation.decisions.map(({ ruleId, subject, phase, reason, unknown }) => [
        `${ruleId} ${subject}`,
        `${phase} ${reason} ${unknown ?? ''}`.trim(),
      ]),
    );
    lines.push(`-- poll ${poll} read ${evaluation.state.positionsReadMs ?? ''}`, ...linesOf(evaluation, nth));
    const changed = new Set(evaluation.transitions.map(({ ruleId, subject }) => `${ruleId} ${subject}`));
    for (const [key, words] of decided) {
      if (said.get(key) !== words && !changed.has(key)) lines.push(`${key}: ${words}`);
    }
    for (const key of said.keys()) if (!decided.has(key)) lines.push(`${key}: not judged`);
    said = decided;
    const asks = askedBy(evaluation);
    lines.push(`asks for ${[...asks].filter((one) => !asked.has(one)).join(', ')}`);
    lines.push(`no more for ${[...asked].filter((one) => !asks.has(one)).join(', ')}`);
    asked = asks;
  }
  return `${lines.join('\n')}\n`;
}

type Nth = (key: string, episode: number) => number;

/** Numbers the episodes of each rule and subject from 1, so that other rules do not matter. */
function nthEpisodes(): Nth {
  const seen = new Map<string, ReadonlySet<number>>();
  return (key, episode) => {
    const episodes = new Set(seen.get(key)).add(episode);
    seen.set(key, episodes);
    return [...episodes].indexOf(episode) + 1;
  };
}

function linesOf({ transitions, forecasts, nextDue }: Evaluation, nth: Nth): readonly string[] {
  const figures = JSON.stringify(forecasts, (_, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(6)) : value,
  );
  return [
    `due ${JSON.stringify(nextDue)}`,
    `forecasts ${figures}`,
    ...transitions.map(
      ({ ruleId, subject, episode, from, to, reason, stage, words }) =>
        `${ruleId} ${subject} ${nth(`${ruleId} ${subject}`, episode)}: ${from} to ${to}, ${reason} ${stage ?? ''} ${words}`,
    ),
  ];
}

function askedBy({ active }: Evaluation): ReadonlySet<string> {
  return new Set(
    active.map(({ ruleId, subject, stage, actionIndex, mode, exemptFromLimits, hasCleared }) =>
      [
        ruleId,
        subject,
        `${stage}.${actionIndex}`,
        mode,
        exemptFromLimits && 'exempt',
        hasCleared && 'cleared',
      ]
        .filter((part) => typeof part === 'string')
        .join(' '),
    ),
  );
}

/** A rule on each field, with its own dice: a new field changes no other rule. */
function rulesOn(seed: number): readonly RuleSpec[] {
  return FIELD_CATALOGUE.map((field) => {
    const index = numberOf(`${field.on}.${field.name}`);
    const dice = new Dice(seed * 1_000_003 + index);
    return rule(field.on, conditionOn(field, dice), {
      id: `${field.on}-${field.name}`,
      checksum: `c${index}`,
      forMs: dice.of(0, 0, 2_000),
      keepFiringForMs: dice.of(0, 5_000),
      where: whereOf(field, dice),
      actions: [
        { kind: 'notify', channels: ['ops'], cure: field.on === 'creditLine' ? [0.5] : [] },
        ...actsOf(field, index),
      ],
      escalate: [{ afterMs: 4_000, actions: [{ kind: 'notify', channels: ['boss'], cure: [] }] }],
      severity: dice.of('info', 'warning', 'critical'),
      ...(index % 7 === 0 ? { mode: dice.of('observe' as const, 'approve' as const) } : {}),
      ...(index % 9 === 0 ? { activeWindow: dice.of<ActiveWindow>(INSIDE, OUTSIDE) } : {}),
    });
  });
}

function numberOf(name: string): number {
  return Buffer.from(name).reduce((sum, byte) => (sum * 31 + byte) % 1_000_003, 7);
}

/** The snapshots' clock is on a Tuesday, 22:30 UTC. */
const INSIDE = { days: [2], fromMinute: 1_320, toMinute: 60, timeZone: 'UTC' } as const;
const OUTSIDE = { days: [3], fromMinute: 480, toMinute: 1_020, timeZone: 'UTC' } as const;

function whereOf({ on }: FieldSpec, dice: Dice): SubjectFilter {
  if (on === 'creditLine') return dice.of<SubjectFilter>({}, {}, { asset: ['B?C'] });
  if (on === 'account') return {};
  return dice.of<SubjectFilter>(
    {},
    {},
    { market: ['ETH_*', '?TC_PERP'] },
    { direction: 'long' },
    { positionId: ['4?', '44'] },
  );
}

function actsOf({ on }: FieldSpec, index: number): readonly ActionSpec[] {
  const positions = on === 'position' ? {} : { positions: ['*_PERP'] };
  if (index % 4 === 0)
    return [{ kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.01], ...positions }];
  if (index % 4 === 1) return [{ kind: 'protect', at: 0.6, slippage: 0.01, ...positions }];
  return [];
}

function conditionOn(field: FieldSpec, dice: Dice): ConditionSpec {
  const names = new Set(field.parameters.filter(({ required }) => required).map(({ name }) => name));
  const parameter: FieldParameter = {
    ...(names.has('asset') ? { asset: dice.of('USDT', 'BTC', 'USDC') } : {}),
    ...(names.has('source') ? { source: 'positions' } : {}),
    ...(names.has('windowMs') ? { windowMs: dice.of(60_000, 3_600_000) } : {}),
  };
  const condition: ConditionSpec = {
    kind: 'field',
    field: field.name,
    parameter,
    comparison: comparisonOf(field, dice),
  };
  if (dice.hits(0.15)) return { kind: 'not', condition };
  return condition;
}

function comparisonOf(field: FieldSpec, dice: Dice): Comparison {
  if (field.type === 'boolean') return { op: 'equals', value: dice.hits(0.7) };
  if (field.type === 'enum') return { op: 'in', values: field.values.slice(1) };
  const threshold = THRESHOLDS[field.type === 'number' ? (field.unit ?? '') : ''] ?? dice.of(0.5, 3, 1_000);
  return field.danger === 'above'
    ? { op: 'above', threshold, clearBelow: threshold * 0.9 }
    : { op: 'below', threshold, clearAbove: threshold * 1.1 };
}

const THRESHOLDS: Readonly<Record<string, number>> = {
  ratio: 0.055,
  ratioPerHour: 0.02,
  seconds: 10,
  minutes: 30,
};
