import { expect, test } from 'vitest';
import { type FieldSpec, fieldsOf } from '../../../src/core/fields/field-catalogue.ts';
import { readPositions } from '../../../src/core/lanes/market-read.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../../src/core/rules/evaluate.ts';
import { withoutOvertaken } from '../../../src/core/rules/overtaken.ts';
import type {
  ActionSpec,
  ActiveWindow,
  Comparison,
  ConditionSpec,
  RuleSpec,
  SubjectFilter,
  SubjectKind,
} from '../../../src/core/rules/rule.ts';
import { Dice } from '../../support/dice.ts';
import { KeptHash } from '../../support/kept-hash.ts';
import { rule, settings } from './fixtures.ts';
import { marketOf, PlayedAccount } from './played-account.ts';

/**
 * Accounts with random rules that change from time to time: conditions of several comparisons, with and without
 * hysteresis, on values often just at a threshold. A hash covers all results of the evaluations, the state included.
 * `npm test -- test/core/rules/histories.test.ts --update` takes new hashes; `KEPT=folder` writes the results in full.
 */

const POLLS = 25;
const RULES = 14;

const THRESHOLDS: Readonly<Record<string, readonly [number, ...number[]]>> = {
  ratio: [0.1, 0.05, 0.6, 0.75, 0.2, 0.5],
  ratioPerHour: [0.02, 0, 0.5],
  seconds: [10, 1, 60, 0],
  minutes: [30, 5],
};

function comparisonOf(field: FieldSpec, dice: Dice): Comparison {
  if (field.type === 'boolean') return { op: 'equals', value: dice.hits(0.5) };
  if (field.type === 'enum') {
    const [first = '', ...others] = field.values;
    return dice.hits(0.5) ? { op: 'in', values: others } : { op: 'equals', value: first };
  }
  const unit = field.type === 'number' ? (field.unit ?? '') : '';
  const threshold = dice.of(...(THRESHOLDS[unit] ?? [0, 1, 0.5, 2, 3, 500, 1_000]));
  const isHeld = dice.hits(0.5);
  const clear = threshold * dice.of(1, 1.5, 0.5);
  const op = dice.of('below', 'above', 'below', 'above', 'equals', 'in');
  if (op === 'below') return { op, threshold, ...(isHeld ? { clearAbove: clear } : {}) };
  if (op === 'above') return { op, threshold, ...(isHeld ? { clearBelow: clear } : {}) };
  return op === 'equals' ? { op, value: threshold } : { op, values: [threshold, 0] };
}

function comparedOf(on: SubjectKind, dice: Dice): ConditionSpec {
  const fields = fieldsOf(on);
  const field = fields[Math.floor(dice.next() * fields.length)];
  if (field === undefined) throw new TypeError(`no field on ${on}`);
  const isAsked = (name: string): boolean =>
    field.parameters.some((one) => one.name === name && (one.required || dice.hits(0.5)));
  const parameter = {
    ...(isAsked('asset') ? { asset: dice.of('USDT', 'BTC', 'USDC') } : {}),
    ...(isAsked('source') ? { source: dice.of('positions', 'creditLine') } : {}),
    ...(isAsked('windowMs') ? { windowMs: dice.of(1_000, 60_000) } : {}),
  };
  return { kind: 'field', field: field.name, parameter, comparison: comparisonOf(field, dice) };
}

function conditionOf(on: SubjectKind, dice: Dice, depth = 0): ConditionSpec {
  if (depth === 2 || dice.hits(0.5)) return comparedOf(on, dice);
  if (dice.hits(0.25)) return { kind: 'not', condition: conditionOf(on, dice, depth + 1) };
  const conditions = Array.from({ length: dice.of(1, 2, 2, 3) }, () => conditionOf(on, dice, depth + 1));
  return { kind: dice.of('all', 'any'), conditions };
}

function whereOf(on: SubjectKind, dice: Dice): SubjectFilter {
  if (on === 'creditLine')
    return dice.of<SubjectFilter>({}, {}, { asset: ['B?C'] }, { asset: ['USDT', 'X*'] });
  if (on === 'account') return {};
  return dice.of<SubjectFilter>(
    {},
    {},
    {},
    { market: ['ETH_*', '?TC_PERP'] },
    { market: ['*_USDC'] },
    { market: ['ETH_PERP'], direction: 'short' },
    { direction: 'long' },
    { positionId: ['4?', '44'] },
    { positionId: ['*3'], market: ['*'] },
  );
}

