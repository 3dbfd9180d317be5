import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { OPERATOR_CHAIN } from '../../src/core/audit/audit-record.ts';
import { controlsInForce, isSilenced } from '../../src/core/controls/controls.ts';
import { runCommandLine } from '../support/cli.ts';
import { expectOk, json, jsonLines, type OperatorWorld, openAnsweringWorld, stored } from './operator.ts';

const BY = ['--author', 'ann', '--reason', 'maintenance of the exchange'];

async function inForce(world: OperatorWorld, accountId: string) {
  return controlsInForce((await stored(world.state, accountId)).controls, accountId, Date.now());
}

test('pause and resume, for all and for one account, are in force in the shared state when the command ends', async () => {
  const world = await openAnsweringWorld();
  const everywhere = await world.cli(['pause', ...BY, '--for', '2h', '--json']);
  expectOk(everywhere);
  expect(everywhere.stderr).toBe('No process that acts runs: it holds for those that start.\n');
  const pause = json(everywhere);
  expect(pause).toMatchObject({
    kind: 'pause',
    accountId: null,
    author: 'ann (this machine)',
    reason: BY[3],
  });
  expect(Number(pause['expiresAtMs']) - Number(pause['atMs'])).toBeLessThanOrEqual(7_200_000);
  expect(Number(pause['expiresAtMs']) - Number(pause['atMs'])).toBeGreaterThan(7_190_000);
  for (const id of ['long', 'hedged'])
    expect((await inForce(world, id)).pause).toMatchObject({ id: pause['id'] });

  const one = await world.cli(['pause', '--account', 'long', ...BY]);
  expect(one.stderr).toMatch(/has no end: nothing acts until .* breakwater resume --account long/);
  expect(one.stdout).toMatch(/^Paused: account long, until it is lifted \(\w+\)\.\n$/);
  const listed = jsonLines(await world.cli(['pause', '--list', '--json']));
  expect(listed.map((entry) => entry['accountId'])).toEqual([null, 'long']);

  const lifted = await world.cli(['resume', ...BY]);
  expect(lifted.stdout).toBe('Lifted: pause of every account.\n');
  expect(lifted.stderr).toMatch(
    /^Still paused: account long, until it is lifted: ann \(this machine\): maintenance/m,
  );
  expect((await inForce(world, 'hedged')).pause).toBeUndefined();
  expect((await inForce(world, 'long')).pause).toMatchObject({ accountId: 'long' });
  expect(json(await world.cli(['resume', '--account', 'long', ...BY, '--json']))['lifted']).toHaveLength(1);
  expect((await inForce(world, 'long')).pause).toBeUndefined();
  expect((await world.cli(['resume', ...BY])).stdout).toBe('There was nothing to lift.\n');

  const chain = await world.state.audit.tail(OPERATOR_CHAIN, 10);
  const changes = chain.map(({ record }) => record.content).filter(({ kind }) => kind === 'control');
  expect(changes).toMatchObject([
    { kind: 'control', change: 'put', by: { author: 'ann (this machine)', reason: BY[3] } },
    { kind: 'control', change: 'lifted', by: { author: 'ann (this machine)' } },
  ]);
});

test('a silence holds back one rule for one subject, replaces one of the same scope, and can be lifted', async () => {
  const world = await openAnsweringWorld();
  const scope = ['silence', '--rule', 'far', '--subject', 'position:7', '--account', 'long', ...BY];
  expect((await world.cli([...scope, '--for', '1h'])).exitCode).toBe(EXIT.ok);
  const again = json(await world.cli([...scope, '--for', '30m', '--json']));
  const now = await inForce(world, 'long');
  expect(now.silences).toMatchObject([{ id: again['id'], ruleId: 'far', subject: 'position:7' }]);
  expect(isSilenced(now, 'far', 'position:7')).toBe(true);
  expect(isSilenced(now, 'far', 'position:8')).toBe(false);
  expect((await inForce(world, 'hedged')).silences).toEqual([]);
  expect((await world.cli(['silence', '--list'])).stdout).toMatch(
    /rule far on position:7 of account long .* ann \(this machine\) +maint/,
  );
  expect((await world.cli(['pause', '--list'])).stdout).toBe('Nothing is paused.\n');
  // Another scope.
  expect((await world.cli(['silence', '--rule', 'far', '--lift', ...BY])).stdout).toBe(
    'There was no such silence.\n',
  );
  expect(json(await world.cli([...scope, '--lift', '--json']))['lifted']).toMatchObject([
    { id: again['id'] },
  ]);
  expect((await inForce(world, 'long')).silences).toEqual([]);
});

test('`acknowledge` of an unknown rule fails', async () => {
  const world = await openAnsweringWorld();
  const typo = await world.cli(['acknowledge', '--rule', 'nosuch', ...BY]);
  expect([typo.exitCode, typo.stdout]).toEqual([EXIT.usage, '']);
  expect(typo.stderr).toMatch(/nothing is open of a rule "nosuch"\. Nothing is open\./);
  // A rule that exists may be over by the time somebody acknowledges it.
  for (const rule of ['far', 'built-in/blind']) {
    const over = await world.cli(['acknowledge', '--rule', rule, ...BY]);
    expect([over.exitCode, over.stdout]).toEqual([EXIT.ok, 'Nothing of it is open.\n']);
  }
});

test('the author defaults to the system user', async () => {
  const world = await openAnsweringWorld();
  const reason = ['--reason', 'test'];
  expect(json(await world.cli(['pause', ...reason, '--json']))['author']).toMatch(/\S/);
  const sudo = { env: { ...world.env, SUDO_USER: 'berta' } };
  expect(json(await world.cli(['pause', ...reason, '--json'], sudo))['author']).toBe('berta (this machine)');
});

test.each([
  [['pause'], /^breakwater: a pause needs a reason\. Add --reason/],
  [['pause', '--reason', ' '], /not empty/],
  [['pause', '--reason', 'x', '--for', '2 hours'], /Expected a duration such as .* Did you mean 2h\?/],
  [['pause', '--reason', 'x', '--for', '0s'], /Expected a duration/],
  [['pause', '--account', 'lnog', '--reason', 'x'], /there is no account "lnog"\. Did you mean long\?/],
  [['resume', '--account', 'long', '--id', 'abc', '--reason', 'x'], /two ways/],
  [['silence', '--reason', 'x', '--for', '1h'], /name the rule/],
  [['silence', '--rule', 'far', '--reason', 'x'], /a silence has an end\. Add --for/],
  [
    ['silence', '--rule', 'fra', '--reason', 'x', '--for', '1h'],
    /no account has a rule "fra"\. Did you mean far\?/,
  ],
  [['silence', '--rule', 'far', '--subject', '42', '--reason', 'x', '--for', '1h'], /expected position:ID/],
])('%j is refused with one line and a cure, and changes nothing', async (args, message) => {
  const world = await openAnsweringWorld();
  const run = await world.cli(args);
  expect(run.exitCode).toBe(EXIT.usage);
  expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(run.stderr).toMatch(message);
  expect(run.stdout).toBe('');
  expect(await world.state.controls.list()).toEqual([]);
});

test('`run --instance 9` is refused: doctor uses that number', async () => {
  const run = await runCommandLine(['run', '--instance', '9', '--config', '/nonexistent.yaml']);
  expect([run.exitCode, run.stderr]).toEqual([EXIT.usage, expect.stringContaining('0 to 8')]);
});
