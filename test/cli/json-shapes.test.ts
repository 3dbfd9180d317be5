import path from 'node:path';
import { expect, test } from 'vitest';
import { JSON_SHAPES } from '../../scripts/documents/json-shapes.ts';
import { polls } from '../daemon/scene.ts';
import { json, openOperatorWorld } from './operator.ts';

const BY = ['--author', 'ann', '--reason', 'looking into it'];
const NEAR = `  - id: near
    on: position
    when: { liquidationDistance: { below: 90% } }
    do: [{ notify: { channels: [log] } }]
`;

test('commands print what docs/json.md says, and no more', async () => {
  const world = await openOperatorWorld({ accounts: { long: { rules: ['near'] } }, rules: NEAR });
  await world.start();
  await polls(world, 'long', 3);
  const lifted = 'resume`, `silence --lift`, `acknowledge --lift';
  const out = path.join(path.dirname(world.configFile), 'pruned.audit');
  const said: readonly (readonly [keyof typeof JSON_SHAPES, ...string[]])[] = [
    ['pause', 'pause', ...BY],
    ['silence', 'silence', '--rule', 'near', '--for', '1h', ...BY],
    ['acknowledge', 'acknowledge', '--all', ...BY],
    ['status', 'status'],
    [lifted, 'acknowledge', '--all', '--lift', ...BY],
    [lifted, 'silence', '--rule', 'near', '--lift', ...BY],
    [lifted, 'resume', ...BY],
    ['audit prune', 'audit', 'prune', '--account', 'long', '--keep', '1', '--out', out, '--yes', ...BY],
  ];
  for (const [shape, ...args] of said) {
    const { error } = JSON_SHAPES[shape].safeParse(json(await world.cli([...args, '--json'])));
    expect([args, error?.issues]).toEqual([args, undefined]);
  }
});
