import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import { sign, signingKey } from '../../src/exchange/call/signer.ts';
import { createExchangeClient } from '../../src/exchange/client.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';
import { interleavedRounds, keepInFlight, median, report } from './rounds.ts';

/**
 * A signed, validated call against a raw undici POST of the same bytes to the same server, 50 in flight. The raw call
 * reads the body as text and does not parse it.
 */
const IN_FLIGHT = 50;
const CALLS = 8000;
const ROUNDS = 9;
const PATH = '/api/v4/collateral-account/positions/open';

const server = spawn(process.execPath, [new URL('reply-server.ts', import.meta.url).pathname], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [line] = (await once(server.stdout, 'data')) as [Buffer];
const baseUrl = `http://127.0.0.1:${Number(line.toString())}`;

const pool = new Pool(baseUrl, { connections: IN_FLIGHT });
const body = `{"request":"${PATH}","nonce":"1760000000000000"}`;
const { payload, signature } = sign(body, signingKey('bench-secret'));
const headers = {
  'Content-Type': 'application/json',
  'X-TXC-APIKEY': 'bench-key',
  'X-TXC-PAYLOAD': payload,
  'X-TXC-SIGNATURE': signature,
};
const raw = async (): Promise<void> => {
  const reply = await pool.request({ path: PATH, method: 'POST', headers, body });
  const text = await reply.body.text();
  if (reply.statusCode !== 200 || text.length === 0) throw new Error(`status ${reply.statusCode}`);
};

const limits = { positions: { limit: 10_000_000 } };
const store = createMemoryRateLimitStore(systemClock);
const client = createExchangeClient({
  baseUrls: [baseUrl],
  credentials: { apiKey: 'bench-key', apiSecret: 'bench-secret' },
  nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock) },
  limiter: { store, fallback: store, limits },
  pool: { connections: IN_FLIGHT },
});
const typed = async (): Promise<void> => {
  const outcome = await client.openPositions();
  if (outcome.kind !== 'ok' || outcome.value.records.length !== 3) throw new Error(JSON.stringify(outcome));
};

const samples = await interleavedRounds(
  {
    raw: (calls) => keepInFlight(IN_FLIGHT, calls, raw),
    client: (calls) => keepInFlight(IN_FLIGHT, calls, typed),
  },
  CALLS,
  ROUNDS,
);
const ratios = samples.client.map(
  ({ throughput }, round) => throughput / (samples.raw[round]?.throughput ?? 0),
);
report('call: signed and validated / raw undici POST, throughput', {
  ratio: median(ratios),
  lowest: Math.min(...ratios),
  target: 0.65,
  clientPerSecond: median(samples.client.map(({ throughput }) => throughput)),
  rawPerSecond: median(samples.raw.map(({ throughput }) => throughput)),
  inFlight: IN_FLIGHT,
  rounds: ROUNDS,
});
report('call: processor time per call, us', {
  client: median(samples.client.map(({ cpuUs }) => cpuUs)),
  raw: median(samples.raw.map(({ cpuUs }) => cpuUs)),
});
await Promise.all([client.close(), pool.close()]);
server.stdin.end();
