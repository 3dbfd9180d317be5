import type { z } from 'zod';
import { formatDecimal, ZERO } from '../core/quantities/decimal.ts';
import type { AccountAccess } from '../simulator/accounts.ts';
import { marketOf, parseWith } from '../simulator/control/route.ts';
import { SEED_ACCOUNT } from '../simulator/model/types.ts';
import {
  type RunningSimulator,
  type SimulatorOptions,
  startSimulatedExchange,
} from '../simulator/start-simulated-exchange.ts';

/** `breakwater/simulator`. Every name here is public API: changes follow Semantic Versioning. */

export type { ConditionInput } from '../simulator/control/condition-routes.ts';
export type { FaultSpec } from '../simulator/http/faults.ts';
export type { EnforcedLimit } from '../simulator/http/rate-limit.ts';
export type { RequestFilter, RequestRecord } from '../simulator/http/request-log.ts';
export type { LedgerEntry, LedgerFilter, LedgerKind } from '../simulator/model/ledger-entry.ts';
export type { Readings } from '../simulator/model/readings.ts';
export type { CandlesPlay, ScenarioPlay, WalkPlay } from '../simulator/scenarios/play.ts';
export { SimulatorError } from '../simulator/simulated-exchange.ts';

/** An account as a test describes it: amounts and prices are texts, such as `'0.5'`. */
export type AccountInput = z.input<typeof SEED_ACCOUNT>;

export interface StartOptions extends Omit<SimulatorOptions, 'accounts' | 'config'> {
  /** Number of ready-made accounts, or the accounts themselves; default 3. */
  readonly accounts?: number | readonly AccountInput[];
}

export type SimulatorAccount = Pick<AccountAccess, 'id' | 'apiKey' | 'apiSecret'>;

type Kept =
  | 'advance'
  | 'baseUrl'
  | 'baseUrls'
  | 'clearFaults'
  | 'close'
  | 'controlToken'
  | 'controlUrl'
  | 'injectFault'
  | 'ledger'
  | 'releaseHeld'
  | 'requestLog'
  | 'setCondition'
  | 'setPrice'
  | 'setReadings'
  | 'setRegion';

/** A simulated exchange that listens. The control API at `controlUrl` has everything that is not here. */
export interface Simulator extends Pick<RunningSimulator, Kept> {
  /** The accounts of the start, in order. */
  readonly accounts: readonly SimulatorAccount[];
  /** Adds an account. @throws SimulatorError for an invalid account */
  createAccount(account: AccountInput): SimulatorAccount;
  /** Last and mark price, as texts. @throws SimulatorError for a market that does not exist */
  priceOf(market: string): { readonly last: string; readonly mark: string };
  /** Exchange time, Unix milliseconds. */
  nowMs(): number;
}

/**
 * Starts a simulated exchange in this process, by default on free ports of 127.0.0.1.
 * @throws SimulatorError for options that make no sense
 */
export async function startSimulator({ accounts = 3, ...options }: StartOptions = {}): Promise<Simulator> {
  const seeds =
    typeof accounts === 'number'
      ? accounts
      : accounts.map((account, index) => parseWith(SEED_ACCOUNT, account, `accounts[${index}]`));
  return simulatorOf(await startSimulatedExchange({ ...options, accounts: seeds }));
}

function simulatorOf(running: RunningSimulator): Simulator {
  const { exchange, model, internalErrors: _internalErrors, ...kept } = running;
  return {
    ...kept,
    createAccount(account) {
      const { id, apiKey, apiSecret } = exchange.createAccount(parseWith(SEED_ACCOUNT, account, 'account'));
      return { id, apiKey, apiSecret };
    },
    priceOf(name) {
      exchange.catchUp();
      const { last = ZERO, mark = ZERO } = model.market(marketOf(exchange, name)) ?? {};
      return { last: formatDecimal(last), mark: formatDecimal(mark) };
    },
    nowMs() {
      exchange.catchUp();
      return model.nowMs();
    },
  };
}
