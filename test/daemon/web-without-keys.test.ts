import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { LONG_CONFIG_CHARACTERS } from '../../src/app/examine-config.ts';
import { ask, CONTROL_TOKEN } from '../web/fixture.ts';
import { OPERATORS_KEY } from './config.ts';
import { openScene, polls } from './scene.ts';
import { openDaemonWorld } from './world.ts';

const PARTS = {
  accounts: {
    long: {
      rules: ['rule'],
      more: '    depositLink: { ticker: EUR, provider: CARD, byCard: false }\n',
    },
  },
  rules: `  - id: rule
    on: position
    when: { notional: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`,
  web: '{ port: 0, controlToken: { env: CONTROL_TOKEN } }',
};
const LESS = { OPERATORS_KEY, CONTROL_TOKEN };

async function open() {
  const world = await openDaemonWorld(await openScene(), PARTS);
  return { world, env: { ...world.env, CONTROL_TOKEN } };
}

test('the process that faces others (--roles web) needed every trading key', async () => {
  const { world, env } = await open();
  await world.start({ env, roles: ['poll', 'act', 'notify'] });
  await polls(world, 'long');
  const web = await world.start({ env: LESS, roles: ['web'], ordinal: 1 });
  const server = { port: Number(new URL(web.webUrl() ?? '').port) };
  const { json } = await ask(server, '/api/v1/overview');
  expect(json).toMatchObject({ accounts: 1, may: { topUp: true } });

  // A deposit link takes the key: the answer says so.
  const body = { subject: 'account', amount: '100' };
  const asked = { method: 'POST', token: CONTROL_TOKEN, body };
  const link = await ask(server, '/api/v1/accounts/long/top-ups', asked);
  expect([link.status, link.json]).toMatchObject([
    422,
    { error: { code: 'depositRefused', message: expect.stringContaining('no API key for this account') } },
  ]);

  // A reload needs them no more than the start, however long the file is.
  for (const padding of [0, LONG_CONFIG_CHARACTERS]) {
    const text = await readFile(world.configFile, 'utf8');
    await world.write(`${text.replace(/below: \d+/, `below: ${padding + 1}`)}#${'x'.repeat(padding)}\n`);
    expect((await web.reload()).kind).toBe('adopted');
  }
  expect(world.events.filter(({ kind }) => kind === 'company')).toEqual([]);
});

test('who polls or acts needs the keys, and who faces others every other secret', async () => {
  const { world } = await open();
  for (const roles of [['poll'], ['act', 'web']] as const)
    await expect(world.start({ env: LESS, roles })).rejects.toThrow(/KEY_long/);
  for (const name of ['OPERATORS_KEY', 'CONTROL_TOKEN'])
    await expect(world.start({ env: { ...LESS, [name]: '' }, roles: ['web'] })).rejects.toThrow(name);
});
