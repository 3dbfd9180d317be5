import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { auditConfig } from '../../src/app/audit-config.ts';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import type { State } from '../../src/state/state.ts';
import { environment } from './config.ts';
import { openScene } from './scene.ts';
import { openDaemonWorld } from './world.ts';

const rules = (above: number) => `  - id: rule
    on: position
    when: { amount: { above: ${above} } }
    do: [{ notify: {} }]
`;
const ACCOUNTS = { long: { rules: ['rule'] } };

async function noted({ audit }: Pick<State, 'audit'>) {
  const records = await audit.tail(OPERATOR_CHAIN, 100);
  expect(await audit.verify(OPERATOR_CHAIN)).toMatchObject({ kind: 'intact' });
  return records.flatMap(({ record: { content } }) => (content.kind === 'note' ? [content.detail] : []));
}

const checksumOf = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

test('the audit has the checksum of each config in force, the changes, and the process', async () => {
  const simulator = await openScene();
  const env: Record<string, string> = { ...environment(simulator), SECRET_short: 'planted-secret' };
  const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: rules(10) });
  const first = await world.start({ env });
  const second = await world.start({ env: { ...env }, ordinal: 1 });
  const before = { checksum: await checksumOf(world.configFile), changes: [], instance: first.instance };
  expect(await noted(first.state)).toMatchObject([before]);

  const accounts = { long: { rules: ['rule'], more: '    mode: observe\n' }, short: { rules: ['rule'] } };
  await world.write({ accounts, rules: rules(11), acting: '{ fillWithin: 2s }' });
  await Promise.all([first.reload(), second.reload()]);
  const checksum = await checksumOf(world.configFile);
  const changes = ['account short added', 'account long: rules changed rule, settings mode, fillWithinMs'];
  expect(await noted(first.state)).toMatchObject([before, { checksum, changes }]);

  // Another secret in the same file is a change each time. The daemon's watchdog may see the written file
  // in between, and adopt it first.
  for (const secret of ['planted-secret-2', 'planted-secret-3']) {
    env['SECRET_short'] = secret;
    expect((await first.reload()).kind).not.toBe('refused');
  }
  const after = await noted(first.state);
  const rotated = { checksum, changes: ['account short: keys'] };
  expect(after.slice(2)).toMatchObject([rotated, rotated]);
  expect(JSON.stringify(after)).not.toContain('planted');
});

test('a file changed while no daemon ran is noted at the start, an unchanged one is not', async () => {
  const world = await openDaemonWorld(await openScene(), { accounts: ACCOUNTS, rules: rules(10) });
  for (const above of [10, 10, 12]) {
    await world.write({ accounts: ACCOUNTS, rules: rules(above) });
    const daemon = await world.start();
    if (above === 12) expect(await noted(daemon.state)).toHaveLength(2);
    await daemon.stop('the test', 30_000);
  }
});

test('processes that write notes at the same time lose none', async () => {
  const world = await openDaemonWorld(await openScene(), { accounts: ACCOUNTS, rules: rules(10) });
  const daemon = await world.start();
  const checksums = ['a', 'b', 'c', 'd'];
  await Promise.all(
    checksums.map((checksum) => {
      const config = { ...daemon.config(), checksum };
      return auditConfig(daemon.state, { config, instance: daemon.instance, atMs: 1 });
    }),
  );
  const found = (await noted(daemon.state)).slice(1).map((detail) => detail?.['checksum']);
  expect(found.map(String).sort()).toEqual(checksums);
});
