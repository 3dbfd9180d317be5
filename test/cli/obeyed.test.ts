import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { polls } from '../daemon/scene.ts';
import { expectEnd, json, openOperatorWorld } from './operator.ts';

/** Daemons with different keys, which therefore do not obey each other. */

const BY = ['--author', 'ann', '--reason', 'typo at night'];
const FALLS = `  - id: falls
    on: position
    when: { liquidationDistance: { below: 30% } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

async function openFalling() {
  const world = await openOperatorWorld({ accounts: { long: { rules: ['falls'] } }, rules: FALLS });
  await world.start({ env: { ...world.env, RUNTIME_DIRECTORY: `${world.configFile}.first` } });
  await polls(world, 'long');
  return { world };
}

test('a pause that one of two daemons obeys holds in part, and the command says so', async () => {
  const { world } = await openFalling();
  const text = await readFile(world.configFile, 'utf8');
  await world.write(text.replace(/^operators: .*$/m, ''));
  const env = { ...world.env, RUNTIME_DIRECTORY: `${world.configFile}.run` };
  const other = await world.start({ ordinal: 1, env });
  const mixed = await world.cli(['pause', '--account', 'long', ...BY, '--json'], { env });
  expectEnd(mixed, EXIT.inPart);
  expect(json(mixed)['processes']).toHaveLength(2);
  expect(mixed.stderr).toMatch(/Not confirmed within 2 s by i\d-\w+ on \S+\. Those that run GO ON ACTING/);
  await other.stop('seen enough', 30_000);
});
