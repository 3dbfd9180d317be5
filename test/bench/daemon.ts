import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { sign, signingKey } from '../../src/exchange/call/signer.ts';
import { median, report } from './rounds.ts';
import { type Measured, openSteady } from './steady.ts';

/** Processor time per account-poll against raw undici POSTs of the same bytes at the same rate, alternating. */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '1000');
const WINDOW_MS = Number(process.env['BENCH_WINDOW_MS'] ?? '10000');
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? '3');
const RAW_WARM_UP_MS = 2_500;
/** Not measured: for half a minute the compiler runs beside the work, on both sides. */
const WARM_UP_WINDOW_MS = 20_000;
const PATHS = ['/api/v4/collateral-account/positions/open', '/api/v4/credit-line/loans/info'];

const steady = await openSteady();
const windows: Measured[] = [];
const raws: number[] = [];
await rawRound();
await steady.measure(ACCOUNTS, WARM_UP_WINDOW_MS);
for (let round = 0; round < ROUNDS; round++) {
  raws.push(await rawRound());
  windows.push(await steady.measure(ACCOUNTS, WINDOW_MS));
}
await steady.close();
const lags = windows.flatMap(({ lagsMs }) => lagsMs).toSorted((a, b) => a - b);
const at = (part: number): number => lags[Math.floor((lags.length - 1) * part)] ?? Number.NaN;
const of = (figure: (window: Measured) => number): number => median(windows.map(figure));
report('daemon: processor time per account-poll, us (limits overridden)', {
  daemon: of(({ cpuUs, polls }) => cpuUs / polls),
  raw: median(raws),
  ratio: median(windows.map(({ cpuUs, polls }, round) => cpuUs / polls / (raws[round] ?? Number.NaN))),
  targetRatio: 2.5,
  redis: of(({ redisCpuUs, polls }) => redisCpuUs / polls),
  targetRedis: 70,
  rounds: ROUNDS,
});
report('daemon: accounts polled once a second (limits overridden)', {
  accounts: ACCOUNTS,
  pollsPerSecond: of(({ polls, elapsedMs }) => (polls * 1000) / elapsedMs),
  longestGapMs: Math.max(...windows.flatMap(({ gapsMs }) => gapsMs.reduce((a, b) => Math.max(a, b), 0))),
  silentAccounts: Math.max(...windows.map(({ silent }) => silent)),
  coreShare: of(({ cpuUs, elapsedMs }) => cpuUs / 1000 / elapsedMs),
  targetShare: 0.4,
  lagP50Ms: at(0.5),
  lagP99Ms: at(0.99),
  targetLagP99Ms: 40,
});
report('daemon: memory', {
  accounts: ACCOUNTS,
  residentMb: of(({ residentBytes }) => residentBytes / 1e6),
  redisKbPerAccount: of(({ redisBytes }) => redisBytes / 1e3 / ACCOUNTS),
});

/** Two requests per account-poll, spread over each second in as many batches as there are buckets. */
async function rawRound(): Promise<number> {
  const pool = new Pool(steady.baseUrl, { connections: 128 });
  const requests = PATHS.map((target) => {
    const body = `{"request":"${target}","nonce":"1760000000000000"}`;
    const { payload, signature } = sign(body, signingKey('bench-secret'));
    const headers = {
      'Content-Type': 'application/json',
      'X-TXC-APIKEY': 'bench-key',
      'X-TXC-PAYLOAD': payload,
      'X-TXC-SIGNATURE': signature,
    };
    return async (): Promise<void> => {
      const reply = await pool.request({ path: target, method: 'POST', headers, body });
      if ((await reply.body.text()).length === 0) throw new Error('empty');
    };
  });
  const pieces = 64;
  const window = async (ms: number): Promise<number> => {
    let polls = 0;
    const startedMs = performance.now();
    const running: Promise<void>[] = [];
    for (let piece = 0; performance.now() - startedMs < ms; piece++) {
      const count = Math.round(ACCOUNTS / pieces);
      for (let index = 0; index < count; index++) running.push(...requests.map((request) => request()));
      polls += count;
      await sleep(Math.max(0, startedMs + ((piece + 1) * 1000) / pieces - performance.now()));
    }
    await Promise.all(running);
    return polls;
  };
  await window(RAW_WARM_UP_MS);
  const before = process.cpuUsage();
  const polls = await window(WINDOW_MS);
  const { user, system } = process.cpuUsage(before);
  await pool.close();
  return (user + system) / polls;
}
