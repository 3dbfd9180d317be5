import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { foreignWords } from '../../../src/core/redaction/foreign-words.ts';
import type { CallPlan } from '../../../src/exchange/call/call-plan.ts';
import type { CallScope } from '../../../src/exchange/call/call-scope.ts';
import { SHOWN_OF_ERRORS } from '../../../src/exchange/call/errors.ts';
import { Judge, type JudgeParts, newProgress } from '../../../src/exchange/call/judge.ts';
import type { WireFailure, WireReply } from '../../../src/exchange/call/transport.ts';
import { decodeBody } from '../../../src/exchange/call/transport.ts';
import { ENDPOINTS, isWebAddress } from '../../../src/exchange/endpoints.ts';
import { PREPARE, personalTexts } from '../../../src/exchange/requests.ts';
import { Dice } from '../../support/dice.ts';

/**
 * The outcomes of attempts, the reports, and the requests sent: kept for review.
 * `npm test -- test/exchange/call/judged.test.ts --update` rewrites the transcript.
 */

const redact = foreignWords(['planted-secret'], SHOWN_OF_ERRORS);

/** A judge whose collaborators record what is reported to them. */
function openJudge(dice: Dice) {
  const told: string[] = [];
  const note =
    (name: string, answer?: unknown) =>
    (...given: readonly unknown[]): unknown => {
      told.push(`${name}(${given.map((one) => JSON.stringify(one)).join()})`);
      return answer;
    };
  const parts = {
    baseUrls: { failed: note('failed'), hasOther: note('hasOther', dice.hits(0.5)) },
    limiter: {
      passedGateway: note('passedGateway'),
      passed: note('passed'),
      refused: note('refused'),
      refusedByGateway: note('refusedByGateway'),
      ownUse: note('ownUse', dice.of(0, 0.49, 0.5, 0.51, 1)),
    },
    nonces: {
      mode: dice.of('unique', 'unique', 'increasing', 'window'),
      refused: note('nonceRefused'),
      doubted: note('nonceDoubted'),
      observeDate: note('observeDate'),
    },
    clock: { nowMs: () => Date.UTC(2026, 0, 1) },
    observer: { onDrift: note('drift') },
    redact,
  } as unknown as JudgeParts;
  return { judge: new Judge(parts), told };
}

function planOf(dice: Dice): CallPlan<unknown> {
  const endpoint = dice.of(ENDPOINTS.openPositions, ENDPOINTS.stopLimit, ENDPOINTS.cancelAll, ENDPOINTS.ping);
  const problem = { path: '.x', expected: 'a text', got: 'null' };
  const reads = dice.of<ReturnType<CallPlan<unknown>['read']>>(
    { ok: true, value: 7 },
    { ok: true, value: 7 },
    { ok: false, problems: [problem] },
    { ok: false, problems: [{ ...problem, path: '' }, problem] },
    { ok: false, problems: [] },
  );
  return {
    endpoint,
    params: {},
    options: undefined,
    read: () => reads,
    ...(dice.hits(0.3) ? { emptyAllowed: true } : {}),
    ...(dice.hits(0.3) ? { setAside: () => dice.of([], [problem], [problem, problem]) } : {}),
    ...(dice.hits(0.1) ? { recover: () => dice.of(undefined, { value: 'recovered' }) } : {}),
  };
}

function replyOf(dice: Dice): WireReply {
  const message = dice.of(
    'Too many requests.',
    'too many requests',
    'Nonce is too small',
    'Limit',
    'IP address is not allowed',
    '',
  );
  const error = JSON.stringify({ code: dice.of(0, 1, 116), message, errors: {} });
  const large = `[${Array.from({ length: 1_001 }, () => '"abcd"').join(',')}]`;
  const status = dice.of(
    200,
    200,
    299,
    300,
    400,
    401,
    403,
    404,
    408,
    422,
    429,
    429,
    429,
    429,
    499,
    500,
    502,
    503,
  );
  return {
    kind: 'reply',
    status,
    body: dice.of(error, error, error, '[]', '{}', '', ' ', '<html>', large),
    date: dice.of(undefined, 'Thu, 01 Jan 2026 00:00:10 GMT', 'no date'),
    retryAfter: dice.of(undefined, undefined, '0', '7', 'Thu, 01 Jan 2026 00:00:30 GMT'),
    sentAtMs: 1_000,
    receivedAtMs: 1_040,
  };
}

