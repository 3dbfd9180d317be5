import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import {
  type Parsed,
  readCreditLines,
  readDepositLink,
  readMainBalance,
  readPing,
  readPlacedOrder,
  readPositions,
  readReply,
  readSpotOrderPage,
  readTransferPage,
} from '../../../src/exchange/schemas/replies.ts';
import { CREDIT_LINE, PLACED_ORDER, POSITION, SPOT_ORDER, TRANSFER } from '../fixtures.ts';

/**
 * Every field of every reply with odd values in its place: the results are kept for review.
 * `npm test -- test/exchange/schemas/odd-replies.test.ts --update` rewrites the transcript.
 */

/** As JSON; an empty text leaves the field out. */
const ODD = [
  '',
  'null',
  '""',
  'true',
  '[]',
  '{}',
  '0',
  '-1',
  '1.5',
  '12345678901234567890',
  '0.1000000000000000000001',
  '1e-400',
  '1e12',
  '999999999999.5',
  '"0"',
  '"-0.00"',
  '"-1.50"',
  '"12345678901234567890123456789012345678901"',
  '"1234567890123456789012345678901234567890"',
  '"1e5"',
  '" 1"',
  '"x"',
  '"BOTH"',
  '"margin_call"',
  '"CANCELED"',
  '"CANCELLED"',
  '"PARTIALLY_FILLED"',
  `"${'n'.repeat(100)}"`,
  `"${'n'.repeat(101)}"`,
  `"${'t'.repeat(2000)}"`,
  `"${'t'.repeat(2001)}"`,
  '["a"]',
  '{"a": 1}',
];

interface Kind {
  readonly name: string;
  readonly record: Readonly<Record<string, unknown>>;
  readonly wrap: (record: string) => string;
  readonly read: (value: unknown) => Parsed<unknown>;
}

const KINDS: readonly Kind[] = [
  { name: 'position', record: POSITION, wrap: (one) => `[${one}]`, read: readPositions },
  {
    name: 'tpsl',
    record: POSITION.tpsl,
    wrap: (one) => `[${textOf({ ...POSITION, tpsl: '@' }).replace('"@"', one)}]`,
    read: readPositions,
  },
  { name: 'creditLine', record: CREDIT_LINE, wrap: (one) => one, read: readCreditLines },
  {
    name: 'transfer',
    record: { ...TRANSFER, uniqueId: 'u', transactionId: 't', fiat: false },
    wrap: (one) => `{"limit": 10, "offset": 0, "total": 1, "records": [${one}]}`,
    read: readTransferPage,
  },
  {
    name: 'partial',
    record: TRANSFER.details.partial,
    wrap: (one) => `{"records": [${textOf({ ...TRANSFER, details: { partial: '@' } }).replace('"@"', one)}]}`,
    read: readTransferPage,
  },
  {
    name: 'confirmations',
    record: TRANSFER.confirmations,
    wrap: (one) => `{"records": [${textOf({ ...TRANSFER, confirmations: '@' }).replace('"@"', one)}]}`,
    read: readTransferPage,
  },
  {
    name: 'spotOrder',
    record: { ...SPOT_ORDER, clientOrderId: 'x', dealStock: '1', dealMoney: '2', dealFee: '3' },
    wrap: (one) => `{"BTC_USDT": [${one}]}`,
    read: readSpotOrderPage,
  },
  {
    name: 'placedOrder',
    record: { ...PLACED_ORDER, orderId: 1, activationPrice: '1' },
    wrap: (one) => one,
    read: readPlacedOrder,
  },
  {
    name: 'page',
    record: { limit: 10, offset: 0, total: 3, records: [] },
    wrap: (one) => one,
    read: readTransferPage,
  },
  { name: 'orders', record: { BTC_USDT: [] }, wrap: (one) => one, read: readSpotOrderPage },
  {
    name: 'balance',
    record: { main_balance: '5', mainBalance: '6' },
    wrap: (one) => `{"USDT": ${one}}`,
    read: readMainBalance,
  },
  { name: 'link', record: { url: 'https://pay.example/1' }, wrap: (one) => one, read: readDepositLink },
];

const textOf = (value: unknown): string => JSON.stringify(value);

/** The record as JSON, with this text in place of one field's value. */
function withField(record: Kind['record'], field: string, odd: string): string {
  const rest = Object.entries(record).filter(([name]) => name !== field);
  const parts = rest.map(([name, value]) => `${textOf(name)}: ${textOf(value)}`);
  return `{${[...parts, ...(odd === '' ? [] : [`${textOf(field)}: ${odd}`])].join(', ')}}`;
}

function readText(text: string, read: Kind['read']): string {
  const result = textOf(readReply(text, JSON.parse(text) as unknown, read));
  return result.length > 160
    ? `${result.slice(0, 120)} ${createHash('sha256').update(result).digest('hex').slice(0, 12)}`
    : result;
}

test.each(KINDS.map((kind) => [kind.name, kind] as const))(
  'fields of %s',
  (_name, { record, wrap, read }) => {
    const hashes = [...Object.keys(record), 'unknown_field'].map((field) => {
      const hash = createHash('sha256');
      for (const odd of ODD) hash.update(`${readText(wrap(withField(record, field, odd)), read)}\n`);
      return `${field} ${hash.digest('hex').slice(0, 12)}`;
    });
    expect([readText(wrap(textOf(record)), read), ...hashes]).toMatchSnapshot();
  },
);

const READERS: Readonly<Record<string, Kind['read']>> = {
  readPing,
  readPositions,
  readCreditLines,
  readMainBalance,
  readTransferPage,
  readSpotOrderPage,
  readPlacedOrder,
  readDepositLink,
};

const WHOLE = [
  ...ODD.filter((odd) => odd !== ''),
  '["pong"]',
  '["pong", "pong"]',
  '[null]',
  '[[], {}, 1, "x", null]',
  '{"records": {}}',
  '{"records": {"a": 1}}',
  '{"": []}',
  `{"${'m'.repeat(100)}": []}`,
  `{"${'m'.repeat(101)}": []}`,
  '{"a\\u0007b": 1}',
  `{"${'k'.repeat(65)}": 1}`,
  '{"A_B": [{}], "C_D": [{}, {}]}',
  '{"USDT": {}, "BTC": {"main_balance": "1"}, "ETH": {"main_balance": 1.50}}',
  textOf(Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`A${index}`, {}]))),
  textOf(Array.from({ length: 22 }, () => ({}))),
  textOf(Array.from({ length: 22 }, () => ({ ...POSITION, pnl: null, basePrice: null }))),
  textOf([{ ...POSITION, amount: '0', basePrice: null }, { ...POSITION, amount: null }, POSITION]),
  '[{"amount": null, "market": "A_B"}, {"amount": null, "positionId": 1}, {"amount": "", "market": "A_B", "positionId": 1}]',
  '{"url": "http://pay.example"}',
  '{"url": "ftp://pay.example"}',
  `{"url": "https://pay.example/${'p'.repeat(8192 - 20)}"}`,
  `{"url": "https://pay.example/${'p'.repeat(8193 - 20)}"}`,
];

test('whole replies that are something else', async () => {
  const lines = Object.entries(READERS).flatMap(([name, read]) =>
    WHOLE.map((text) => `${name} ${text.slice(0, 60)}: ${readText(text, read)}`),
  );
  const file = path.join(import.meta.dirname, 'transcripts', 'odd-replies.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});
