import process from 'node:process';
import { expect, inject, test } from 'vitest';
import { decimal, formatDecimal, toDecimal } from '../../src/core/quantities/decimal.ts';
import { Dice } from '../support/dice.ts';
import { FULL } from '../support/slice.ts';
import { type AccountCase, generateAccount } from './generate.ts';
import { judgeAccount, type Planted } from './judge.ts';

/** What Breakwater computes of generated accounts, against the figures of the simulated exchange that holds them. */

const ALL = 5_000;
const SLICE = 300;
/** A run takes the slice of its seed, `FULL=1` all. */
const FIRST = FULL ? 1 : 1 + (inject('fastCheckSeed') % Math.floor(ALL / SLICE)) * SLICE;
const COUNT = FULL ? ALL : SLICE;

test(`${COUNT} accounts: direction, mark, distance, joint distance and LTV as the exchange has them, or unknown for a true reason`, async () => {
  const found: string[] = [];
  const total = new Map<string, number>();
  for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
    const { findings, tally } = await judgeAccount(generateAccount(seed));
    found.push(...findings.map((words) => `${seed}: ${words}`));
    for (const [what, count] of Object.entries(tally)) total.set(what, (total.get(what) ?? 0) + count);
  }
  expect(found).toEqual([]);
  // Most figures are known, and compared.
  expect(total.get('direction')).toBeGreaterThan(5 * COUNT);
  expect(total.get('distance')).toBeGreaterThan(2 * COUNT);
  expect(total.get('joint')).toBeGreaterThan(COUNT / 2);
  expect(total.get('currentLtv')).toBeGreaterThan(COUNT / 2);
}, 600_000);

/** Longs, each too small to use up the pool alone, which is about as large as the margin in use. */
function manySmall(seed: number): AccountCase {
  const dice = new Dice(seed);
  const leverage = dice.of(3, 5, 10, 20, 25);
  const maintenanceMargin = dice.of('0.005', '0.01', '0.03');
  const markets = Array.from({ length: Math.round(dice.between(30, 60)) }, (_, index) => ({
    coin: `C${index}`,
    price: '100',
    priceStep: '0.01',
    amountStep: '0.001',
    minAmount: '0.001',
    maintenanceMargin,
    basis: '0',
  }));
  const positions = markets.map(({ coin }) => ({
    market: `${coin}_PERP`,
    side: 'long' as const,
    amount: dice.between(0.5, 1.5).toFixed(3),
    entry: dice.between(97, 110).toFixed(2),
  }));
  const lost = positions.reduce((sum, { amount, entry }) => sum + Number(amount) * (Number(entry) - 100), 0);
  const worth = positions.reduce((sum, { amount }) => sum + 100 * Number(amount), 0);
  const equity = worth * dice.between(1.2 * Number(maintenanceMargin), 1.1 / leverage);
  return {
    ...generateAccount(seed),
    hedgeMode: false,
    marginModel: 'cross',
    shortAmount: 'signed',
    leverage,
    markets,
    positions,
    loans: [],
    collateral: { [generateAccount(seed).money]: Math.max(0.01, equity + lost).toFixed(6) },
    deeds: [{ kind: 'price', coin: null, by: dice.between(-0.02, 0.02) }],
  };
}

test('accounts of many small positions: where nothing tells the joint distance, it is at most what the margin in use allows', async () => {
  const found: string[] = [];
  let bounded = 0;
  for (let seed = FIRST; seed < FIRST + SLICE / 5; seed++) {
    const { findings, tally } = await judgeAccount(manySmall(seed));
    found.push(...findings.map((words) => `${seed}: ${words}`));
    bounded += tally['joint: at most'] ?? 0;
  }
  expect(found).toEqual([]);
  expect(bounded).toBeGreaterThan(SLICE / 20);
}, 600_000);

const SIDES = { LONG: 'SHORT', SHORT: 'LONG', BOTH: 'BOTH' } as const;
const HUNDRED = decimal('100');

