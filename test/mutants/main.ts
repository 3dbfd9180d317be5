import process from 'node:process';
import { parseArgs } from 'node:util';
import { ROOMS, type Room } from './rooms.ts';
import { allMutants, drawSample, type Sampled } from './sample.ts';
import { type Fate, type Outcome, tryMutants } from './session.ts';

const HELP = `Breaks src/core and src/exchange in small ways and looks whether the tests notice: those of the room first, then
those of the other rooms and of the pipeline, then some worlds. The sources are not touched.

  npm run mutants -- [--sample N] [--seed S] [--room NAME]... [--json]
  npm run mutants -- --mutant ID ...      tries these again, and says which test notices
  npm run mutants -- --list --room NAME   prints the mutants of a room

  --room     ${ROOMS.map(({ name }) => name).join(', ')}
  --only     a test file; may be repeated

Ends with 0 when each room reached its goal, with 1 when one did not, with 2 for options that make no sense, and with 130
when it was interrupted (what was tried by then is summed up).
`;

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    room: { type: 'string', multiple: true },
    mutant: { type: 'string', multiple: true },
    only: { type: 'string', multiple: true },
    list: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function wrong(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

function whole(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : wrong(`--${name} ${text}: expected a whole number`);
}

function roomOf(name: string): Room {
  return ROOMS.find((room) => room.name === name) ?? wrong(`--room ${name}: there is no such room`);
}

if (values.help) process.stdout.write(HELP);
else await run();

async function run(): Promise<void> {
  const all = allMutants();
  const chosen = choose(all);
  if (values.list) {
    for (const { id, from, to } of chosen) process.stdout.write(`${id}  ${short(from)} -> ${short(to)}\n`);
    return;
  }
  process.stderr.write(`${chosen.length} of ${all.length} mutants, seed ${values.seed}\n`);
  const startedMs = Date.now();
  const interrupt = new AbortController();
  const stop = (): void => interrupt.abort();
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const outcome = await tryMutants(chosen, {
    signal: interrupt.signal,
    only: values.only,
    onProgress: (settled, killed, file) => {
      const words = `${killed} killed of ${settled} tried of ${chosen.length}: ${file}`;
      if (process.stderr.isTTY) process.stderr.write(`\r${words.slice(0, 100).padEnd(100)}`);
    },
  });
  const seconds = Math.round((Date.now() - startedMs) / 1_000);
  report(outcome, seconds);
  if (interrupt.signal.aborted) process.exitCode = 130;
  else process.exitCode = tableOf(outcome.fates).every(({ isReached }) => isReached) ? 0 : 1;
}

function choose(all: readonly Sampled[]): readonly Sampled[] {
  if (values.mutant !== undefined) {
    return values.mutant.map(
      (id) => all.find((one) => one.id === id) ?? wrong(`--mutant ${id}: there is no such mutant`),
    );
  }
  const rooms = values.room?.map(roomOf);
  if (values.list) return all.filter(({ room }) => rooms?.includes(room) ?? true);
  return drawSample(all, whole('sample', values.sample), whole('seed', values.seed), rooms);
}

interface Row {
  readonly room: string;
  readonly mutants: number;
  readonly killed: number;
  /** Survivors whose place no test came by. */
  readonly unseen: number;
  readonly goal: number;
  readonly isReached: boolean;
}

function tableOf(fates: readonly Fate[]): readonly Row[] {
  return ROOMS.flatMap((room) => {
    const own = fates.filter(({ mutant }) => mutant.room === room);
    if (own.length === 0) return [];
    const killed = own.filter(({ killedBy }) => killedBy !== null).length;
    const unseen = own.filter(({ triedOn }) => triedOn.length === 0).length;
    const { name, goal } = room;
    return [
      { room: name, mutants: own.length, killed, unseen, goal, isReached: killed / own.length >= goal },
    ];
  });
}

function report({ fates, broken }: Outcome, seconds: number): void {
  const survivors = fates.filter(({ killedBy }) => killedBy === null);
  if (values.json) {
    const rows = fates.map(({ mutant, killedBy, triedOn }) => ({
      ...mutant,
      room: mutant.room.name,
      killedBy,
      triedOn,
    }));
    const summary = { seed: values.seed, seconds, rooms: tableOf(fates), broken, mutants: rows };
    process.stdout.write(`${JSON.stringify(summary)}\n`);
    return;
  }
  const lines = [
    ...tableOf(fates).map(
      ({ room, mutants, killed, unseen, goal }) =>
        `${room.padEnd(18)} ${String(killed).padStart(4)} of ${String(mutants).padEnd(4)} ` +
        `${((100 * killed) / mutants).toFixed(0)} % (goal ${100 * goal} %), ${unseen} not come by`,
    ),
    ...(values.mutant === undefined
      ? survivors.map(({ mutant, triedOn }) => `survived: ${words(mutant)} (${triedOn.length} test files)`)
      : fates.map(
          ({ mutant, killedBy }) =>
            `${words(mutant)}: ${killedBy?.file ?? 'survived'} ${killedBy?.what ?? ''}`,
        )),
    ...broken.map((file) => `left out, as it fails without a mutant: ${file}`),
    `${fates.length - survivors.length} of ${fates.length} killed in ${seconds} s, seed ${values.seed}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function words({ id, from, to }: Sampled): string {
  return `${id}  ${short(from)} -> ${short(to)}`;
}

function short(code: string | null): string {
  if (code === null) return '(left out)';
  const line = code.replaceAll(/\s+/g, ' ');
  return line.length > 110 ? `${line.slice(0, 107)}...` : line;
}