const FAILURES: readonly [WireFailure['reason'], ...WireFailure['reason'][]] = [
  'nameNotResolved',
  'certificateRefused',
  'connectionRefused',
  'connectTimeout',
  'connectFailed',
  'connectionLost',
  'attemptTimeout',
  'cancelled',
  'preempted',
  'replyTooLarge',
  'replyUndecodable',
  'proxyRefused',
];

function judged(dice: Dice): string {
  const { judge, told } = openJudge(dice);
  const plan = planOf(dice);
  const progress = {
    ...newProgress(),
    nonceRepeats: dice.of(0, 0, 1, 2, 3),
    baseUrlIndex: dice.of(undefined, 0, 1),
  };
  const cancelled = dice.of(undefined, 'timeout', 'aborted');
  const attempts = dice.hits(0.2)
    ? [
        judge.failure(
          plan,
          { cancelled } as CallScope,
          { kind: 'failure', reason: dice.of(...FAILURES), left: dice.hits(0.5) },
          1,
        ),
      ]
    : Array.from({ length: dice.of(1, 2) }, () => judge.reply(plan, replyOf(dice), progress));
  const results = attempts.map((attempt) =>
    attempt.kind === 'ok' ? { ok: attempt.value } : { after: attempt.after, error: attempt.error },
  );
  return JSON.stringify([results, told, progress]);
}

