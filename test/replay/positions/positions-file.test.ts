import { describe, expect, test } from 'vitest';
import type { StatusReport } from '../../../src/cli/operate/status-text.ts';
import { formatProblem } from '../../../src/config/problem.ts';
import { type DecimalString, decimal } from '../../../src/core/quantities/decimal.ts';
import { type AccountView, emptyView, type PositionLine } from '../../../src/core/view/account-view.ts';
import { readPositions } from '../../../src/replay/positions/positions-file.ts';
import { startSimulatedExchange } from '../../../src/simulator/start-simulated-exchange.ts';
import { BASE, loaded } from '../../config/support.ts';
import { CALM } from '../../support/account-view.ts';
import { runCommandLine } from '../../support/cli.ts';

const CONFIG = loaded(
  `${BASE.replace('"*"', '"*_PERP"')}accounts:
  - { id: desk-1, apiKey: { env: A }, apiSecret: { env: B } }
  - { id: desk-2, apiKey: { env: C }, apiSecret: { env: D } }
`,
  { env: { A: 'key-1', B: 'secret-1', C: 'key-2', D: 'secret-2' } },
);

const read = (text: string, accountId?: string, configured = CONFIG.accounts) =>
  readPositions({
    file: 'positions.yaml',
    text,
    configured,
    ...(accountId === undefined ? {} : { accountId }),
  });

function accounts(text: string, accountId?: string) {
  const result = read(text, accountId);
  if (result.kind === 'refused') throw new Error(result.problems.map(formatProblem).join('\n'));
  return result;
}

function mistakes(text: string, accountId?: string): readonly string[] {
  const result = read(text, accountId);
  return result.kind === 'refused' ? result.problems.map(formatProblem) : [];
}

const GOOD = `accounts:
  - id: desk-1
    collateral: { USDT: 3000.50, BTC: "0.010" }
    leverage: 20
    positions:
      - { market: BTC_PERP, side: long, amount: 0.500, entry: 60000 }
      - { market: ETH_PERP, side: short, amount: "3" }
  - id: desk-2
    loans: [{ asset: USDT, amount: 20000, collateralAsset: BTC, collateralAmount: 0.5 }]
`;

const DESK_1 = {
  id: 'desk-1',
  collateral: { USDT: '3000.50', BTC: '0.010' },
  leverage: 20,
  hedgeMode: false,
  positions: [
    { market: 'BTC_PERP', side: 'long', amount: '0.500', entry: '60000' },
    { market: 'ETH_PERP', side: 'short', amount: '3' },
  ],
  loans: [],
  markPrices: {},
};

