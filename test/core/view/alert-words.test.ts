import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { FieldReader, FieldSlot } from '../../../src/core/fields/field-cache.ts';
import { FIELD_CATALOGUE, type FieldSpec, findField } from '../../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../../src/core/fields/field-values.ts';
import { known, NONE, unknown } from '../../../src/core/quantities/quantity.ts';
import { compileCondition } from '../../../src/core/rules/condition.ts';
import type { Comparison, FieldParameter, FieldValue, SubjectKind } from '../../../src/core/rules/rule.ts';
import { alarmWords } from '../../../src/core/view/action-alarm-words.ts';
import { conditionWords } from '../../../src/core/view/alert-words.ts';

const atLeast = (value: number): FieldQuantity => ({ kind: 'atLeast', value });
const HOUR_MS = 3_600_000;

function said(
  spec: FieldSpec,
  comparison: Comparison,
  quantity: FieldQuantity,
  parameter: FieldParameter = {},
): string {
  const slots: FieldSlot[] = [{ spec, parameter }];
  const reader: FieldReader = { slots, slot: () => 0, read: () => quantity };
  const condition = compileCondition({ kind: 'field', field: spec.name, comparison }, reader);
  const latches = new Uint8Array(condition.latchCount);
  condition.judge(latches);
  return conditionWords(condition.tree, reader, latches);
}

function field(on: SubjectKind, name: string): FieldSpec {
  const spec = findField(on, name);
  if (spec === undefined) throw new TypeError(name);
  return spec;
}

const below = (threshold: number): Comparison => ({ op: 'below', threshold });
const above = (threshold: number): Comparison => ({ op: 'above', threshold });
const equals = (value: FieldValue): Comparison => ({ op: 'equals', value });
const isIn = (...values: readonly FieldValue[]): Comparison => ({ op: 'in', values });
const usdt = { asset: 'USDT' };
const day = { windowMs: 24 * HOUR_MS };

describe('the words of a rule for a figure', () => {
  test.each<
    readonly [
      on: SubjectKind,
      name: string,
      comparison: Comparison,
      quantity: FieldQuantity,
      FieldParameter,
      words: string,
    ]
  >([
    // Shares, times, counts, money.
    [
      'position',
      'liquidationDistance',
      below(0.05),
      known(0.041),
      {},
      'distance to liquidation is 4.1 %, below 5 %',
    ],
    [
      'position',
      'minutesToLiquidation',
      below(120),
      known(35),
      {},
      'time to liquidation is about 35 min, below 120 min, judged by how far prices have lately moved, up or down',
    ],
    [
      'position',
      'liquidationProbability',
      above(0.1),
      known(0.784_213),
      { windowMs: HOUR_MS },
      'chance of liquidation within the next 1 h is about 78.4 %, above 10 %, judged by how far prices have lately moved, up or down',
    ],
    [
      'creditLine',
      'ltvDrift',
      above(0.02),
      known(0.03),
      {},
      'rise of the LTV is 3 % per hour, above 2 % per hour',
    ],
    ['creditLine', 'currentLtv', above(0.7), known(0.72), {}, 'LTV is 72 %, above 70 %'],
    ['account', 'dataAge', above(30), known(35), {}, 'age of the data is 35 s, above 30 s'],
    [
      'account',
      'dataAge',
      above(30),
      known(35),
      { source: 'mainBalance' },
      'age of the data (main balance) is 35 s, above 30 s',
    ],
    ['account', 'mainBalance', below(500), known(120.5), usdt, 'main balance of USDT is 120.5, below 500'],
    [
      'account',
      'unexpectedWithdrawalCount',
      above(0),
      known(1),
      day,
      'number of withdrawals to unexpected addresses in the last 24 h is 1, above 0',
    ],
    [
      'account',
      'spotFees',
      above(10),
      atLeast(4),
      { ...usdt, windowMs: 90_000 },
      'spot fees of USDT in the last 90 s is at least 4, which may or may not be above 10',
    ],
    [
      'account',
      'positionCount',
      equals(2),
      atLeast(1),
      {},
      'number of positions is at least 1, which may or may not be 2',
    ],
    ['account', 'positionCount', isIn(2, 3), known(1), {}, 'number of positions is 1, not 2 or 3'],
    // Yes or no.
    [
      'position',
      'disagreement',
      equals(true),
      known(true),
      {},
      'the reported liquidation price is passed although the exchange does not liquidate',
    ],
    [
      'position',
      'disagreement',
      equals(false),
      known(false),
      {},
      'the reported liquidation price does not contradict the liquidation state',
    ],
    [
      'position',
      'disagreement',
      equals(true),
      known(false),
      {},
      'the reported liquidation price does not contradict the liquidation state',
    ],
    [
      'position',
      'directionConflict',
      isIn(true),
      known(true),
      {},
      'it is not certain whether the position is long or short',
    ],
    // Enumerations.
    [
      'position',
      'liquidationState',
      isIn('margin_call', 'liquidation'),
      known('margin_call'),
      {},
      'liquidation state is margin call',
    ],
    [
      'position',
      'liquidationState',
      isIn('margin_call', 'liquidation', 'unrecognised'),
      known('none'),
      {},
      'liquidation state is none, not margin call, liquidation or unrecognised',
    ],
    [
      'position',
      'stopCover',
      equals('ok'),
      known('beyondLiquidation'),
      {},
      'stop that covers the position is beyond liquidation, not ok',
    ],
    ['position', 'positionSide', equals('LONG'), known('BOTH'), {}, 'side is BOTH, not LONG'],
    ['position', 'market', equals('BTC_PERP'), known('BTC_PERP'), {}, 'market is BTC_PERP'],
    // None, and unknown.
    [
      'position',
      'liquidationDistance',
      below(0.05),
      NONE,
      {},
      'distance to liquidation is unlimited, not below 5 %',
    ],
    ['position', 'stopLoss', below(50_000), NONE, {}, 'stop loss does not exist, not below 50000'],
    [
      'account',
      'marginUsage',
      above(0.8),
      NONE,
      usdt,
      'margin usage of USDT is zero, as there is nothing to measure, not above 80 %',
    ],
    [
      'position',
      'markPrice',
      below(1),
      unknown('stale'),
      {},
      'mark price is unknown: what was read is too old',
    ],
  ])('%s %s %o %o: %s', (on, name, comparison, quantity, parameter, words) => {
    expect(said(field(on, name), comparison, quantity, parameter)).toBe(words);
  });

  /** One value of each type, and some more. */
  const SAMPLES: Readonly<Record<FieldSpec['type'], readonly [FieldValue, FieldValue]>> = {
    number: [0.5, 2],
    enum: ['margin_call', 'none'],
    boolean: [true, false],
    string: ['BTC', 'ETH'],
  };

  test.each(FIELD_CATALOGUE.map((spec) => [spec.on, spec.name, spec] as const))(
    'of %s %s reads as words, for any comparison and value',
    (_on, _name, spec) => {
      const [value, other] = SAMPLES[spec.type];
      const parameter = Object.fromEntries(
        spec.parameters.map(({ name }) => [
          name,
          name === 'windowMs' ? HOUR_MS : name === 'asset' ? 'USDT' : 'positions',
        ]),
      ) as FieldParameter;
      const comparisons: readonly Comparison[] =
        spec.type === 'number'
          ? [
              below(1),
              above(1),
              equals(1),
              { op: 'below', threshold: 1, clearAbove: 3 },
              { op: 'above', threshold: 1, clearBelow: 0.1 },
            ]
          : [equals(value), equals(other), isIn(value, other)];
      const quantities: readonly FieldQuantity[] = [
        known(value),
        known(other),
        ...(spec.none === 'never' ? [] : [NONE]),
        unknown('stale'),
        ...(spec.type === 'number' ? [atLeast(0.5)] : []),
      ];
      for (const comparison of comparisons) {
        for (const quantity of quantities) {
          const words = said(spec, comparison, quantity, parameter);
          // No identifiers or booleans of code, nothing missing, and a verb.
          expect(words).not.toMatch(/[a-z][A-Z]|\btrue\b|\bfalse\b|undefined|NaN|_|\(\)| {2}|, ,/);
          expect(words).toMatch(/ (?:is|does|contradicts) /);
        }
      }
    },
  );
});

