import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { JSON_SHAPES } from '../../scripts/documents/json-shapes.ts';
import { polls } from '../daemon/scene.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';
import { shapeFault, shapeNameOf } from '../support/json-shapes.ts';
import { jsonLines, openOperatorWorld } from './operator.ts';

const BY = ['--author', 'ann', '--reason', 'looking into it'];
const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 90% } }
    do: [{ notify: { channels: [log] } }]
`;

/** Every line that any test prints with `--json` is compared with its shape; these need more than an operator. */
const SHAPES_OF_OTHER_TESTS: Readonly<Record<string, string>> = {
  'approve ACCOUNT REFERENCE`, `veto ACCOUNT REFERENCE': 'test/daemon/approval.test.ts',
  'approve`, `veto': 'test/daemon/approval.test.ts',
  call: 'test/cli/call.test.ts',
  demo: 'test/demo/demo.test.ts',
  init: 'test/cli/init/init.test.ts',
  replay: 'test/cli/replay/replay.test.ts',
  stress: 'test/cli/replay/stress.test.ts',
};

test('every command prints what docs/json.md says, and no more', async () => {
  const world = await openOperatorWorld({ accounts: { long: { rules: ['near'] } }, rules: NEAR });
  await world.start();
  await polls(world, 'long', 3);
  const folder = path.dirname(world.configFile);
  const [exported, pruned] = [path.join(folder, 'all.audit'), path.join(folder, 'pruned.audit')];
  const seen = new Set<string>();
  const say = async (...args: readonly string[]) => {
    const [last] = jsonLines(await world.cli([...args, '--json'])).slice(-1);
    if (last === undefined) throw new Error(`${args.join(' ')}: nothing is printed`);
    seen.add(shapeNameOf(args) ?? '');
    return last;
  };
  const saySomewhere = async (args: readonly string[], signal = new AbortController().signal) => {
    const { stdout } = await runCommandLine([...args, '--json'], { env: world.env, signal });
    expect([args, stdout]).not.toEqual([args, '']);
    seen.add(shapeNameOf(args) ?? '');
  };
  const long = ['--account', 'long'];
  for (const args of [
    ['status'],
    ['doctor'],
    ['notify', 'test', '--channel', 'log'],
    ['acknowledge'],
    ['acknowledge', '--all', ...BY],
    ['acknowledge', '--all', '--lift', ...BY],
    ['pause', ...BY],
    ['pause', '--list'],
    ['silence', '--rule', 'near', '--for', '1h', ...BY],
    ['silence', '--list'],
    ['status'],
    ['silence', '--rule', 'near', '--lift', ...BY],
    ['audit', 'tail', ...long],
    ['audit', 'verify'],
    ['audit', 'export', ...long, '--out', exported],
    ['report'],
    ['digest'],
  ]) {
    await say(...args);
  }
  const { order } = await say('flatten', ...long, ...BY, '--yes');
  await say('reduce', ...long, '--withdraw', (order as { readonly id: string }).id, ...BY, '--yes');
  await say('resume', ...BY);
  await say('audit', 'prune', ...long, '--keep', '1', '--out', pruned, '--yes', ...BY);
  await say('audit', 'verify', '--file', exported);
  await saySomewhere(['check', world.configFile]);
  await saySomewhere(['check', world.configFile, '--print']);
  for (const command of ['call --list', 'simulate --list', 'stress --list', 'token ann', 'version'])
    await saySomewhere(command.split(' '));
  // Stopped before it begins, it still says where it listens.
  await saySomewhere(['simulate', '--port', '0'], AbortSignal.abort(ctrlC()));
  for (const file of Object.values(SHAPES_OF_OTHER_TESTS))
    expect([file, existsSync(file)]).toEqual([file, true]);
  const known = [...seen, ...Object.keys(SHAPES_OF_OTHER_TESTS)];
  expect(known.toSorted()).toEqual(Object.keys(JSON_SHAPES).toSorted());
});

test('a field more, a field less, a long figure and an unknown command are faults', () => {
  const printed = { version: '1', node: 'v24', platform: 'linux', arch: 'x64' };
  const faultOf = (value: object, command = 'version') => shapeFault([command], JSON.stringify(value));
  expect(faultOf(printed)).toBeUndefined();
  expect(faultOf({ ...printed, more: 1 })).toContain('more');
  expect(faultOf({ ...printed, arch: undefined })).toContain('arch');
  const played = (wallMs: number) => faultOf({ event: 'replay', seed: 1, wallMs, variants: [] }, 'replay');
  expect(played(25.74)).toBeUndefined();
  expect(played(25.740000000000002)).toBe('25.740000000000002 has more than 15 digits');
  expect(faultOf(printed, 'new-command')).toContain('does not have this command');
});
