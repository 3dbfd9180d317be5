import type { StopLimitRequest } from '../../../src/core/ports/exchange.ts';
import { type Decimal, decimal } from '../../../src/core/quantities/decimal.ts';
import type { CallEvent, DriftEvent } from '../../../src/exchange/call/observer.ts';
import {
  createExchangeClient,
  type ExchangeClient,
  type ExchangeClientOptions,
} from '../../../src/exchange/client.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import type { LedgerEntry } from '../../../src/simulator/model/ledger-entry.ts';
import type { SeedAccount } from '../../../src/simulator/model/types.ts';
import {
  type RunningSimulator,
  type SimulatorOptions,
  startSimulatedExchange,
} from '../../../src/simulator/start-simulated-exchange.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { closeAfterTest, closeExchangeAfterTest } from '../../support/after-test.ts';

export { closeAfterTest };

/** An exchange for one test: prices and exchange time stand still, and limits are lifted unless given. */
export async function openExchange(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const simulator = await startSimulatedExchange({ speed: 0, limits: [], accounts: ACCOUNTS, ...options });
  closeExchangeAfterTest(simulator);
  return simulator;
}

export type ConnectOptions = Omit<Partial<ExchangeClientOptions>, 'nonce' | 'limiter'> & {
  readonly nonce?: Partial<ExchangeClientOptions['nonce']>;
  readonly limiter?: Partial<ExchangeClientOptions['limiter']>;
};

export interface Connected {
  readonly client: ExchangeClient;
  readonly calls: CallEvent[];
  readonly drift: DriftEvent[];
}

/** A store that is slow, because the machine is busy, is waited for. */
const STORE_IN_TIME = { storeMs: 60_000 };

/** A client of one account; reads are not repeated unless the test asks for it. */
export function connect(
  simulator: Pick<RunningSimulator, 'baseUrls' | 'accounts'>,
  accountId: string,
  options: ConnectOptions = {},
): Connected {
  const { apiKey, apiSecret } = accountNamed(simulator, accountId);
  const calls: CallEvent[] = [];
  const drift: DriftEvent[] = [];
  const client = createExchangeClient({
    baseUrls: simulator.baseUrls,
    credentials: { apiKey, apiSecret },
    retry: { maxAttempts: 1 },
    observer: { onCall: (event) => calls.push(event), onDrift: (event) => drift.push(event) },
    ...options,
    timeouts: { ...STORE_IN_TIME, ...options.timeouts },
    nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock), ...options.nonce },
    limiter: {
      store: createMemoryRateLimitStore(systemClock),
      fallback: createMemoryRateLimitStore(systemClock),
      ...options.limiter,
    },
  });
  closeAfterTest(() => client.close());
  return { client, calls, drift };
}

export function accountNamed(
  simulator: Pick<RunningSimulator, 'accounts'>,
  id: string,
): RunningSimulator['accounts'][number] {
  const account = simulator.accounts.find((each) => each.id === id);
  if (account === undefined) throw new Error(`no account ${id}`);
  return account;
}

export const d = decimal;

const WALLETS: Pick<SeedAccount, 'leverage' | 'collateral' | 'main' | 'spot'> = {
  leverage: 10,
  collateral: { USDT: d('10000') },
  main: { USDT: d('5000'), BTC: d('1') },
  spot: { USDT: d('5000') },
};

/** An account that holds these sizes of BTC_PERP. */
export function holding(
  id: string,
  ...positions: readonly (readonly ['long' | 'short', Decimal])[]
): SeedAccount {
  return {
    id,
    hedgeMode: positions.length > 1,
    ...WALLETS,
    positions: positions.map(([direction, amount]) => ({ market: 'BTC_PERP', direction, amount })),
  };
}

/** One account of every kind, all in BTC_PERP at 60000. */
export const ACCOUNTS: readonly SeedAccount[] = [
  holding('long', ['long', d('0.5')]),
  holding('short', ['short', d('0.5')]),
  holding('hedged', ['long', d('0.5')], ['short', d('0.2')]),
  holding('flat'),
  { id: 'bare', hedgeMode: false, leverage: 10, collateral: {} },
];

const text = (value: string) => value as StopLimitRequest['amount'];

/** A protective stop for `long`, and for the long leg of `hedged`. */
export const STOP = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: text('0.1'),
  price: text('58000'),
  activationPrice: text('58500'),
  clientOrderId: 'stop-1',
  positionSide: 'LONG',
} as const;

/** A stop that opens a position, for `flat`. */
export const OPENING: StopLimitRequest = {
  market: 'BTC_PERP',
  side: 'buy',
  amount: text('0.1'),
  price: text('61500'),
  activationPrice: text('61000'),
};

/** The placed orders in the ledger, of this client order id or all. */
export function placed(simulator: RunningSimulator, clientOrderId?: string): readonly LedgerEntry[] {
  const entries = simulator.ledger({ kinds: ['order_placed'] });
  return clientOrderId === undefined
    ? entries
    : entries.filter((entry) => entry.clientOrderId === clientOrderId);
}
