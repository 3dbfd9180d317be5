import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AccountRecord, ReplayEvent, ReplayRecord } from '../../../src/replay/record.ts';
import { renderReport } from '../../../src/replay/report/render-report.ts';
import { hasBrowser, launchBrowser, openPage } from '../../support/browser.ts';
import { exampleRecord, START_MS } from './fixture.ts';

const RECORD = exampleRecord();
const REPORT = renderReport(RECORD);

function changed(change: (account: AccountRecord) => Partial<AccountRecord>): ReplayRecord {
  return {
    ...RECORD,
    runs: RECORD.runs.map((run) => ({
      ...run,
      accounts: run.accounts.map((account) => Object.assign({}, account, change(account))),
    })),
  };
}

/** A thousand cancelled orders, then the end. */
const BUSY_EVENTS: readonly ReplayEvent[] = Array.from({ length: 1_001 }, (_, index): ReplayEvent => {
  const isLast = index === 1_000;
  return {
    atMs: START_MS + index * 5_000,
    kind: isLast ? 'liquidation' : 'cancel',
    market: 'BTC_PERP',
    price: 100_000 - index,
    words: isLast ? 'Liquidated.' : `Order ${index} cancelled.`,
  };
});
const BUSY = changed(() => ({ events: BUSY_EVENTS }));

const found = (html: string, pattern: RegExp): readonly string[] =>
  [...html.matchAll(pattern)].map(([, text = '']) => text);

