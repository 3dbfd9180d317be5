import process from 'node:process';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';

/**
 * The simulated exchange in its own process: many accounts, each with three positions far from liquidation, and prices
 * that hardly move. Ends when its input ends, so it never outlives its parent.
 */
export interface CalmExchange {
  readonly baseUrl: string;
  readonly keys: readonly { readonly id: string; readonly apiKey: string; readonly apiSecret: string }[];
}

const [accounts = 3] = process.argv.slice(2).map(Number);
const TICK_MS = 1_000;

const simulator = await startSimulatedExchange({
  limits: [],
  logCapacity: 1_000,
  accounts: Array.from({ length: accounts }, (_, index) => ({
    id: `desk-${index + 1}`,
    hedgeMode: false,
    leverage: 5,
    collateral: { USDT: decimal('50000') },
    positions: [
      { market: 'BTC_PERP', direction: 'long' as const, amount: decimal('0.1') },
      { market: 'ETH_PERP', direction: 'short' as const, amount: decimal('1') },
      { market: 'BTC_USDT', direction: 'long' as const, amount: decimal('0.05') },
    ],
  })),
});

let ticks = 0;
const ticker = setInterval(() => {
  ticks += 1;
  simulator.setPrice('BTC_USDT', (60_000 + 20 * Math.sin(ticks / 20)).toFixed(1));
}, TICK_MS);

const said: CalmExchange = { baseUrl: simulator.baseUrl, keys: simulator.accounts };
process.stdout.write(`${JSON.stringify(said)}\n`);
process.stdin.resume();
process.stdin.on('end', () => {
  clearInterval(ticker);
  const orders = simulator.ledger().filter(({ kind }) => kind === 'order_placed').length;
  // A firing rule would change what is measured.
  if (orders > 0) process.stderr.write(`the exchange received ${orders} orders; none was meant\n`);
  process.exitCode = orders > 0 ? 1 : 0;
  void simulator.close();
});