describe('the words of an alarm', () => {
  const event = (changes: Partial<AuditEvent>): AuditEvent => ({
    kind: 'intentEnded',
    atMs: 1,
    accountId: 'desk-1',
    market: 'BTC_PERP',
    positionId: '42',
    reason: 'failed:attempts',
    words: 'the words of the event',
    alarm: true,
    ...changes,
  });
  const { market: _market, positionId: _position, ...wide } = event({});

  test.each<readonly [AuditEvent, string]>([
    [
      event({ targetBase: '0.25' as NonNullable<AuditEvent['targetBase']> }),
      'gave up for position 42 in BTC_PERP, which should be at most 0.25: every attempt that the config allows was made',
    ],
    [event({ reason: 'failed:refused:paused' }), 'gave up for position 42 in BTC_PERP: actions are paused'],
    [
      event({ reason: 'failed:blocked:markUnknown' }),
      'gave up for position 42 in BTC_PERP: the mark price is unknown; nothing is guessed',
    ],
    [
      event({ reason: 'expired:grown' }),
      'what the operator asked for has expired for position 42 in BTC_PERP: the position has grown beyond what it was',
    ],
    [
      { ...wide, market: 'BTC_PERP', words: 'the cancel of the rule was not carried out' },
      'the cancel of the rule was not carried out for BTC_PERP: every attempt that the config allows was made',
    ],
    [
      { ...wide, reason: 'failed:positionsUnknown', words: 'no complete list came' },
      'gave up: no complete list came',
    ],
    [
      event({ kind: 'blocked', reason: 'disagreement' }),
      'cannot act for position 42 in BTC_PERP now: the words of the event',
    ],
    [
      event({ kind: 'rejected', reason: 'other' }),
      'the exchange refused an order for position 42 in BTC_PERP: the words of the event',
    ],
    [
      { ...wide, kind: 'cancelRejected', market: 'BTC_PERP' },
      'the exchange refused to cancel orders for BTC_PERP: the words of the event',
    ],
    [
      event({ kind: 'coverTriggered', words: 'the stop at 1 triggered: everything goes' }),
      'the stop at 1 triggered: everything goes (position 42 in BTC_PERP)',
    ],
  ])('%#: %s', (alarm, words) => {
    expect(alarmWords(alarm)).toBe(words);
  });

  test.each([
    'hedged',
    'attempts',
    'renewals',
    'unanswered',
    'priorOrders',
    'marketNotConfigured',
    'positionsUnknown',
    'planUnknown',
    'refused:cooldown',
    'blocked:netExposure',
  ])('failed:%s has a reason in words', (why) => {
    expect(alarmWords(event({ reason: `failed:${why}` }))).not.toMatch(/[a-z][A-Z]|undefined/);
  });
});
