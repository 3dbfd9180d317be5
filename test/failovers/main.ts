import process from 'node:process';
import { parseArgs } from 'node:util';
import { failoverCase, type Keeper, TROUBLES } from './failover-case.ts';
import type { Played } from './play.ts';

const KEEPERS: readonly Keeper[] = ['sentinel', 'cluster'];

const HELP = `Plays failovers in the middle of an action, at seeded moments: real Redis servers behind three Sentinels, or three
primaries of a Redis Cluster, real daemons, and a simulated exchange whose ledger judges them. Needs redis-server 7.

  npm run failovers -- [--seeds N] [--from SEED] [--keeper sentinel|cluster] [--json]
  npm run failovers -- --seed SEED --keeper sentinel|cluster      plays one again

What happens to the server in use: ${Object.entries(TROUBLES)
  .map(([keeper, troubles]) => `${keeper} ${troubles.join(', ')}`)
  .join('; ')}.
Without --keeper each seed is played with both.

Ends with 0 when everything held, with 1 when something did not, with 2 for options that make no sense, and with 130
when it was interrupted (what was played by then is summed up).
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    keeper: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function refuse(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

function whole(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : refuse(`--${name} ${text}: expected a whole number`);
}

if (values.help) process.stdout.write(HELP);
else await run();

async function run(): Promise<void> {
  const keepers = KEEPERS.filter((keeper) => values.keeper === undefined || keeper === values.keeper);
  if (keepers.length === 0) refuse(`--keeper ${values.keeper}: there are ${KEEPERS.join(', ')}`);
  const from = whole('from', values.seed ?? values.from);
  const seeds = values.seed === undefined ? whole('seeds', values.seeds) : 1;
  // Loaded only now: loading the simulator takes most of the start.
  const { play } = await import('./play.ts');
  let isOver = false;
  process.once('SIGINT', () => {
    isOver = true;
    process.exitCode = 130;
  });
  const all: Played[] = [];
  for (let seed = from; seed < from + seeds; seed++) {
    for (const keeper of keepers) {
      if (isOver) break;
      const played = await play(failoverCase(keeper, seed));
      all.push(played);
      if (played.violations.length > 0) process.exitCode ||= 1;
      process.stdout.write(`${values.json ? JSON.stringify(played) : lineOf(played)}\n`);
    }
  }
  if (!values.json) for (const keeper of keepers) process.stdout.write(`${sumOf(keeper, all)}\n`);
}

function lineOf({ played, violations, wentAlone, handedBack, ...figures }: Played): string {
  const { keeper, seed, trouble, daemons, atEvent, delayMs, fallsAfterMs } = played;
  const how = wentAlone ? `alone, then ${handedBack.join(' and ') || 'nothing handed back'}` : 'never alone';
  const line = `${keeper} ${seed}: ${trouble} at event ${atEvent} + ${delayMs} ms, price falls ${fallsAfterMs} ms later, ${daemons} daemon(s): ${how}; ${figures.orders} orders, ${figures.overshoots} overshoots, halved after ${(figures.untilHalvedMs / 1_000).toFixed(1)} s`;
  return [line, ...violations.map((words) => `  VIOLATION ${words}`)].join('\n');
}

function sumOf(keeper: Keeper, all: readonly Played[]): string {
  const own = all.filter(({ played }) => played.keeper === keeper);
  const broken = own.filter(({ violations }) => violations.length > 0).length;
  const alone = own.filter(({ wentAlone }) => wentAlone).length;
  const times = own.map(({ untilHalvedMs }) => untilHalvedMs).toSorted((a, b) => a - b);
  const seconds = (part: number): string =>
    ((times[Math.floor(part * (times.length - 1))] ?? 0) / 1_000).toFixed(1);
  return `${keeper}: ${own.length} failovers, ${broken} with a violation, ${alone} times alone; halved after ${seconds(0.5)} s (median), ${seconds(1)} s (longest)`;
}
