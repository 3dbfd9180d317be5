import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decimal, ZERO } from '../../src/core/quantities/decimal.ts';
import { marketYaml, PERPETUAL, seedOf } from '../../src/demo/accounts.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { freePort, startRedisServer } from '../support/redis.ts';
import type { AttackersReady, AttackOrder, AttackReport } from './attackers.ts';
import { median, report } from './rounds.ts';

/**
 * Whether the daemon protects as fast under attack as without: `breakwater run` with all its roles in one process, in
 * enforce mode, against the simulated exchange over HTTP, with its own Redis. One move of the price breaches all
 * accounts. Measured for each account: from that move to its first order, both by the exchange's ledger, so the wait
 * for the poll is included. Rounds alternate, calm and attacked. The attack: idle and slow connections, floods on every
 * path with wrong tokens and scrapes, listeners that do not read, hostile receivers of notices, and damaged, huge or
 * missing replies of the exchange to another account. The attackers may take a fifth of a core (BENCH_ATTACK_SHARE);
 * their process enforces that limit itself.
 */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '20');
const PAIRS = Number(process.env['BENCH_ROUNDS'] ?? '10');
const PRICE = 60_000;
const BREACHED = 0.045;
const WAIT_MS = 60_000;
const SETTLE_MS = 3_000;
const OTHER = 'other';
const FIGURES = { fromMove: 'breach', fromRead: 'breach, as read,' } as const;
const POSITIONS = '/api/v4/collateral-account/positions/open';

const ids = Array.from({ length: ACCOUNTS }, (_, index) => `a${index}`);
const simulator = await startSimulatedExchange({
  speed: 1,
  limits: [],
  depth: '1000',
  accounts: [...ids, OTHER].map((id) => seedOf(id)),
});
const { model } = simulator;
const seeds = new Map(ids.map((id) => [id, seedOf(id)]));
const redis = await startRedisServer({ persistent: true });
const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-bench-'));
const webUrl = `http://127.0.0.1:${await freePort()}`;
const attackers = spawn(process.execPath, [new URL('attackers.ts', import.meta.url).pathname], {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
});
const [{ receiverUrl }] = (await once(attackers, 'message')) as [AttackersReady];
const daemon = await startDaemon();
process.once('exit', () => daemon.kill('SIGKILL'));
await until(() => pollsOf('a0') > 5, 'polls');

type Half = 'calm' | 'attack';
/** Milliseconds until the first order, by account. */
interface Breach {
  readonly fromMove: number;
  /** From the first request for its positions after the move: without the wait for the poll. */
  readonly fromRead: number;
}
const passed: Record<Half, Breach[][]> = { calm: [], attack: [] };
const reports: AttackReport[] = [];
await breach();
for (let pair = 0; pair < PAIRS; pair++) {
  const halves: readonly Half[] = pair % 2 === 0 ? ['calm', 'attack'] : ['attack', 'calm'];
  for (const half of halves) {
    if (half === 'attack') begin();
    await sleep(SETTLE_MS);
    passed[half].push(await breach());
    if (half === 'attack') await end();
  }
}
for (const from of ['fromMove', 'fromRead'] as const) {
  const times = (half: Half): number[][] => passed[half].map((wave) => wave.map((one) => one[from]));
  const [calm, attack] = [times('calm'), times('attack')];
  const at = (share: number) => [part(calm.flat(), share), part(attack.flat(), share)] as const;
  const [[calmP50, attackP50], [calmP95, attackP95]] = [at(0.5), at(0.95)];
  const pairRatio = (share: number): number =>
    median(attack.map((wave, pair) => part(wave, share) / part(calm[pair] ?? [], share)));
  report(`attack: ${FIGURES[from]} to order by the ledger, ms, calm and under attack (limits overridden)`, {
    calmP50,
    attackP50,
    ratioP50: attackP50 / calmP50,
    targetP50: 1.5,
    calmP95,
    attackP95,
    ratioP95: attackP95 / calmP95,
    targetP95: 2,
    calmWorst: Math.max(...calm.flat()),
    attackWorst: Math.max(...attack.flat()),
    medianPairRatioP50: pairRatio(0.5),
    medianPairRatioP95: pairRatio(0.95),
    breachesCalm: calm.flat().length,
    breachesAttack: attack.flat().length,
    pairs: PAIRS,
  });
}
const statuses = [...new Set(reports.flatMap(({ answers }) => Object.keys(answers)))];
report('attack: what the attackers did', {
  coreShare: median(reports.map(({ cpuShare }) => cpuShare)),
  coreShareMost: Math.max(...reports.map(({ cpuShare }) => cpuShare)),
  coreShareCap: reports[0]?.cpuShareCap ?? Number.NaN,
  requests: sum(reports.map(({ requests }) => requests)),
  connections: sum(reports.map(({ connections }) => connections)),
  notices: sum(reports.map(({ notices }) => notices)),
  ...Object.fromEntries(
    statuses.map((status) => [`http${status}`, sum(reports.map(({ answers }) => answers[status] ?? 0))]),
  ),
});
daemon.kill('SIGTERM');
await once(daemon, 'exit');
attackers.disconnect();
await simulator.close();
await redis.stop();
await rm(folder, { recursive: true });