const PLANTED: Readonly<Record<string, Planted>> = {
  sign: { position: (record) => ({ ...record, amount: formatDecimal(toDecimal(record.amount).neg()) }) },
  side: {
    position: ({ positionSide, ...record }) => ({
      ...record,
      ...(positionSide !== undefined && {
        positionSide: positionSide.known ? { known: true, value: SIDES[positionSide.value] } : positionSide,
      }),
    }),
  },
  'base price': {
    position: ({ basePrice, ...record }) => ({
      ...record,
      ...(basePrice !== undefined && {
        basePrice: formatDecimal(toDecimal(basePrice).times(decimal('1.001'))),
      }),
    }),
  },
  'unit of LTV': {
    creditLine: ({ currentLtv, ...record }) => ({
      ...record,
      ...(currentLtv !== undefined && { currentLtv: formatDecimal(toDecimal(currentLtv).times(HUNDRED)) }),
    }),
  },
};

test.each(Object.entries(PLANTED))('a planted fault is found: %s', async (_what, planted) => {
  for (let seed = FIRST; seed < FIRST + 1_000; seed++) {
    const { findings } = await judgeAccount(generateAccount(seed), planted);
    if (findings.length === 0) continue;
    if (process.env['ACCOUNTS_SAY'] !== undefined) process.stderr.write(`found after ${seed - FIRST + 1}\n`);
    return;
  }
  expect.unreachable('no finding in 1,000 accounts');
});

test('the same seed gives the same account, and others differ', () => {
  expect(generateAccount(7)).toEqual(generateAccount(7));
  expect(generateAccount(8)).not.toEqual(generateAccount(7));
});

test('the generator makes each kind of account that it names', () => {
  const cases = Array.from({ length: 2_000 }, (_, index) => generateAccount(index));
  const share = (holds: (one: (typeof cases)[number]) => boolean): number =>
    cases.filter(holds).length / cases.length;
  const shares = {
    hedge: share(({ hedgeMode }) => hedgeMode),
    isolated: share(({ marginModel }) => marginModel === 'isolated'),
    unsigned: share(({ shortAmount }) => shortAmount === 'unsigned'),
    USDC: share(({ money }) => money === 'USDC'),
    BTC: share(({ money }) => money === 'BTC'),
    'spot margin beside a perpetual': share(({ positions, money }) =>
      positions.some(
        ({ market }) => market.endsWith(`_${money}`) && positions.some((one) => one.market.endsWith('_PERP')),
      ),
    ),
    'both sides of a market': share(({ positions }) =>
      positions.some(({ market, side }) =>
        positions.some((one) => one.market === market && one.side !== side),
      ),
    ),
    'coins as collateral': share(({ collateral }) => Object.keys(collateral).length > 1),
    'more than twenty markets': share(({ markets }) => markets.length >= 20),
    'more loans than one': share(({ loans }) => loans.length > 1),
    'prices below 0.00001': share(({ markets }) => markets.some(({ price }) => Number(price) < 1e-5)),
    'prices above 100,000': share(({ markets }) => markets.some(({ price }) => Number(price) > 1e5)),
    'one step': share(({ positions, markets }) =>
      positions.some(({ amount }) => markets.some(({ amountStep }) => amountStep === amount)),
    ),
    'turned around': share(({ deeds }) => deeds.some((deed) => deed.kind === 'trade' && deed.times === -2)),
    'profit withdrawn': share(({ deeds }) =>
      deeds.some((deed) => deed.kind === 'withdraw' && deed.share > 0),
    ),
    funding: share(({ deeds }) => deeds.some(({ kind }) => kind === 'fund')),
    'dust below the minimum': share(({ positions, markets }) =>
      positions.some(({ market, amount }) =>
        markets.some(
          ({ coin, minAmount }) => market.startsWith(`${coin}_`) && Number(amount) < Number(minAmount),
        ),
      ),
    ),
  };
  expect(Object.entries(shares).filter(([, found]) => found < 0.02)).toEqual([]);
});
