import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { printExactJson, printJson } from '../../src/cli/io.ts';
import { fieldLines, tableLines } from '../../src/cli/table.ts';

function io(columns?: number) {
  const tty = columns !== undefined;
  return {
    stdout: Object.assign(new PassThrough(), tty ? { columns } : {}),
    stderr: new PassThrough(),
    isTty: { stdin: tty, stdout: tty, stderr: tty },
    env: { NO_COLOR: '1' },
  };
}

const TABLE = {
  columns: [{ title: 'market' }, { title: 'amount', align: 'right' }, { title: 'memo' }] as const,
  rows: [
    ['BTC_PERP', '0.5', ''],
    ['ETH_PERP', '-12.25', ''],
  ],
};
const WIDE = ['market    amount', 'BTC_PERP     0.5', 'ETH_PERP  -12.25'];

describe('a table', () => {
  it('aligns its columns, and leaves out empty ones', () => {
    expect(tableLines(io(), TABLE)).toEqual(WIDE);
    expect(tableLines(io(16), TABLE)).toEqual(WIDE);
  });

  it('becomes a block per row on a terminal that is too narrow', () => {
    expect(tableLines(io(15), TABLE)).toEqual([
      'market  BTC_PERP',
      'amount  0.5',
      '',
      'market  ETH_PERP',
      'amount  -12.25',
    ]);
  });

  it('lets no text move the cursor', () => {
    const table = { columns: [{ title: 'a' }], rows: [['x\u001b[2J\r\ny\u202Ez']] };
    expect(tableLines(io(), table)).toEqual(['a', 'x [2J y z']);
  });
});

describe('fields', () => {
  it('are printed in two columns, without empty ones', () => {
    const fields = [
      ['id', '7'],
      ['status', 'NEW'],
      ['left', ''],
    ] as const;
    expect(fieldLines(io(), 'stdout', fields)).toEqual(['id      7', 'status  NEW']);
  });
});

it('JSON has no digits that only a sum of fractions left behind, and keeps those of others', () => {
  const [out, exact] = [new PassThrough(), new PassThrough()];
  const value = { sum: 0.1 + 0.2, worth: 25.740000000000002, atMs: 1_700_000_000_123.5, records: [] };
  printJson({ ...io(), stdout: out }, value);
  printExactJson({ ...io(), stdout: exact }, { ctime: 1_700_000_000.123456 });
  expect(String(out.read())).toBe('{"sum":0.3,"worth":25.74,"atMs":1700000000123.5,"records":[]}\n');
  expect(String(exact.read())).toBe('{"ctime":1700000000.123456}\n');
});
