import { describe, expect, test } from 'vitest';
import {
  type RunningSimulator,
  type SimulatorOptions,
  startSimulatedExchange,
} from '../../../src/simulator/start-simulated-exchange.ts';
import { call, EMPTY, failureOf, PATHS, STOP, send, simulator } from './support.ts';

describe('determinism', () => {
  async function run(seed: number): Promise<{ ledger: unknown; replies: unknown; requests: unknown }> {
    const running = await simulator({
      seed,
      accounts: 4,
      walk: { dailyVolatility: 0.5, jumpsPerDay: 2_000, jumpSize: 0.02 },
      faults: ['status,status=500,endpoint=openPositions,probability=0.5'],
    });
    const replies: unknown[] = [];
    let nonce = 0;
    const sending = async (path: string, params = {}) => {
      for (const account of running.accounts) {
        nonce += 1;
        const { status, text } = await call(running.baseUrl, account, path, {
          ...params,
          nonce: `n${nonce}`,
        });
        replies.push([status, text]);
      }
    };
    for (let step = 0; step < 10; step += 1) {
      running.advance(30_000);
      await sending(PATHS.positions);
      await sending(PATHS.stopLimit, { ...STOP, client_order_id: `c-${step}` });
    }
    await sending(PATHS.creditLine);
    await sending(PATHS.transfers);
    return {
      ledger: running.ledger(),
      replies,
      requests: running.requestLog(),
    };
  }

  test('the same seed and steps give the same ledger, replies and log, to the last digit', async () => {
    const first = await run(7);
    expect(await run(7)).toEqual(first);
    expect((await run(8)).ledger).not.toEqual(first.ledger);
  });
});

describe('starting', () => {
  test('the ready-made accounts hold long, short and hedged positions and a credit line from the start', async () => {
    const running = await simulator({ accounts: 5 });
    const kinds = new Set<string>();
    for (const { id } of running.accounts) {
      const positions = running.model.openPositions(id);
      expect(positions.length).toBeGreaterThan(0);
      for (const { direction, positionSide, orderClass } of positions)
        kinds.add(`${direction} ${positionSide} ${orderClass}`);
      if (running.model.creditLines(id).length > 0) kinds.add('loan');
      expect(running.model.account(id).liquidationState).toBeNull();
    }
    expect([...kinds].sort()).toEqual([
      'loan',
      'long BOTH futures',
      'long BOTH margin',
      'long LONG futures',
      'short BOTH futures',
      'short SHORT futures',
    ]);
  });

  test('candles from the start set the opening price of positions', async () => {
    const csv =
      'timestamp_ms,open,high,low,close,volume\n1000,8000,8100,7000,7500,1\n61000,7500,7600,7400,7500,1\n';
    const running = await simulator({ accounts: 1, candles: { csv } });
    expect(running.model.openPositions('account-1')).toMatchObject([{ market: 'BTC_PERP' }]);
    expect(running.model.openPositions('account-1')[0]?.basePrice.toFixed()).toBe('8000');
    running.advance(20_000);
    expect(running.model.market('BTC_USDT')?.last.toFixed()).toBe('7000');
  });

  test('real time advances the market', async () => {
    const running = await simulator({ speed: 1_000, accounts: [EMPTY], walk: { dailyVolatility: 1 } });
    const price = () => running.model.market('BTC_USDT')?.last.toFixed();
    const [startMs, startPrice] = [running.model.nowMs(), price()];
    const end = performance.now() + 10_000;
    while (price() === startPrice && performance.now() < end)
      await new Promise((done) => setTimeout(done, 10));
    expect(price()).not.toBe(startPrice);
    expect(running.model.nowMs()).toBeGreaterThan(startMs);
  });

  test('depth multiplies the order books', async () => {
    const running = await simulator({ accounts: [EMPTY], depth: '0.1' });
    expect(running.model.market('BTC_PERP')?.spec.depth.amountPerLevel.toFixed()).toBe('0.05');
  });

  test('a fault as text: numbers, true and false are parsed, other text stays text', async () => {
    const running = await simulator({ faults: ['status,status=503,applied=true,message=7,count=2'] });
    expect(running.exchange.faults.list()).toMatchObject([
      { effect: { kind: 'status', status: 503, applied: true, message: '7' }, count: 2 },
    ]);
  });

  test.each<[string, SimulatorOptions, RegExp]>([
    ['reading', { readings: { x: 1 } }, /unknown reading "x"/],
    ['scenario', { scenario: { name: 'x' } }, /no scenario "x"/],
    ['market', { walk: { market: 'X' } }, /no market "X"; there are/],
    ['candles', { candles: { csv: 'x' } }, /prices:1: expected candles/],
    ['fault kind', { faults: ['x'] }, /no fault "x"; there are/],
    ['fault setting', { faults: ['reset,probability'] }, /"probability" is not key=value/],
    ['fault value', { faults: ['latency,delayMs=soon'] }, /fault\.effect\.delayMs/],
    ['fault target', { faults: ['reset,endpoint=x'] }, /fault\.target\.endpoint: "x" is none of/],
    ['depth', { depth: '0' }, /depth: "0" is not a number above 0/],
  ])('a %s that is invalid is refused, and nothing is left open', async (_name, options, message) => {
    await expect(startSimulatedExchange({ speed: 0, ...options })).rejects.toThrow(message);
  });

  test('a port in use is an error with a code, and nothing is left open', async () => {
    const first = await simulator({ accounts: [EMPTY] });
    const port = Number(new URL(first.controlUrl).port);
    await expect(startSimulatedExchange({ speed: 0, controlPort: port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    await expect(startSimulatedExchange({ speed: 0, euPort: port })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});

describe('closing', () => {
  test('ends every listener and connection, even with a request waiting; twice is harmless', async () => {
    const running: RunningSimulator = await startSimulatedExchange({ accounts: [EMPTY] });
    running.injectFault({ effect: { kind: 'hang' } });
    const waiting = failureOf(send(`${running.baseUrl}/api/v4/public/ping`));
    while (running.requestLog().length === 0) await new Promise((done) => setTimeout(done, 5));
    await running.close();
    await running.close();
    expect(await waiting).toBe('ECONNRESET');
    for (const url of [...running.baseUrls, running.controlUrl]) {
      expect(await failureOf(send(url))).toBe('ECONNREFUSED');
    }
  });
});
