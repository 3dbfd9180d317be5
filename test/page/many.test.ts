import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountRow } from '../../src/core/lines/account-row.ts';
import { account, position } from '../support/account-view.ts';
import { hasBrowser, launchBrowser, openPage } from '../support/browser.ts';
import { inTurn } from '../support/slice.ts';
import { endangered, type Fixture, overview, startFixture } from './fixture.ts';

const plays = inTurn(
  ['a thousand', 'lines that changed', '200 accounts', 'ten of them', 'an outage', 'just started'],
  3,
  'many accounts on the page',
);

/** Many accounts: their cost on the page, its length, and what is seen first. */

const MANY = 1_000;
const FEW = 30;
const PHONE = { viewport: { width: 390, height: 844 } };

interface Weight {
  /** Time in tasks long enough to delay a keystroke. */
  readonly blockedMs: number;
  readonly firstListMs: number;
  readonly nodes: number;
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

const named = (count: number, changed: Parameters<typeof account>[1] = {}) =>
  Array.from({ length: count }, (_, index) => account(`desk-${index}`, changed));

describe.skipIf(!hasBrowser())('many accounts', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  async function open(
    accounts: Fixture['state']['accounts'],
    run: (page: Page, fixture: Fixture) => Promise<void>,
    options: Parameters<typeof openPage>[1] = PHONE,
  ): Promise<void> {
    const fixture = await startFixture({ overview: overview({ accounts: accounts.length }), accounts });
    const { page, complaints } = await openPage(browser, options);
    try {
      await page.addInitScript(OBSERVE);
      await page.goto(fixture.url);
      await page.locator('.account').first().waitFor();
      await run(page, fixture);
      expect(complaints).toEqual([]);
    } finally {
      await page.context().close();
      await fixture.close();
    }
  }

  async function weigh(count: number): Promise<Weight> {
    const positions = [1, 2, 3, 4, 5].map((id) =>
      position(`${id}`, { liquidationDistance: 0.02 * id + 0.1 }),
    );
    const weight: { -readonly [K in keyof Weight]?: Weight[K] } = {};
    await open(named(count, { positions }), async (page, fixture) => {
      weight.firstListMs = await ask<number>(page, 'performance.now()');
      const filter = page.getByLabel('Filter');
      await filter.pressSequentially('desk-1', { delay: 40 });
      await filter.press('Backspace');
      await filter.fill('desk-7');
      await expect.poll(() => page.locator('.row-id').first().textContent()).toBe('desk-7');
      await filter.fill('');
      // Updates from streams during the visit.
      for (const { accountId } of fixture.state.accounts.slice(0, 25)) {
        fixture.changeAccount(accountId, { nearest: 0.0123 });
      }
      await page.getByText('1.23\u00a0%').first().waitFor();
      weight.blockedMs = await ask(page, 'window.blockedMs');
      weight.nodes = await ask(page, 'document.querySelectorAll("*").length');
    });
    return weight as Weight;
  }

  it.runIf(plays('a thousand'))(
    'a thousand are shown, filtered and followed as fast as a few, on a phone',
    async () => {
      // The first page of a browser pays for compiling and does not count.
      await weigh(FEW);
      const few = await weigh(FEW);
      const many = await weigh(MANY);
      process.stderr.write(
        `page weight, ${FEW} accounts ${JSON.stringify(few)}, ${MANY} ${JSON.stringify(many)}\n`,
      );
      expect(many.nodes).toBeLessThan(few.nodes * 2.2);
      expect(many.blockedMs).toBeLessThan(few.blockedMs * 4 + few.firstListMs);
      expect(many.firstListMs).toBeLessThan(few.firstListMs * 6);
    },
  );

  it.runIf(plays('lines that changed'))('only the lines that changed are drawn again', async () => {
    await open(named(200), async (page, fixture) => {
      await page.getByRole('button', { name: 'Show 150 more of 200 accounts' }).click();
      await page.locator('.account').nth(199).waitFor();
      await page.evaluate(`
        window.changed = new Set();
        new MutationObserver((records) => {
          for (const { target } of records) {
            const node = target instanceof Element ? target : target.parentElement;
            if (node?.closest('time') === null) window.changed.add(node.closest('.account')?.querySelector('.row-id').textContent ?? 'elsewhere');
          }
        }).observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
      `);
      fixture.emit('rows', {
        rows: [accountRow(account('desk-7', { nearest: 0.0123 }))],
      });
      await page.getByText('1.23\u00a0%').first().waitFor();
      expect(await ask(page, '[...window.changed]')).toEqual(['desk-7']);
    });
  });

  it.runIf(plays('200 accounts'))(
    '200 accounts on a phone take less than a sixth of 41,800 pixels at first, and less than half when all are shown',
    async () => {
      await open(named(200), async (page) => {
        const height = () => ask<number>(page, 'document.documentElement.scrollHeight');
        expect(await height()).toBeLessThan(41_800 / 6);
        await page.getByRole('button', { name: 'Show 150 more of 200 accounts' }).click();
        await page.locator('.account').nth(199).waitFor();
        // Lines out of sight have an estimated height until they are seen.
        await page.locator('.account').nth(199).scrollIntoViewIfNeeded();
        const one = (await page.locator('.account').nth(199).boundingBox())?.height ?? Number.NaN;
        expect(one).toBeLessThan(100);
        expect(await height()).toBeLessThan(41_800 / 2);
      });
    },
  );

  it.runIf(plays('ten of them'))('ten calm accounts fit on the screen of a desk', async () => {
    await open(
      named(20),
      async (page) => {
        const box = await page.locator('.account').nth(9).boundingBox();
        expect((box?.y ?? Number.NaN) + (box?.height ?? Number.NaN)).toBeLessThan(900);
      },
      { viewport: { width: 1280, height: 900 } },
    );
  });

  it.runIf(plays('an outage'))(
    'the first line of a phone at 200 accounts in an outage says what is wrong',
    async () => {
      const words = 'blind: the exchange is unreachable (no reply)';
      const state = {
        kind: 'blind',
        cause: 'unreachable',
        words,
        severity: 'critical',
        sinceMs: Date.now(),
      } as const;
      const outage = [...named(1), ...named(200, { state }).slice(1)];
      await open(outage, async (page) => {
        const seen = (await page.locator('.verdict-words').textContent()) ?? '';
        expect(seen).toBe(
          '199 accounts blind: the exchange is unreachable; desk-0 calm: 15.25 % from liquidation (BTC_PERP).',
        );
        const first = page.locator('.account').first();
        expect(await first.textContent()).toContain('Blind: the exchange is unreachable (no reply)');
        const box = await first.boundingBox();
        expect((box?.y ?? Number.NaN) + (box?.height ?? Number.NaN)).toBeLessThan(PHONE.viewport.height);
      });
    },
  );

  it.runIf(plays('just started'))(
    'an account that just started and is calm looks calm, not amber',
    async () => {
      const started = { market: 'BTC_PERP', why: 'newStore', sinceMs: 0 };
      await open([account('desk', { doubts: [started] }), endangered('hot')], async (page) => {
        const levels = await page
          .locator('.account')
          .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-level')));
        expect(levels).toEqual(['critical', 'ok']);
        await page.locator('.row-toggle').last().click();
        await page.getByText('Just started: orders in BTC_PERP are not confirmed yet').waitFor();
        const card = page.locator('.account').last();
        expect(
          await card
            .locator('[data-level="warning"], [data-level="unknown"], .blind, [data-look="paused"]')
            .count(),
        ).toBe(0);
      });
    },
  );
});
