import { createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import type { SeedAccount } from '../../../src/simulator/model/types.ts';
import {
  type RunningSimulator,
  type SimulatorOptions,
  startSimulatedExchange,
} from '../../../src/simulator/start-simulated-exchange.ts';
import { closeExchangeAfterTest } from '../../support/after-test.ts';

/** An independent client, written from section 5 of the specification with only node:http and node:crypto. */

export interface Keys {
  readonly apiKey: string;
  readonly apiSecret: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
  /** Parsed body; `undefined` if it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into replies freely
  readonly json: any;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly localAddress?: string;
  readonly timeoutMs?: number;
}

export const PATHS = {
  fiat: '/api/v4/main-account/fiat-deposit-url',
  transfers: '/api/v4/main-account/history',
  positions: '/api/v4/collateral-account/positions/open',
  stopLimit: '/api/v4/order/collateral/stop-limit',
  orders: '/api/v4/trade-account/order/history',
  cancelAll: '/api/v4/order/cancel/all',
  hedgeMode: '/api/v4/collateral-account/hedge-mode/update',
  creditLine: '/api/v4/credit-line/loans/info',
  balance: '/api/v4/main-account/balance',
} as const;

/** Sends any request. Rejects with the connection's error, or with ETIMEDOUT without a reply. */
export function send(url: string, options: RawRequest = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method: options.method ?? 'GET',
      headers: { ...options.headers },
      agent: false,
      ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
    });
    const timer = setTimeout(
      () => request.destroy(Object.assign(new Error('nothing came'), { code: 'ETIMEDOUT' })),
      options.timeoutMs ?? 10_000,
    );
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    request.on('error', fail);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', fail);
      response.on('end', () => {
        clearTimeout(timer);
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString('utf8');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          bytes,
          json: parsed(text),
        });
      });
    });
    request.end(options.body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

let lastNonce = 0;

/** Larger than every earlier one of this process, and close to the present. */
export function nextNonce(): string {
  lastNonce = Math.max(lastNonce + 1, Date.now());
  return String(lastNonce);
}

export function sign(keys: Keys, body: string): Record<string, string> {
  const payload = Buffer.from(body).toString('base64');
  return {
    'content-type': 'application/json',
    'X-TXC-APIKEY': keys.apiKey,
    'X-TXC-PAYLOAD': payload,
    'X-TXC-SIGNATURE': createHmac('sha512', keys.apiSecret).update(payload).digest('hex'),
  };
}

export function call(
  baseUrl: string,
  keys: Keys,
  path: string,
  params: Readonly<Record<string, unknown>> = {},
  options: RawRequest = {},
): Promise<Answer> {
  const body = JSON.stringify({ request: path, nonce: nextNonce(), ...params });
  return send(`${baseUrl}${path}`, {
    method: 'POST',
    body,
    ...options,
    headers: { ...sign(keys, body), ...options.headers },
  });
}

/** Code of the error that ended a request: ECONNRESET, ETIMEDOUT, ... */
export async function failureOf(answer: Promise<Answer>): Promise<string> {
  try {
    const { status } = await answer;
    return `answered ${status}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** A stepped exchange with constant prices; closed after the test, which fails if it had internal errors. */
export async function simulator(options: SimulatorOptions = {}): Promise<RunningSimulator> {
  const started = await startSimulatedExchange({ speed: 0, ...options });
  closeExchangeAfterTest(started);
  return started;
}

export function accountNamed(running: RunningSimulator, id: string): Keys {
  const account = running.accounts.find((each) => each.id === id);
  if (account === undefined) throw new Error(`no account ${id}`);
  return account;
}

/** One account with a long position of 0.5 BTC_PERP at 60000. */
export const LONG: SeedAccount = {
  id: 'long',
  hedgeMode: false,
  leverage: 10,
  collateral: { USDT: decimal('10000') },
  main: { USDT: decimal('5000'), BTC: decimal('1') },
  spot: { USDT: decimal('5000') },
  positions: [{ market: 'BTC_PERP', direction: 'long', amount: decimal('0.5') }],
};

export const EMPTY: SeedAccount = {
  id: 'empty',
  hedgeMode: false,
  leverage: 10,
  collateral: { USDT: decimal('10000') },
};

export const SHORT: SeedAccount = {
  ...LONG,
  id: 'short',
  positions: [{ market: 'BTC_PERP', direction: 'short', amount: decimal('0.5') }],
};

export const HEDGED: SeedAccount = {
  ...LONG,
  id: 'hedged',
  hedgeMode: true,
  positions: [
    { market: 'BTC_PERP', direction: 'long', amount: decimal('0.5') },
    { market: 'BTC_PERP', direction: 'short', amount: decimal('0.2') },
  ],
};

/** A valid reduce-only stop of the account `long`. */
export const STOP = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: '0.1',
  price: '58000',
  activation_price: '58500',
  reduceOnly: true,
} as const;

/** One call to the control API, as JSON. */
export async function control(
  running: RunningSimulator,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  return await send(`${running.controlUrl}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
}
