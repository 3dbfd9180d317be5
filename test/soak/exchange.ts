import process from 'node:process';
import { decimal, ZERO } from '../../src/core/quantities/decimal.ts';
import type { FaultSpec } from '../../src/simulator/http/faults.ts';
import { createRandom } from '../../src/simulator/scenarios/random.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { isOurs } from '../support/own-orders.ts';
import type { ExchangeAnswer, ExchangeQuestion } from './messages.ts';

/**
 * The exchange of a soak, in its own process: prices that swing, so that rules fire and clear repeatedly; rare faults
 * of many kinds; owners who buy back what was closed.
 */
const [accounts = 100, seed = 1] = process.argv.slice(2).map(Number);

const PRICES = { BTC: 60_000, ETH: 3_000 };
const MARKETS = ['BTC_PERP', 'ETH_PERP'] as const;
const NOTIONAL = 30_000;
const MAINTENANCE = 0.03;
/** Amplitude and period of the swings. */
const SWING = 0.03;
const SWING_MS = 300_000;
const EVERY_MS = 1_000;
const random = createRandom(seed);

/** Every kind of fault without lasting damage; each hits one request in a hundred. */
const EFFECTS: readonly FaultSpec['effect'][] = [
  { kind: 'latency', delayMs: 700, jitterMs: 900 },
  { kind: 'reset' },
  { kind: 'hang' },
  { kind: 'lostReply' },
  { kind: 'appliedLate', delayMs: 1_500, connection: 'reset' },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 503, retryAfterMs: 500 },
  { kind: 'gatewayStatus', status: 502 },
  { kind: 'malformedJson' },
  { kind: 'cutBody' },
  { kind: 'badRecord' },
  { kind: 'missingField' },
  { kind: 'nullRecord' },
];

const ids = Array.from({ length: accounts }, (_, index) => `desk-${index + 1}`);

const simulator = await startSimulatedExchange({
  seed,
  accounts: ids.map((id, index) => {
    const market = MARKETS[index % MARKETS.length] ?? 'BTC_PERP';
    const price = PRICES[market.slice(0, 3) as keyof typeof PRICES];
    const bufferRatio = 0.06 + 0.04 * random.uniform();
    return {
      id,
      hedgeMode: false,
      leverage: 10,
      collateral: { USDT: decimal(String(Math.round(NOTIONAL * (MAINTENANCE + bufferRatio)))) },
      main: { USDT: decimal('500') },
      positions: [
        {
          market,
          direction: index % 3 === 2 ? ('short' as const) : ('long' as const),
          amount: decimal((NOTIONAL / price).toFixed(2)),
        },
      ],
    };
  }),
  faults: EFFECTS.map((effect) => ({ effect, probability: 0.01 })),
  logCapacity: 1_000,
  ledgerCapacity: 20_000,
});

const startedMs = performance.now();
const wanted = new Map(ids.map((id) => [id, simulator.model.openPositions(id)[0]]));
let opening = 0;
let lastLedgerSeq = 0;
let placed = 0;
let liquidated = 0;

function follow(): void {
  for (const entry of simulator.ledger({ afterSeq: lastLedgerSeq })) {
    lastLedgerSeq = entry.seq;
    if (entry.kind === 'liquidation_started') liquidated += 1;
    if (!isOurs(entry)) continue;
    if (entry.kind === 'order_placed') {
      placed += 1;
      if (entry.details?.['reduceOnly'] !== true) opening += 1;
    }
    if (entry.kind === 'fill' && entry.details?.['reduced'] !== true) opening += 1;
  }
}

/** At the turn of a swing an owner restores the initial position. */
function buyBack(): void {
  for (const [id, first] of wanted) {
    if (first === undefined) continue;
    const size = simulator.model.openPositions(id)[0]?.amount ?? ZERO;
    const missing = first.amount.minus(size);
    if (missing.lte(ZERO)) continue;
    simulator.exchange.change((model) =>
      model.placeCollateralOrder(id, {
        market: first.market,
        side: first.direction === 'long' ? 'buy' : 'sell',
        amount: missing,
      }),
    );
  }
}

let swings = 0;
const ticker = setInterval(() => {
  const elapsedMs = performance.now() - startedMs;
  const swing = SWING * Math.sin((2 * Math.PI * elapsedMs) / SWING_MS) + 0.001 * (random.uniform() - 0.5);
  for (const [coin, price] of Object.entries(PRICES)) {
    simulator.setPrice(`${coin}_USDT`, (price * (1 + swing)).toFixed(1));
  }
  follow();
  if (Math.floor((2 * elapsedMs) / SWING_MS) > swings) {
    swings += 1;
    buyBack();
  }
}, EVERY_MS);

const send = (message: ExchangeAnswer): void => void process.send?.(message);

process.on('message', (question: ExchangeQuestion) => {
  if (question === 'figures') {
    follow();
    send({ kind: 'figures', placed, opening, liquidated });
  } else {
    clearInterval(ticker);
    void simulator.close().then(() => process.disconnect());
  }
});
// The parent is gone.
process.once('disconnect', () => process.exit());

send({
  kind: 'open',
  baseUrls: simulator.baseUrls,
  keys: simulator.accounts,
});
