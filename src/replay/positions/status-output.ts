import { z } from 'zod';
import type { Path } from '../../config/problem.ts';
import { readShape } from '../../config/shape/read.ts';
import { decimalText, flag, oneOf, scalar, text } from '../../config/shape/scalars.ts';
import { type DecimalString, isDecimalString, toNumber } from '../../core/quantities/decimal.ts';
import { accountFrom, configuredAccount, type PositionsReading, printedPosition, refuse } from './reading.ts';
import type { ConfiguredAccount, StartingBook } from './starting-account.ts';

const price = (what: string) => decimalText({ expected: `the ${what} of the position` });

const positionSchema = z.object({
  market: text({ expected: 'a market' }),
  direction: oneOf('long', 'short'),
  sizeBase: decimalText(),
  basePrice: price('entry price'),
  markPrice: price('mark price'),
  liquidationPrice: scalar<DecimalString | 'none'>({
    expected: 'the liquidation price of the position, or none',
    read: (written) => {
      const isPrice = typeof written === 'string' && (written === 'none' || isDecimalString(written));
      return isPrice ? { ok: true, value: written } : { ok: false };
    },
    json: {},
  }),
});

const accountSchema = z.object({
  accountId: text({ expected: 'the id of an account' }),
  refused: z.unknown(),
  /** Null: never evaluated. */
  judgedAtMs: z.unknown(),
  sources: z.array(
    z.object({ source: text({ expected: 'a source' }), readAtMs: z.unknown(), complete: flag() }),
  ),
  positions: z.array(positionSchema),
  creditLines: z.array(z.object({ asset: text({ expected: 'an asset' }), amount: decimalText() })),
});

const reportSchema = z.object({ accounts: z.array(accountSchema) });
type StatusAccount = z.output<typeof accountSchema>;

/** Reads the output of `breakwater status --json`. Its collateral is derived from the liquidation prices. */
export function readStatusOutput(reading: PositionsReading): readonly StartingBook[] {
  const printed = readShape(reportSchema, reading.document, [], reading.report);
  return (printed?.accounts ?? []).flatMap((account, index) => accountOf(reading, account, index) ?? []);
}

function accountOf(
  reading: PositionsReading,
  account: StatusAccount,
  index: number,
): StartingBook | undefined {
  const { accountId, refused, positions, creditLines } = account;
  const path = ['accounts', index];
  const known = configuredAccount(reading, accountId, [...path, 'accountId']);
  if (known === undefined) return undefined;
  if (refused !== null) {
    const message = 'expected what the account holds, got one whose stored state was refused';
    return refuse(reading, [...path, 'refused'], message);
  }
  for (const { asset, amount } of creditLines) {
    reading.note(
      `Account ${accountId}: its loan of ${amount} ${asset} is left out, as the output does not say what secures it.`,
    );
  }
  const source = account.sources.find((one) => one.source === 'positions');
  const isUnread = source === undefined ? account.judgedAtMs === null : source.readAtMs === null;
  if (isUnread) reading.unread(accountId);
  else if (source?.complete === false) {
    const message = 'expected complete positions, got some from which records were set aside';
    refuse(reading, [...path, 'sources'], message);
  }
  const read = positions.map((position, number) =>
    positionOf(reading, known, position, [...path, 'positions', number]),
  );
  return accountFrom(reading, { id: accountId, path, positions: read });
}

function positionOf(
  reading: PositionsReading,
  account: ConfiguredAccount,
  printed: StatusAccount['positions'][number],
  path: Path,
) {
  const { market, direction: side, sizeBase: amount, basePrice: entry, liquidationPrice: price } = printed;
  return printedPosition(reading, account, { market, path }, () => ({
    side,
    amount,
    entry,
    mark: toNumber(printed.markPrice),
    liquidation: price === 'none' ? 'none' : toNumber(price),
  }));
}
