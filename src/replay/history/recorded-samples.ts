import type { CreditLineRecord, PositionRecord } from '../../core/ports/exchange.ts';
import type { HistoryMoment, HistorySample } from '../../core/ports/history-reader.ts';
import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  isDecimalString,
} from '../../core/quantities/decimal.ts';
import type { Instant } from '../../core/quantities/snapshot.ts';
import type { CompiledRules } from '../../core/rules/compiled-rules.ts';
import { creditLineParts } from '../../core/rules/memory.ts';
import type { SubjectKind } from '../../core/rules/rule.ts';
import type { RecordedMoment } from './judge-history.ts';

/** Fields that samples contain: a rule is judged on samples only if it uses no others. */
const SAMPLED: Readonly<Record<SubjectKind, ReadonlySet<string>>> = {
  position: new Set([
    'liquidationDistance',
    'liquidationPrice',
    'liquidationProbability',
    'minutesToLiquidation',
    'volatilityPerDay',
    'direction',
    'market',
    'amount',
    'size',
    'notional',
    'markPrice',
  ]),
  creditLine: new Set(['currentLtv', 'ltvDrift', 'amount', 'asset']),
  account: new Set(),
};

const SUBJECTS: Readonly<Record<SubjectKind, string>> = {
  position: 'positions',
  creditLine: 'loans',
  account: 'the account as a whole',
};

/** Why a rule cannot be judged on samples; `undefined`: it can. */
export function whyNotOnSamples(rules: CompiledRules, ruleId: string): string | undefined {
  const rule = rules.byId.get(ruleId);
  if (rule === undefined) return undefined;
  const { on } = rule.spec;
  const slots = rule.condition.leaves.map(({ slot }) => rules[on].fieldCache.slots[slot]?.spec.name ?? '');
  const missing = [...new Set(slots)].filter((name) => !SAMPLED[on].has(name));
  return missing.length === 0
    ? undefined
    : `the samples of ${SUBJECTS[on]} do not have ${missing.join(', ')}`;
}

/** Settings that match the records made here. */
export const SAMPLE_SETTINGS = { bothSign: 'signed', ltvUnit: 'fraction' } as const;

/** Turns a sample into a snapshot; all that the sample lacks is missing. */
export function momentFromSamples(accountId: string, { atMs, samples }: HistoryMoment): RecordedMoment {
  const at: Instant = { wallMs: atMs, monotonicMs: atMs, clockId: 'history' };
  const list = <T>(records: readonly T[]) => ({
    kind: 'read' as const,
    value: { records, setAside: [], complete: true },
    ageMs: 0,
  });
  return {
    now: at,
    snapshot: {
      version: 1,
      accountId,
      at,
      ownStops: [],
      sources: {
        positions: list(samples.flatMap(positionOf)),
        creditLine: list(samples.flatMap(creditLineOf)),
      },
    },
  };
}

/** Zero, with as many decimals as the other figures of the record. */
const NOTHING = '0.000000000000';

function positionOf({ subject, values }: HistorySample): readonly PositionRecord[] {
  const { market, amount, direction, markPrice: mark, liquidationDistance: distance } = values;
  if (!subject.startsWith('position:') || typeof market !== 'string' || !isDecimal(amount)) return [];
  const record = { positionId: subject.slice('position:'.length), market, amount };
  if (direction !== 'long' && direction !== 'short') return [record];
  const side = { positionSide: { known: true, value: direction === 'long' ? 'LONG' : 'SHORT' } } as const;
  if (typeof mark !== 'number') return [{ ...record, ...side }];
  const basePrice = mark.toFixed(12);
  if (!isDecimalString(basePrice) || !isDecimalString(NOTHING)) return [{ ...record, ...side }];
  const priced = { ...record, ...side, basePrice, unrealizedPnl: NOTHING };
  if (typeof distance !== 'number') return [priced];
  const liquidation = mark * (1 - (direction === 'long' ? distance : -distance));
  return [{ ...priced, liquidationPrice: formatDecimal(decimalFromNumber(liquidation)) }];
}

function isDecimal(value: number | string | undefined): value is DecimalString {
  return typeof value === 'string' && isDecimalString(value);
}

function creditLineOf({ subject, values }: HistorySample): readonly CreditLineRecord[] {
  const key = creditLineParts(subject);
  const { amount, currentLtv } = values;
  if (key === undefined || !isDecimal(amount)) return [];
  const ltv =
    typeof currentLtv === 'number' ? { currentLtv: formatDecimal(decimalFromNumber(currentLtv)) } : {};
  return [{ ...key, amount, ...ltv }];
}
