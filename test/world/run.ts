import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { CONTENDED_GRACE_MS, contendedWorld } from './contended-world.ts';
import { playJudged } from './invariants.ts';
import { randomWorld } from './random-world.ts';
import { readWorldFile } from './read-spec.ts';

/**
 * Runs worlds and checks their invariants, as the tests do: `node test/world/run.ts --seed N | --from N --count N
 * [--contended] | --file F [--save F]`. Prints a JSON line for a world; of many only for those that are not sound, and
 * a summary. Ends with 1 on a violation or an invalid file, with 2 for invalid options.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string' },
    file: { type: 'string' },
    contended: { type: 'boolean', default: false },
    save: { type: 'string' },
  },
});
const { seed, from, count, file, contended, save } = values;
const asked = [seed, count, file].filter((one) => one !== undefined);
const numbers = [seed, count, from].filter((one) => one !== undefined);
if (asked.length !== 1 || !numbers.every((text) => file === text || /^\d{1,10}$/.test(text))) {
  process.stderr.write('expected one of --seed NUMBER, --count NUMBER and --file FILE\n');
  process.exit(2);
}
try {
  if (count !== undefined) await runMany(Number(from), Number(count));
  else await run(file === undefined ? worldOf(Number(seed)) : await readWorldFile(file), true);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function worldOf(number: number): WorldSpec {
  return contended ? contendedWorld(number) : randomWorld(number);
}

async function runMany(first: number, worlds: number): Promise<void> {
  const startedMs = performance.now();
  let [played, unsound, errors, orders, acted, mostMs] = [0, 0, 0, 0, 0, 0];
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  for (let at = first; at < first + worlds && !stop.signal.aborted; at++) {
    const sinceMs = performance.now();
    try {
      const result = await run(worldOf(at), false);
      orders += result.orders;
      acted += result.orders > 0 ? 1 : 0;
      unsound += result.isSound ? 0 : 1;
    } catch (error) {
      errors += 1;
      process.exitCode = 1;
      process.stdout.write(`${JSON.stringify({ seed: at, error: String(error) })}\n`);
    }
    played += 1;
    mostMs = Math.max(mostMs, Math.round(performance.now() - sinceMs));
    // Signals arrive between two turns only.
    await setImmediate();
  }
  const msEach = Math.round((performance.now() - startedMs) / Math.max(1, played));
  const summary = { from: first, played, unsound, errors, acted, orders, msEach, mostMs };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
}

async function run(spec: WorldSpec, isTold: boolean) {
  if (save !== undefined) await writeFile(save, `${JSON.stringify(spec, null, 2)}\n`);
  const { world, violations } = await playJudged(spec, {
    graceMs: CONTENDED_GRACE_MS,
    before: ({ exchange }) => {
      for (const [index, { fault }] of (spec.faults ?? []).entries())
        readFault(exchange, fault, `faults[${index}].fault`);
    },
  });
  const { total: entries } = world.exchange.model.ledgerTotals();
  const losesStore = spec.events?.some(({ kind }) => kind === 'store') === true;
  const errors = world.errors.filter((error) => !(losesStore && error instanceof StoreLostError)).map(String);
  const isSound = violations.length === 0 && errors.length === 0;
  if (isTold || !isSound) {
    const hash = await world.hash();
    process.stdout.write(`${JSON.stringify({ seed: spec.seed, hash, entries, violations, errors })}\n`);
  }
  if (violations.length > 0) process.exitCode = 1;
  const placed = world.exchange.model.ledger({ kinds: ['order_placed', 'order_rejected'] });
  return { orders: placed.filter(isOurs).length, isSound };
}
