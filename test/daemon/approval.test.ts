import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { json, jsonLines, type OperatorWorld, openOperatorWorld } from '../cli/operator.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { hasFilled, move, ours, sizeOf } from './scene.ts';
import { eventually, troubles } from './world.ts';

/** People are asked over a real channel, and answer at a shell and over HTTP; checked by the exchange's ledger. */

const TOKEN = 'a-control-token-for-tests-000000000000';

interface Told {
  readonly kind: string;
  readonly title: string;
  readonly text: string;
}

async function openAsking(within: string) {
  const receiver = await startReceiver();
  closeAfterTest(() => receiver.close());
  const rules = `  - id: halve
    on: position
    severity: critical
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
  const world = await openOperatorWorld({
    mode: 'approve',
    accounts: { long: { rules: ['halve'] } },
    rules,
    web: '{ port: 0, controlToken: { env: CONTROL } }',
    more: `approval: { within: ${within} }
channels:
  hook: { type: webhook, url: ${receiver.url}/hook, secret: { env: OPERATORS_KEY } }
`,
  });
  Object.assign(world.env, { CONTROL: TOKEN });
  const told = () => receiver.received.map(({ json: body }) => body as unknown as Told);
  return { world, told };
}

async function asked(world: OperatorWorld) {
  const waits = async () => {
    const run = await world.cli(['approve', '--json']);
    return run.stdout.includes('"delivered":true');
  };
  await eventually(waits, 'a question of which somebody was told', () => troubles(world.events));
  const [question] = jsonLines(await world.cli(['veto', 'long', '--json']));
  return question ?? expect.fail('nobody is asked');
}

test('asked over a channel and approved at a shell it acts; nothing was sent before', async () => {
  const { world, told } = await openAsking('20s');
  await world.start();
  const question = await asked(world);
  const reference = String(question['reference']);
  expect(ours(world.simulator, 'long')).toEqual([]);
  const notice = told().find(({ kind }) => kind === 'approval') ?? expect.fail('no notice');
  expect(notice.title).toMatch(/^CRITICAL asks for approval: long BTC_PERP long/);
  expect(notice.text).toMatch(
    /It would send: sell 0\.25 BTC_PERP once the price is [\d.]+ or less, limit [\d.]+\./,
  );
  expect(notice.text).toContain(`To approve: breakwater approve long ${reference}`);
  expect(notice.text).toContain(`To veto: breakwater veto long ${reference}`);
  expect(notice.text).toMatch(/UTC\)?; without an answer it acts\./);
  const listed = await world.cli(['approve']);
  expect(listed.stdout).toContain('sell 0.25 BTC_PERP');
  const status = await world.cli(['status']);
  expect(status.stdout).toContain('waiting for approval until');
  const by = ['--author', 'ann', '--reason', 'seen', '--yes', '--json'];
  const { decision } = json(await world.cli(['approve', 'long', reference, ...by]));
  expect(decision).toBe('approve');
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const settled = () => told().find(({ title }) => title.includes('approval settled'));
  await eventually(() => settled() !== undefined, 'what became of it');
  // Both lines name the same mode: it acts, it does not only observe.
  expect(settled()?.text).toContain('it acts now');
  expect(settled()?.text).not.toMatch(/only observing|would send|Would be sent|held back:/);
  move(world.simulator, -0.01);
  await eventually(
    () => hasFilled(world.simulator, 'long', 0.3),
    'half of it closed',
    () => troubles(world.events),
  );
  const again = await world.cli(['veto', 'long', reference, '--reason', 'too late']);
  expect(again.exitCode).toBe(EXIT.failed);
  expect(again.stderr).toMatch(/ann \(this machine\) approved|is not waited for|nobody is asked/);
});

test('vetoed over HTTP it sends nothing, even past its deadline and after a restart', async () => {
  const { world } = await openAsking('6s');
  const daemon = await world.start();
  const question = await asked(world);
  const path = `${daemon.webUrl()}/api/v1/accounts/long/answers`;
  const post = async (body: object, token = TOKEN) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const veto = { reference: question['reference'], decision: 'veto', author: 'ben', reason: 'hedged' };
  expect((await post(veto, 'somebody-elses-token-0000000000000000')).status).toBe(401);
  expect((await post({ ...veto, reference: 'none' })).status).toBe(400);
  expect((await post({ ...veto, reference: '00000000-1' })).status).toBe(404);
  const answered = await post(veto);
  expect(answered.status).toBe(201);
  expect(await answered.json()).toMatchObject({ decision: 'veto', author: expect.stringContaining('ben') });
  expect((await post({ ...veto, decision: 'approve', author: 'ann' })).status).toBe(409);
  await daemon.stop('a restart in between', 30_000);
  await world.start();
  const isOver = async () => json(await world.cli(['status', '--account', 'long', '--json']));
  await eventually(
    async () =>
      Date.now() > Number(question['untilMs']) + 1_000 && JSON.stringify(await isOver()).includes('vetoed'),
    'the deadline to pass',
    () => troubles(world.events),
  );
  expect(ours(world.simulator, 'long')).toEqual([]);
  expect(sizeOf(world.simulator, 'long')).toBe(0.5);
});

test('with too little time for an answer it acts at once, and says that nobody was asked', async () => {
  const { world, told } = await openAsking('10m');
  await world.start();
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await eventually(() => told().length > 0, 'a message');
  const [first] = told();
  expect([first?.kind, first?.title]).toEqual(['alarm', expect.stringMatching(/^CRITICAL alarm: long/)]);
  expect(first?.text).toMatch(
    /it acts at once and nobody is asked: liquidation may come before an answer would \(people have 10 min for one\)/,
  );
  expect(told().filter(({ text }) => text.includes('nobody is asked'))).toHaveLength(1);
  expect((await world.cli(['approve'])).stdout).toBe('Nobody is asked anything.\n');
});
