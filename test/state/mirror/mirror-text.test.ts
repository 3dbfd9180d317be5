import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TRUSTING } from '../../../src/core/ports/operator-trust.ts';
import {
  accountFile,
  readAccount,
  readProcess,
  readSegment,
  writeMirrored,
  writeSegment,
} from '../../../src/state/mirror/mirror-text.ts';

/** Mirror files that are too large: somebody who can write them must not block the process at its start. */

const OWNER = { prefix: 'bw', ordinal: 0, trust: TRUSTING };
const LONG = '"'.repeat(3_500_000);
const HASH = 'a'.repeat(64);

const account = (field: string) => ({
  accountId: 'desk',
  fields: [['d:evaluation', field] satisfies [string, string]],
  base: null,
});

test('a line of many megabytes is neither read nor written', async () => {
  const tooLong = /a line of 70\d{5} characters, more than 6000000/;
  const line = JSON.stringify({ version: 1, prefix: 'bw', ordinal: 0, ...account(LONG) });
  const name = accountFile('desk');
  expect(() => readAccount(OWNER, `-\n${line}\n`, name)).toThrow(tooLong);
  expect(() => readProcess(OWNER, `-\n${line}\n`, 'process.json')).toThrow(tooLong);
  expect(() => writeMirrored(OWNER, account(LONG))).toThrow(tooLong);
  const record = JSON.stringify({ number: 1, text: LONG, hash: HASH });
  await expect(readSegment(OWNER, `-\n${record}\n`, 'audit')).rejects.toThrow(tooLong);
  expect(readAccount(OWNER, writeMirrored(OWNER, account(LONG.slice(1_000_000))), name).fields[0]?.[1]).toBe(
    LONG.slice(1_000_000),
  );
});

test('a long segment is read over many turns of the loop, up to the truncated line', async () => {
  const records = Array.from({ length: 40 }, (_, at) => ({
    number: at + 1,
    text: 'x'.repeat(300_000),
    hash: HASH,
  }));
  const written = writeSegment(OWNER, { records, files: new Map([[HASH, 'attached']]) });
  let turns = 0;
  const read = readSegment(OWNER, written.slice(0, -1), 'audit');
  const ended = read.then(() => 'read');
  while ((await Promise.race([ended, setImmediate()])) !== 'read') turns += 1;
  expect(turns).toBeGreaterThan(4);
  const { files, records: found } = await read;
  expect(files.get(HASH)).toBe('attached');
  expect(found).toEqual(records.slice(0, -1));
});
