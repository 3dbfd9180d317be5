import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stressReply } from '../../src/web/api/schemas.ts';
import type { PageStress } from '../../src/web/page/contract.d.ts';
import { account } from '../support/account-view.ts';
import { hasBrowser, launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';
import { inTurn } from '../support/slice.ts';
import { type Fixture, startFixture, stressed } from './fixture.ts';

const plays = inTurn(['no schedule', 'none yet'], 2, 'stress tests on the page');

/** The section about scheduled stress tests, in a real browser. */

describe.skipIf(!hasBrowser())('the stress test on the page', () => {
  let browser: Browser;
  let fixture: Fixture | undefined;
  let watched: WatchedPage | undefined;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  afterEach(async () => {
    expect(watched?.complaints).toEqual([]);
    expect(watched?.foreign(fixture?.url ?? '')).toEqual([]);
    await watched?.page.context().close();
    await fixture?.close();
  });

  async function open(stress: PageStress, options: Parameters<typeof openPage>[1] = {}) {
    fixture = await startFixture({ accounts: [account('desk')], stress });
    watched = await openPage(browser, options);
    await watched.page.goto(fixture.url);
    await watched.page.getByText('Live').first().waitFor();
    return { page: watched.page, section: watched.page.locator('.stress'), fixture };
  }

  it.each([
    ['a desk, light', { width: 1280, height: 900 }, 'light'],
    ['a phone, dark', { width: 360, height: 740 }, 'dark'],
  ] as const)('says for each crash what it would do now: %s', async (_name, viewport, colorScheme) => {
    const { page, section } = await open(stressed(), { viewport, colorScheme });
    await section.waitFor();
    const lines = (await section.getByRole('listitem').allTextContents()).map((line) =>
      line.replaceAll('\u00a0', ' '),
    );
    expect(lines.slice(0, 3)).toEqual([
      '12 March 2020Rules hold2 of 7 liquidated, cost 41.0 %; with these rules 0, cost 3.10 % of equity',
      'Shock -20 %, exchange calmLiquidates3 of 7 liquidated, cost 60.0 %; with these rules 1, cost 55.0 % of equity',
      'RallyHarmless0 of 7 liquidated, gain 12.0 %; with these rules 0, gain 10.0 % of equity',
    ]);
    expect(await section.textContent()).toMatch(/Played 3\sh ago, again in (20|21)\sh/);
    await section.getByText('2 left out').click();
    await section.getByText('Account borrower: its loan of 5 BTC is left out.').waitFor();
    expect(
      await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
    ).toBe(true);
  });

  it.runIf(plays('no schedule'))('is missing without a schedule', async () => {
    const { section, fixture: server } = await open({ scheduled: false, stored: null });
    await expect.poll(() => server.asked.some((ask) => ask.path === '/stress')).toBe(true);
    expect(await section.isVisible()).toBe(false);
  });

  it.runIf(plays('none yet'))(
    'says that none has run yet, and that one failed while the last result stays',
    async () => {
      const { section, page, fixture: server } = await open({ scheduled: true, stored: null });
      await section.getByText('A stress test is scheduled; none has run yet.').waitFor();
      const failed = { outcome: 'failed', words: 'no `markets` entry covers X_PERP' } as const;
      const { stored } = stressed();
      if (stored === null) throw new Error('there is a result');
      server.state.stress = {
        scheduled: true,
        stored: { ...stored, lastRun: { ...stored.lastRun, ...failed } },
      };
      await page.reload();
      await section.getByText('The newest stress test failed: no `markets` entry covers X_PERP.').waitFor();
      await section.getByText('12 March 2020').waitFor();
    },
  );
});

it('the fixture equals the answer of the real API', () => {
  const reply = stressed();
  expect(stressReply.parse(reply)).toEqual(reply);
});
