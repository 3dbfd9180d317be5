import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { move, ours, polls, priceOf, sizeOf } from '../daemon/scene.ts';
import { troubles } from '../daemon/world.ts';
import { hasBrowser, launchBrowser } from '../support/browser.ts';
import { inTurn, sliceOf } from '../support/slice.ts';
import {
  CALM,
  CONTROL_TOKEN,
  type DaemonPage,
  expectClean,
  openDaemonPage,
  patiently,
  sees,
  shown,
  sign,
} from './daemon-page.ts';

const plays = inTurn(['approach', 'by hand', 'pause'], 3, 'what people see and do on the page');

/** The page of a real daemon, on a real Redis, against the simulated exchange. */

/** The position starts at about 31 % from liquidation. The rule fires for a while, so that the page shows it. */
const RULES = `  - id: near-liquidation
    on: position
    when: { liquidationDistance: { below: 20%, clearAbove: 22% } }
    keepFiringFor: 4s
    do: [{ reduce: { untilDistance: 35%, slippage: 1% } }]
    severity: critical
`;

/** Distance to liquidation at the exchange. */
function marketDistance(simulator: RunningSimulator): number {
  const liquidation = simulator.model.openPositions('long')[0]?.liquidationPrice?.toNumber() ?? 0;
  return 1 - liquidation / priceOf(simulator);
}

