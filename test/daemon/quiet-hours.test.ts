import { expect, test } from 'vitest';
import type { Clock } from '../../src/core/ports/clock.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { expectOk, json, openOperatorWorld } from '../cli/operator.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { move, openScene, polls } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld, troubles } from './world.ts';

/** Notices in a chat, from daemons in and after quiet hours. */

const RULES = `  - id: early
    on: position
    severity: warning
    when: { markPrice: { below: 59500 } }
    do: [{ notify: { channels: [chat] } }]
  - id: stays
    on: position
    severity: warning
    when: { amount: { above: 0.01 } }
    do: [{ notify: { channels: [chat] } }]
  - id: last
    on: position
    severity: critical
    when: { amount: { above: 0.01 } }
    do: [{ notify: { channels: [chat] } }]
`;

const HOUR_MS = 3_600_000;
const clockAt = (aheadMs: number): Clock => ({
  nowMs: () => systemClock.nowMs() + aheadMs,
  monotonicMs: () => systemClock.monotonicMs(),
  sleep: (ms, signal) => systemClock.sleep(ms, signal),
});
const timeOf = (atMs: number): string => new Date(atMs).toISOString().slice(11, 16);

/** From an hour ago to one hour ahead. */
const quietNow = (): string =>
  `{ from: "${timeOf(Date.now() - HOUR_MS)}", to: "${timeOf(Date.now() + HOUR_MS)}" }`;

const textsOf = ({ received }: Receiver): readonly string[] => received.map(({ raw }) => raw);

const held = ({ events }: DaemonWorld, ruleId: string, kind: string) =>
  events.some(
    (event) =>
      event.kind === 'delivered' &&
      event.message.ruleId === ruleId &&
      event.message.kind === kind &&
      event.report.channel === 'chat' &&
      event.report.delivery.kind === 'held',
  );

test('a held-back notice outlives a restart, and two processes send it once when the window ends', async () => {
  const [simulator, chat] = [await openScene(), await startReceiver()];
  closeAfterTest(() => chat.close());
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['early', 'stays', 'last'] } },
    rules: RULES,
    more: `notify: { remindEvery: 1s, quietHours: ${quietNow()} }
channels: { chat: { type: slack, url: { env: CHAT } } }
`,
  });
  const env = { ...world.env, CHAT: chat.url };
  const wait = (holds: () => boolean, what: string) =>
    eventually(holds, what, () => [textsOf(chat), troubles(world.events)]);
  const night = await world.start({ env });
  move(simulator, -0.02);
  await wait(() => held(world, 'early', 'firing') && held(world, 'stays', 'reminder'), 'notices held back');
  move(simulator, 0.03);
  await wait(() => held(world, 'early', 'resolved'), 'the end held back');
  await wait(() => chat.received.length > 1, 'what is critical');
  for (const text of textsOf(chat)) expect(text).toMatch(/CRITICAL (still )?firing/);
  await night.stop('restart', 30_000);
  const before = chat.received.length;
  const ahead = clockAt(2 * HOUR_MS);
  await Promise.all([world.start({ env, clock: ahead }), world.start({ env, clock: ahead, ordinal: 1 })]);
  const collected = () =>
    textsOf(chat)
      .slice(before)
      .filter((text) => text.includes('Held back'));
  await wait(() => collected().length > 0, 'what was held back');
  const [text = ''] = collected();
  expect(text).toContain('Held back in quiet hours: 2 notices, 1 over by now');
  expect(text).toMatch(/WARNING (still )?firing: long BTC_PERP long, .* from liquidation \(stays\), since /);
  expect(text).toMatch(/Resolved: long BTC_PERP long, .* \(early\)\. It began at .* and ended at /);
  await polls(world, 'long', 5);
  expect(collected()).toHaveLength(1);
});

test('page, status and API say until when it is quiet and how many notices wait, until a reload ends it', async () => {
  const chat = await startReceiver();
  closeAfterTest(() => chat.close());
  const parts = (quiet: string) => ({
    accounts: { long: { rules: ['stays'] } },
    rules: RULES,
    more: `notify: { remindEvery: 1h${quiet} }
channels: { chat: { type: slack, url: { env: CHAT } } }
`,
  });
  const world = await openOperatorWorld(parts(`, quietHours: ${quietNow()}`));
  Object.assign(world.env, { CHAT: chat.url });
  const daemon = await world.start();
  const overview = async () => {
    const reply = await fetch(`${daemon.webUrl()}/api/v1/overview`);
    return (await reply.json()) as { quietHours: { words: string; held: number; untilMs: number } | null };
  };
  const wait = (holds: () => boolean | Promise<boolean>, what: string) =>
    eventually(holds, what, () => [textsOf(chat), troubles(world.events)]);
  await wait(() => held(world, 'stays', 'firing'), 'a notice held back');
  await wait(async () => (await overview()).quietHours?.held === 1, 'it counted');
  const { quietHours } = await overview();
  const { words, untilMs } = quietHours ?? expect.fail('not quiet');
  expect(words).toMatch(/^quiet hours until \d{4}-\d\d-\d\d \d\d:\d\d UTC: 1 notice is held back$/);
  expect(new Date(untilMs).toISOString().slice(11, 16)).toBe(words.slice(29, 34));
  const shown = await world.cli(['status']);
  expectOk(shown);
  expect(shown.stdout.split('\n')).toContain(words);
  expect(json(await world.cli(['status', '--json']))).toMatchObject({ quietHours });
  expect(chat.received).toEqual([]);
  await world.write(parts(''));
  expect((await daemon.reload()).kind).toBe('adopted');
  await wait(() => chat.received.length > 0, 'what was held back');
  await wait(async () => (await overview()).quietHours === null, 'no quiet hours');
  expect(json(await world.cli(['status', '--json']))).toMatchObject({ quietHours: null });
  expect((await world.cli(['status'])).stdout).not.toContain('quiet hours');
});
