import { readFileSync } from 'node:fs';
import { toNumber } from './core/decimal.ts';
import type { ExchangeReads } from './core/ports/exchange.ts';
import type { RunningSimulator, SimulatorOptions } from './simulator/start.ts';
import type { LedgerEntry } from './simulator/types.ts';

/**
 * The composition root: the only place where parts meet. What a command line or a web page needs
 * is composed here from the layers below and handed out as one object; no layer imports another.
 * Compose inside functions and import heavy parts there (`await import(...)`), so that a command
 * loads only what it runs.
 */

export type { RunningSimulator, SimulatorOptions } from './simulator/start.ts';

/** Starts the simulated exchange. @throws an error with a `code` and a message that says what to change. */
export async function simulate(options: SimulatorOptions): Promise<RunningSimulator> {
  const { startSimulatedExchange } = await import('./simulator/start.ts');
  return await startSimulatedExchange(options);
}

/** What `breakwater simulate --help` lists: names and one line each. */
export async function simulatorVocabulary(): Promise<{
  readonly scenarios: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<string, string>>;
  readonly readings: Readonly<Record<string, string>>;
}> {
  const { vocabulary } = await import('./simulator/vocabulary.ts');
  return vocabulary();
}

export interface DemoExchange {
  readonly baseUrl: string;
  readonly accountIds: readonly string[];
  /** One per account, reading over HTTP with the account's key. */
  readonly clients: readonly { readonly id: string; readonly exchange: ExchangeReads }[];
  markets(): readonly { readonly name: string; readonly last: number }[];
  ledger(): readonly LedgerEntry[];
  close(): Promise<void>;
}

/** The simulated exchange playing a scenario in real time, with a client for each of its accounts. */
export async function startDemoExchange(options: {
  readonly seed: number;
  readonly scenario: string;
  readonly durationMs: number;
}): Promise<DemoExchange> {
  const simulator = await simulate({
    seed: options.seed,
    accounts: 5,
    scenario: { name: options.scenario, durationMs: options.durationMs, noise: 0.001 },
  });
  const clients = await watchingClients(simulator);
  return {
    baseUrl: simulator.baseUrl,
    accountIds: simulator.accounts.map(({ id }) => id),
    clients: clients.map(({ id, client }) => ({ id, exchange: client })),
    markets: () =>
      simulator.model
        .markets()
        .filter(({ spec }) => spec.kind === 'perpetual')
        .map(({ spec, last }) => ({ name: spec.name, last: toNumber(last) })),
    ledger: () => simulator.ledger(),
    async close() {
      await Promise.all(clients.map(({ client }) => client.close()));
      await simulator.close();
    },
  };
}

async function watchingClients(simulator: RunningSimulator) {
  const [
    { createExchangeClient },
    { systemClock },
    { createMemoryNonceStore },
    { createMemoryRateLimitStore },
  ] = await Promise.all([
    import('./exchange/client.ts'),
    import('./exchange/system-clock.ts'),
    import('./state/nonce-memory.ts'),
    import('./state/limiter-memory.ts'),
  ]);
  const nonces = createMemoryNonceStore(systemClock);
  const limits = createMemoryRateLimitStore(systemClock);
  return simulator.accounts.map(({ id, ...credentials }) => ({
    id,
    client: createExchangeClient({
      baseUrls: simulator.baseUrls,
      credentials,
      nonce: { mode: 'unique', store: nonces },
      limiter: { store: limits, fallback: limits },
    }),
  }));
}

/** The version in package.json, which lies one folder up both from src/ and from dist/. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    return String(manifest.version);
  }
  throw new Error('package.json has no version');
}
