import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestAccount } from '../../../src/core/digest/account-digest.ts';
import { type AccountDigest, type Digest, digestOf } from '../../../src/core/digest/digest.ts';
import { digestWords } from '../../../src/core/digest/digest-words.ts';
import { fitLines } from '../../../src/core/digest/fit-lines.ts';
import { DAY, digestOfDay, hour, sighting, timeOf } from './fixtures.ts';

const ALL = { maxChars: Number.POSITIVE_INFINITY, timeOf };
const ABOUT = { versions: { breakwater: '1.2.3', node: 'v24.0.0' }, notes: [] };
const QUIET = digestAccount({ accountId: 'desk-3', records: [], sightings: [] }, DAY);

const digest = (...accounts: readonly Partial<AccountDigest>[]): Digest =>
  digestOf(
    accounts.map((changes) => Object.assign({}, QUIET, changes)),
    DAY,
    ABOUT,
  );

describe('a digest in words', () => {
  test('says of two accounts and markets what a person wants to know in the morning', () => {
    const { headline, lines } = digestWords(digestOfDay(), ALL);
    expect(headline).toBe(
      '01-30 08:00 to 01-31 08:00 UTC: 2 of 2 accounts came near, rules fired 3 times, 1 order closed something, 3 refused or failed',
    );
    expect(lines).toEqual([
      'Nearest calls:',
      '- desk-2: credit line in USDT was 2 % from its margin call at 01-30 10:00',
      '- desk-1: BTC_PERP was 4.1 % from liquidation at 01-30 10:00',
      'Refused or failed:',
      '- desk-1: near in ETH_PERP, the exchange refused an order: 33: the price does not fit the market',
      '- desk-1: near in BTC_PERP, held back (twice): actions are paused',
      'Rules that fired:',
      '- desk-1: near (critical) twice, fires still: BTC_PERP, ETH_PERP',
      '- desk-2: early (warning, observed only) once, fires still: BTC_PERP',
      'Done:',
      '- desk-1: near in BTC_PERP: 1 order closed something: slippage 25 USDT, fees 14.97 USDT',
      '- desk-1: 1 order placed, 1 order refused',
      'Only observed; in enforce mode there would have been:',
      '- desk-2: early in BTC_PERP: 2 orders, 1 cancel; the largest: sell 0.5 BTC_PERP once the price is 59000 or less, limit 58700',
      'Breakwater 1.2.3, Node v24.0.0.',
    ]);
  });

  test('ends with the audit heads; if not all fit, they rotate from day to day', () => {
    const chains = Array.from({ length: 40 }, (_, index) => `desk-${index}`);
    const heads = chains.map((chain, seq) => ({ chain, head: { seq, hash: 'b'.repeat(64) } }));
    const on = (day: number, maxChars: number) => {
      const period = { fromMs: DAY.fromMs + day * 86_400_000, toMs: DAY.toMs + day * 86_400_000 };
      const { lines } = digestWords(digestOf([QUIET], period, { ...ABOUT, heads }), { maxChars, timeOf });
      expect(lines.join('\n').length).toBeLessThanOrEqual(maxChars);
      return lines.filter((line) => /^- desk-(\d+) \1:b{64}$/.test(line));
    };
    expect(on(0, Number.POSITIVE_INFINITY)).toHaveLength(40);
    const seen = new Set(Array.from({ length: 40 }, (_, day) => on(day, 400)).flat());
    expect([on(0, 400).length, seen.size]).toEqual([2, 40]);
  });

  test('says that nothing happened on a quiet day', () => {
    const { headline, lines } = digestWords(digest({}), ALL);
    expect(headline).toBe(
      '01-30 08:00 to 01-31 08:00 UTC: 0 of 1 account came near, no rule fired, nothing was closed',
    );
    expect(lines).toEqual([
      'Nothing that was recorded came within 10 % of liquidation or a margin call, no rule fired, and nothing was sent.',
      'Breakwater 1.2.3, Node v24.0.0.',
    ]);
  });

  test.each([
    [
      { distance: 0.02, called: 'marginCall' },
      'BTC_PERP had a margin call, 2 % from liquidation at 01-30 10:00',
    ],
    [{ distance: null, called: 'marginCall' }, 'BTC_PERP had a margin call at 01-30 10:00'],
    [{ distance: -0.01, called: 'liquidation' }, 'BTC_PERP was being liquidated at 01-30 10:00'],
    [
      { distance: 0.06, of: 'allMarkets', name: '' },
      'all markets together were 6 % from liquidation at 01-30 10:00',
    ],
    [
      { distance: -0.01, called: 'marginCall', of: 'creditLine', name: 'BTC' },
      'credit line in BTC had a margin call at 01-30 10:00',
    ],
  ] as const)('words the nearest call %j', (changes, words) => {
    const { lines } = digestWords(digest({ nearest: sighting(changes), cameNear: true }), ALL);
    expect(lines[1]).toBe(`- desk-3: ${words}`);
  });

  test('lists vanished subjects before other troubles, and the answers of people', () => {
    const { headline, lines } = digestWords(
      digest({
        gone: [{ name: 'BTC_PERP', ruleIds: ['early', 'near'], atMs: hour(3) }],
        answers: [
          { ruleId: 'near', end: 'vetoed', times: 2, words: 'bob vetoed c' },
          { ruleId: 'near', end: 'approved', times: 1, words: 'ann approved b' },
        ],
      }),
      ALL,
    );
    expect(headline).toMatch(/nothing was closed, 1 gone while a rule fired$/);
    expect(lines.slice(0, -1)).toEqual([
      'Gone while a rule fired:',
      '- desk-3: BTC_PERP is not listed any more since 01-30 11:00, closed or liquidated (early, near)',
      'People were asked:',
      '- desk-3: near (twice): bob vetoed c',
      '- desk-3: near: ann approved b',
    ]);
  });

  test('lists what cannot be read now, and warns after a week that the key may be switched off', () => {
    const unread = (sinceMs: number | null) =>
      digestWords(digest({ unread: { source: 'positions', sinceMs, why: '401: refused' } }), ALL).lines[1];
    expect(unread(hour(20))).toBe('- desk-3: positions last read 01-31 04:00 (401: refused)');
    expect(unread(hour(24 - 7 * 24))).toBe(
      '- desk-3: positions last read 01-24 08:00 (401: refused); the exchange switches off keys that are idle for 14 days',
    );
    expect(unread(null)).toBe('- desk-3: positions never read yet (401: refused)');
  });

  test('lists what is unknown apart from what is known', () => {
    const { lines } = digestWords(
      digestOf([{ ...QUIET, recordsFromMs: hour(5), unreadable: 'a newer form' }], DAY, {
        ...ABOUT,
        notes: ['Redis is lost.'],
      }),
      ALL,
    );
    expect(lines).toEqual([
      'Redis is lost.',
      'Not known:',
      '- desk-3: what is stored cannot be read (a newer form)',
      '- desk-3: records before 01-30 13:00 are pruned',
      'Breakwater 1.2.3, Node v24.0.0.',
    ]);
  });

  test('lists the nearest and gravest of a thousand accounts, and counts the others', () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({
      accountId: `desk-${index}`,
      cameNear: true,
      nearest: sighting({ distance: (index + 1) / 100_000 }),
      troubles: [
        {
          kind: 'heldBack' as const,
          reason: 'paused',
          ruleId: 'near',
          market: null,
          times: 1,
          words: 'actions are paused',
          lastMs: hour(1),
          alarm: index === 700,
        },
      ],
    }));
    const { lines } = digestWords(digest(...many.toReversed()), { maxChars: 1_000, timeOf });
    expect(lines.join('\n').length).toBeLessThanOrEqual(1_000);
    expect(lines[1]).toBe('- desk-0: BTC_PERP was 0.001 % from liquidation at 01-30 10:00');
    expect(lines).toContain('- desk-700: near, held back: actions are paused');
    const rests = lines.filter((line) => line.startsWith('- and '));
    expect(rests).toHaveLength(2);
    const shown = lines.filter((line) => line.startsWith('- desk-')).length;
    const left = rests.map((line) => Number(/\d+/.exec(line)?.[0])).reduce((a, b) => a + b, 0);
    expect(shown + left).toBe(2_000);
  });
});

test('any list fits in the length: what is left out is counted, and the order stays', () => {
  const sections = fc.array(
    fc.record({
      title: fc.string({ minLength: 1, maxLength: 40 }),
      items: fc.array(
        fc.string({ maxLength: 400 }).map((text) => `item ${text}`),
        { minLength: 1, maxLength: 40 },
      ),
    }),
    { maxLength: 7 },
  );
  fc.assert(
    fc.property(sections, fc.integer({ min: 450, max: 5_000 }), (all, maxChars) => {
      const lines = [...fitLines(all, maxChars)];
      expect(lines.reduce((sum, line) => sum + line.length + 1, 0)).toBeLessThanOrEqual(maxChars);
      for (const { title, items } of all) {
        expect(lines.shift()).toBe(title);
        let shown = 0;
        while (shown < items.length && lines[0]?.startsWith(`- ${items[shown]!.slice(0, 200)}`) === true) {
          lines.shift();
          shown += 1;
        }
        const left = items.length - shown;
        if (left > 0) expect(lines.shift()).toBe(shown === 0 ? `- ${left} in all` : `- and ${left} more`);
      }
      expect(lines).toEqual([]);
    }),
  );
});
