import { writeFile } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { readFault } from '../../src/simulator/control/fault-routes.ts';
import { openWorld } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { CONTENDED_GRACE_MS, contendedWorld } from './contended-world.ts';
import { violationsOf } from './invariants.ts';
import { randomWorld } from './random-world.ts';
import { readWorldFile } from './read-spec.ts';

/**
 * Runs one world and checks the invariants of its ledger, as the tests do:
 * `node test/world/run.ts --seed N [--contended] | --file F [--save F]`. Prints a JSON line; ends with 1 on a violation
 * or an invalid file, with 2 for invalid options.
 */
const { seed, file, contended, save } = parseArgs({
  options: {
    seed: { type: 'string' },
    file: { type: 'string' },
    contended: { type: 'boolean', default: false },
    save: { type: 'string' },
  },
}).values;
if ((seed === undefined) === (file === undefined) || (seed !== undefined && !/^\d{1,10}$/.test(seed))) {
  process.stderr.write('expected either --seed NUMBER or --file FILE\n');
  process.exit(2);
}
try {
  await run(await specOf());
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function specOf(): Promise<WorldSpec> {
  if (file !== undefined) return await readWorldFile(file);
  return contended ? contendedWorld(Number(seed)) : randomWorld(Number(seed));
}

async function run(spec: WorldSpec): Promise<void> {
  if (save !== undefined) await writeFile(save, `${JSON.stringify(spec, null, 2)}\n`);
  const world = openWorld(spec);
  for (const [index, one] of (spec.faults ?? []).entries())
    readFault(world.exchange, one.fault, `faults[${index}].fault`);
  await world.run();
  const { total: entries } = world.exchange.model.ledgerTotals();
  const violations = await violationsOf(world, { graceMs: CONTENDED_GRACE_MS });
  const errors = world.errors.map(String);
  process.stdout.write(
    `${JSON.stringify({ seed: spec.seed, hash: await world.hash(), entries, violations, errors })}\n`,
  );
  if (violations.length > 0) process.exitCode = 1;
}
