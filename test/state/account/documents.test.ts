import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newLane } from '../../../src/core/lanes/lane-state.ts';
import {
  type DocumentCodec,
  DocumentError,
  LANE_CODEC,
  readDocument,
} from '../../../src/state/account/documents.ts';
import {
  type Header,
  readEpoch,
  readHeader,
  writeEpoch,
  writeHeader,
} from '../../../src/state/account/header.ts';
import { bucketKeys } from '../../../src/state/account/keys.ts';

interface Third {
  readonly version: 3;
  readonly sizeBase: string;
}

/** Version 1 had a number, version 2 a text under its old name. */
const codec: DocumentCodec<Third> = {
  version: 3,
  migrations: {
    1: (old) => ({ version: 2, size: String((old as { size: number }).size) }),
    2: (old) => ({ version: 3, sizeBase: (old as { size: string }).size }),
  },
  parse(value) {
    const { sizeBase } = value as Third;
    if (typeof sizeBase !== 'string') throw new Error('"sizeBase" is not a text');
    return value as Third;
  },
};

const readThird = (text: string) => readDocument(codec, text, 'third', 'acc');

function refusal(text: string, of = codec): DocumentError {
  try {
    readDocument(of, text, 'third', 'acc');
  } catch (error) {
    if (error instanceof DocumentError) return error;
    throw error;
  }
  throw new Error('it was read');
}

describe('documents', () => {
  test('of older versions are migrated step by step', () => {
    const current = { version: 3, sizeBase: '5' };
    expect(readThird('{"version":3,"sizeBase":"5"}')).toEqual(current);
    expect(readThird('{"version":2,"size":"5"}')).toEqual(current);
    expect(readThird('{"version":1,"size":5}')).toEqual(current);
  });

  test.each([
    ['{"version":4,"sizeBase":"5"}', 'DOCUMENT_NEWER', /version 4, this program reads up to 3/],
    ['{"version":3}', 'DOCUMENT_UNREADABLE', /"sizeBase" is not a text/],
    ['{"sizeBase":"5"}', 'DOCUMENT_UNREADABLE', /bears no version/],
    ['{"version":"3"}', 'DOCUMENT_UNREADABLE', /bears no version/],
    ['{"version":0}', 'DOCUMENT_UNREADABLE', /bears no version/],
    ['null', 'DOCUMENT_UNREADABLE', /bears no version/],
    ['', 'DOCUMENT_UNREADABLE', /not JSON/],
  ])('%s is refused as %s', (text, code, message) => {
    const error = refusal(text);
    expect(error).toMatchObject({ code, document: 'third' });
    expect(error.message).toMatch(message);
    expect(error.message).toContain('the stored third of account "acc"');
  });

  test('of a version without a migration are refused', () => {
    const { 1: _first, ...migrations } = codec.migrations;
    expect(refusal('{"version":1,"size":5}', { ...codec, migrations }).message).toMatch(
      /version 1 is not read/,
    );
  });
});

test('a header is read back as written, and other forms are refused', () => {
  const counter = fc.nat({ max: 2 ** 31 });
  const header: fc.Arbitrary<Header> = fc.record({
    writer: fc.constantFrom('abcdefghijkl', '000000000000'),
    version: counter,
    epoch: fc.constantFrom('life1', 'x'),
    danger: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
    seq: counter,
    head: fc.constantFrom('0'.repeat(64), 'f'.repeat(64)),
    firstNumber: counter,
    sweep: counter,
    quiet: counter,
    quietSinceMs: counter,
    historyMs: counter,
    isOld: fc.constant(false),
  });
  fc.assert(
    fc.property(header, (value) => {
      expect(readHeader(writeHeader(value))).toEqual(value);
    }),
  );
  for (const text of [
    '',
    '3|a|1|l|x|1|h|1|0|0|0|0',
    '2|abcdefghijkl|1',
    '1|abc',
    '1|a|1|l|x|1|h|1|0|0|0|0',
  ]) {
    expect(readHeader(text)).not.toHaveProperty('writer');
  }
});

test('a store epoch is read back as written; anything else is none', () => {
  const epoch = { id: 'abc123', why: 'serverChanged', sinceMs: 5 } as const;
  expect(readEpoch(writeEpoch(epoch, 'run'))).toMatchObject({ epoch, run: 'run' });
  for (const text of [null, '', 'abc', 'abc|other|5|run', 'A B|empty|5|run', 'abc|empty|5|run|more']) {
    expect(readEpoch(text)).toBeUndefined();
  }
});

test('all keys of a bucket have its hash tag, for any account id', () => {
  const keys = bucketKeys('breakwater', 17);
  const names = [keys.epoch, keys.due, keys.account('}{a}'), keys.audit('{b3}'), keys.leases('')];
  for (const name of names) expect(/\{(.*?)\}/.exec(name)?.[1]).toBe('b17');
  expect(() => bucketKeys('a{b}', 1)).toThrow(TypeError);
});

test('a lane of the first version is read in the words of the current one', () => {
  const lane = newLane('desk', 'BTC_PERP', 'abc123', 5);
  const { epoch, latestRead, ...same } = lane;
  const first = {
    ...same,
    version: 1,
    life: epoch,
    glance: latestRead,
    doubt: { ...lane.doubt, why: 'newLife' },
  };
  const read = (stored: object) => readDocument(LANE_CODEC, JSON.stringify(stored), 'lane:BTC_PERP', 'desk');
  expect(read(first)).toEqual(lane);
  expect(read({ ...first, doubt: null })).toEqual({ ...lane, doubt: null });
  // An older version followed the price after each fill.
  const followed = { ...lane, costs: [{ passedLiquidation: true }] };
  expect(read(followed)).toEqual(followed);
  expect(read({ ...first, doubt: { ...lane.doubt, why: 'processDied' } })).toMatchObject({
    doubt: { why: 'processDied' },
  });
});
