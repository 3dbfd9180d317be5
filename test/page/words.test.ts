import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountRow } from '../../src/core/lines/account-row.ts';
import { headlineOf } from '../../src/core/view/state-line.ts';
import { lostView } from '../../src/core/view/view-account.ts';
import { costWords } from '../../src/web/page/account-words.js';
import { levelOfAccount, levelOfExchangeState, verdictOf } from '../../src/web/page/danger.js';
import { doingLines } from '../../src/web/page/doing-words.js';
import { EventParser, type ServerEvent } from '../../src/web/page/event-stream.js';
import * as format from '../../src/web/page/format.js';
import { EMPTY, withActions, withAsked, withEvent } from '../../src/web/page/page-state.js';
import { accountPath, routeOf, subjectPath } from '../../src/web/page/route.js';
import { groupedRows, type ListChoice, labelNames, listedRows } from '../../src/web/page/row-order.js';
import { atRiskWords, doingWords, nearestWords, rowScale } from '../../src/web/page/row-words.js';
import {
  creditScale,
  distanceWords,
  jointWords,
  positionScale,
  scaleWords,
  sideOf,
} from '../../src/web/page/scale.js';
import { account, CALM, creditLine, position } from '../support/account-view.ts';
import { endangered, overview } from './fixture.ts';

describe('figures', () => {
  it.each([
    [0.0412, '4.12\u00a0%'],
    [0.15251, '15.3\u00a0%'],
    [-0.021, '\u22122.10\u00a0%'],
    [-0.00001, '0.00\u00a0%'],
    [0.0999, '9.99\u00a0%'],
    [0.09996, '10.0\u00a0%'],
    [null, 'unknown'],
    ['none', 'none'],
    [Number.NaN, 'unknown'],
  ] as const)('percent of %s is %s', (value, words) => {
    expect(format.percent(value)).toBe(words);
  });

  it('groups thousands of a decimal text and changes nothing else', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n }),
        fc.option(fc.nat()),
        fc.boolean(),
        (whole, fraction, isNegative) => {
          const plain = `${whole}${fraction === null ? '' : `.${fraction}`}`;
          const given = `${isNegative ? '-' : ''}${plain}`;
          const shown = format.amount(given);
          expect(shown.replaceAll('\u202f', '').replace('\u2212', '')).toBe(plain);
          expect(shown.split('.')[0]?.replace('\u2212', '')).toMatch(/^\d{1,3}(\u202f\d{3})*$/);
          expect(shown.startsWith('\u2212')).toBe(isNegative && !/^[0.]*$/.test(plain));
        },
      ),
    );
  });

  it('rounds an amount to pay up, never down, and only if it is long', () => {
    expect(format.amountUp('10709.39726833')).toBe('10\u202f709.40');
    expect(format.amountUp('10709.39000000')).toBe('10\u202f709.39');
    expect(format.amountUp('0.00012345678')).toBe('0.000123457');
    expect(format.amountUp('9462')).toBe('9\u202f462');
    expect(format.amountUp('999999.999')).toBe('1\u202f000\u202f000.00');
    fc.assert(
      fc.property(fc.nat(), fc.stringMatching(/^\d{1,12}$/), (whole, fraction) => {
        const given = Number(`${whole}.${fraction}`);
        const shown = Number(format.amountUp(`${whole}.${fraction}`).replaceAll('\u202f', ''));
        expect(shown).toBeGreaterThanOrEqual(given);
        expect(shown - given).toBeLessThanOrEqual(Math.max(0.01, given * 1e-5));
      }),
    );
  });

  it.each([
    [-749.254, '\u2212749.25'],
    [44_250.75, '44\u202f251'],
    [1_234_567, '1\u202f234\u202f567'],
    [null, 'unknown'],
  ] as const)('money %s is %s', (value, words) => {
    expect(format.money(value)).toBe(words);
  });

  it.each([
    [850, '850\u00a0ms'],
    [4_240, '4.2\u00a0s'],
    [9_960, '10\u00a0s'],
    [59_499, '59\u00a0s'],
    [59_600, '1\u00a0min'],
    [200_000, '3\u00a0min 20\u00a0s'],
    [3_599_900, '1\u00a0h', '60\u00a0min'],
    [7_500_000, '2\u00a0h 5\u00a0min'],
    [274_000_000, '3\u00a0d 4\u00a0h'],
  ])('%s ms are %s', (ms, words, or = words) => {
    expect([words, or]).toContain(format.duration(ms));
  });

  it('never shows a small chance as none', () => {
    expect(format.probability(0.000_01)).toBe('<\u00a00.1\u00a0%');
    expect(format.probability(0.9999)).toBe('>\u00a099.9\u00a0%');
    expect(format.probability(null)).toBe('unknown');
  });
});

