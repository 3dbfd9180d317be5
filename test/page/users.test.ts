import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pageDirectory } from '../../src/web/page.ts';
import { tokenHashOf } from '../../src/web/token.ts';
import { hasBrowser, launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';
import { inTurn } from '../support/slice.ts';
import { accountView, type Fixture, type FixtureOptions, pauseOf, startFixture } from '../web/fixture.ts';

const plays = inTurn(['a token', 'a proxy', 'a queue'], 2, 'who is at the page');

/** The page in a real browser, against the real server. */

let browser: Browser;
let fixture: Fixture | undefined;
let watched: WatchedPage | undefined;

async function open(options: FixtureOptions, headers: Readonly<Record<string, string>> = {}) {
  const { web, ...rest } = options;
  const server = await startFixture({ ...rest, web: { page: pageDirectory(), ...web } });
  fixture = server;
  watched = await openPage(browser);
  const { page } = watched;
  await page.setExtraHTTPHeaders(headers);
  await page.goto(server.server.url);
  return { server, page };
}

const TOKEN = 'a-token-of-ann-who-controls';
const NO_SHARED = undefined as unknown as string;

describe.skipIf(!hasBrowser())('the page', () => {
  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  afterEach(async () => {
    await watched?.page.context().close();
    await fixture?.close();
    [fixture, watched] = [undefined, undefined];
  });

  it.runIf(plays('a token'))(
    'asks a user with a personal token for it once, and never for a name',
    async () => {
      const users = { ann: { scopes: ['control'], tokenHash: tokenHashOf(TOKEN) } } as const;
      const { server, page } = await open({ web: { controlToken: NO_SHARED, users } });
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Read token').fill(TOKEN);
      await dialog.getByRole('button', { name: 'Show the page' }).click();
      await page.getByText('Live').first().waitFor();
      await page.getByRole('button', { name: 'Pause actions' }).click();
      await dialog.getByText('Recorded as ann.').waitFor();
      expect(await dialog.getByLabel('Your name').count()).toBe(0);
      expect(await dialog.getByLabel('Control token').count()).toBe(0);
      await dialog.getByLabel('Reason').fill('moving collateral');
      await dialog.getByRole('button', { name: 'Pause' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await pauseOf(server.state, 'desk-1')).toMatchObject({ author: 'ann (127.0.0.1)' });
      await page.getByText('ann (127.0.0.1): moving collateral.').first().waitFor();
      // After signing out it asks again.
      await page.getByRole('button', { name: 'Forget token' }).click();
      await dialog.getByLabel('Read token').waitFor();
    },
  );

  it.runIf(plays('a proxy'))('recognizes a user named by a proxy, without any token', async () => {
    const users = { dave: { scopes: ['read'] }, erin: { scopes: ['control'] } } as const;
    const web = {
      controlToken: NO_SHARED,
      users,
      trustedProxies: ['127.0.0.1'],
      identityHeader: 'X-Forwarded-User',
    };
    const { server, page } = await open({ web }, { 'x-forwarded-user': 'dave' });
    await page.getByText('Live').first().waitFor();
    await page.getByRole('button', { name: 'Pause actions' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Recorded as dave.').waitFor();
    await dialog.getByLabel('Reason').fill('trying');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText('Nothing was changed: dave may read; this needs the scope control.').waitFor();
    expect(await server.state.controls.list()).toEqual([]);
  });

  it.runIf(plays('a queue'))('says first that a queue is paused', async () => {
    const calm = accountView('desk-1', { worst: null, rules: [], creditLines: [], positions: [] });
    const line = { waiting: 4, active: 0, delayed: 0, failed: 0, oldestMs: 1 };
    const { page } = await open({
      accounts: [calm],
      process: {
        queues: async () => [
          { queue: 'poll', ...line, isPaused: true },
          { queue: 'act', ...line, isPaused: false },
        ],
      },
    });
    await page.getByText('somebody paused the queue poll, nothing is watched').first().waitFor();
    await page.getByText('poll (paused)').first().waitFor({ state: 'attached' });
    expect(await page.getByText('act (paused)').count()).toBe(0);
  });
});
