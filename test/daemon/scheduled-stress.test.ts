import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inTurn } from '../support/slice.ts';
import { startChild } from './child.ts';
import { openScene, ours } from './scene.ts';
import { type DaemonWorld, eventually, keysOf, openDaemonWorld, troubles } from './world.ts';

const plays = inTurn(['a reload', 'a stop'], 2, 'changes to a schedule of stress tests');

const RULES = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 12%, slippage: 0.5% } }]
`;

const ACCOUNTS = { long: { rules: ['near'] }, short: { rules: ['near'] } };

/** Simulated accounts are polled as often as the config says: at 1 s a run takes ten times the processor time. */
const stress = (text: string) => ({
  accounts: ACCOUNTS,
  rules: RULES,
  cadence: '{ calm: 10s, alert: 10s }',
  more: `stress: ${text}`,
});

const runs = ({ events }: DaemonWorld) => events.filter((event) => event.kind === 'stressed');

const claims = async (world: DaemonWorld) =>
  (await keysOf(world)).filter((key) => key.includes('{stress}:run:'));

async function read(url: string, path: string): Promise<string> {
  const answer = await fetch(url + path);
  expect(answer.status).toBe(200);
  return await answer.text();
}

/** The value of the series with these labels. */
function sample(text: string, name: string, ...labels: readonly string[]): number {
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`breakwater_${name}`) && labels.every((label) => one.includes(label)));
  return Number(line?.split(' ').at(-1));
}

test('of two processes one runs each stress test, and every page and scrape shows it', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(
    simulator,
    stress('{ at: "*/3 * * * * *", scenarios: [shock-down-50, shock-up-5], conditions: [calm] }'),
  );
  const first = await world.start();
  const second = await world.start({ ordinal: 1 });
  // The role that shows the result is the role that runs it.
  const onlyPolls = await world.start({ ordinal: 2, roles: ['poll'] });
  // Runs before the first reads had no positions to play. A run yields to all other work, so its duration is unbounded.
  const whole = () => runs(world).filter(({ accounts }) => accounts === 2);
  await eventually(
    () => whole().length >= 2,
    'two stress tests',
    () => troubles(world.events),
    100,
  );
  const reply = JSON.parse(await read(second.webUrl() ?? '', '/api/v1/stress')) as {
    scheduled: boolean;
    stored: { result: { accounts: number; cases: { scenario: string; liquidatedWithout: number }[] } };
  };
  expect(reply.scheduled).toBe(true);
  expect(reply.stored.result.accounts).toBe(2);
  expect(
    reply.stored.result.cases.map(({ scenario, liquidatedWithout }) => [scenario, liquidatedWithout]),
  ).toEqual([
    ['shock-down-50', 1],
    ['shock-up-5', 0],
  ]);
  const scrapes = await Promise.all([first, second].map((daemon) => read(daemon.webUrl() ?? '', '/metrics')));
  for (const text of scrapes) {
    const fall = ['scenario="shock-down-50"', 'conditions="calm"'];
    expect(sample(text, 'stress_liquidated_accounts', ...fall, 'protection="none"')).toBe(1);
    expect(sample(text, 'stress_account_liquidated', 'account="long"', ...fall, 'protection="rules"')).toBe(
      1,
    );
    expect(sample(text, 'stress_account_liquidated', 'account="short"', ...fall, 'protection="rules"')).toBe(
      0,
    );
    expect(sample(text, 'stress_account_equity_kept_ratio', 'account="short"', ...fall)).toBeGreaterThan(1);
    expect(sample(text, 'stress_accounts ')).toBe(2);
    expect(sample(text, 'stress_overdue_seconds ')).toBeLessThan(60);
    expect(sample(text, 'stress_last_run', 'outcome="complete"')).toBe(1);
  }
  for (const daemon of [first, second, onlyPolls]) await daemon.stop('counted', 30_000);
  // One claim for each finished run: if both had run it there would be two runs and one claim.
  expect((await claims(world)).length).toBe(runs(world).length);
  const later = runs(world).slice(runs(world).findIndex(({ accounts }) => accounts === 2));
  expect(later.map(({ outcome }) => outcome)).toEqual(later.map(() => 'complete'));
  // A simulated crash is not a crash.
  expect(ours(simulator, 'long')).toEqual([]);
});

test('before any account was read a stress test fails, instead of reporting that nobody holds a position', async () => {
  const simulator = await openScene();
  simulator.setRegion(0, { mode: 'down' });
  const world = await openDaemonWorld(simulator, stress('{ at: "* * * * * *", scenarios: [shock-down-5] }'));
  const daemon = await world.start();
  await eventually(
    () => runs(world).length > 0,
    'a stress test',
    () => troubles(world.events),
  );
  const stored = () => read(daemon.webUrl() ?? '', '/api/v1/stress').then((text) => JSON.parse(text).stored);
  await eventually(
    async () => (await stored()) !== null,
    'its outcome',
    () => troubles(world.events),
  );
  const { result, lastRun } = await stored();
  expect(result).toBeNull();
  expect(lastRun).toMatchObject({
    outcome: 'failed',
    words:
      'no account is known to hold a position (Account long: it has not been read yet, and 1 more like it)',
  });
});

test.runIf(plays('a reload'))(
  'without a schedule nothing runs, and a reload starts and ends it',
  async () => {
    const simulator = await openScene();
    const world = await openDaemonWorld(simulator, { accounts: ACCOUNTS, rules: RULES });
    const daemon = await world.start();
    const url = daemon.webUrl() ?? '';
    expect(JSON.parse(await read(url, '/api/v1/stress'))).toEqual({ scheduled: false, stored: null });
    expect(await read(url, '/metrics')).not.toMatch(/^breakwater_stress_/m);
    await world.write(stress('{ at: "* * * * * *", scenarios: [shock-down-5] }'));
    await daemon.reload();
    await eventually(
      () => runs(world).length > 0,
      'a stress test',
      () => troubles(world.events),
    );
    await world.write({ accounts: ACCOUNTS, rules: RULES });
    await daemon.reload();
    expect(JSON.parse(await read(url, '/api/v1/stress'))).toMatchObject({ scheduled: false });
  },
);

test.runIf(plays('a stop'))(
  'SIGTERM in the middle of a stress test ends gracefully, and leaves the run to the next process',
  async () => {
    const simulator = await openScene();
    const world = await openDaemonWorld(
      simulator,
      stress('{ at: "* * * * * *", scenarios: [2022-11-08, 2020-03-12] }'),
    );
    const child = startChild(world);
    const { output } = child;
    await child.watching;
    const finished = () => output().split('"stressed"').length - 1;
    // A run still under way after a while: the first ones know no position yet, and end at once.
    await eventually(
      async () => {
        const begun = (await claims(world)).length;
        await sleep(500);
        return begun > finished();
      },
      'a run that is under way',
      () => output(),
    );
    expect(await child.stop()).toBe(0);
    expect(output()).toContain('"stopped"');
    expect(output()).not.toContain('not everything had ended');
    // The interrupted run has released its claim.
    expect(await claims(world)).toHaveLength(finished());
  },
);