describe('the report', () => {
  test('is the same for the same record', () => {
    expect(renderReport(exampleRecord())).toBe(REPORT);
  });

  test('loads nothing and runs nothing', () => {
    expect(REPORT).toContain(`content="default-src 'none'; style-src 'unsafe-inline'`);
    expect(REPORT).not.toMatch(/<script|<link|<img|@import|url\(|https?:|\son\w+=|javascript:/i);
  });

  test('escapes every text', () => {
    const evil = `<script>alert("1")</script>'&`;
    const record = changed((account) => ({
      id: `${evil}${account.id}`,
      money: evil,
      positions: account.positions.map((position) => ({ ...position, market: evil })),
      bands: account.bands.map((band) => ({ ...band, ruleId: evil, subject: evil, words: evil })),
      thresholds: [{ ruleId: evil, distance: 0.05 }],
      events: account.events.map((event) => ({ ...event, words: evil, reason: evil })),
    }));
    const html = renderReport({
      ...record,
      title: evil,
      notes: [evil],
      runs: record.runs.map((run) => ({
        accounts: run.accounts,
        variant: run.variant === 'tighter.yaml' ? evil : run.variant,
        path: `${evil}${run.path}`,
        prices: { [evil]: run.prices['BTC_PERP'] ?? [] },
      })),
    });
    expect(html).not.toContain('<script');
    expect(html).not.toContain(evil);
    expect(
      html.match(/&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;&amp;/g)?.length,
    ).toBeGreaterThan(20);
  });

  test('has one mark and one line for each event, which link to each other', () => {
    const events = RECORD.runs[1]?.accounts[0]?.events ?? [];
    expect(events.length).toBeGreaterThan(5);
    const ids = found(REPORT, / id="([^"]+)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    for (const index of events.keys()) {
      expect(ids).toContain(`m-0-${index}`);
      expect(ids).toContain(`e-0-${index}`);
    }
    for (const target of found(REPORT, /href="#([^"]+)"/g)) expect(ids).toContain(target);
  });

  test('has no dead link if there are more events than lines, and a line for each important one', () => {
    const html = renderReport(BUSY);
    const ids = new Set(found(html, / id="([^"]+)"/g));
    const targets = found(html, /href="#([^"]+)"/g);
    expect(targets.length).toBeGreaterThan(700);
    expect(targets.filter((target) => !ids.has(target))).toEqual([]);
    expect(html.match(/<tr id="e-0-/g)).toHaveLength(400);
    // The very last, after a thousand others.
    expect(ids).toContain(`e-0-${BUSY_EVENTS.length - 1}`);
    expect(html).toContain('601 more events in the picture only, as the list would be too long: 601 cancel.');
  });

  test('says for each account what became of it', () => {
    expect(REPORT).toContain('Kept from liquidation');
    expect(REPORT).toMatch(
      /Without protection it was liquidated at 21:\d\d:\d\d UTC; [\d,]+ of 17,000 USDT was left/,
    );
    expect(REPORT).toContain('Was never in need');
    const doomed = renderReport(changed(() => ({ liquidatedAtMs: START_MS })));
    expect(doomed).toContain('Liquidated in spite of the rules');
    const harmed = changed(() => ({ liquidatedAtMs: null, closedFraction: 0.5 }));
    expect(renderReport(harmed)).toContain('Would have come through');
  });

  test('marks the liquidation of the unprotected variant in the picture of the rules', () => {
    expect(REPORT).toMatch(/<title>unprotected: Liquidated: 1 BTC/);
  });

  test('shows the range over the paths, and the share of the time that was played', () => {
    expect(REPORT).toContain('What depends on the path');
    const single = { ...RECORD, runs: RECORD.runs.filter(({ path }) => path === 'bridge') };
    expect(renderReport(single)).not.toContain('What depends on the path');
    expect(REPORT).not.toContain('incomplete');
    expect(renderReport({ ...RECORD, stoppedAtMs: START_MS + 30 * 60_000 })).toContain(
      'after 25.0 % of the time',
    );
  });

  test.each<[string, ReplayRecord]>([
    ['nothing at all', { ...RECORD, runs: [] }],
    ['no account', { ...RECORD, runs: RECORD.runs.map((run) => ({ ...run, accounts: [] })) }],
    ['only the variant without protection', { ...RECORD, runs: RECORD.runs.slice(0, 1) }],
    ['no time', { ...RECORD, toMs: RECORD.fromMs }],
    ['empty tracks', changed(() => ({ equity: [], positions: [], bands: [], events: [] }))],
  ])('of %s is a page too', (_name, record) => {
    const html = renderReport(record);
    expect(html).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    expect(html).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('stays small for tracks of any length', () => {
    const long = (account: AccountRecord) => ({
      equity: Array.from(
        { length: 300_000 },
        (_, index) => [START_MS + index * 24, 5_000 + (index % 700)] as const,
      ),
      positions: account.positions,
    });
    expect(renderReport(changed(long)).length).toBeLessThan(REPORT.length * 3);
  });
});

/** Runs in the page. */
const GROUND = 'getComputedStyle(document.body).backgroundColor';
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth';
const OPACITY = "getComputedStyle(document.querySelector('#m-0-0 .halo')).fillOpacity";
const DEAD_LINKS =
  "[...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((to) => document.querySelector(to) === null)";
/** The targets of marks of cancels without a line. */
const UNLISTED =
  "[...document.querySelectorAll('#account-0 figure:first-of-type .spot')].filter((spot) => spot.querySelector('title').textContent === 'Order 999 cancelled.').map((spot) => spot.closest('a'))";
const TOP = "document.querySelector('#m-0-0').getBoundingClientRect().top";

describe.skipIf(!hasBrowser())('in a browser', () => {
  let browser: Browser;
  let folder: string;
  let url: string;

  beforeAll(async () => {
    browser = await launchBrowser();
    folder = await mkdtemp(path.join(tmpdir(), 'breakwater-report-'));
    const file = path.join(folder, 'report.html');
    await writeFile(file, REPORT);
    url = `file://${file}`;
  });

  afterAll(async () => {
    await browser.close();
    await rm(folder, { recursive: true });
  });

  test.each(['light', 'dark'] as const)(
    'in %s it has no complaints and loads nothing',
    async (colorScheme) => {
      const { page, complaints, requests } = await openPage(browser, { colorScheme });
      await page.goto(url);
      expect(complaints).toEqual([]);
      expect(requests).toEqual([url]);
      const ground = await page.evaluate<string>(GROUND);
      expect(ground).toBe(colorScheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(12, 17, 22)');
      await page.context().close();
    },
  );

  test('a line of the list leads to its mark, at its price, and back', async () => {
    const { page } = await openPage(browser, { viewport: { width: 1000, height: 700 } });
    await page.goto(url);
    await page.locator('tr#e-0-0 a').click();
    await expect.poll(() => page.evaluate(OPACITY)).toBe('0.3');
    expect(await page.evaluate<number>(TOP)).toBeGreaterThan(0);
    await page.locator('a:has(#m-0-0)').click({ force: true });
    expect(new URL(page.url()).hash).toBe('#e-0-0');
    await page.context().close();
  });

  test('with more events than lines every link leads somewhere, and a mark without a line is not a link', async () => {
    const file = path.join(folder, 'busy.html');
    await writeFile(file, renderReport(BUSY));
    const { page, complaints } = await openPage(browser, { viewport: { width: 1000, height: 700 } });
    await page.goto(`file://${file}`);
    expect(await page.evaluate<readonly string[]>(DEAD_LINKS)).toEqual([]);
    expect(await page.evaluate<readonly (string | null)[]>(UNLISTED)).toEqual([null]);
    await page.locator(`a:has(#m-0-${BUSY_EVENTS.length - 1})`).click({ force: true });
    expect(new URL(page.url()).hash).toBe(`#e-0-${BUSY_EVENTS.length - 1}`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test('nothing is wider than the page, on a phone and on paper', async () => {
    const { page } = await openPage(browser, { viewport: { width: 390, height: 800 } });
    await page.goto(url);
    expect(await page.evaluate<number>(OVERFLOW)).toBeLessThanOrEqual(0);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.evaluate<string>(GROUND)).toBe('rgb(255, 255, 255)');
    await page.context().close();
  });
});
