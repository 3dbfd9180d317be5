import { request } from 'node:http';
import { measure, type Use } from '../support/probe.ts';
import { openFleetServer, pause } from './fleet-server.ts';

/**
 * A scrape of 1,000 accounts with 5 positions, a loan and 17 rule lines each, over HTTP, from a process with only the
 * role `web` and nothing about them in memory: uncompressed, and compressed as Prometheus requests it. Measured: what
 * the scrape adds to the process's memory at its peak, how long it blocks the event loop, and the size of one account
 * in Redis.
 */
const ACCOUNTS = 1_000;
const POSITIONS = 5;
const ROUNDS = 7;
/** Longer than a scrape's reads are reused for the next one. */
const BETWEEN_MS = 1_100;

interface Scrape extends Use {
  readonly wallMs: number;
  readonly wireBytes: number;
}

const fleet = await openFleetServer(ACCOUNTS, POSITIONS);

/** Counts and drops the data, so that the time is the server's. */
async function get(encoding: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const headers = { 'accept-encoding': encoding, connection: 'close' };
    const sent = request(`${fleet.url}/metrics`, { headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
      });
      response.on('end', () => resolve(bytes));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function scrape(encoding: string): Promise<Scrape> {
  let [wallMs, wireBytes] = [0, 0];
  const use = await measure(fleet.daemon, false, async () => {
    const started = performance.now();
    wireBytes = await get(encoding);
    wallMs = performance.now() - started;
  });
  return { ...use, wallMs, wireBytes };
}

/** After every account was rewritten. */
async function later(encoding: string): Promise<readonly Scrape[]> {
  const scrapes: Scrape[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await pause(BETWEEN_MS);
    await fleet.write();
    scrapes.push(await scrape(encoding));
  }
  return scrapes;
}

function summary(scrapes: readonly Scrape[]): object {
  const sorted = (of: (one: Scrape) => number) => scrapes.map(of).sort((a, b) => a - b);
  const median = (of: (one: Scrape) => number): number =>
    Math.round(sorted(of)[Math.floor(scrapes.length / 2)]!);
  const most = (of: (one: Scrape) => number): number => Number(sorted(of).at(-1)!.toFixed(1));
  return {
    wallMs: median(({ wallMs }) => wallMs),
    cpuMs: median(({ cpuMs }) => cpuMs),
    wireMegabytes: Number((scrapes[0]!.wireBytes / 1e6).toFixed(2)),
    mostRss: most(({ rss }) => rss),
    mostHeap: most(({ heap }) => heap),
    mostExternal: most(({ external }) => external),
    longestBlockMs: most(({ longestBlockMs }) => longestBlockMs),
  };
}

const first = await scrape('identity');
const plain = await later('identity');
const compressed = await later('gzip');
const all = [first, ...plain, ...compressed];
const text = await (await fetch(`${fleet.url}/metrics`)).text();
const used = /^used_memory:(\d+)/m.exec(await fleet.redis.info('memory'))?.[1];
const [key] = await fleet.redis.keys(`${fleet.prefix}:*account:desk-0`);
const stored = await fleet.redis.hgetall(key!);
const result = {
  bench: 'scrape',
  accounts: ACCOUNTS,
  positions: POSITIONS,
  series: text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
  megabytes: Number((text.length / 1e6).toFixed(2)),
  first: summary([first]),
  plain: summary(plain),
  compressed: summary(compressed),
  idleRss: Math.round(first.before.rss),
  idleHeap: Math.round(first.before.heap),
  /** Maximum over all scrapes. */
  overAllRss: Math.round(Math.max(...all.map(({ before, rss }) => before.rss + rss)) - first.before.rss),
  redisBytesPerAccount: Math.round(Number(used) / ACCOUNTS),
  documentBytes: Object.fromEntries(Object.entries(stored).map(([field, value]) => [field, value.length])),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
await fleet.close();
