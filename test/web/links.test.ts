import { afterEach, expect, test } from 'vitest';
import { createLinkDesk } from '../../src/app/web/link-desk.ts';
import type { LinkTarget } from '../../src/core/controls/signed-link.ts';
import { concealer } from '../../src/core/redaction/conceal.ts';
import type { NoticeLine } from '../../src/core/view/account-view.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createLinkSigner } from '../../src/state/links/link-signer.ts';
import { createMemoryLinkUses } from '../../src/state/links/link-uses.ts';
import { createMemoryState } from '../../src/state/state.ts';
import { accountView, ask, type Fixture, startFixture } from './fixture.ts';

const open: Fixture[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((fixture) => fixture.close()));
});

const SIGNER = createLinkSigner('an-operators-key-of-the-tests-000000');
const TARGET: LinkTarget = {
  kind: 'acknowledge',
  accountId: 'desk-1',
  ruleId: 'near',
  subject: 'position:42',
  episode: 7,
  stage: 0,
};

const linkTo = (target: LinkTarget, forMs = 60_000): string =>
  `/links/${SIGNER.token({ target, sentTo: 'ops', expiresAtMs: systemClock.nowMs() + forMs })}`;

const told = (changes: Partial<NoticeLine> = {}): NoticeLine => ({
  ruleId: 'near',
  subject: 'position:42',
  market: 'BTC_PERP',
  severity: 'critical',
  episode: 7,
  stage: 0,
  sinceMs: 1_000,
  toldAtMs: 1_000,
  acknowledged: null,
  ...changes,
});

interface World extends Fixture {
  readonly refused: string[];
  readonly acknowledgements: () => Promise<
    readonly { readonly accountId: string | null; readonly author: string }[]
  >;
  /** As a browser submits the form. */
  readonly press: (link: string, author?: string, headers?: Record<string, string>) => ReturnType<typeof ask>;
}

async function start(notices: Readonly<Record<string, readonly NoticeLine[]>>): Promise<World> {
  const state = createMemoryState({ clock: systemClock });
  const refused: string[] = [];
  const accounts = Object.entries(notices).map(([id, lines]) => accountView(id, { notices: lines }));
  const links = createLinkDesk({
    signer: SIGNER,
    uses: createMemoryLinkUses(),
    redact: concealer(['a-secret-of-the-config']),
    controls: state.controls,
    views: async (ids) => accounts.filter(({ accountId }) => ids?.includes(accountId) ?? true),
    clock: systemClock,
  });
  const onRefused = (why: string): void => void refused.push(why);
  const fixture = await startFixture({
    web: { links, onRefused, publicUrl: 'https://bw.example' },
    accounts,
  });
  open.push(fixture);
  return {
    ...fixture,
    refused,
    acknowledgements: () => state.controls.list(),
    press: (link, author = 'ann', headers = {}) =>
      ask(fixture.server, link, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ author }).toString(),
      }),
  };
}

test('a preview that follows a link changes nothing, with any method and any number of times', async () => {
  const world = await start({ 'desk-1': [told()] });
  const link = linkTo(TARGET);
  for (const method of ['GET', 'HEAD', 'GET']) {
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'user-agent': 'Slackbot',
    };
    expect((await ask(world.server, link, { method, headers })).status).toBe(200);
  }
  const shown = await ask(world.server, link);
  expect(shown.body).toContain('<button>Acknowledge</button>');
  expect(shown.body).toContain('near for position:42 of account desk-1');
  expect(await world.acknowledgements()).toEqual([]);
  expect(world.refused).toEqual([]);
});

test('the button acknowledges with user, channel and address; a replay shows who did it and when', async () => {
  const world = await start({ 'desk-1': [told()] });
  const link = linkTo(TARGET);
  const done = await world.press(link, ' ann\n\u2028{"x":1}  ');
  expect([done.status, done.body]).toEqual([200, expect.stringContaining('Acknowledged')]);
  const author = 'ann {"x":1}, by a link sent to ops (127.0.0.1)';
  expect((await world.acknowledgements()).map((one) => one.author.replaceAll(/ +/g, ' '))).toEqual([author]);
  for (const again of [await world.press(link, 'bob'), await ask(world.server, link)]) {
    expect(again.status).toBe(200);
    expect(again.body).toContain('This link has been used');
    expect(again.body).toMatch(
      /By ann .*by a link sent to ops \(127\.0\.0\.1\) at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/,
    );
    expect(again.body).not.toContain('<button>');
  }
  expect(await world.acknowledgements()).toHaveLength(1);
});

