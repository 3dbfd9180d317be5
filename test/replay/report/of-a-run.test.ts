import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { readPriceFiles } from '../../../src/replay/price-files.ts';
import { type ReplayPlan, runReplay } from '../../../src/replay/replay.ts';
import { renderReport } from '../../../src/replay/report/render-report.ts';
import type { LedgerEntry } from '../../../src/simulator/model/ledger-entry.ts';
import type * as openWorldModule from '../../../src/world/open-world.ts';
import type { World } from '../../../src/world/open-world.ts';
import { hasBrowser, launchBrowser, openPage } from '../../support/browser.ts';

/** The report of a real run, in a browser, against the ledger it was made from. */

const worlds: World[] = [];
vi.mock('../../../src/world/open-world.ts', async (importOriginal) => {
  const original = await importOriginal<typeof openWorldModule>();
  const openWorld: typeof original.openWorld = (...args) => {
    const world = original.openWorld(...args);
    worlds.push(world);
    return world;
  };
  return { ...original, openWorld };
});

const START_MS = Date.UTC(2025, 9, 10, 20, 30);
const text = (value: string) => value as DecimalString;
/**
 * It falls, rises and falls again: orders are placed and filled, the stop follows the position, and the unprotected are
 * liquidated.
 */
const CLOSES = [100, 100, 98, 94.5, 95.5, 94, 93, 95, 97, 95, 92, 89, 87, 85, 85];
const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://a.example"] }
markets: { "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
accounts:
  - { id: desk-1, apiKey: { env: K }, apiSecret: { env: S }, cadence: { calm: 10s, alert: 1s }, rules: [near, stop] }
rules:
  - { id: near, on: position, when: { liquidationDistance: { below: 5%, clearAbove: 7% } }, do: [{ reduce: { to: 0%, slippage: [0.01%, 3%] } }] }
  - { id: stop, on: position, when: { liquidationDistance: { below: 50% } }, do: [{ protect: { at: 95%, slippage: 2% } }] }
`;

function plan(changes: Partial<ReplayPlan>): ReplayPlan {
  const rows = CLOSES.map((close, index) => {
    const open = CLOSES[index - 1] ?? 100;
    const prices = [open, Math.max(open, close) + 0.1, Math.min(open, close) - 0.1, close].map(
      (price) => price * 600,
    );
    return [START_MS + index * 60_000, ...prices, 1].join(',');
  });
  const prices = readPriceFiles([{ market: 'BTC_PERP', file: 'btc.csv', text: rows.join('\n') }]);
  if (prices.kind === 'refused') throw new Error(prices.problems.join());
  return {
    title: 'Replay of BTC_PERP',
    seed: 1,
    accounts: [
      {
        id: 'desk-1',
        collateral: { USDT: text('4500') },
        hedgeMode: false,
        positions: [{ market: 'BTC_PERP', side: 'long', amount: text('0.5') }],
        loans: [],
      },
    ],
    markets: prices.markets,
    fromMs: prices.fromMs,
    toMs: prices.toMs,
    paths: ['adverse'],
    variants: [{ name: 'config', file: 'breakwater.yaml', text: CONFIG }],
    terms: {
      BTC_PERP: { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin: '0.03' },
    },
    conditions: { latency: 50, depth: '0.004', faults: [] },
    notes: [],
    ...changes,
  };
}

const KINDS = {
  order_placed: 'order',
  fill: 'fill',
  order_cancelled: 'cancel',
  liquidation: 'liquidation',
} as const;

interface Mark {
  readonly kind: string;
  readonly x: number;
}

/** In the large picture: each mark, by the line that it leads to, with its position in units of the picture. */
const MARKS = `[...document.querySelector('svg.picture').querySelectorAll('a > .spot')].map((spot) => ({
  kind: document.querySelector(spot.parentElement.getAttribute('href') + ' .kind').textContent,
  x: spot.transform.baseVal.getItem(0).matrix.e,
}))`;
/** The frame of the price: its left and right edge. */
const [LEFT, WIDTH] = [74, 756];

function expected(entries: readonly LedgerEntry[], { fromMs, toMs }: ReplayPlan): readonly Mark[] {
  return entries.flatMap(({ kind, atMs }) =>
    Object.hasOwn(KINDS, kind)
      ? [
          {
            kind: KINDS[kind as keyof typeof KINDS],
            x: LEFT + (WIDTH * (atMs - fromMs)) / (toMs - fromMs),
          },
        ]
      : [],
  );
}

const sorted = (marks: readonly Mark[]): readonly Mark[] =>
  marks.toSorted((a, b) => a.kind.localeCompare(b.kind) || a.x - b.x);

describe.skipIf(!hasBrowser())('the report of a run', () => {
  let browser: Browser;
  let folder: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    folder = await mkdtemp(path.join(tmpdir(), 'breakwater-report-'));
  });
  afterAll(async () => {
    await browser.close();
    await rm(folder, { recursive: true });
  });

  test.each<[string, Partial<ReplayPlan>, readonly string[]]>([
    ['with the rules', {}, ['order', 'fill', 'cancel']],
    ['without protection', { variants: [] }, ['liquidation']],
  ])('%s marks the events of the ledger at the right places', async (name, changes, kinds) => {
    worlds.length = 0;
    const played = plan(changes);
    const record = await runReplay(played, { nowMs: () => 0 });
    const file = path.join(folder, `${name.replaceAll(' ', '-')}.html`);
    await writeFile(file, renderReport(record));
    const ledger = worlds.at(-1)?.exchange.model.ledger({ accountId: 'desk-1' }) ?? [];
    const marks = sorted(expected(ledger, played));
    expect(new Set(marks.map(({ kind }) => kind))).toEqual(new Set(kinds));

    const { page, complaints, requests } = await openPage(browser);
    await page.goto(`file://${file}`);
    const shown = sorted(
      (await page.evaluate<readonly Mark[]>(MARKS)).filter(({ kind }) => kinds.includes(kind)),
    );
    expect(shown.map(({ kind }) => kind)).toEqual(marks.map(({ kind }) => kind));
    for (const [index, { x }] of shown.entries()) expect(x).toBeCloseTo(marks[index]?.x ?? 0, 1);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([`file://${file}`]);
    await page.context().close();
  });
});