describe('a positions file', () => {
  test('keeps amounts and prices digit by digit', () => {
    expect(accounts(GOOD)).toEqual({
      kind: 'read',
      notes: [],
      accounts: [
        DESK_1,
        {
          id: 'desk-2',
          collateral: {},
          hedgeMode: false,
          positions: [],
          loans: [{ asset: 'USDT', amount: '20000', collateralAsset: 'BTC', collateralAmount: '0.5' }],
          markPrices: {},
        },
      ],
    });
  });

  test('may be JSON, and names the accounts that were left out', () => {
    const { markPrices: _, ...desk } = DESK_1;
    expect(accounts(JSON.stringify({ accounts: [desk] }))).toEqual({
      kind: 'read',
      accounts: [DESK_1],
      notes: ['Account desk-2 of the config holds nothing in positions.yaml: left out.'],
    });
  });

  test('reports all mistakes at once, each with its place and the expected input', () => {
    const text = `accounts:
  - id: desk-3
    collateral: { USDT: -5 }
    positions:
      - { market: BTC_PERP, side: up, amount: 1,5 }
      - { market: BTC_PERP, side: long, amount: 0, price: 5 }
`;
    expect(mistakes(text)).toEqual([
      'positions.yaml:2:9 accounts[0].id: expected an account of the config (desk-1, desk-2), got "desk-3"; did you mean desk-1?',
      'positions.yaml:3:25 accounts[0].collateral.USDT: expected a positive decimal number such as "0.001", got -5',
      'positions.yaml:5:35 accounts[0].positions[0].side: expected one of long, short, got "up"',
      'positions.yaml:5:49 accounts[0].positions[0].5: expected one of the keys market, side, amount, entry, got "5"',
      'positions.yaml:6:49 accounts[0].positions[1].amount: expected a positive decimal number such as "0.001", got 0',
      'positions.yaml:6:52 accounts[0].positions[1].price: expected one of the keys market, side, amount, entry, got "price"',
    ]);
  });

  test.each<[string, string, string]>([
    [
      'an account that the config lacks',
      GOOD.replace('desk-2', 'desk-3'),
      'positions.yaml:8:9 accounts[1].id: expected an account of the config (desk-1, desk-2), got "desk-3"; did you mean desk-1?',
    ],
    [
      'an account twice',
      GOOD.replace('desk-2', 'desk-1'),
      'accounts[1].id: expected each account once, got desk-1 again',
    ],
    [
      'a market without an entry',
      GOOD.replace('ETH_PERP', 'ETH_USDT'),
      `positions.yaml:7:19 accounts[0].positions[1].market: expected a market that the config's markets cover, got "ETH_USDT": add an entry for it`,
    ],
    [
      'a position twice',
      GOOD.replace('ETH_PERP, side: short', 'BTC_PERP, side: long'),
      'positions.yaml:7:9 accounts[0].positions[1]: expected one long position in BTC_PERP, got a second one',
    ],
    [
      'both sides without hedge mode',
      GOOD.replace('ETH_PERP', 'BTC_PERP'),
      'accounts[0].positions: expected hedgeMode: true with a long and a short position in one market',
    ],
    [
      'positions without collateral',
      GOOD.replace(/ {4}collateral.*\n/, ''),
      'accounts[0].collateral: expected what secures the positions, such as { USDT: 3000 }, got nothing',
    ],
    [
      'an account with nothing',
      'accounts: [{ id: desk-1, collateral: { USDT: 5 } }]',
      'positions.yaml:1:12 accounts[0]: expected positions or loans, got neither',
    ],
    [
      'half a loan',
      GOOD.replace(', collateralAmount: 0.5', ''),
      'accounts[1].loans[0].collateralAmount: expected a positive decimal number such as "0.001", got nothing',
    ],
    [
      'half a leverage',
      GOOD.replace('20\n', '2.5\n'),
      'accounts[0].leverage: expected a whole number from 1, such as 10, got 2.5',
    ],
    ['no account', 'accounts: []', 'accounts: expected a list with at least 1 item'],
    ['an empty file', '', 'positions.yaml:1:1: expected a mapping (key: value), got an empty value'],
    ['no YAML', 'accounts: [', 'positions.yaml:1:12: expected'],
    ['a list', '- a', 'positions.yaml:1:1: expected a mapping (key: value), got a list'],
  ])('%s is refused', (_name, text, words) => {
    expect(mistakes(text).join('\n')).toContain(words);
  });

  test('accepts both sides of a market with hedge mode', () => {
    const text = GOOD.replace('ETH_PERP', 'BTC_PERP').replace('leverage: 20', 'hedgeMode: true');
    expect(accounts(text).accounts[0]).toMatchObject({ hedgeMode: true, positions: [{}, {}] });
  });
});

/** A long of 0.5 at 60,000 with collateral of 3,000, at 3 % maintenance margin, seen at 59,000. */
const LINE: PositionLine = {
  subject: 'position:1',
  positionId: '1',
  market: 'BTC_PERP',
  direction: 'long',
  sizeBase: '0.5' as DecimalString,
  basePrice: '60000' as DecimalString,
  markPrice: '59000' as DecimalString,
  liquidationPrice: '55670.2' as DecimalString,
  liquidationState: 'none',
  liquidationDistance: 0.0564,
  disagreement: false,
  notional: 29_500,
  unrealizedPnl: -500,
  marginUsage: 1,
  stopCover: 'missing',
  unprotectedMs: null,
  liquidationProbability1h: null,
  minutesToLiquidation: null,
  marks: [],
};

