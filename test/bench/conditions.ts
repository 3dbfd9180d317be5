import { Environment } from '@marcbachmann/cel-js';
import { Engine } from 'json-rules-engine';
import { FieldCache, type FieldReader, type FieldSlot } from '../../src/core/fields/field-cache.ts';
import { findField } from '../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../src/core/fields/field-values.ts';
import type { PositionRecord } from '../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../src/core/quantities/account.ts';
import { PositionQuantities } from '../../src/core/quantities/position.ts';
import { known, unknown } from '../../src/core/quantities/quantity.ts';
import { compileCondition } from '../../src/core/rules/condition.ts';
import type { ConditionSpec } from '../../src/core/rules/rule.ts';
import { at, d, position, positionsSnapshot, SETTINGS } from '../core/rules/fixtures.ts';
import { interleavedRounds, median, report } from './rounds.ts';

/**
 * One rule, judged by three engines over the same computed facts in the same run, each in its own input form.
 * `oursFromRecords` also computes the facts: it parses a position's record, its mark price and distance.
 */
const SPEC: ConditionSpec = {
  kind: 'all',
  conditions: [
    { kind: 'field', field: 'liquidationDistance', comparison: { op: 'below', threshold: 0.05 } },
    {
      kind: 'any',
      conditions: [
        { kind: 'field', field: 'marginUsage', comparison: { op: 'above', threshold: 0.8 } },
        {
          kind: 'field',
          field: 'liquidationState',
          comparison: { op: 'in', values: ['margin_call', 'liquidation'] },
        },
      ],
    },
  ],
};

const CEL =
  "liquidationDistance < 0.05 && (marginUsage > 0.8 || liquidationState in ['margin_call', 'liquidation'])";

const records: readonly PositionRecord[] = Array.from({ length: 64 }, (_, index) =>
  position({
    positionId: String(index),
    liquidationPrice: d(String(80 + (index % 10))),
    margin: d(String(20 + index * 4)),
    freeMargin: d('60'),
    liquidationState: index % 8 === 0 ? { known: true, value: 'margin_call' } : null,
  }),
);
const account = new AccountQuantities(positionsSnapshot(records), SETTINGS, at(0));
const motion = unknown('tooFewSamples');
const facts = records.map((record) => {
  const quantities = new PositionQuantities(record, SETTINGS);
  const distance = quantities.liquidationDistance;
  const state = quantities.liquidationState;
  return {
    liquidationDistance: distance.kind === 'value' ? distance.value : Number.NaN,
    marginUsage: Number(record.margin) / (Number(record.margin) + Number(record.freeMargin)),
    liquidationState: state.kind === 'value' ? state.value : '',
  };
});

const fieldCache = new FieldCache('position');
const condition = compileCondition(SPEC, fieldCache);
const latches = new Uint8Array(condition.latchCount);
const judge = (quantities: PositionQuantities): boolean => {
  fieldCache.load({ position: quantities, account, motion, unprotectedMs: motion });
  return condition.judge(latches) === 1;
};

/** The facts as the field cache holds them after the first rule has read them. */
class Facts implements FieldReader {
  readonly slots: FieldSlot[] = [];
  values: readonly FieldQuantity[] = [];

  slot(field: string): number {
    const spec = findField('position', field);
    if (spec === undefined) throw new Error(`no field ${field}`);
    this.slots.push({ spec, parameter: {} });
    return this.slots.length - 1;
  }

  read(slot: number): FieldQuantity {
    return this.values[slot] ?? motion;
  }
}
const reader = new Facts();
const onFacts = compileCondition(SPEC, reader);
const known64 = facts.map((fact) =>
  reader.slots.map(({ spec }) => known(fact[spec.name as keyof typeof fact])),
);

const environment = new Environment()
  .registerVariable('liquidationDistance', 'double')
  .registerVariable('marginUsage', 'double')
  .registerVariable('liquidationState', 'string');
const cel = environment.parse(CEL);

const engine = new Engine();
engine.addRule({
  conditions: {
    all: [
      { fact: 'liquidationDistance', operator: 'lessThan', value: 0.05 },
      {
        any: [
          { fact: 'marginUsage', operator: 'greaterThan', value: 0.8 },
          { fact: 'liquidationState', operator: 'in', value: ['margin_call', 'liquidation'] },
        ],
      },
    ],
  },
  event: { type: 'fires' },
});

const expected = facts.map(
  (fact) => fact.liquidationDistance < 0.05 && (fact.marginUsage > 0.8 || fact.liquidationState !== 'none'),
);

function check(name: string, call: number, fires: boolean): void {
  if (fires !== expected[call % expected.length]) throw new Error(`${name} judges call ${call} differently`);
}

const pick = <T>(values: readonly T[], call: number): T => values[call % values.length] as T;

/** Chosen so that a round of each engine takes about as long. */
const OURS = 2_000;
const OTHER = 400;

const samples = await interleavedRounds(
  {
    oursFromRecords: (calls) => {
      for (let call = 0; call < calls * OURS; call += 1) {
        check('ours', call, judge(new PositionQuantities(pick(records, call), SETTINGS)));
      }
      return Promise.resolve();
    },
    ours: (calls) => {
      for (let call = 0; call < calls * OURS; call += 1) {
        reader.values = pick(known64, call);
        check('ours', call, onFacts.judge(latches) === 1);
      }
      return Promise.resolve();
    },
    cel: (calls) => {
      for (let call = 0; call < calls * OTHER; call += 1) check('cel', call, cel(pick(facts, call)) === true);
      return Promise.resolve();
    },
    jsonRulesEngine: async (calls) => {
      for (let call = 0; call < calls; call += 1) {
        const { events } = await engine.run(pick(facts, call));
        check('json-rules-engine', call, events.length > 0);
      }
    },
  },
  1_000,
  7,
);

const perSecond = (name: keyof typeof samples, factor: number): number =>
  median(samples[name].map(({ throughput }) => throughput * factor));
const ours = perSecond('ours', OURS);
const oursFromRecords = perSecond('oursFromRecords', OURS);
const celRate = perSecond('cel', OTHER);
const engineRate = perSecond('jsonRulesEngine', 1);
report('conditions: judged per second', { ours, oursFromRecords, cel: celRate, jsonRulesEngine: engineRate });
report('conditions: ours as a multiple', {
  ofJsonRulesEngine: ours / engineRate,
  ofCel: ours / celRate,
  fromRecordsOfJsonRulesEngine: oursFromRecords / engineRate,
  fromRecordsOfCel: oursFromRecords / celRate,
});