function begin(): void {
  attackers.send({ attack: true, webUrl } satisfies AttackOrder);
  const target = { account: OTHER };
  const spoilt = [
    { kind: 'malformedJson', body: `[${'0,'.repeat(1_000_000)}0]` },
    { kind: 'malformedJson', body: '['.repeat(200_000) },
    { kind: 'wrongTypes' },
    { kind: 'cutBody' },
    { kind: 'hang' },
  ] as const;
  for (const effect of spoilt) simulator.injectFault({ effect, target, probability: 0.3 });
}

async function end(): Promise<void> {
  const told = once(attackers, 'message') as Promise<[AttackReport]>;
  attackers.send({ attack: false, webUrl } satisfies AttackOrder);
  reports.push((await told)[0]);
  simulator.clearFaults();
}

/** Reopens all positions, breaches them at once, and waits until each is closed. Returns milliseconds per account. */
async function breach(): Promise<Breach[]> {
  simulator.setPrice(PERPETUAL, String(PRICE));
  for (const id of ids) reopen(id);
  await sleep(SETTLE_MS);
  const liquidations = ids.flatMap((id) =>
    model.openPositions(id, PERPETUAL).map(({ liquidationPrice }) => liquidationPrice?.toNumber() ?? 0),
  );
  if (liquidations.length !== ACCOUNTS) throw new Error(`${liquidations.length} positions are open`);
  const price = (Math.min(...liquidations) / (1 - BREACHED)).toFixed(1);
  const before = model.ledgerTotals().total;
  simulator.setPrice(PERPETUAL, price);
  const placed = (): ReadonlyMap<string, number> => firstOrders(before);
  await until(() => placed().size === ACCOUNTS, 'an order for each');
  const [set] = model.ledger({ kinds: ['price_set'], afterSeq: before });
  const setAtMs = set?.atMs ?? Number.NaN;
  const times = [...placed()].map(([account, atMs]) => ({
    fromMove: atMs - setAtMs,
    fromRead: atMs - readAfter(account, setAtMs),
  }));
  let mark = Number(price);
  await until(() => {
    mark *= 0.999;
    simulator.setPrice(PERPETUAL, mark.toFixed(1));
    return ids.every(
      (id) => model.openPositions(id, PERPETUAL).length === 0 && model.openOrders(id).length === 0,
    );
  }, 'every position closed');
  return times;
}

/** Time of the daemon's first stop, by account. */
function firstOrders(afterSeq: number): ReadonlyMap<string, number> {
  const placed = new Map<string, number>();
  for (const { accountId, atMs, side } of model.ledger({ kinds: ['order_placed'], afterSeq })) {
    if (accountId === null || accountId === OTHER || side !== 'sell') continue;
    if (!placed.has(accountId)) placed.set(accountId, atMs);
  }
  return placed;
}

