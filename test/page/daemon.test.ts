import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import type { ConfigParts } from '../daemon/config.ts';
import { move, openScene, ours, polls, priceOf, sizeOf } from '../daemon/scene.ts';
import { type DaemonWorld, openDaemonWorld, troubles } from '../daemon/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { hasBrowser, launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';

/** The page of a real daemon, on a real Redis, in front of the simulated exchange. */

const CONTROL_TOKEN = 'a-control-token-for-the-page';

/** On a busy machine polls may have come late, which the page then says beside it. */
const CALM = /^long calm: /;
const ASKING = /^long waiting for approval until /;

/** The position starts at some 31 % from liquidation. It fires for a while: who looks at a page has to see it. */
const RULES = `  - id: near-liquidation
    on: position
    when: { liquidationDistance: { below: 20%, clearAbove: 22% } }
    keepFiringFor: 4s
    do: [{ reduce: { untilDistance: 35%, slippage: 1% } }]
    severity: critical
`;

/** In the page: what it showed, also for a moment only; and that it is the same page. */
const REMEMBER = `
  window.isTheSame = true;
  window.shown = new Set();
  const visible = (node) => [...node.querySelectorAll(':scope > *')].filter((part) => !part.hidden).map((part) => part.textContent).join(' ') || node.textContent;
  new MutationObserver(() => {
    for (const node of document.querySelectorAll('.rule-line, .verdict-words, .doing')) window.shown.add(visible(node));
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
`;

/** A browser, a daemon and an exchange on a machine that may be busy: the bound only ends what hangs. */
async function patiently(
  holds: () => boolean | Promise<boolean>,
  what: string,
  show: () => unknown,
  everyMs = 50,
): Promise<void> {
  const giveUpMs = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > giveUpMs)
      throw new Error(`never: ${what}\n${JSON.stringify(await show(), null, 1)}`);
    await sleep(everyMs);
  }
}

/** As the exchange has it. */
function marketDistance(simulator: RunningSimulator): number {
  const liquidation = simulator.model.openPositions('long')[0]?.liquidationPrice?.toNumber() ?? 0;
  return 1 - liquidation / priceOf(simulator);
}

interface Scene extends WatchedPage {
  readonly simulator: RunningSimulator;
  readonly world: DaemonWorld;
  readonly daemon: Daemon;
  readonly url: string;
}

describe.skipIf(!hasBrowser())('the page of a daemon', { timeout: 240_000 }, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  }, 90_000);

  afterAll(async () => {
    await browser.close();
  });

  async function open(parts: Partial<ConfigParts> = {}): Promise<Scene> {
    const simulator = await openScene();
    const world = await openDaemonWorld(simulator, {
      accounts: { long: { rules: ['near-liquidation'] } },
      rules: RULES,
      web: '{ port: 0, controlToken: { env: CONTROL_TOKEN } }',
      ...parts,
    });
    const daemon = await world.start({ env: { ...world.env, CONTROL_TOKEN } });
    const url = daemon.webUrl();
    if (url === undefined) throw new Error('the daemon serves no page');
    const watched = await openPage(browser);
    closeAfterTest(() => watched.page.context().close());
    await watched.page.goto(url);
    await sees(watched.page, parts.mode === 'approve' ? ASKING : CALM);
    await watched.page.locator('.row-toggle').click();
    await watched.page.locator('.subject').waitFor();
    await watched.page.evaluate(REMEMBER);
    return { ...watched, simulator, world, daemon, url };
  }

  /** Nothing that a page must not do was done, and it is the same page as at first. */
  async function expectClean({ page, complaints, foreign, url }: Scene): Promise<void> {
    expect(complaints).toEqual([]);
    expect(foreign(url)).toEqual([]);
    expect(await page.evaluate('window.isTheSame')).toBe(true);
  }

  async function sees(page: Page, text: string | RegExp): Promise<void> {
    await page.getByText(text).first().waitFor();
  }

  async function shown(page: Page): Promise<readonly string[]> {
    return (await page.evaluate('[...window.shown]')) as string[];
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
  async function fallUntilFiring({ page, simulator, world }: Scene): Promise<void> {
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

  it('shows the approach, the rule that fires, the action and the recovery, live', async () => {
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
        // A stop below the market fills when the price goes on; a part of it may do for the moment.
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

    // Its whole story, on its own page; the way there is no reload either.
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
  });

  it('reduces by hand what was shown before, as the ledger has it', async () => {
    const scene = await open();
    const { page, simulator, world } = scene;
    const before = sizeOf(simulator, 'long');
    await page.getByRole('button', { name: 'Reduce or close' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('How far').selectOption('Take away a part of its size');
    await dialog.getByLabel('Part in percent').fill('50');
    await dialog.getByLabel('Reason').fill('event risk');
    await dialog.getByLabel('Your name').fill('ann');
    await dialog.getByLabel('Control token').fill(CONTROL_TOKEN);
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

  it('sends what it asks about when it is approved there, by the ledger, and nothing before', async () => {
    const receiver = await startReceiver();
    closeAfterTest(() => receiver.close());
    const scene = await open({
      mode: 'approve',
      rules: RULES.replace('below: 20%, clearAbove: 22%', 'below: 40%, clearAbove: 60%'),
      more: `approval: { within: 50s, withoutAnswer: hold }
channels:
  hook: { type: webhook, url: ${receiver.url}/hook, secret: { env: OPERATORS_KEY } }
`,
    });
    const { page, simulator, world } = scene;
    await page.getByRole('button', { name: /^Approve near-liquidation/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('seen');
    await dialog.getByLabel('Your name').fill('ann');
    await dialog.getByLabel('Control token').fill(CONTROL_TOKEN);
    await dialog.getByRole('button', { name: 'Show what it is about' }).click();
    await dialog.getByText(/^sell [\d.]+ BTC_PERP once the price is /).waitFor();
    expect(ours(simulator, 'long')).toEqual([]);
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await patiently(
      () => ours(simulator, 'long').length > 0,
      'an order at the exchange',
      () => troubles(world.events),
    );
    await page.getByRole('button', { name: /^Approve/ }).waitFor({ state: 'detached' });
    await expectClean(scene);
  });

  it('stops the next order when actions are paused there; a wrong token stops nothing', async () => {
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
    // The browser itself reports the refusal; nothing else may have been said.
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
  });
});
