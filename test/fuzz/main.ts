import process from 'node:process';
import { parseArgs } from 'node:util';
import { BOUNDARIES } from './boundaries.ts';
import { fuzz, inputOf } from './fuzz.ts';

const HELP = `Feeds changed inputs to every boundary, and reports what broke, took long or grew.

  npm run fuzz -- [--inputs N] [--seed N] [--target NAME,...] [--json]
  npm run fuzz -- --target NAME --input SEED      shows one input and tries it

Targets: ${BOUNDARIES.map(({ name }) => name).join(', ')}.
Ends with 0 when nothing was found, with 1 otherwise, with 2 for options that make no sense.
`;

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string' },
    input: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function whole(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} ${text}: expected a whole number\n`);
  process.exit(2);
}

const names = values.target?.split(',') ?? BOUNDARIES.map(({ name }) => name);
const chosen = BOUNDARIES.filter(({ name }) => names.includes(name));
if (values.help) process.stdout.write(HELP);
else if (chosen.length !== names.length) {
  process.stderr.write(
    `--target ${values.target ?? ''}: there are ${BOUNDARIES.map(({ name }) => name).join(', ')}\n`,
  );
  process.exitCode = 2;
} else if (values.input !== undefined) await tryOne(whole('input', values.input));
else await run(whole('seed', values.seed), whole('inputs', values.inputs));

async function tryOne(seed: number): Promise<void> {
  for (const boundary of chosen) {
    const target = await boundary.open();
    try {
      const input = inputOf(target, seed);
      process.stdout.write(`${input.text}\n`);
      await input.run();
      process.stdout.write('It held.\n');
    } finally {
      await target.close();
    }
  }
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

async function run(seed: number, inputs: number): Promise<void> {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  const count = Math.ceil(inputs / chosen.length);
  for (const boundary of chosen) {
    const report = await fuzz(boundary, { from: seed, count, signal: controller.signal });
    if (report.findings.length > 0) process.exitCode = 1;
    if (values.json) process.stdout.write(`${JSON.stringify({ event: 'fuzz', ...report })}\n`);
    else {
      const { target, slowestMs, hungriestBytes, heapGrowthBytes, findings } = report;
      process.stdout.write(
        `${target}: ${report.inputs} inputs, slowest ${slowestMs.toFixed(0)} ms, hungriest ${mib(hungriestBytes)}, grown by ${mib(heapGrowthBytes)}, ${findings.length} found\n`,
      );
      for (const { seed: at, what, words, input } of report.findings)
        process.stdout.write(`  ${what} at --input ${at}: ${words}\n    ${input.slice(0, 400)}\n`);
    }
    if (controller.signal.aborted) break;
  }
}