describe('bars', () => {
  const near = (a: number, b: number) => Math.abs(a - b) < 1e-9;

  it('fill from far away to liquidation; thresholds lie where the fill crosses them', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -0.2, max: 1.5, noNaN: true }),
        fc.array(fc.double({ min: 0.001, max: 0.4, noNaN: true }), { minLength: 1, maxLength: 4 }),
        (liquidationDistance, thresholds) => {
          const marks = thresholds.map((threshold, index) => ({
            ruleId: `r${index}`,
            severity: 'critical' as const,
            field: 'liquidationDistance',
            op: 'below' as const,
            threshold,
          }));
          const scale = positionScale(position('1', { liquidationDistance, marks }));
          const isPassed = thresholds.some((threshold) => liquidationDistance < threshold);
          expect(scale.zone).toBe(isPassed ? 'critical' : 'calm');
          const { fill } = scale;
          if (fill === null) throw new Error('the fill is known');
          expect(scale.marks.some(({ at }) => fill > at || near(fill, at)) || !isPassed).toBe(true);
          for (const mark of scale.marks) expect(mark.at).toBeGreaterThan(0);
          expect(scale.marks.length).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('are not stretched by a rule that only notifies', () => {
    const mark = { field: 'liquidationDistance', op: 'below' } as const;
    const near = { ...mark, ruleId: 'near', severity: 'critical', threshold: 0.05 } as const;
    const always = { ...mark, ruleId: 'always', severity: 'info', threshold: 0.9 } as const;
    const scale = positionScale(position('1', { liquidationDistance: 0.24, marks: [near, always] }));
    expect(scale).toEqual({
      ...positionScale(position('1', { liquidationDistance: 0.24, marks: [near] })),
      zone: 'info',
    });
  });

  it('show unknown, none, and past liquidation', () => {
    expect(positionScale(position('1', { liquidationDistance: null }))).toMatchObject({
      fill: null,
      zone: 'unknown',
    });
    expect(positionScale(position('1', { liquidationDistance: 'none' }))).toMatchObject({
      fill: 0,
      zone: 'calm',
    });
    expect(distanceWords(position('1', { liquidationDistance: null, disagreement: true }))).toBe(
      'reported liquidation price is passed',
    );
    expect(distanceWords(position('1', { liquidationDistance: -0.02 }))).toBe('2.00\u00a0% past liquidation');
  });

  it('show the joint distance of several positions', () => {
    const positions = [position('1'), position('2')];
    expect(jointWords(account('a', { positions, jointDistance: 0.061 }))).toBe(
      'All markets together: 6.10\u00a0% to liquidation.',
    );
    expect(jointWords(account('a', { positions, jointDistance: null }))).toContain('unknown');
    expect(jointWords(account('a', { positions: positions.slice(1), jointDistance: 0.061 }))).toBe('');
  });

  it("put every threshold of a loan at its LTV, including the exchange's own", () => {
    const line = creditLine({
      marks: [
        { ruleId: 'a', severity: 'warning', field: 'ltvToMarginCall', op: 'above', threshold: 0.9 },
        { ruleId: 'b', severity: 'critical', field: 'collateralMayFall', op: 'below', threshold: 0.05 },
        { ruleId: 'c', severity: 'info', field: 'minutesToMarginCall', op: 'below', threshold: 120 },
      ],
    });
    const scale = creditScale(line);
    expect(scale.marks.map(({ label, name }) => `${label} ${name}`)).toEqual([
      '60\u00a0% initial',
      '72\u00a0% a',
      '76\u00a0% b',
      '80\u00a0% margin call',
    ]);
    expect(scale.zone).toBe('warning');
    expect(scaleWords(scale, 'LTV 74 %')).toContain('Thresholds: initial 60');
  });

  it('never let two labels of a row overlap', () => {
    const name = fc.string({ minLength: 1, maxLength: 50 });
    const threshold = fc.double({ min: 0.001, max: 0.4, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(name, threshold), { minLength: 1, maxLength: 6 }), (given) => {
        const marks = given.map(([ruleId, at]) => ({
          ruleId,
          severity: 'warning' as const,
          field: 'liquidationDistance',
          op: 'below' as const,
          threshold: at,
        }));
        const scale = positionScale(position('1', { marks }));
        const extents = scale.marks.map(({ at, row, label, name: shown }) => {
          const width = (label.length + 1 + Math.min(30, shown.length)) * 0.009;
          const side = sideOf(at);
          const start = side === 'start' ? at : side === 'end' ? at - width : at - width / 2;
          return { row, start, end: start + width };
        });
        for (const [index, one] of extents.entries()) {
          for (const other of extents.slice(index + 1).filter(({ row }) => row === one.row)) {
            expect(other.start).toBeGreaterThan(one.end);
          }
        }
      }),
    );
  });
});

