import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { account, position } from '../support/account-view.ts';
import { hasBrowser, launchBrowser, openPage } from '../support/browser.ts';
import { overview, startFixture } from './fixture.ts';

/** A thousand accounts with five positions each weigh on the page no more than one page of them. */

const MANY = 1_000;
const FEW = 30;

interface Weight {
  /** Time in tasks so long that a keystroke waits for them. */
  readonly blockedMs: number;
  readonly firstListMs: number;
  readonly nodes: number;
  /** Of the largest answer. */
  readonly bytes: number;
}

const OBSERVE = `
  window.blockedMs = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.blockedMs += duration;
  }).observe({ type: 'longtask', buffered: true });
`;

async function ask<T>(page: Page, expression: string): Promise<T> {
  return (await page.evaluate(expression)) as T;
}

describe.skipIf(!hasBrowser())('a thousand accounts', { timeout: 120_000 }, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  }, 90_000);

  afterAll(async () => {
    await browser.close();
  });

  async function weigh(count: number): Promise<Weight> {
    const accounts = Array.from({ length: count }, (_, index) =>
      account(`desk-${index}`, {
        danger: count - index,
        positions: [1, 2, 3, 4, 5].map((id) => position(`${id}`, { liquidationDistance: 0.02 * id + 0.1 })),
      }),
    );
    const fixture = await startFixture({ overview: overview({ accounts: count }), accounts });
    const { page, complaints } = await openPage(browser);
    let bytes = 0;
    page.on('response', (response) => {
      if (!response.url().includes('/accounts?')) return;
      void response.body().then(
        (body) => (bytes = Math.max(bytes, body.length)),
        () => undefined,
      );
    });
    try {
      await page.addInitScript(OBSERVE);
      await page.goto(fixture.url);
      await page.locator('.account').nth(24).waitFor();
      const firstListMs = await ask<number>(page, 'performance.now()');
      const filter = page.getByLabel('Filter');
      await filter.pressSequentially('desk-1', { delay: 40 });
      await filter.press('Backspace');
      await filter.fill('desk-7');
      await expect
        .poll(() => page.locator('.account h3').first().textContent(), { timeout: 30_000 })
        .toBe('desk-7');
      // What streams bring while one looks.
      for (const { accountId } of accounts.slice(0, 25)) {
        fixture.changeAccount(accountId, { danger: Math.round(1_000 * accounts.length) });
      }
      await filter.fill('');
      await page.locator('.account').nth(24).waitFor();
      expect(complaints).toEqual([]);
      return {
        blockedMs: await ask(page, 'window.blockedMs'),
        firstListMs,
        nodes: await ask(page, 'document.querySelectorAll("*").length'),
        bytes,
      };
    } finally {
      await page.context().close();
      await fixture.close();
    }
  }

  it('are shown, filtered and followed as a page of them is', async () => {
    // The first page of a browser pays for compiling; it counts for nobody.
    await weigh(FEW);
    const few = await weigh(FEW);
    const many = await weigh(MANY);
    process.stderr.write(
      `page weight, ${FEW} accounts ${JSON.stringify(few)}, ${MANY} ${JSON.stringify(many)}\n`,
    );
    expect(many.nodes).toBeLessThan(few.nodes * 1.5);
    expect(many.bytes).toBeLessThan(few.bytes * 1.5);
    expect(many.blockedMs).toBeLessThan(few.blockedMs * 4 + few.firstListMs);
    expect(many.firstListMs).toBeLessThan(few.firstListMs * 6);
  });
});