function actionsOf(on: SubjectKind, dice: Dice): readonly ActionSpec[] {
  const positions = on === 'position' || dice.hits(0.3) ? {} : { positions: [dice.of('*_PERP', 'ETH_*')] };
  const notify: ActionSpec = { kind: 'notify', channels: ['ops'], cure: on === 'creditLine' ? [0.5] : [] };
  return dice.of<readonly ActionSpec[]>(
    [notify],
    [notify, { kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.01], ...positions }],
    [{ kind: 'protect', at: 0.6, slippage: 0.01, ...positions }],
    [{ kind: 'protect', at: 0.5, slippage: 0.01, ...positions }, notify],
    [{ kind: 'cancelAll', types: ['futures'], scope: 'market' }, notify],
  );
}

/** The snapshots' clock is on a Tuesday, 22:30 UTC. */
const WINDOWS: readonly [ActiveWindow, ...ActiveWindow[]] = [
  { days: [2], fromMinute: 1_320, toMinute: 60, timeZone: 'UTC' },
  { days: [3], fromMinute: 480, toMinute: 1_020, timeZone: 'UTC' },
  { days: [2], fromMinute: 1_334, toMinute: 1_335, timeZone: 'UTC' },
];

function ruleOf(id: string, dice: Dice): RuleSpec {
  const on = dice.of<SubjectKind>('position', 'position', 'creditLine', 'account');
  return rule(on, conditionOf(on, dice), {
    id,
    checksum: `c${Math.floor(dice.next() * 1e6)}`,
    where: whereOf(on, dice),
    forMs: dice.of(0, 0, 1_000, 2_000, 5_000),
    keepFiringForMs: dice.of(0, 0, 1_000, 5_000),
    actions: actionsOf(on, dice),
    escalate: [1_000, 3_000, 60_000]
      .slice(0, dice.of(0, 1, 2, 3))
      .map((afterMs) => ({ afterMs, actions: actionsOf(on, dice) })),
    severity: dice.of('info', 'warning', 'critical'),
    ...(dice.hits(0.3) ? { mode: dice.of('observe', 'approve', 'enforce') } : {}),
    ...(dice.hits(0.15) ? { activeWindow: dice.of(...WINDOWS) } : {}),
  });
}

/** A rule is changed, removed, added, or only watched from now on. */
function changed(rules: readonly RuleSpec[], poll: number, dice: Dice): readonly RuleSpec[] {
  const at = Math.floor(dice.next() * rules.length);
  const what = dice.of('new', 'gone', 'mode', 'same rule', 'order');
  if (what === 'gone') return rules.filter((_, index) => index !== at);
  if (what === 'order') return rules.toReversed();
  const added = ruleOf(`r${RULES + poll}`, dice);
  if (what === 'new') return [...rules, added];
  const mode = dice.of('observe', 'enforce', 'approve');
  return rules.map((one, index) => {
    if (index !== at) return one;
    return what === 'mode' ? { ...one, mode } : { ...one, forMs: 0, checksum: added.checksum };
  });
}

const CHANGES: readonly [Partial<AccountSettings>, ...Partial<AccountSettings>[]] = [
  {},
  { marginModel: 'cross', holdings: { BTC: 50_000 }, mode: 'observe' },
  { marginModel: 'isolated', bothSign: 'unsigned', ltvUnit: 'percent', withdrawalAllowList: ['home'] },
  { cadence: { calmMs: 1_000, alertMs: 500 }, mode: 'approve' },
];

test.for(Array.from({ length: 24 }, (_, index) => index + 1))('account %i, by its hash', (seed) => {
  const dice = new Dice(seed * 1_000);
  const kept = new KeptHash();
  const own = settings({ ...dice.of(...CHANGES), marketSettings: marketOf });
  const account = new PlayedAccount(dice, { isWhole: true });
  let rules = Array.from(
    { length: RULES },
    (_, index): RuleSpec => ruleOf(`r${index}`, dice),
  ) as readonly RuleSpec[];
  let compiled = compileRules(rules, own);
  let state = emptyAccountState('desk-1');
  for (let poll = 0; poll < POLLS; poll += 1) {
    account.moveWhole();
    if (dice.hits(0.3)) {
      rules = changed(rules, poll, dice);
      compiled = compileRules(rules, own);
    }
    const { now } = account;
    const laneNowMs = dice.hits(0.7) ? now.wallMs + dice.of(0, 0, -2_000, 500) : undefined;
    const read = account.snapshot(own);
    const snapshot =
      laneNowMs === undefined ? read : withoutOvertaken(read, state, { laneNowMs, isNew: true });
    const options = { leastIntervalMs: dice.of(0, 800), ...(laneNowMs === undefined ? {} : { laneNowMs }) };
    const evaluation = evaluate({ snapshot, state, now, options }, compiled);
    kept.add('evaluated', evaluation);
    kept.add('positions', [...readPositions(snapshot, evaluation.state, compiled)]);
    state = dice.hits(0.5)
      ? evaluation.state
      : (JSON.parse(JSON.stringify(evaluation.state)) as typeof state);
  }
  expect(kept.text).toMatchSnapshot();
});