describe('actions', () => {
  const { intents, orders } = endangered('desk-1');

  it('an intent states its target size once', () => {
    const [intent] = intents;
    if (intent === undefined) throw new Error('an intent');
    const target = 'until 10 % away (at most 0.62 left)';
    const told = doingLines([{ ...intent, target }], []);
    expect(told.map(({ words }) => words)).toEqual(['until 10 % away (at most 0.62 left): the order is out']);
  });

  it('a filled order is over, and not shown as open', () => {
    const [order] = orders;
    if (order === undefined) throw new Error('an order');
    const told = doingLines([], [order, { ...order, clientOrderId: 'bw-2', status: 'presumedFilled' }]);
    expect(told.map(({ words, isOver }) => [words, isOver])).toEqual([
      ['sell 0.88 at 25\u202f939.6, from 26\u202f070 on: open', false],
      ['sell 0.88 at 25\u202f939.6, from 26\u202f070 on: filled, as the position shows', true],
    ]);
  });
});

describe('the list', () => {
  const rows = [
    account('far', { nearest: 'none', atRisk: [] }),
    account('near', { nearest: 0.05, atRisk: [{ money: 'USDT', worth: 10 }] }),
    account('unknown', { nearest: null, atRisk: [{ money: 'USDT', worth: null }] }),
    account('blind', { nearest: 0.5, labels: {}, state: lostView('blind').state }),
  ].map(accountRow);
  const choice = { query: '', isAttentionOnly: false, cause: '', sort: 'danger', group: '' } as const;
  const ids = (changed: Partial<ListChoice>) =>
    listedRows(rows, { ...choice, ...changed }).map(({ accountId }) => accountId);

  it('has the worst state first, then the unknown ones, then the nearest', () => {
    expect(ids({})).toEqual(['blind', 'unknown', 'near', 'far']);
    expect(ids({ sort: 'distance' })).toEqual(['unknown', 'near', 'blind', 'far']);
    expect(ids({ sort: 'worth' })).toEqual(['unknown', 'blind', 'near', 'far']);
    expect(ids({ sort: 'name' })).toEqual(['blind', 'far', 'near', 'unknown']);
  });

  it('finds accounts by id, label, market, state, and need for action', () => {
    expect(ids({ query: 'DESK=arb' })).toEqual(['unknown', 'near', 'far']);
    expect(ids({ query: 'redis is down' })).toEqual(['blind']);
    expect(ids({ query: 'btc_perp' })).toHaveLength(4);
    expect(ids({ isAttentionOnly: true })).toEqual(['blind']);
    expect(ids({ cause: 'blind storeLost' })).toEqual(['blind']);
  });

  it('groups by a label in the order of its first account, including those without it', () => {
    const groups = groupedRows(listedRows(rows, choice), 'desk');
    expect(groups.map(({ title, rows: { length } }) => [title, length])).toEqual([
      ['desk=none', 1],
      ['desk=arb', 3],
    ]);
    expect(labelNames(rows)).toEqual(['desk']);
  });

  it('has comparable bars, and never shows unknown as far', () => {
    expect(rowScale({ nearest: 0.05, worst: 'critical' })).toEqual({ fill: 0.8, zone: 'critical' });
    expect(rowScale({ nearest: 'none', worst: null })).toEqual({ fill: 0, zone: 'calm' });
    expect(rowScale({ nearest: null, worst: null })).toEqual({ fill: null, zone: 'unknown' });
    expect(nearestWords({ nearest: null })).toBe('unknown');
    expect(
      atRiskWords({
        atRisk: [
          { money: 'USDT', worth: 32_100 },
          { money: 'BTC', worth: null },
        ],
      }),
    ).toBe('32.1K\u00a0USDT + ?\u00a0BTC');
    // A perpetual without `money` in the config.
    expect(atRiskWords({ atRisk: [{ money: 'PERP', worth: 32_100 }] })).toBe('32.1K');
  });

  it('says what is being done', () => {
    expect(doingWords(accountRow(endangered('a')))).toBe('1 order out');
    expect(doingWords(accountRow(account('a')))).toBe('');
    const row = { ...accountRow(account('a')), doing: { orders: 0, reductions: 1, byHand: 0, stops: 0 } };
    expect(doingWords(row)).toBe('1 open reduction');
    // Nobody has approved it yet.
    expect(doingWords({ ...row, state: { ...CALM, kind: 'asking' } })).toBe('');
  });

  it('drops the rows of removed accounts, and keeps the others identical', () => {
    const first = withEvent(EMPTY, { name: 'rows', data: { rows, ids: rows.map((row) => row.accountId) } });
    expect([first.rows.size, first.isListKnown]).toEqual([4, false]);
    const all = withEvent(first, { name: 'rows', data: { rows: [], cursor: 'x.1' } });
    expect([all.isListKnown, all.rowsCursor]).toEqual([true, 'x.1']);
    const fewer = withEvent(all, { name: 'rows', data: { rows: [], ids: ['near'], cursor: 'x.2' } });
    expect([...fewer.rows.keys()]).toEqual(['near']);
    expect(fewer.rows.get('near')).toBe(first.rows.get('near'));
  });

  it('states the cost of protection, and its unknown parts', () => {
    const sum = (known: number, unknown = 0) => ({ known, unknown });
    const total = {
      money: 'USDT',
      orders: 2,
      slippage: sum(50),
      fees: sum(29.95),
      slippageAtMost: sum(350),
    };
    expect(costWords(total)).toBe('USDT: 2 orders cost 50.00 by slippage and 29.95 in fees.');
    expect(costWords({ ...total, slippage: sum(20, 1), fees: sum(0, 2) })).toBe(
      'USDT: 2 orders cost 20.00 by slippage and an unknown amount in fees. Not all is known of 1 order.',
    );
    expect(costWords({ ...total, money: 'PERP' })).toMatch(/^2 orders cost 50\.00 by slippage/);
  });
});