describe.skipIf(!hasBrowser())('the page of a daemon', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  async function open(): Promise<DaemonPage> {
    return await openDaemonPage(browser, {
      accounts: { long: { rules: ['near-liquidation'] } },
      rules: RULES,
    });
  }

  async function hasSeen(page: Page, text: RegExp): Promise<void> {
    await patiently(
      async () => (await shown(page)).some((one) => text.test(one)),
      `${text} on the page`,
      () => shown(page),
    );
  }

  async function distance(page: Page): Promise<number> {
    const text = (await page.locator('.headline').first().textContent()) ?? '';
    return Number(/^([\d.]+)/.exec(text)?.[1] ?? Number.NaN);
  }

  /** Lets the price fall until the page shows that the rule fires. */
  async function fallUntilFiring({ page, simulator, world }: DaemonPage): Promise<void> {
    await patiently(
      async () => {
        if ((await shown(page)).some((one) => one.startsWith('Firing, critical'))) return true;
        if ((await distance(page)) > 19 && ours(simulator, 'long').length === 0) move(simulator, -0.01);
        return false;
      },
      'a rule that fires on the page',
      () => troubles(world.events),
      200,
    );
  }

  it.runIf(plays('approach'))(
    'shows the approach, the firing rule, the action and the recovery, live',
    async () => {
      const scene = await open();
      const { page, simulator, world } = scene;
      const before = await distance(page);
      const size = sizeOf(simulator, 'long');
      move(simulator, -0.05);
      await patiently(
        async () => (await distance(page)) < before - 2,
        'a smaller distance on the page',
        async () => [before, await distance(page)],
      );
      await fallUntilFiring(scene);
      await hasSeen(page, /Firing, critical near-liquidation .*distance to liquidation is [12]\d(\.\d+)? %/);
      await hasSeen(page, /long (acting: reducing BTC_PERP|waiting for its trigger: sell )/);
      await patiently(
        () => ours(simulator, 'long').length > 0,
        'an order at the exchange',
        () => troubles(world.events),
      );
      await page.locator('.action', { hasText: 'accepted' }).first().waitFor();
      await sees(page, 'took ');
      await hasSeen(page, /Intent until 35 % away/);
      await patiently(
        () => {
          if (marketDistance(simulator) > 0.23) return true;
          // A stop below the market fills as the price goes on; a partial fill is enough here.
          move(simulator, -0.0005);
          return false;
        },
        'fills until the position is safe',
        () => troubles(world.events),
        150,
      );
      expect(sizeOf(simulator, 'long')).toBeLessThan(size);
      await sees(page, CALM);
      expect(await distance(page)).toBeGreaterThan(22);

      // Its full story, on its own page; navigating there does not reload either.
      await page.locator('.subject h4 a').click();
      await page.getByRole('heading', { level: 1, name: 'BTC_PERP long' }).waitFor();
      const story = page.locator('.story-entry');
      await story.filter({ hasText: 'near-liquidation' }).filter({ hasText: 'firing' }).first().waitFor();
      await story.filter({ hasText: 'Intent' }).first().waitFor();
      await story.filter({ hasText: 'Order' }).filter({ hasText: 'accepted' }).first().waitFor();
      const fired = story.filter({ hasText: 'firing' }).last();
      await fired.getByText('Details and inputs').click();
      await fired.getByText('"inputs"').waitFor();
      await sees(page, 'Distance to liquidation, last hour');
      await expectClean(scene);
    },
  );

  it.runIf(plays('by hand'))('reduces by hand as previewed, and the ledger agrees', async () => {
    const scene = await open();
    const { page, simulator, world } = scene;
    const before = sizeOf(simulator, 'long');
    await page.getByRole('button', { name: 'Reduce or close' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('How far').selectOption('Take away a part of its size');
    await dialog.getByLabel('Part in percent').fill('50');
    await sign(dialog, 'event risk');
    await dialog.getByRole('button', { name: 'Show the order' }).click();
    await dialog
      .getByText(/a reduce-only sell stop at about \d+(\.\d+)?; it closes only when the price falls/)
      .waitFor();
    expect(ours(simulator, 'long')).toEqual([]);
    await dialog.getByRole('button', { name: 'Order it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await patiently(
      () => {
        if (sizeOf(simulator, 'long') <= before / 2) return true;
        move(simulator, -0.0005);
        return false;
      },
      'half of the position',
      () => troubles(world.events),
      150,
    );
    expect(sizeOf(simulator, 'long')).toBeGreaterThan(before / 2 - 0.001);
    await page.locator('.action', { hasText: 'accepted' }).first().waitFor();
    await expectClean(scene);
  });

  const ways = [
    { way: 'rises', by: 0.0005 },
    { way: 'falls', by: -0.0005 },
  ];

  it.each(sliceOf(ways, 2, 'ways of the price'))(
    'closes urgently in either direction, and the ledger agrees: it $way',
    async ({ by }) => {
      const scene = await open();
      const { page, simulator, world } = scene;
      await page.getByRole('button', { name: 'Reduce or close' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Urgent places a stop on either side of the price').waitFor();
      await dialog.getByLabel('When it closes').selectOption('Urgent: whichever way the price moves');
      await sign(dialog, 'key leaked');
      await dialog.getByRole('button', { name: 'Show the order' }).click();
      await dialog.getByText(/two reduce-only sell stops at about \d+(\.\d+)? and \d+(\.\d+)?; /).waitFor();
      expect(ours(simulator, 'long')).toEqual([]);
      const mark = priceOf(simulator);
      await dialog.getByRole('button', { name: 'Order it' }).click();
      await dialog.waitFor({ state: 'detached' });
      await patiently(
        () => ours(simulator, 'long').length >= 2,
        'both stops at the exchange',
        () => troubles(world.events),
      );
      const stops = ours(simulator, 'long').slice(0, 2);
      const sides = stops.map(({ details }) => Math.sign(Number(details?.['activationPrice']) - mark));
      expect(sides.toSorted((a, b) => a - b)).toEqual([-1, 1]);
      for (const stop of stops) {
        expect(stop).toMatchObject({ side: 'sell', amount: '0.5', details: { reduceOnly: true } });
      }
      await patiently(
        () => {
          if (sizeOf(simulator, 'long') === 0) return true;
          move(simulator, by);
          return false;
        },
        'the position closed',
        () => troubles(world.events),
        150,
      );
      await expectClean(scene);
    },
  );

  it.runIf(plays('pause'))(
    'stops the next order when actions are paused there; a wrong token stops nothing',
    async () => {
      const scene = await open();
      const { page, simulator, world, daemon } = scene;
      await page.getByRole('button', { name: 'Pause actions' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('maintenance of the exchange');
      await dialog.getByLabel('Your name').fill('ann');
      await dialog.getByLabel('Control token').fill('some-other-token-of-enough-letters');
      await dialog.getByRole('button', { name: 'Pause' }).click();
      await dialog.getByText('The control token is wrong. Nothing was changed').waitFor();
      expect(await daemon.state.controls.list()).toEqual([]);
      // The browser itself reports the refusal; no other complaint is allowed.
      expect(scene.complaints.filter((text) => !text.includes('401'))).toEqual([]);

      await dialog.getByLabel('Control token').fill(CONTROL_TOKEN);
      await dialog.getByRole('button', { name: 'Pause' }).click();
      await dialog.waitFor({ state: 'detached' });
      await sees(page, 'Actions of all accounts are paused.');
      await fallUntilFiring(scene);
      await sees(page, 'rules fire, and nothing is done');
      await polls(world, 'long', 5);
      expect(ours(simulator, 'long')).toEqual([]);

      await page.getByRole('button', { name: 'Resume all accounts' }).click();
      await dialog.getByLabel('Reason').fill('over');
      await dialog.getByRole('button', { name: 'Resume' }).click();
      await dialog.waitFor({ state: 'detached' });
      await patiently(
        () => ours(simulator, 'long').length > 0,
        'an order after the pause',
        () => troubles(world.events),
      );
      await hasSeen(page, /long (acting: reducing BTC_PERP|waiting for its trigger: sell )/);
      const stored = await page.evaluate('JSON.stringify(localStorage) + document.cookie + location.href');
      expect(stored).not.toContain(CONTROL_TOKEN);
      await expectClean({ ...scene, complaints: scene.complaints.filter((text) => !text.includes('401')) });
    },
  );
});
