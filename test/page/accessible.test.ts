import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { account, creditLine, position, rule } from '../support/account-view.ts';
import { hasBrowser, launchBrowser, openPage } from '../support/browser.ts';
import { sliceOf } from '../support/slice.ts';
import { axeFindings } from './axe.ts';
import { asked, type Fixture, overview, startFixture, stressed } from './fixture.ts';

/** Accessibility of every view: without sight, a pointer or colours; and nothing is cut off on a phone. */

const LOAN = 'creditLine:USDT@1700000000';

const COSTS = {
  fromMs: 0,
  isComplete: false,
  totals: [
    {
      money: 'USDT',
      orders: 2,
      slippage: { known: 50, unknown: 0 },
      fees: { known: 29.95, unknown: 0 },
      slippageAtMost: { known: 350, unknown: 0 },
    },
  ],
};

const PREVIEW = {
  plan: [
    { label: 'account', text: 'desk' },
    { label: 'will send', text: `BTC_PERP: a reduce-only sell stop ${'and so on '.repeat(12)}` },
  ],
  closesWhen: 'To be flat now use the exchange.',
  obstacles: ['The account is in observe mode: the order is recorded, and nothing is sent.'],
};

const VIEWS = {
  list: '/',
  account: '/accounts/desk',
  position: '/accounts/desk/positions/1',
  'credit line': `/accounts/borrower/credit-lines/${encodeURIComponent(LOAN)}`,
} as const;

/** In the page: all violations, in words. */
const FLAWS = `(() => {
  const flaws = [];
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const nameOf = (node) => {
    const by = (node.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join(' ');
    const labels = [...(node.labels ?? [])].map((label) => label.textContent).join(' ');
    return (node.getAttribute('aria-label') ?? '') + by + labels + (node.textContent ?? '');
  };
  const say = (what, node) => flaws.push(what + ': ' + node.outerHTML.slice(0, 120));
  if (document.documentElement.lang === '') flaws.push('no language');
  for (const role of ['main', 'h1']) {
    const count = document.querySelectorAll(role).length;
    if (count !== 1) flaws.push(count + ' of ' + role);
  }
  let level = 0;
  for (const heading of [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(seen)) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) say('heading skips from ' + level, heading);
    level = own;
  }
  for (const node of document.querySelectorAll('a, button, input, select, textarea, [role="meter"], dialog, nav, aside, summary')) {
    if (seen(node) && nameOf(node).trim() === '') say('no name', node);
  }
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) flaws.push('id twice: ' + id);
  for (const node of document.querySelectorAll('[aria-labelledby], [aria-describedby]')) {
    for (const name of ['aria-labelledby', 'aria-describedby']) {
      for (const id of (node.getAttribute(name) ?? '').split(' ').filter(Boolean)) {
        if (document.getElementById(id) === null) say('refers to nothing', node);
      }
    }
  }
  for (const node of document.querySelectorAll('svg:not([aria-hidden="true"]), img:not([alt])')) say('picture without words', node);
  for (const node of document.querySelectorAll('[tabindex]')) if (node.tabIndex > 0) say('tab order', node);
  for (const node of document.querySelectorAll('ul > :not(li), ol > :not(li), dl > :not(div)')) say('no list item', node);
  for (const node of document.querySelectorAll('[style]')) {
    if (![...node.style].every((name) => name.startsWith('--')) && node.closest('.uplot, .curve') === null && !node.hidden) say('style in place', node);
  }
  for (const node of document.querySelectorAll('[data-level="critical"] > .icon, [data-level="warning"] > .icon')) {
    if (seen(node) && node.parentElement.textContent.trim() === '') say('level without a word', node);
  }
  return flaws;
})()`;

/** In the page: elements that overflow the window, or are too small for a finger. */
const CUT_OFF = `(() => {
  const width = document.documentElement.clientWidth;
  const out = [...document.querySelectorAll('body *')].filter((node) => {
    if (!node.checkVisibility({ visibilityProperty: true }) || node.closest('.json, .visually-hidden, .skip, canvas, .uplot') !== null) return false;
    const box = node.getBoundingClientRect();
    return box.width > 0 && (box.right > width + 1 || box.left < -1);
  });
  const small = [...document.querySelectorAll('button, input:not([type="checkbox"]), select, summary')].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width > 0 && (box.height < 24 || box.width < 24) && node.closest('.skip') === null;
  });
  const words = (node) => node.outerHTML.slice(0, 140);
  return [...out.map(words), ...small.map((node) => 'small: ' + words(node)), ...(document.documentElement.scrollWidth > width ? ['scrolls'] : [])];
})()`;