describe('the sentence', () => {
  const headline = headlineOf([endangered('desk-1'), account('desk-2')]);

  it("has the core's words, and its severity as the level", () => {
    expect(verdictOf(overview({ accounts: 2, headline }))).toEqual({
      level: 'critical',
      sentence: `${endangered('desk-1').accountId} ${endangered('desk-1').state.words}; desk-2 ${CALM.words}.`,
    });
  });

  it('names the failing parts of the daemon, and a lost Redis only once', () => {
    const queue = { waiting: 0, active: 0, delayed: 0, failed: 0, oldestMs: null, isPaused: true };
    const queues = [{ ...queue, queue: 'act' }];
    const paused = verdictOf(overview({ headline: headlineOf([account('a')]), queues }));
    expect(paused.level).toBe('warning');
    expect(paused.sentence).toContain('somebody paused the queue act, nothing is sent');
    const lost = headlineOf([{ accountId: 'a', state: lostView('a').state }]);
    const { level, sentence } = verdictOf(overview({ headline: lost, degraded: ['redis'] }));
    expect(level).toBe('critical');
    expect(sentence).toBe('a blind: Redis is down.');
    const degradedWords = { notify: 'notifications are not delivered' };
    const mute = verdictOf(overview({ degraded: ['notify'], degradedWords }));
    expect(mute.level).toBe('warning');
    expect(mute.sentence).toMatch(/ Not everything works: notifications are not delivered\.$/);
  });

  it('treats unpolled accounts as neither alarm nor calm', () => {
    const state = { ...CALM, kind: 'blind', cause: 'notPolled', severity: 'info' } as const;
    expect(levelOfAccount(account('a', { state }))).toBe('unknown');
    expect(levelOfAccount(account('a'))).toBe('ok');
  });

  it('no disagreement of a position hides behind one beside it whose direction is not known', () => {
    const wrong = position('1', { disagreement: true });
    const level = (direction: 'short' | null) => {
      const beside = position('2', { direction });
      return levelOfExchangeState(wrong, { positions: [wrong, beside] });
    };
    expect(level('short')).toBe('ok');
    expect(level(null)).toBe('warning');
  });
});