test.for([1, 2, 3, 4])('what five hundred attempts come to, by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 500; index += 1) hash.update(judged(dice));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

test('a command is repeated for its nonce only where it certainly had no effect, and twice at most', () => {
  const dice = new Dice(9);
  for (let index = 0; index < 2_000; index += 1) {
    const { judge, told } = openJudge(dice);
    const plan = planOf(dice);
    const progress = { ...newProgress(), nonceRepeats: dice.of(0, 1, 2) };
    const before = progress.nonceRepeats;
    const attempt = judge.reply(plan, replyOf(dice), progress);
    if (attempt.kind === 'ok' || attempt.after !== 'nonce') continue;
    expect(attempt.error).toMatchObject({ name: 'nonceRefused', effect: 'none' });
    expect(before).toBeLessThan(2);
    expect(told).toContain(`nonceRefused(${before + 1})`);
    expect(attempt.error).not.toHaveProperty('gateway');
  }
});

describe('the body of a reply', () => {
  const text = Buffer.from('{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}');

  test.each([
    ['', text],
    ['identity', text],
    ['gzip', gzipSync(text)],
    ['X-GZIP', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    [' br ,, gzip', gzipSync(brotliCompressSync(text))],
  ])('is read in the encoding %j', (encoding, bytes) => {
    expect(decodeBody(bytes, encoding, text.length)).toEqual(text);
  });

  test.each([
    ['gzip', gzipSync(text), 'replyTooLarge'],
    ['zstd', text, 'replyUndecodable'],
    ['gzip', text, 'replyUndecodable'],
    ['gzip, gzip, gzip, gzip', text, 'replyUndecodable'],
    ['gzip', Buffer.alloc(0), Buffer.alloc(0)],
  ] as const)('in the encoding %j cannot be read, or is empty', (encoding, bytes, result) => {
    expect(decodeBody(bytes, encoding, text.length - 1)).toEqual(result);
  });
});

test('where each endpoint is, and what it is', () => expect(ENDPOINTS).toMatchSnapshot());

test.each([
  ['https://a.example', true],
  ['http://a.example/path', true],
  ['ftp://a.example', false],
  ['a.example', false],
  ['https://u@a.example', false],
  ['https://:p@a.example', false],
  ['https://a.example?x', false],
  ['https://a.example#x', false],
])('%s is a base address: %s', (address, isOne) => {
  expect(isWebAddress(address)).toBe(isOne);
});

const CUSTOMER = {
  firstName: 'Ada',
  lastName: 'Byron',
  email: 'ada@example.org',
  birthDate: '1815-12-10',
  address: { line1: '12 Square', city: 'London', zipCode: 'SW1Y', countryCode: 'GB', line2: 'x' },
};

/** Whole requests; each field is then left out, and replaced by odd values. */
const REQUESTS: Readonly<Record<keyof typeof PREPARE, object>> = {
  openPositions: { market: 'BTC_PERP' },
  transfers: {
    method: 'withdrawal',
    ticker: 'BTC',
    addresses: ['a', 'b'],
    uniqueId: 'u',
    status: [3],
    since: 1,
    maxRecords: 5,
  },
  spotOrders: { market: 'BTC_USDT', since: 1, maxRecords: 5 },
  cancelAll: { market: 'BTC_PERP', types: ['spot', 'margin', 'futures'] },
  stopLimit: {
    market: 'BTC_PERP',
    side: 'sell',
    amount: '1',
    price: '2',
    activationPrice: '3',
    clientOrderId: 'a.b-c_1',
    positionSide: 'LONG',
    stopLoss: '4',
    takeProfit: '5',
    reduceOnly: false,
  },
  hedgeMode: { hedgeMode: true },
  fiatDeposit: {
    ticker: 'EUR',
    provider: 'CARD',
    amount: '50',
    uniqueId: 'u',
    customer: CUSTOMER,
    successLink: 'https://a.example',
    failureLink: 'https://a.example',
    returnLink: 'http://a.example',
  },
};

const ODD: readonly unknown[] = [
  undefined,
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  Number.NaN,
  true,
  [],
  {},
  ['x'],
  [3, -1],
  ['futures'],
  Array.from({ length: 20 }, String),
  Array.from({ length: 21 }, String),
  '1e2',
  '-1',
  '0',
  'abc',
  'A_B',
  'a b_C',
  `${'m'.repeat(50)}_${'q'.repeat(50)}`,
  `${'m'.repeat(51)}_Q`,
  'i'.repeat(255),
  'i'.repeat(256),
  'buy',
  'deposit',
  'BOTH',
  'USD',
  'UAH',
  'SEPA',
  'http://a.example',
  'https://b.example',
  { ...CUSTOMER, birthDate: '10 Dec 1815' },
  { ...CUSTOMER, email: undefined },
  { ...CUSTOMER, address: { city: 'London' } },
  { ...CUSTOMER, address: 'London' },
  { ...CUSTOMER, age: 5 },
  { ...CUSTOMER, age: '5' },
  { ...CUSTOMER, address: { ...CUSTOMER.address, planet: 'Earth' } },
];

test.each(Object.keys(PREPARE) as (keyof typeof PREPARE)[])(
  'requests of %s, with each field in any form',
  (endpoint) => {
    const prepare = PREPARE[endpoint] as (request: object, settings: object) => unknown;
    const whole = REQUESTS[endpoint];
    const lines: string[] = [];
    for (const dialect of ['spec', 'camel']) {
      const settings = { dialect, cardProviders: ['CARD'] };
      lines.push(
        JSON.stringify([prepare(whole, settings), prepare({ ...whole, reduceOnly: true }, settings)]),
      );
      for (const field of Object.keys(whole)) {
        const hash = createHash('sha256');
        for (const odd of ODD) {
          let result: string;
          try {
            result = JSON.stringify(prepare({ ...whole, [field]: odd }, settings));
          } catch (error) {
            result = (error as Error).name;
          }
          hash.update(`${result}\n`);
        }
        lines.push(`${dialect} ${field} ${hash.digest('hex').slice(0, 12)}`);
      }
    }
    expect(lines).toMatchSnapshot();
  },
);

test('every text of a customer is personal, and its words', () => {
  const request = { customer: CUSTOMER } as unknown as Parameters<typeof personalTexts>[0];
  expect(personalTexts(request).toSorted()).toMatchSnapshot();
  expect(personalTexts({} as Parameters<typeof personalTexts>[0])).toEqual([]);
});