describe.skipIf(!hasBrowser())('every view', () => {
  let browser: Browser;
  let fixture: Fixture;

  beforeAll(async () => {
    browser = await launchBrowser();
    const long = 'a-rule-with-a-name-that-somebody-made-very-long-indeed';
    const atMs = Date.now();
    fixture = await startFixture({
      overview: overview({
        accounts: 2,
        firing: { critical: 2, warning: 0, info: 0 },
        pauses: [
          {
            kind: 'pause',
            id: 'p',
            accountId: 'desk',
            author: 'ann',
            reason: 'because',
            atMs,
            expiresAtMs: atMs + 60_000,
          },
        ],
      }),
      accounts: [
        asked('desk'),
        // A meter without a value means that the distance is unknown.
        account('blind', { nearest: null, positions: [position('1', { liquidationDistance: null })] }),
        account('borrower', {
          positions: [],
          creditLines: [creditLine()],
          rules: [
            rule(long, LOAN, {
              phase: 'firing',
              reason: `currentLtv 74 % is above 70 % ${'and so on '.repeat(12)}`,
            }),
          ],
          doubts: [{ market: 'BTC_PERP', why: 'unknownOutcome', sinceMs: 0 }],
        }),
      ],
      stress: stressed(),
      costs: COSTS,
      preview: PREVIEW,
      history: [1, 2, 3]
        .map((step) => ({
          atMs: atMs - step * 60_000,
          values: { liquidationDistance: step / 50, currentLtv: 0.7 },
        }))
        .toReversed(),
      actions: [
        {
          id: '1',
          accountId: 'desk',
          market: 'BTC_PERP',
          positionId: '1',
          kind: 'place',
          outcome: 'rejected',
          reason: 'side',
          atMs,
          tookMs: 12,
          words: 'sell',
        },
      ],
      stories: {
        desk: [
          {
            seq: 1,
            part: 0,
            atMs,
            kind: 'transition',
            words: 'w'.repeat(200),
            subject: 'position:1',
            detail: {},
          },
        ],
      },
    });
  });

  afterAll(async () => {
    await browser.close();
    await fixture.close();
  });

  async function open(path: string, width: number, run: (page: Page) => Promise<void>): Promise<void> {
    const { page } = await openPage(browser, { viewport: { width, height: 844 } });
    try {
      await page.goto(fixture.url + path);
      for (const index of path === '/' ? [0, 1] : []) await page.locator('.row-toggle').nth(index).click();
      await page.getByText('Firing, critical').first().waitFor();
      await run(page);
    } finally {
      await page.context().close();
    }
  }

  it.each(sliceOf(Object.entries(VIEWS), 3, 'views'))(
    'has names, headings in order, words beside every shape, and no finding of axe-core: %s',
    async (_name, path) => {
      await open(path, 1280, async (page) => {
        expect(await page.evaluate(FLAWS)).toEqual([]);
        await page.setViewportSize({ width: 390, height: 844 });
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          expect([colorScheme, await axeFindings(page)]).toEqual([colorScheme, []]);
        }
      });
    },
  );

  it('has the same in its dialogs', async () => {
    await open('/', 390, async (page) => {
      await page.getByRole('button', { name: 'Pause actions' }).click();
      await page.getByRole('dialog', { name: 'Pause all actions' }).waitFor();
      expect(await page.evaluate(FLAWS)).toEqual([]);
      expect(await page.evaluate(CUT_OFF)).toEqual([]);
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Reduce or close' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('event risk');
      await dialog.getByLabel('Your name').fill('ann');
      await dialog.getByLabel('Control token').fill('the-control-token');
      await dialog.getByRole('button', { name: 'Show the order' }).click();
      await dialog.getByText('To be flat now use the exchange.').waitFor();
      expect(await page.evaluate(FLAWS)).toEqual([]);
      expect(await page.evaluate(CUT_OFF)).toEqual([]);
      expect(await axeFindings(page)).toEqual([]);
    });
  });

  // Each view at a different width: one run covers all widths, three runs cover all widths for each view.
  const fits = Object.entries(VIEWS).flatMap(([name, path], row) =>
    [320, 390, 768].map((_, column, widths) => ({ name, path, width: widths[(row + column) % 3] ?? 0 })),
  );

  it.each(sliceOf(fits, 3, 'widths of views'))('fits into $width pixels: $name', async ({ path, width }) => {
    await open(path, width, async (page) => {
      expect(await page.evaluate(CUT_OFF)).toEqual([]);
    });
  });
});