function statusText(...positions: readonly PositionLine[]): string {
  const report: StatusReport = {
    atMs: 1_700_000_000_000,
    stored: null,
    controls: [],
    watchers: 1,
    refusedControls: [],
    pausedQueues: [],
    troubles: [],
    accounts: [
      {
        ...emptyView('desk-1', CALM),
        judgedAtMs: 1_700_000_000_000,
        calmMs: 10_000,
        events: [],
        alarms: [],
        positions,
      },
    ],
  };
  return `${JSON.stringify(report)}\n`;
}

describe('the output of status --json', () => {
  test('is read directly; collateral follows from the liquidation price', () => {
    const { accounts: found, notes } = accounts(statusText(LINE));
    expect(found).toEqual([
      {
        id: 'desk-1',
        collateral: { USDT: expect.stringMatching(/^(2999\.|3000)/) },
        hedgeMode: false,
        positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.5', entry: '60000' }],
        loans: [],
        markPrices: { BTC_PERP: 59_000 },
      },
    ]);
    expect(notes[0]).toMatch(
      /^Account desk-1: collateral of \S+ USDT, worked out from liquidation prices\.$/,
    );
  });

  test('reports that a loan cannot be read from it', () => {
    const text = statusText(LINE).replace(
      '"creditLines":[]',
      '"creditLines":[{"asset":"USDT","amount":"500"}]',
    );
    expect(accounts(text).notes[0]).toBe(
      'Account desk-1: its loan of 500 USDT is left out, as the output does not say what secures it.',
    );
  });

  const source = { source: 'positions', readAtMs: 1, ageMs: 0, complete: true, setAside: 0, tooOld: false };
  const statusOf = (changed: Partial<AccountView>) =>
    JSON.stringify({
      atMs: 1_700_000_000_000,
      controls: [],
      accounts: [{ ...emptyView('desk-1', CALM), calmMs: 10_000, events: [], alarms: [], ...changed }],
    });

  test.each<[string, Partial<AccountView>, string]>([
    ['that was never judged', {}, 'had not been read yet when positions.yaml was printed'],
    [
      'whose positions were never read',
      { judgedAtMs: 5, sources: [{ ...source, readAtMs: null }] },
      'had not been read yet when positions.yaml was printed',
    ],
    [
      'that holds nothing',
      { judgedAtMs: 5, sources: [source] },
      'of the config holds nothing in positions.yaml',
    ],
  ])('of an account %s says so', (_name, changed, words) => {
    expect(accounts(statusOf(changed)).notes[0]).toBe(`Account desk-1 ${words}: left out.`);
  });

  test('with records set aside is refused: the missing ones would be played as not held', () => {
    const sources = [{ ...source, complete: false, setAside: 1 }];
    expect(mistakes(statusOf({ judgedAtMs: 5, sources, positions: [LINE] })).join()).toContain(
      'accounts[0].sources: expected complete positions, got some from which records were set aside',
    );
  });

  test.each<[string, PositionLine, string]>([
    [
      'a direction that is not known',
      { ...LINE, direction: null },
      'accounts[0].positions[0].direction: expected one of long, short, got an empty value',
    ],
    [
      'no mark price',
      { ...LINE, markPrice: null },
      'accounts[0].positions[0].markPrice: expected the mark price of the position, got an empty value',
    ],
    [
      'no liquidation price',
      { ...LINE, liquidationPrice: 'none' },
      'accounts[0]: expected a liquidation price to work out the collateral, got none; write a positions file',
    ],
  ])('%s is refused', (_name, line, words) => {
    expect(mistakes(statusText(line)).join('\n')).toContain(words);
  });

  test('is refused if its positions do not share one margin pool', () => {
    const other = { ...LINE, market: 'ETH_PERP', liquidationPrice: '20000' as DecimalString };
    expect(mistakes(statusText(LINE, other)).join()).toContain('expected one margin pool');
  });
});

