import { z } from 'zod';
import type { Path, Problem } from '../../config/problem.ts';
import { readShape } from '../../config/shape/read.ts';
import { decimalText, flag, scalar, text } from '../../config/shape/scalars.ts';
import type { PositionList, PositionRecord } from '../../core/ports/exchange.ts';
import { toNumber } from '../../core/quantities/decimal.ts';
import { marginsOf, PositionQuantities } from '../../core/quantities/position.ts';
import { accountFrom, configuredAccount, type PositionsReading, printedPosition, refuse } from './reading.ts';
import type { ConfiguredAccount, StartingBook } from './starting-account.ts';

const figure = () => decimalText({ positive: false, expected: 'a decimal number' }).exactOptional();

const recordSchema = z.object({
  market: text({ expected: 'a market' }),
  amount: decimalText({ positive: false, expected: 'the size of the position' }),
  basePrice: figure(),
  liquidationPrice: z.nullable(decimalText()).exactOptional(),
  unrealizedPnl: figure(),
  margin: figure(),
  freeMargin: figure(),
  positionSide: z
    .object({ known: flag(), value: text({ expected: 'LONG, SHORT or BOTH' }).optional() })
    .optional(),
});

const exactly = (word: string, expected: string) =>
  scalar<string>({ expected, read: (value) => ({ ok: value === word, value: word }), json: {} });

const outputSchema = z.object({
  endpoint: exactly('positions', 'the output of `call positions`'),
  outcome: exactly('ok', 'the output of a call that succeeded (ok)'),
  complete: flag(),
  records: z.array(recordSchema),
});

/** Reads the output of `breakwater call positions --json`: one account, which it does not name. */
export function readCallOutput(reading: PositionsReading): readonly StartingBook[] {
  const printed = readShape(outputSchema, reading.document, [], reading.report);
  const account = ownerOf(reading);
  if (printed === undefined || account === undefined) return [];
  if (!printed.complete) {
    refuse(reading, ['complete'], 'expected a complete list, got one from which records were set aside');
    return [];
  }
  const records = printed.records.map(recordOf);
  const read = accountFromRecords(reading, account, records, ['records']);
  return read === undefined ? [] : [read];
}

function ownerOf(reading: PositionsReading): ConfiguredAccount | undefined {
  const { configured, accountId } = reading;
  const [only] = configured;
  if (accountId !== undefined) return configuredAccount(reading, accountId, []);
  if (only !== undefined && configured.length === 1) return only;
  const ids = configured.map(({ id }) => id).join(', ');
  const message = `expected to know whose positions these are, as the output does not say: write ACCOUNT=FILE, with one of ${ids}`;
  return refuse(reading, [], message, 'missing-key');
}

function recordOf(printed: z.output<typeof recordSchema>, index: number): PositionRecord {
  const { positionSide, ...record } = printed;
  const side = positionSide?.value;
  const isSide = side === 'LONG' || side === 'SHORT' || side === 'BOTH';
  return {
    positionId: String(index),
    ...record,
    ...(isSide ? { positionSide: { known: true, value: side } } : {}),
  };
}

/**
 * Like `readCallOutput`, for a list that this program read itself. No account: it holds nothing, or `hidden` or
 * `problems` say what is unknown.
 */
export function accountFromReply(account: ConfiguredAccount, { records, notOpenYet = [] }: PositionList) {
  const notes: string[] = [];
  const problems: Problem[] = [];
  const file = `account ${account.id}`;
  const root = { value: undefined, place: { file, line: 1, column: 1 }, children: new Map() };
  const reading: PositionsReading = {
    document: { file, root },
    configured: [account],
    accountId: account.id,
    report: (problem) => problems.push(problem),
    note: (sentence) => notes.push(sentence),
    unread: () => undefined,
  };
  // Usually an order is about to open it, but open positions have been listed so, too.
  const hidden = notOpenYet.map(
    ({ market }) =>
      `Account ${account.id}: a position in ${market} is left out, as the exchange lists it without an amount.`,
  );
  return { account: accountFromRecords(reading, account, records, ['positions']), notes, problems, hidden };
}

/** An account from the exchange's own records; `undefined`: it holds nothing, or something is unknown (reported). */
function accountFromRecords(
  reading: PositionsReading,
  account: ConfiguredAccount,
  records: readonly PositionRecord[],
  path: Path,
): StartingBook | undefined {
  const open = records
    .map((record, index) => ({ record, index }))
    .filter(({ record }) => toNumber(record.amount) !== 0);
  const positions = open.map(({ record, index }) => positionOf(reading, account, record, [...path, index]));
  const hedgeMode = records.some(
    ({ positionSide }) => positionSide?.known === true && positionSide.value !== 'BOTH',
  );
  const otherEquity = marginsOf(records);
  return accountFrom(reading, { id: account.id, path, positions, hedgeMode, otherEquity });
}

function positionOf(
  reading: PositionsReading,
  account: ConfiguredAccount,
  record: PositionRecord,
  path: Path,
) {
  const { market, basePrice: entry } = record;
  return printedPosition(reading, account, { market, path }, () => {
    const { direction, exactSize, markPrice, liquidationPrice } = new PositionQuantities(
      record,
      account.settings,
    );
    const missing = (what: string): undefined =>
      refuse(reading, path, `expected ${what} of the position, which does not follow from this record`);
    if (direction.kind !== 'value') return missing('the direction');
    if (entry === undefined) return missing('the entry price');
    if (markPrice.kind !== 'value') return missing('the mark price');
    if (liquidationPrice.kind === 'unknown') return missing('the liquidation price');
    const liquidation = liquidationPrice.kind === 'value' ? liquidationPrice.value : 'none';
    return { side: direction.value, amount: exactSize, entry, mark: markPrice.value, liquidation };
  });
}
