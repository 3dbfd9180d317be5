import { isDecimalString } from '../../core/quantities/decimal.ts';
import type { StoredFigures } from '../../core/view/stored-figures.ts';

/**
 * Checks stored figures through and through: what they are shown to must not stumble over them, and they, unlike
 * the documents that decide, are left out rather than refused when something is wrong with them.
 */
export function parseFigures(value: unknown): StoredFigures {
  const figures = objectOf(value, 'figures');
  const at = objectOf(figures['at'], 'at');
  demand(isFiniteNumber(at['wallMs']) && isFiniteNumber(at['monotonicMs']), 'at');
  demand(typeof at['clockId'] === 'string', 'at.clockId');
  checkSettings(objectOf(figures['settings'], 'settings'));
  checkReading(figures['positions'], 'positions', POSITION);
  checkReading(figures['creditLine'], 'creditLine', CREDIT_LINE);
  return value as StoredFigures;
}

type Members = Readonly<Record<string, unknown>>;

function demand(isRight: boolean, place: string): void {
  if (!isRight) throw new TypeError(`"${place}" is not what it should be`);
}

function objectOf(value: unknown, place: string): Members {
  demand(typeof value === 'object' && value !== null && !Array.isArray(value), place);
  return value as Members;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  mode: ['observe', 'enforce'],
  bothSign: ['signed', 'unsigned'],
  ltvUnit: ['auto', 'percent', 'fraction'],
};

function checkSettings(settings: Members): void {
  for (const [name, values] of Object.entries(SETTINGS)) {
    demand(values.includes(String(settings[name])), `settings.${name}`);
  }
  demand(isFiniteNumber(settings['maxSnapshotAgeMs']), 'settings.maxSnapshotAgeMs');
}

interface RecordShape {
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  readonly decimals: readonly string[];
  readonly optionalDecimals: readonly string[];
}

const POSITION: RecordShape = {
  texts: ['positionId', 'market'],
  numbers: [],
  decimals: ['amount'],
  optionalDecimals: [
    'basePrice',
    'liquidationPrice',
    'pnl',
    'pnlPercent',
    'margin',
    'freeMargin',
    'funding',
    'unrealizedFunding',
    'unrealizedPnl',
  ],
};

const CREDIT_LINE: RecordShape = {
  texts: ['asset'],
  numbers: ['createdAt'],
  decimals: ['amount'],
  optionalDecimals: ['totalFunding', 'currentLtv', 'initialLtv', 'marginCallLtv', 'liquidationLtv'],
};

function checkReading(value: unknown, place: string, shape: RecordShape): void {
  if (value === undefined) return;
  const reading = objectOf(value, place);
  demand(isFiniteNumber(reading['ageMs']), `${place}.ageMs`);
  if (reading['kind'] === 'notRead') return;
  demand(reading['kind'] === 'read', `${place}.kind`);
  const list = objectOf(reading['value'], `${place}.value`);
  const { records, setAside, complete } = list;
  demand(Array.isArray(setAside) && typeof complete === 'boolean', `${place}.value`);
  demand(Array.isArray(records), `${place}.value.records`);
  for (const [index, record] of (records as readonly unknown[]).entries()) {
    checkRecord(record, `${place}.value.records[${index}]`, shape);
  }
}

function checkRecord(value: unknown, place: string, shape: RecordShape): void {
  const record = objectOf(value, place);
  for (const name of shape.texts) demand(typeof record[name] === 'string', `${place}.${name}`);
  for (const name of shape.numbers) demand(isFiniteNumber(record[name]), `${place}.${name}`);
  for (const name of shape.decimals) demand(isDecimal(record[name]), `${place}.${name}`);
  for (const name of shape.optionalDecimals) {
    const member = record[name];
    demand(member === undefined || member === null || isDecimal(member), `${place}.${name}`);
  }
  const { tpsl } = record;
  if (tpsl === undefined || tpsl === null) return;
  const attached = objectOf(tpsl, `${place}.tpsl`);
  for (const name of ['stopLoss', 'takeProfit']) {
    demand(attached[name] === undefined || isDecimal(attached[name]), `${place}.tpsl.${name}`);
  }
}

function isDecimal(value: unknown): boolean {
  return typeof value === 'string' && isDecimalString(value);
}