describe('the output of call positions --json', () => {
  test("of a real call is read directly, with the account's collateral", async () => {
    const simulator = await startSimulatedExchange({
      accounts: [
        {
          id: 'a',
          hedgeMode: true,
          leverage: 10,
          collateral: { USDT: decimal('4321.5') },
          positions: [
            { market: 'BTC_PERP', direction: 'long', amount: decimal('0.3') },
            { market: 'BTC_PERP', direction: 'short', amount: decimal('0.1') },
            { market: 'ETH_PERP', direction: 'short', amount: decimal('2') },
          ],
        },
      ],
      speed: 0,
    });
    try {
      simulator.setPrice('BTC_USDT', '59000.1');
      const { apiKey = '', apiSecret = '' } = simulator.accounts[0] ?? {};
      const env = { BREAKWATER_API_KEY: apiKey, BREAKWATER_API_SECRET: apiSecret };
      const called = await runCommandLine(['call', 'positions', '--json', '--base-url', simulator.baseUrl], {
        env,
      });
      const [account] = accounts(called.stdout, 'desk-2').accounts;
      expect(account).toMatchObject({
        id: 'desk-2',
        hedgeMode: true,
        positions: [
          { market: 'BTC_PERP', side: 'long', amount: '0.3', entry: '60000' },
          { market: 'BTC_PERP', side: 'short', amount: '0.1', entry: '60000' },
          { market: 'ETH_PERP', side: 'short', amount: '2', entry: '3000' },
        ],
        markPrices: { BTC_PERP: 59_000.1, ETH_PERP: 3000 },
      });
      expect(Math.abs(Number(account?.collateral['USDT']) - 4321.5)).toBeLessThan(0.2);
    } finally {
      await simulator.close();
    }
  });

  const text = (changes: object) =>
    JSON.stringify({
      endpoint: 'positions',
      outcome: 'ok',
      setAside: [],
      complete: true,
      records: [
        {
          positionId: '7',
          market: 'BTC_PERP',
          amount: '-0.2',
          basePrice: '60000',
          unrealizedPnl: '10',
          liquidationPrice: '70000',
          ...changes,
        },
      ],
    });

  test('the sign of the amount is read as the config says', () => {
    expect(
      accounts(text({ positionSide: { known: true, value: 'BOTH' } }), 'desk-1').accounts[0],
    ).toMatchObject({
      hedgeMode: false,
      positions: [{ side: 'short', amount: '0.2' }],
    });
  });

  test('without a liquidation price the collateral follows from the margins', () => {
    const { accounts: found } = accounts(
      text({
        liquidationPrice: null,
        margin: '1200',
        freeMargin: '300',
        positionSide: { known: true, value: 'SHORT' },
      }),
      'desk-1',
    );
    expect(found[0]?.collateral).toEqual({ USDT: '1490' });
  });

  test.each<[string, string, string | undefined, string]>([
    [
      'of nobody knows whom',
      text({}),
      undefined,
      'expected to know whose positions these are, as the output does not say: write ACCOUNT=FILE, with one of desk-1, desk-2',
    ],
    [
      'for an account that there is not',
      text({}),
      'desk-9',
      'expected an account of the config (desk-1, desk-2), got "desk-9"',
    ],
    [
      'of another endpoint',
      '{"endpoint":"balance","outcome":"ok","balance":{}}',
      'desk-1',
      'endpoint: expected the output of `call positions`, got "balance"',
    ],
    [
      'of a call that failed',
      '{"endpoint":"positions","outcome":"failed","error":{}}',
      'desk-1',
      'outcome: expected the output of a call that succeeded (ok), got "failed"',
    ],
    [
      'that is not complete',
      text({}).replace('"complete":true', '"complete":false'),
      'desk-1',
      'expected a complete list',
    ],
    [
      'without an entry price',
      text({ basePrice: undefined, positionSide: { known: true, value: 'SHORT' } }),
      'desk-1',
      'records[0]: expected the entry price',
    ],
    [
      'without the liquidation price that shows the collateral',
      text({ amount: '0.2', positionSide: { known: false, raw: 'UP' }, liquidationPrice: null }),
      'desk-1',
      'records: expected a liquidation price to work out the collateral, got none',
    ],
  ])('%s is refused', (_name, output, accountId, words) => {
    expect(mistakes(output, accountId).join('\n')).toContain(words);
  });
});
