import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { accountRow } from '../../src/core/lines/account-row.ts';
import { account, CALM, creditLine, position, rule } from '../support/account-view.ts';
import { hasBrowser, launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';
import { inTurn } from '../support/slice.ts';
import { asked, endangered, type Fixture, type FixtureState, overview, startFixture } from './fixture.ts';

const plays = inTurn(
  [
    'same nodes',
    'focus',
    'only reading',
    'silence',
    'read token',
    'credit line',
    'story',
    'many accounts',
    'keyboard',
    'dark',
    'nowhere',
  ],
  3,
  'parts of the page',
);

/** The page in a real browser, against a scripted API. */

const LOAN = 'creditLine:USDT@1700000000';
const NOT_LIVE = 'STALE';
const WOULD_SEND = /sell 0\.25 BTC_PERP once the price is 29.?471 or less, limit 29.?200/;

let browser: Browser;
let fixture: Fixture | undefined;
let watched: WatchedPage | undefined;

async function open(state: Partial<FixtureState>, path = '/', options: Parameters<typeof openPage>[1] = {}) {
  fixture = await startFixture(state);
  watched = await openPage(browser, options);
  await watched.page.goto(fixture.url + path);
  return { fixture, page: watched.page, complaints: watched.complaints };
}

async function sees(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}

/** Polls the condition, with time for a busy machine. */
async function becomes<T>(look: () => Promise<T> | T, expected: T): Promise<void> {
  await expect.poll(look, { interval: 50 }).toEqual(expected);
}

async function evaluate<T>(page: Page, expression: string): Promise<T> {
  return (await page.evaluate(expression)) as T;
}

async function expand(page: Page, accountId: string): Promise<void> {
  const row = page.locator('.account', { has: page.getByText(accountId, { exact: true }) });
  await row.locator('.row-toggle').click();
  await row.locator('.subject').first().waitFor();
}

const namesOf = (page: Page) => page.locator('.row-id').allTextContents();

const lastSent = (asked: Fixture['asked'], method = 'POST') => asked.findLast((one) => one.method === method);

describe.skipIf(!hasBrowser())('the page', () => {
  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  afterEach(async () => {
    const { url = '' } = fixture ?? {};
    const foreign = watched?.foreign(url) ?? [];
    await watched?.page.context().close();
    await fixture?.close();
    [fixture, watched] = [undefined, undefined];
    expect(foreign).toEqual([]);
  });

  const two = () => ({
    overview: overview({ accounts: 2, firing: { critical: 1, warning: 0, info: 0 } }),
    accounts: [account('calm-desk'), endangered('hot-desk')],
  });

  it('shows the most endangered account first, with its firing rules and actions, in words', async () => {
    const { page, complaints } = await open(two());
    await sees(page, 'acting: reducing BTC_PERP until 10 % away');
    // The sentence appears before the list.
    await becomes(() => namesOf(page), ['hot-desk', 'calm-desk']);
    expect(await page.locator('.row .state-words').first().textContent()).toContain(
      'Acting: reducing BTC_PERP until 10 % away',
    );
    await expand(page, 'hot-desk');
    const hot = page.locator('.account').first();
    const text = (await hot.textContent()) ?? '';
    for (const words of [
      '4.12\u00a0% to liquidation',
      'Firing, critical',
      'liquidationDistance 4.12 % is below 5 %',
    ]) {
      expect(text).toContain(words);
    }
    for (const words of [
      '5\u00a0%',
      'near-liquidation',
      'reduce until 10 % from liquidation',
      'Stopin place',
    ]) {
      expect(text).toContain(words);
    }
    const bar = hot.locator('.subject').getByRole('meter');
    expect(await bar.getAttribute('aria-valuetext')).toContain('Thresholds: thin-cushion 10');
    expect(await page.title()).toBe('(1!) Breakwater');
    expect(complaints).toEqual([]);
  });

  it.runIf(plays('same nodes'))('follows events without a reload, in the very same nodes', async () => {
    const { fixture: server, page, complaints } = await open({ accounts: [account('desk')] });
    await sees(page, 'desk calm: 15.25 % from liquidation (BTC_PERP).');
    await expand(page, 'desk');
    await evaluate(page, 'document.querySelector(".subject").isTheSame = true; window.isTheSame = true');
    const hot = endangered('desk');
    server.changeOverview({ firing: { critical: 1, warning: 0, info: 0 } });
    server.changeAccount('desk', hot);
    await sees(page, 'acting: reducing BTC_PERP until 10 % away');
    await sees(page, 'liquidationDistance 4.12 % is below 5 %');
    server.emit('action', {
      id: 'desk:9',
      accountId: 'desk',
      market: 'BTC_PERP',
      positionId: '1',
      kind: 'place',
      outcome: 'accepted',
      reason: 'rule',
      atMs: Date.now(),
      tookMs: 48,
      words: 'sell 0.88 BTC_PERP',
    });
    await sees(page, 'took 48\u00a0ms');
    server.changeOverview({ firing: { critical: 0, warning: 0, info: 0 } });
    server.changeAccount(
      'desk',
      account('desk', { positions: [position('1', { liquidationDistance: 0.11 })] }),
    );
    await sees(page, '11.0\u00a0% to liquidation');
    await sees(page, 'calm: 15.25 % from liquidation');
    expect(await evaluate(page, 'document.querySelector(".subject").isTheSame && window.isTheSame')).toBe(
      true,
    );
    expect(complaints).toEqual([]);
  });

  it.runIf(plays('focus'))('keeps the focus and open details when the order changes', async () => {
    const distances = (of: Readonly<Record<string, number>>) =>
      Object.entries(of).map(([id, nearest]) => account(id, { nearest }));
    const first = distances({ a: 0.1, b: 0.2, c: 0.3 });
    const { fixture: server, page } = await open({ overview: overview({ accounts: 3 }), accounts: first });
    await becomes(() => namesOf(page), ['a', 'b', 'c']);
    await expand(page, 'c');
    const toggle = page.locator('.row-toggle', { hasText: /: c$/ });
    const focused = () => evaluate<string>(page, 'document.activeElement.textContent');
    const watching = { ...CALM, kind: 'watching', cause: 'rulePending', severity: 'info' } as const;
    for (const [order, state] of [
      [{ c: 0.1, a: 0.2, b: 0.3 }, watching],
      [{ b: 0.1, c: 0.2, a: 0.3 }, CALM],
    ] as const) {
      await toggle.focus();
      server.state.accounts = distances(order);
      server.emit('rows', { rows: server.state.accounts.map(accountRow) });
      // The order is computed anew where the count of a state changes.
      server.changeAccount(Object.keys(order)[0] ?? '', { state });
      await becomes(() => namesOf(page), Object.keys(order));
      expect(await focused()).toMatch(/^\w+: c$/);
      expect(await page.locator('.subject').count()).toBe(1);
    }
  });

  it('says loudly when it is no longer live, and reconnects by itself', async () => {
    const { fixture: server, page } = await open({ accounts: [account('desk')] });
    await sees(page, 'calm: 15.25 % from liquidation');
    server.state.isDown = true;
    server.cut();
    await sees(page, NOT_LIVE);
    const alert = page.getByRole('alert').filter({ hasText: NOT_LIVE });
    expect(await alert.textContent()).toContain('may no longer be true');
    await sees(page, 'Not live');
    await sees(page, 'When last heard: desk calm: 15.25 % from liquidation');
    await becomes(async () => (await page.title()).startsWith('STALE'), true);
    server.state.isDown = false;
    server.state.accounts = [endangered('desk')];
    server.state.overview = overview({ firing: { critical: 1, warning: 0, info: 0 } });
    await sees(page, 'acting: reducing BTC_PERP until 10 % away');
    await becomes(() => alert.isVisible(), false);
    await expand(page, 'desk');
    await sees(page, 'liquidationDistance 4.12 % is below 5 %');
  });

  it('shows external text as text, whatever it looks like', async () => {
    const evil = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
    const {
      fixture: server,
      page,
      complaints,
    } = await open({
      accounts: [
        account(evil, {
          labels: { [evil]: evil },
          positions: [position(evil, { market: evil })],
          rules: [rule(evil, `position:${evil}`, { phase: 'firing', reason: evil, condition: evil })],
          doubts: [{ market: evil, why: evil, sinceMs: 0 }],
        }),
      ],
      stories: { [evil]: [{ seq: 1, part: 0, atMs: 0, kind: evil, words: evil, outcome: evil, detail: {} }] },
    });
    await expand(page, evil);
    await page.getByRole('link', { name: 'Rules, orders, data and story' }).click();
    await page.getByRole('heading', { level: 1, name: evil }).waitFor();
    await sees(page, 'Details and inputs');
    await page.goto(
      `${server.url}/accounts/${encodeURIComponent(evil)}/positions/${encodeURIComponent(evil)}`,
    );
    await page.getByRole('heading', { level: 1, name: evil }).waitFor();
    expect(await evaluate(page, 'document.querySelectorAll("img, main script").length')).toBe(0);
    expect(await evaluate(page, 'window.hit')).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  it('pauses with the token; a wrong one changes nothing and is reported as wrong', async () => {
    const { fixture: server, page } = await open({ accounts: [account('desk')] });
    await sees(page, 'Live');
    const pause = page.getByRole('button', { name: 'Pause actions' });
    await pause.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('exchange maintenance');
    await dialog.getByLabel('Your name').fill('ann');
    await dialog.getByLabel('For how long').selectOption('4 hours');
    await dialog.getByLabel('Control token').fill('not the token');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText('The control token is wrong. Nothing was changed').waitFor();
    expect(server.state.overview.pauses).toEqual([]);
    expect(await evaluate(page, 'sessionStorage.getItem("breakwater.controlToken")')).toBeNull();

    await dialog.getByLabel('Control token').fill('the-control-token');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body, authorization } = lastSent(server.asked) ?? {};
    expect(body).toEqual({
      accountId: null,
      reason: 'exchange maintenance',
      author: 'ann',
      forMs: 14_400_000,
    });
    expect(authorization).toBe('Bearer the-control-token');
    expect(await evaluate(page, 'JSON.stringify(localStorage) + document.cookie')).not.toContain('token');
    server.emit('overview', { changed: { pauses: server.state.overview.pauses } });
    await sees(page, 'Actions of all accounts are paused.');
    await sees(page, 'ann: exchange maintenance.');

    await page.getByRole('button', { name: 'Resume all accounts' }).click();
    // The token is remembered, and not asked for again.
    expect(await dialog.getByLabel('Control token').isVisible()).toBe(false);
    await dialog.getByLabel('Reason').fill('over');
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(lastSent(server.asked, 'DELETE')).toMatchObject({
      path: '/pauses/p1',
      body: { reason: 'over', author: 'ann' },
    });
    await page.getByRole('button', { name: 'Forget token' }).click();
    expect(await evaluate(page, 'sessionStorage.getItem("breakwater.controlToken")')).toBeNull();
  });

  it('previews the order, sends it once, and withdraws it', async () => {
    const preview = {
      plan: [{ label: 'will send', text: 'a reduce-only sell stop at about 29471' }],
      closesWhen: 'To be flat now use the exchange.',
      obstacles: ['The account is paused.'],
    };
    const { fixture: server, page } = await open({ accounts: [account('desk')], preview });
    await expand(page, 'desk');
    await page.getByRole('button', { name: 'Reduce or close' }).click();
    const dialog = page.getByRole('dialog', { name: 'Reduce or close in desk' });
    await dialog.getByLabel('How far').selectOption('Take away a part of its size');
    await dialog.getByLabel('Part in percent').fill('12.5');
    await dialog.getByLabel('Slippage').fill('1 %, 3');
    await dialog.getByLabel('Reason').fill('event risk');
    await dialog.getByLabel('Your name').fill('ann');
    await dialog.getByLabel('Control token').fill('the-control-token');
    await dialog.getByRole('button', { name: 'Show the order' }).click();
    for (const words of [
      'a reduce-only sell stop at about 29471',
      preview.closesWhen,
      ...preview.obstacles,
    ]) {
      await dialog.getByText(words).waitFor();
    }
    const made = () => server.asked.filter(({ path }) => path === '/accounts/desk/orders');
    expect(made()).toEqual([]);
    // Back leads to the entered values.
    await dialog.getByRole('button', { name: 'Back' }).click();
    expect(await dialog.getByLabel('Part in percent').inputValue()).toBe('12.5');
    await dialog.getByRole('button', { name: 'Show the order' }).click();
    await dialog.getByRole('button', { name: 'Order it' }).click();
    await dialog.waitFor({ state: 'detached' });
    const order = {
      kind: 'reduce',
      positionId: '1',
      target: { kind: 'by', fraction: 0.125 },
      slippageSteps: [0.01, 0.03],
    };
    expect(made().map(({ body }) => body)).toEqual([
      { order, reason: 'event risk', author: 'ann', key: expect.stringMatching(/^[0-9a-f]{16}$/) },
    ]);
    const said = { author: 'ann', reason: 'event risk', atMs: 0, expiresAtMs: 0 };
    const inbox = [
      { kind: 'withdraw', id: 'o0', orderId: 'x', ...said },
      { kind: 'reduce', id: 'o1', ...said },
    ];
    server.changeAccount('desk', { inbox: inbox as never });
    await sees(page, 'not begun, by ann: event risk');
    await page.getByRole('button', { name: 'Withdraw the order o1' }).click();
    const back = page.getByRole('dialog', { name: 'Withdraw the order o1' });
    await back.getByLabel('Reason').fill('over');
    await back.getByRole('button', { name: 'Withdraw it' }).click();
    await back.waitFor({ state: 'detached' });
    expect(lastSent(server.asked, 'DELETE')).toMatchObject({
      path: '/accounts/desk/orders/o1',
      body: { reason: 'over', author: 'ann' },
    });
  });

  it('approves a question after showing the orders and the deadline, and vetoes it', async () => {
    const { fixture: server, page } = await open({ accounts: [asked('desk')] });
    await expand(page, 'desk');
    for (const decision of ['Approve', 'Veto']) {
      await page.getByRole('button', { name: `${decision} near-liquidation, 4c604367-1` }).click();
      const dialog = page.getByRole('dialog', { name: `${decision} near-liquidation in desk` });
      await dialog.getByLabel('Reason').fill('seen');
      if (decision === 'Approve') {
        await dialog.getByLabel('Your name').fill('ann');
        await dialog.getByLabel('Control token').fill('the-control-token');
      }
      await dialog.getByRole('button', { name: 'Show what it is about' }).click();
      await dialog.getByText(WOULD_SEND).waitFor();
      await dialog.getByText('at most 0.25 of 0.5 is left').waitFor();
      await dialog.getByText(/^without an answer it acts at /).waitFor();
      const before = server.asked.filter(({ method }) => method === 'POST').length;
      expect(before).toBe(decision === 'Approve' ? 0 : 1);
      await dialog.getByRole('button', { name: decision, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(lastSent(server.asked)).toMatchObject({
        path: '/accounts/desk/answers',
        body: {
          reference: '4c604367-1',
          decision: decision.toLowerCase(),
          reason: 'seen',
          author: 'ann',
        },
      });
    }
  });

  it('acknowledges a notice as it was shown, and then says who sees to it', async () => {
    const { fixture: server, page } = await open({ accounts: [asked('desk')] }, '/accounts/desk');
    await page.getByRole('button', { name: 'Acknowledge near-liquidation for position:1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Acknowledge near-liquidation in desk' });
    await dialog.getByLabel('Reason').fill('on it');
    await dialog.getByLabel('Your name').fill('ann');
    await dialog.getByLabel('Control token').fill('the-control-token');
    await dialog.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(lastSent(server.asked)).toMatchObject({
      path: '/acknowledgements',
      body: {
        accountId: 'desk',
        ruleId: 'near-liquidation',
        subject: 'position:1',
        episode: 7,
        stage: 0,
        reason: 'on it',
        author: 'ann',
      },
    });
    const acknowledged = { author: 'ann', atMs: Date.now() } as never;
    const [notice] = asked('desk').notices;
    if (notice === undefined) throw new Error('nothing was told');
    server.changeAccount('desk', { notices: [{ ...notice, acknowledged }] });
    await sees(page, /^ann sees to it/);
    expect(await page.getByRole('button', { name: /^Acknowledge/ }).count()).toBe(0);
  });

  it.runIf(plays('only reading'))(
    'offers no answers to read-only users, nor where changes are off',
    async () => {
      const { fixture: server, page } = await open(
        { accounts: [asked('desk')], knownAs: 'dave' },
        '/accounts/desk',
      );
      await sees(page, WOULD_SEND);
      const offered = () => page.getByRole('button', { name: /^(Approve|Veto|Acknowledge)/ }).count();
      expect(await offered()).toBe(0);
      server.state.knownAs = null;
      await page.reload();
      await becomes(offered, 3);
      // Repeated, because the reloaded page may not be listening yet.
      await becomes(() => {
        server.changeOverview({ may: { control: false, operate: false, topUp: false } });
        return offered();
      }, 0);
    },
  );

  it.runIf(plays('silence'))(
    'silences a rule for one subject, and offers nothing where changes are off',
    async () => {
      const { fixture: server, page } = await open({ accounts: [endangered('desk')] }, '/accounts/desk');
      await page.getByRole('button', { name: 'Silence near-liquidation' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('known');
      await dialog.getByLabel('Your name').fill('ann');
      await dialog.getByLabel('Control token').fill('the-control-token');
      await dialog.getByRole('button', { name: 'Silence' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(lastSent(server.asked)?.body).toEqual({
        accountId: 'desk',
        ruleId: 'near-liquidation',
        subject: 'position:1',
        reason: 'known',
        author: 'ann',
        forMs: 3_600_000,
      });
      server.changeOverview({ may: { control: false, operate: false, topUp: false } });
      await becomes(() => page.getByRole('button', { name: 'Silence near-liquidation' }).isDisabled(), true);
      expect(await page.getByRole('button', { name: 'Pause actions' }).isDisabled()).toBe(true);
    },
  );

  it.runIf(plays('read token'))(
    'asks for the read token, refuses a wrong one, and sends it only in a header',
    async () => {
      const { fixture: server, page } = await open({
        accounts: [account('desk')],
        readToken: 'the-read-token',
      });
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Read token').fill('wrong');
      await dialog.getByRole('button', { name: 'Show the page' }).click();
      await dialog.getByText('That is not the read token.').waitFor();
      await dialog.getByLabel('Read token').fill('the-read-token');
      await dialog.getByRole('button', { name: 'Show the page' }).click();
      await sees(page, 'calm: 15.25 % from liquidation');
      await sees(page, 'Live');
      await page.locator('.account').first().waitFor();
      expect(watched?.requests.filter((url) => url.includes('token'))).toEqual([]);
      const stream = server.asked.findLast(({ path }) => path === '/events');
      expect(stream?.authorization).toBe('Bearer the-read-token');
    },
  );

  it.runIf(plays('credit line'))(
    "shows a credit line's thresholds and cure, and makes a deposit link that opens with a referrer",
    async () => {
      const borrower = account('borrower', {
        positions: [],
        creditLines: [creditLine()],
        rules: [rule('ltv-high', LOAN, { phase: 'firing', reason: 'currentLtv 74 % is above 70 %' })],
      });
      const { page, complaints } = await open({ accounts: [borrower] });
      await expand(page, 'borrower');
      await page.getByRole('link', { name: 'Credit line' }).click();
      await page.getByRole('heading', { level: 1, name: 'Credit line 50' }).waitFor();
      const cure =
        'To 60.0\u00a0%: repay 9\u202f462\u00a0USDT, or add collateral worth 15\u202f771\u00a0USDT';
      await sees(page, cure);
      await page.getByRole('button', { name: 'Make a deposit link' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Amount').fill('250.00');
      await dialog.getByLabel('Your name').fill('ann');
      await dialog.getByLabel('Control token').fill('the-control-token');
      await dialog.getByRole('button', { name: 'Make the link' }).click();
      const link = page.getByRole('link', { name: 'Open the deposit page' });
      await link.waitFor();
      expect(await link.getAttribute('href')).toBe('https://pay.example/deposit?x=1');
      expect(await link.getAttribute('referrerpolicy')).toBe('origin');
      expect(await link.getAttribute('rel')).toBe('noopener');
      expect(await link.getAttribute('target')).toBe('_blank');
      expect(lastSent(fixture?.asked ?? [])?.body).toEqual({
        subject: LOAN,
        amount: '250.00',
        ticker: 'USD',
        author: 'ann',
      });
      expect(complaints).toEqual([]);
    },
  );

  it.runIf(plays('story'))(
    "shows a position's full story, with a curve and the inputs of the decisions",
    async () => {
      const atMs = Date.now();
      const history = Array.from({ length: 120 }, (_, index) => ({
        atMs: atMs - 3_500_000 + index * 29_000,
        values: { liquidationDistance: 0.16 - index / 1_200 },
      }));
      const told = {
        seq: 7,
        part: 0,
        atMs,
        kind: 'transition',
        words: 'near-liquidation fires',
        ruleId: 'near-liquidation',
        subject: 'position:1',
        outcome: 'firing',
        detail: {},
      };
      const {
        fixture: server,
        page,
        complaints,
      } = await open(
        { accounts: [endangered('desk')], history, stories: { desk: [told] } },
        '/accounts/desk/positions/1',
      );
      await sees(page, 'Distance to liquidation, last hour: between 4.12\u00a0% and 16.0\u00a0%');
      const drawn =
        'const c = document.querySelector("canvas"); ' +
        'return c !== null && c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((byte) => byte > 0)';
      // The words appear before the picture.
      await becomes(() => evaluate<boolean>(page, `(() => { ${drawn} })()`), true);
      await page.getByText('Details and inputs').click();
      await sees(page, '"liquidationDistance": 0.041');
      server.state.stories = {
        desk: [
          {
            ...told,
            seq: 8,
            kind: 'order',
            words: 'the order was accepted',
            outcome: 'accepted',
            tookMs: 51,
          },
          told,
        ],
      };
      server.changeAccount('desk', { danger: 5 });
      await sees(page, 'the order was accepted');
      await sees(page, 'took 51\u00a0ms');
      // Expanded parts stay expanded.
      expect(await page.getByText('"liquidationDistance": 0.041').isVisible()).toBe(true);
      server.changeAccount('desk', { positions: [] });
      await sees(page, 'Position 1 is not open any more');
      await page.goBack().catch(() => undefined);
      expect(complaints).toEqual([]);
    },
  );

  it.runIf(plays('many accounts'))(
    'shows many accounts in parts, filters, sorts and groups them, and watches only the open ones',
    async () => {
      const accounts = Array.from({ length: 60 }, (_, index) =>
        account(`desk-${index}`, {
          nearest: 0.5 - index / 1_000,
          labels: { desk: index % 3 === 0 ? 'arb' : 'macro' },
          atRisk: [{ money: 'USDT', worth: 1_000 + index }],
          ...(index === 7
            ? { state: { ...CALM, severity: 'warning', kind: 'watching', cause: 'ruleFiring' } }
            : {}),
        }),
      );
      const { fixture: server, page } = await open({ overview: overview({ accounts: 60 }), accounts });
      await sees(page, '60 accounts, worst first');
      expect((await namesOf(page)).slice(0, 2)).toEqual(['desk-7', 'desk-59']);
      expect(await page.locator('.account').count()).toBe(50);
      await page.getByRole('button', { name: 'Show 10 more of 60 accounts' }).click();
      await becomes(() => page.locator('.account').count(), 60);
      const watching = () => server.streams().map((ids) => ids.length);
      await becomes(watching, [0]);
      await expand(page, 'desk-59');
      await becomes(watching, [1]);
      // Changing the watched accounts is not a loss of the connection.
      expect(await page.getByText(NOT_LIVE).isVisible()).toBe(false);
      await page.getByLabel('Order').selectOption('name');
      await becomes(async () => (await namesOf(page)).slice(0, 3), ['desk-0', 'desk-1', 'desk-2']);
      await page.getByLabel('Group').selectOption('desk');
      await sees(page, 'desk=arb: 20 accounts, none needs attention');
      await sees(page, 'desk=macro: 40 accounts, 1 needs attention');
      expect(await page.locator('.account').count()).toBe(0);
      await page.getByText('desk=arb: 20').click();
      await becomes(() => page.locator('.account').count(), 20);
      await page.getByLabel('Group').selectOption('');
      await page.getByLabel('Filter').fill('desk-5');
      await sees(page, '11 accounts of 60');
      await becomes(() => page.locator('.account').count(), 11);
      await page.getByLabel('Filter').fill('');
      await page.getByRole('button', { name: 'desk-7' }).first().click();
      await becomes(() => namesOf(page), ['desk-7']);
      await page.getByLabel('Needs attention').check();
      await page.getByLabel('Filter').fill('desk-8');
      await sees(page, 'No account matches.');
    },
  );

  it.runIf(plays('keyboard'))('works with the keyboard alone', async () => {
    const { page } = await open(two());
    await sees(page, 'hot-desk');
    const focused = () =>
      evaluate<string>(page, 'document.activeElement.textContent || document.activeElement.type');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Breakwater');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Pause actions');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    // A dialog keeps the focus; Escape closes it and restores the focus.
    for (let press = 0; press < 12; press += 1) await page.keyboard.press('Tab');
    expect(
      await evaluate(
        page,
        'document.activeElement === document.body || document.querySelector("dialog").contains(document.activeElement)',
      ),
    ).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused()).toBe('Pause actions');
    await page.locator('.row-toggle').first().focus();
    await page.keyboard.press('Enter');
    const story = page.getByRole('link', { name: 'story of hot-desk' });
    await story.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'hot-desk' }).waitFor();
    await becomes(() => evaluate<string>(page, 'document.activeElement.id'), 'content');
    await page.goBack();
    await sees(page, '2 accounts');
  });

  it.runIf(plays('dark'))('switches between light and dark, and remembers it', async () => {
    const { page } = await open({ accounts: [account('desk')] }, '/', { colorScheme: 'dark' });
    await sees(page, 'Live');
    const ground = () => evaluate<string>(page, 'getComputedStyle(document.body).backgroundColor');
    const dark = await ground();
    await page.getByRole('button', { name: 'Theme' }).click();
    const light = await ground();
    expect(light).not.toBe(dark);
    await page.reload();
    await sees(page, 'Theme: light');
    expect(await ground()).toBe(light);
    await page.getByRole('button', { name: 'Theme' }).click();
    expect(await ground()).toBe(dark);
  });

  it.runIf(plays('nowhere'))('says when an account or page does not exist', async () => {
    const { fixture: server, page } = await open({ accounts: [account('desk')] }, '/accounts/other');
    await sees(page, 'There is no account other.');
    await page.goto(`${server.url}/nowhere/at/all`);
    await sees(page, 'There is no such page here.');
    await page.getByRole('main').getByRole('link', { name: 'All accounts' }).click();
    await sees(page, 'calm: 15.25 % from liquidation');
  });
});