function readAfter(account: string, setAtMs: number): number {
  const reads = simulator.requestLog({ account });
  return reads.find(({ atMs, path: asked }) => asked === POSITIONS && atMs >= setAtMs)?.atMs ?? Number.NaN;
}

/** Restores the start: the money lost and a position of the same size. */
function reopen(id: string): void {
  const seed = seeds.get(id);
  const position = seed?.positions?.[0];
  if (seed === undefined || position === undefined || model.openPositions(id, PERPETUAL).length > 0) return;
  simulator.exchange.change(() => {
    // The owner's orders pay fees and the spread.
    const wanted = (seed.collateral?.['USDT'] ?? ZERO).times(decimal('1.03'));
    const amount = wanted.minus(model.account(id).equity);
    if (amount.gt(ZERO)) {
      expectOk(model.deposit(id, { ticker: 'USDT', amount }));
      expectOk(model.moveFunds(id, { from: 'main', to: 'collateral', ticker: 'USDT', amount }));
    }
    expectOk(model.placeCollateralOrder(id, { market: PERPETUAL, side: 'buy', amount: position.amount }));
  });
}

function expectOk(outcome: { readonly ok: boolean }): void {
  if (!outcome.ok) throw new Error(`the exchange refused: ${JSON.stringify(outcome)}`);
}

function pollsOf(id: string): number {
  return simulator.requestLog({ account: id }).length;
}

async function until(holds: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + WAIT_MS;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(100);
  }
}

function part(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

async function startDaemon(): Promise<ChildProcess> {
  const configFile = path.join(folder, 'breakwater.yaml');
  await writeFile(configFile, config());
  const secrets = simulator.accounts.flatMap(({ id, apiKey, apiSecret }) => [
    [`KEY_${id}`, apiKey],
    [`SECRET_${id}`, apiSecret],
  ]);
  const main = new URL('../../src/cli/main.ts', import.meta.url).pathname;
  return spawn(process.execPath, [main, 'run', '--config', configFile, '--log-level', 'error'], {
    env: {
      ...process.env,
      ...Object.fromEntries(secrets),
      CONTROL_TOKEN: 'a-control-token-that-nobody-guesses',
      HOOK: `${receiverUrl}/services/hook`,
      BOT_TOKEN: '123456789:a-token-of-a-bot-that-is-none-at-all',
    },
    stdio: 'ignore',
  });
}

function config(): string {
  const huge = '{ limit: 100000000, period: 10s }';
  const accounts = [...ids, OTHER].map(
    (id) =>
      `  - { id: ${id}, apiKey: { env: KEY_${id} }, apiSecret: { env: SECRET_${id} }, watch: { positions: true }, rules: [near] }`,
  );
  return `mode: enforce
insecure: [redis, web, exchange, channels]
exchange:
  baseUrls: ["${simulator.baseUrl}"]
  limits: { positions: ${huge}, order: ${huge} }
redis: { url: "${redis.url}", prefix: bench }
web: { port: ${new URL(webUrl).port}, controlToken: { env: CONTROL_TOKEN } }
cadence: { calm: 1s, alert: 1s }
acting: { fillWithin: 3s }
channels:
  chat: { type: slack, url: { env: HOOK }, giveUpAfter: 10s }
  phone: { type: telegram, token: { env: BOT_TOKEN }, chat: "-100", api: "${receiverUrl}", giveUpAfter: 10s }
  own: { type: webhook, url: { env: HOOK }, giveUpAfter: 10s }
markets:
${marketYaml()}
accounts:
${accounts.join('\n')}
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% }, disagreement: false }
    do: [{ notify: {} }, { reduce: { by: 100%, slippage: [2%, 4%] } }]
    severity: critical
`;
}