describe('addresses', () => {
  it('decode to their parts, with any characters', () => {
    const name = fc.string({ minLength: 1, unit: 'binary' });
    fc.assert(
      fc.property(name, name, (accountId, rest) => {
        expect(routeOf(accountPath(accountId))).toEqual({ kind: 'account', accountId });
        const subject = `position:${rest}`;
        expect(routeOf(subjectPath(accountId, subject))).toEqual({ kind: 'position', accountId, subject });
        const loan = `creditLine:${rest}`;
        expect(routeOf(subjectPath(accountId, loan))).toEqual({
          kind: 'creditLine',
          accountId,
          subject: loan,
        });
      }),
    );
  });

  it.each(['/x', '/accounts', '/accounts/', '/accounts/a/b', '/accounts/a/positions/', '/accounts/%ff'])(
    'are refused otherwise: %s',
    (path) => {
      expect(routeOf(path)).toEqual({ kind: 'nowhere' });
    },
  );
});

describe('events', () => {
  const written = (events: readonly ServerEvent[], end: string) =>
    events
      .map(({ name, data }) =>
        [`event: ${name}`, ...data.split('\n').map((line) => `data: ${line}`), ': heartbeat', ''].join(end),
      )
      .join(end) + end;

  it('are parsed the same however the bytes are split', () => {
    const line = fc.stringMatching(/^[a-z:"{} ]*$/);
    const event = fc.record({
      name: fc.stringMatching(/^[a-z]+$/),
      data: fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n')),
    });
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
    const ends = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(fc.array(event), cuts, ends, (events, sizes, end) => {
        const parser = new EventParser();
        const got: ServerEvent[] = [];
        let rest = written(events, end);
        for (let index = 0; rest !== ''; index += 1) {
          const size = sizes[index % sizes.length] ?? 1;
          got.push(...parser.push(rest.slice(0, size)));
          rest = rest.slice(size);
        }
        // A final carriage return may be half a line end: the next bytes decide.
        got.push(...parser.push(': end\n'));
        expect(got).toEqual(events);
      }),
    );
  });

  it('change only what they name, and keep all other objects identical', () => {
    const before = withEvent(EMPTY, { name: 'account', data: { accountId: 'a', changed: account('a') } });
    const after = withEvent(before, { name: 'account', data: { accountId: 'a', changed: { danger: 7 } } });
    expect(after.accounts.get('a')).toMatchObject({ accountId: 'a', danger: 7 });
    expect(after.accounts.get('a')?.positions).toBe(before.accounts.get('a')?.positions);
    expect(withEvent(after, { name: 'gone', data: { accountId: 'a' } }).accounts.size).toBe(0);
    expect(withEvent(after, { name: 'something new', data: {} })).toBe(after);
    // A late change of an account no longer shown is not taken for an account.
    expect(withEvent(after, { name: 'account', data: { accountId: 'b', changed: { danger: 1 } } })).toBe(
      after,
    );
  });

  it('are not undone by a slower, older answer', () => {
    const live = { ...EMPTY, connection: { kind: 'live', sinceMs: 0 } } as const;
    const known = withEvent(live, {
      name: 'account',
      data: { accountId: 'a', changed: account('a', { danger: 7 }) },
    });
    const asked = withAsked(withAsked(known, account('a', { danger: 3 })), account('b'));
    expect(asked.accounts.get('a')).toBe(known.accounts.get('a'));
    expect(asked.accounts.has('b')).toBe(true);
    const lost = {
      ...known,
      connection: { kind: 'lost', lastByteMs: 0, retryAtMs: 0, attempt: 1, why: '' },
    } as const;
    expect(withAsked(lost, account('a', { danger: 3 })).accounts.get('a')?.danger).toBe(3);
  });

  it('replace an action by its later state, in any order of arrival', () => {
    const action = (id: string, atMs: number, outcome: string) => ({
      id,
      accountId: 'a',
      market: null,
      positionId: null,
      kind: 'place',
      outcome,
      reason: '',
      atMs,
      tookMs: null,
      words: '',
    });
    const begun = withEvent(EMPTY, { name: 'action', data: action('1', 5, 'pending') });
    const ended = withEvent(begun, { name: 'action', data: action('1', 5, 'accepted') });
    expect(ended.actions.map(({ outcome }) => outcome)).toEqual(['accepted']);
    const read = withActions(ended, [
      ...ended.actions,
      action('1', 5, 'pending'),
      action('0', 4, 'accepted'),
    ]);
    expect(read.actions.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['1 accepted', '0 accepted']);
  });
});