test('a secret that somebody types as a name is neither stored with the link nor shown', async () => {
  const world = await start({ 'desk-1': [told()] });
  const link = linkTo(TARGET);
  expect((await world.press(link, 'ann a-secret-of-the-config')).body).toContain('Acknowledged');
  const again = await ask(world.server, link);
  expect(again.body).toContain('By ann [redacted], by a link sent to ops');
  expect(again.body).not.toContain('a-secret-of-the-config');
});

test('of two people at once one succeeds, and both learn who', async () => {
  const world = await start({ 'desk-1': [told()] });
  const link = linkTo(TARGET);
  await Promise.all(['ann', 'bob', 'cem'].map((name) => world.press(link, name)));
  const [first, ...others] = await world.acknowledgements();
  expect(others).toEqual([]);
  const [name = ''] = (first?.author ?? '').split(',');
  expect((await world.press(link, 'dee')).body).toContain(`By ${name}, by a link sent to ops`);
});

test('a link of an overtaken message does nothing, and is not used up', async () => {
  const world = await start({ 'desk-1': [told({ stage: 1 })], 'desk-2': [told({ episode: 8 })] });
  const [worse, over] = [linkTo(TARGET), linkTo({ ...TARGET, accountId: 'desk-2' })];
  for (const link of [worse, over, worse]) {
    expect((await ask(world.server, link)).body).toContain('There is nothing to acknowledge');
    expect((await world.press(link)).body).toContain('There is nothing to acknowledge');
  }
  expect(await world.acknowledgements()).toEqual([]);
});

test('a link of one message about many accounts acknowledges those in it, and no later outage', async () => {
  const blind = (sinceMs: number) =>
    told({ ruleId: 'built-in/blind', subject: 'account', episode: sinceMs, sinceMs });
  const world = await start({ a: [blind(1_000)], b: [blind(2_000), told()], c: [blind(9_000)] });
  const target = {
    kind: 'acknowledgeAll',
    ruleId: 'built-in/blind',
    subject: 'account',
    saidAtMs: 2_000,
  } as const;
  expect((await ask(world.server, linkTo(target))).body).toContain('2 accounts: a, b');
  await world.press(linkTo(target));
  expect(new Set((await world.acknowledgements()).map(({ accountId }) => accountId))).toEqual(
    new Set(['a', 'b']),
  );
});

test('a wrong or expired link is reported and counted, and slows down its client', async () => {
  const world = await start({ 'desk-1': [told()] });
  const expired = await ask(world.server, linkTo(TARGET, -1));
  expect([expired.status, expired.body]).toEqual([410, expect.stringContaining('This link has expired')]);
  expect((await world.press(linkTo(TARGET, -1))).body).toContain('This link has expired');
  const wrong = await ask(world.server, `${linkTo(TARGET)}x`);
  expect([wrong.status, wrong.body]).toEqual([404, expect.stringContaining('This link is not valid')]);
  expect(world.refused).toEqual(['wrongLink', 'wrongLink', 'wrongLink']);
  for (let tries = 0; tries < 20; tries += 1) await ask(world.server, '/links/x');
  const slowed = await ask(world.server, linkTo(TARGET));
  expect([slowed.status, Number(slowed.headers['retry-after']) > 0]).toEqual([429, true]);
  expect(world.refused).toContain('slowedDown');
  expect(await world.acknowledgements()).toEqual([]);
  // Clients elsewhere are not slowed down.
  expect((await ask(world.server, linkTo(TARGET), { from: '127.0.0.2' })).status).toBe(200);
});

test('pages of other sites cannot press the button; a link accepts only its form', async () => {
  const world = await start({ 'desk-1': [told()] });
  const link = linkTo(TARGET);
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    expect((await world.press(link, 'ann', headers)).status).toBe(403);
  }
  expect(
    (
      await ask(world.server, link, {
        method: 'POST',
        body: 'x=1',
        headers: { 'content-type': 'text/plain' },
      })
    ).status,
  ).toBe(415);
  expect((await ask(world.server, link, { method: 'DELETE' })).status).toBe(404);
  expect(await world.acknowledgements()).toEqual([]);
  const own = { origin: 'https://bw.example', host: 'bw.example', 'sec-fetch-site': 'same-origin' };
  expect((await world.press(link, 'ann', own)).status).toBe(200);
  expect(await world.acknowledgements()).toHaveLength(1);
});

test('the page has no script, loads nothing and cannot be framed, with any names in it', async () => {
  const evil = '"><script>alert(1)</script>&';
  const world = await start({ 'desk-1': [told({ subject: evil })] });
  const shown = await ask(world.server, linkTo({ ...TARGET, subject: evil }));
  expect(shown.body).not.toMatch(/<script|src=|href=/);
  expect(shown.body).toContain('&lt;script&gt;');
  const policy = String(shown.headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; /);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(shown.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'same-origin' });
});
