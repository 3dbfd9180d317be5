import { z } from 'zod';
import type { Path } from '../../config/problem.ts';
import { readShape } from '../../config/shape/read.ts';
import { decimalText, flag, name, number, oneOf, text, ticker } from '../../config/shape/scalars.ts';
import { list, section } from '../../config/shape/shape.ts';
import { nodeAt } from '../../config/yaml/document.ts';
import {
  configuredAccount,
  configuredMarket,
  hasBothSides,
  type PositionsReading,
  refuse,
} from './reading.ts';
import type { StartingBook } from './starting-account.ts';

const marketName = () =>
  text({
    expected: 'a market such as BTC_PERP',
    pattern: /^[^\s"'`\\:;,|<>(){}[\]#&!%@/$*?]+$/,
    maxLength: 40,
  });

const positionSchema = section(
  {
    market: marketName(),
    side: oneOf('long', 'short'),
    amount: decimalText(),
    entry: decimalText().exactOptional(),
  },
  {},
);

const loanSchema = section(
  {
    asset: ticker(),
    amount: decimalText(),
    collateralAsset: ticker(),
    collateralAmount: decimalText(),
  },
  {},
);

const accountSchema = section(
  {
    id: name('the id of an account of the config'),
    collateral: z.record(ticker(), decimalText()),
    leverage: number({
      min: 1,
      max: 1000,
      integer: true,
      expected: 'a whole number from 1, such as 10',
    }).exactOptional(),
    hedgeMode: flag(),
    positions: list(positionSchema),
    loans: list(loanSchema),
  },
  { collateral: {}, hedgeMode: false, positions: [], loans: [] },
);

/** Accounts are parsed one by one, so that a mistake in one does not hide mistakes in another. */
const fileSchema = section({ accounts: list(z.unknown(), 1) }, {});
type WrittenAccount = z.output<typeof accountSchema>;

/** Reads `accounts: [{ id, collateral, leverage?, hedgeMode?, positions: [...], loans?: [...] }]`. */
export function readOwnFormat(reading: PositionsReading): readonly StartingBook[] {
  const { document, report } = reading;
  const file = readShape(fileSchema, document, [], report);
  const indices = [...(file?.accounts.keys() ?? [])];
  const seen = new Set<string>();
  return indices.flatMap((index) => {
    const path = ['accounts', index];
    checkReferences(reading, path, seen);
    const account = readShape(accountSchema, document, path, report);
    if (account === undefined) return [];
    checkHoldings(reading, account, path);
    return [{ ...account, markPrices: {} }];
  });
}

/** Checks ids and markets in the raw file, even if other parts are invalid. `seen`: the ids before it. */
function checkReferences(reading: PositionsReading, path: Path, seen: Set<string>): void {
  const { root } = reading.document;
  const id = nodeAt(root, [...path, 'id'])?.value;
  if (typeof id !== 'string') return;
  const isAgain = seen.has(id);
  seen.add(id);
  const known = configuredAccount(reading, id, [...path, 'id']);
  if (known === undefined) return;
  if (isAgain)
    refuse(reading, [...path, 'id'], `expected each account once, got ${id} again`, 'duplicate-id');
  for (const [key, position] of nodeAt(root, [...path, 'positions'])?.children ?? []) {
    const market = position.children.get('market')?.value;
    if (typeof market === 'string' && market !== '') {
      configuredMarket(reading, known, market, [...path, 'positions', key, 'market']);
    }
  }
}

function checkHoldings(reading: PositionsReading, account: WrittenAccount, path: Path): void {
  const { collateral, positions, loans, hedgeMode } = account;
  for (const [index, { market, side }] of positions.entries()) {
    const isSame = (other: (typeof positions)[number]) => other.market === market && other.side === side;
    if (positions.findIndex(isSame) < index) {
      const message = `expected one ${side} position in ${market}, got a second one`;
      refuse(reading, [...path, 'positions', index], message, 'duplicate-id');
    }
  }
  if (!hedgeMode && hasBothSides(positions)) {
    const message = 'expected hedgeMode: true with a long and a short position in one market, got none';
    refuse(reading, [...path, 'positions'], message);
  }
  if (positions.length > 0 && Object.keys(collateral).length === 0) {
    const message = 'expected what secures the positions, such as { USDT: 3000 }, got nothing';
    refuse(reading, [...path, 'collateral'], message, 'missing-key');
  }
  if (positions.length === 0 && loans.length === 0) {
    refuse(reading, path, 'expected positions or loans, got neither', 'missing-key');
  }
}
