import { Redis } from 'ioredis';
import { newLane } from '../../src/core/lanes/lane-state.ts';
import { type AccountCommit, BUCKETS, bucketOf } from '../../src/core/ports/state-store.ts';
import { emptyAccountState } from '../../src/core/rules/account-state.ts';
import { compileRules } from '../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../src/core/rules/evaluate.ts';
import { figuresOf, type StoredFigures } from '../../src/core/view/stored-figures.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisState } from '../../src/state/state.ts';
import {
  above,
  at,
  below,
  creditLine,
  d,
  list,
  position,
  read,
  rule,
  SETTINGS,
  snapshot,
} from '../core/rules/fixtures.ts';
import { startRedisServer } from '../support/redis.ts';

/**
 * Cost of one account-poll for Redis and for this process: one read takes the due accounts of a bucket, and one script
 * commits the evaluated documents (3 positions, 1 loan, 8 rules, one of them firing). The server keeps an append-only
 * file, as in production. The figures of the last read are written never (`alone`), every fifth poll (calm) or every
 * poll (something goes on). In `shared` a second writer simulates the commits of other processes.
 */
const ACCOUNTS = 1_000;
const ROUNDS = 10;
const TAKE = { claimMs: 5_000, maxAheadMs: 60_000 };

const server = await startRedisServer({ persistent: true });
const redisOptions = { maxRetriesPerRequest: null };
const connections = [new Redis(server.url, redisOptions), new Redis(server.url, redisOptions)];
const observer = new Redis(server.url, redisOptions);
const states = connections.map((redis) => createRedisState({ redis, prefix: 'bench', clock: systemClock }));

const rules = compileRules(
  [
    rule('position', below('liquidationDistance', 0.2, 0.3), { id: 'firing' }),
    rule('position', below('liquidationDistance', 0.05, 0.07), { id: 'p1' }),
    rule('position', above('marginUsage', 0.9, 0.8), { id: 'p2' }),
    rule('position', below('pnlPercent', -0.5), { id: 'p3' }),
    rule('creditLine', above('currentLtv', 0.7), { id: 'l1' }),
    rule('creditLine', above('ltvToMarginCall', 0.9, 0.85), { id: 'l2' }),
    rule('creditLine', below('minutesToMarginCall', 120), { id: 'l3' }),
    rule(
      'account',
      { kind: 'field', field: 'dataAge', comparison: { op: 'above', threshold: 30 } },
      { id: 'a1' },
    ),
  ],
  SETTINGS,
);
const markets = ['BTC_PERP', 'ETH_PERP', 'SOL_PERP'];

/** Documents as 60 polls leave them: forecasts are running. */
function documentsOf(polls: number) {
  let state = emptyAccountState(SETTINGS.accountId);
  let figures: StoredFigures | undefined;
  for (let poll = 0; poll < polls; poll += 1) {
    const now = at(poll * 1_000);
    const positions = markets.map((market, index) =>
      position({
        positionId: String(1_000 + index),
        market,
        basePrice: d('24149.24512'),
        unrealizedPnl: d((-0.10815 + Math.sin(poll + index)).toFixed(5)),
        liquidationPrice: d(index === 0 ? '21059.02' : '7059.02'),
      }),
    );
    const taken = snapshot({
      positions: read(list(positions)),
      creditLine: read(list([creditLine({ currentLtv: d((60 + Math.sin(poll)).toFixed(2)) })])),
    });
    ({ state } = evaluate({ snapshot: { ...taken, at: now }, state, now }, rules));
    figures = figuresOf({ ...taken, at: now }, SETTINGS);
  }
  return { state, figures: figures! };
}

const variants = [documentsOf(60), documentsOf(61)];
const buckets = Map.groupBy(
  Array.from({ length: ACCOUNTS }, (_, index) => `account-${index}`),
  bucketOf,
);
if (buckets.size !== BUCKETS) throw new Error('a bucket is empty');

async function serverCpuUs(): Promise<number> {
  const info = await observer.info('cpu');
  const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}

/** Polls per write of figures: 0 never (as in a store without them), 1 while something goes on. */
let figuresEvery = 0;

async function pollAll(round: number, writers: number, withHistory: boolean): Promise<number> {
  let polled = 0;
  for (const [bucket, accountIds] of buckets) {
    const { store } = states[round % writers]!;
    const view = await store.takeDue(bucket, { accountIds, ...TAKE });
    const changes = view.accounts.flatMap((found): AccountCommit[] => {
      if (found.kind !== 'loaded') return [];
      const { account } = found;
      const { state, figures } = variants[round % 2]!;
      const evaluation = { ...state, accountId: account.accountId };
      const withFigures = figuresEvery > 0 && round % figuresEvery === 0;
      return [
        {
          base: account,
          documents: { evaluation, ...(withFigures && { figures }) },
          ...(account.version === 0 && {
            lanes: new Map([['BTC_PERP', newLane(account.accountId, 'BTC_PERP', account.epoch.id, 0)]]),
          }),
          quiet: 1,
          due: { inMs: 0, danger: 0.1 },
          ...(withHistory && {
            history: markets.map((market) => ({
              subject: `position:${market}`,
              values: { mark: '24149.2' },
            })),
          }),
        },
      ];
    });
    const results = await store.commit(changes);
    polled += results.filter(({ kind }) => kind === 'committed').length;
  }
  return polled;
}

async function measure(writers: number): Promise<{ redisUs: number; nodeUs: number; commits: number }> {
  let commits = 0;
  const redisBefore = await serverCpuUs();
  const nodeBefore = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round += 1) commits += await pollAll(round, writers, true);
  const node = process.cpuUsage(nodeBefore);
  const redisUs = (await serverCpuUs()) - redisBefore;
  return { redisUs: redisUs / commits, nodeUs: (node.user + node.system) / commits, commits };
}

await pollAll(0, 1, true);
await pollAll(1, 2, true);
await observer.config('RESETSTAT');
const alone = await measure(1);
const stats = await observer.info('commandstats');
const shared = await measure(2);
const scriptUs = [...stats.matchAll(/^cmdstat_(\w+):calls=(\d+),usec=(\d+)/gm)].map(
  ([, name, calls, usec]) => `${name} ${calls}x ${(Number(usec) / alone.commits).toFixed(1)}us/poll`,
);
process.stderr.write(`${scriptUs.join('\n')}\n`);
figuresEvery = 5;
const calm = await measure(1);
figuresEvery = 1;
const active = await measure(1);
const activeShared = await measure(2);
const rounded = ({ redisUs, nodeUs }: { redisUs: number; nodeUs: number }) => ({
  redisUs: Math.round(redisUs),
  nodeUs: Math.round(nodeUs),
});
const size = JSON.stringify(variants[0]!.state).length;
process.stdout.write(
  `${JSON.stringify({
    bench: 'state',
    evaluationBytes: size,
    figuresBytes: JSON.stringify(variants[0]!.figures).length,
    alone: rounded(alone),
    shared: rounded(shared),
    withFigures: {
      everyFifthPoll: rounded(calm),
      everyPoll: rounded(active),
      everyPollShared: rounded(activeShared),
    },
    accountPolls: alone.commits,
  })}\n`,
);
for (const state of states) state.close();
for (const redis of [...connections, observer]) redis.disconnect();
await server.stop();
