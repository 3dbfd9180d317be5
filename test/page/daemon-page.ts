import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Daemon } from '../../src/app/daemon.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import type { ConfigParts } from '../daemon/config.ts';
import { openScene } from '../daemon/scene.ts';
import { type DaemonWorld, openDaemonWorld } from '../daemon/world.ts';
import { openPage, type WatchedPage } from '../support/browser.ts';

/** A browser showing the page of a real daemon, on a real Redis, against the simulated exchange. */

export const CONTROL_TOKEN = 'a-control-token-for-the-page';

/** Under load polls may come late, which the page then mentions. */
export const CALM = /^long calm: /;

/** In the page: records everything it shows, even briefly, and that it was not reloaded. */
const REMEMBER = `
  window.isTheSame = true;
  window.shown = new Set();
  const visible = (node) => [...node.querySelectorAll(':scope > *')].filter((part) => !part.hidden).map((part) => part.textContent).join(' ') || node.textContent;
  new MutationObserver(() => {
    for (const node of document.querySelectorAll('.rule-line, .verdict-words, .doing')) window.shown.add(visible(node));
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
`;

/** Browser, daemon and exchange on a machine under load: the bound only ends what hangs. */
export async function patiently(
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

export interface DaemonPage extends WatchedPage {
  readonly simulator: RunningSimulator;
  readonly world: DaemonWorld;
  readonly daemon: Daemon;
  readonly url: string;
}

/** The page of a daemon that watches the account `long`, which is open in the list. */
export async function openDaemonPage(
  browser: Browser,
  parts: Pick<ConfigParts, 'rules' | 'accounts'> & Partial<ConfigParts>,
  first: RegExp = CALM,
): Promise<DaemonPage> {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    web: '{ port: 0, controlToken: { env: CONTROL_TOKEN } }',
    ...parts,
  });
  const daemon = await world.start({ env: { ...world.env, CONTROL_TOKEN } });
  const url = daemon.webUrl();
  if (url === undefined) throw new Error('the daemon serves no page');
  return { ...(await visit(browser, url, first)), simulator, world, daemon, url };
}

/** Opens the page in a separate browser context. */
export async function visit(browser: Browser, url: string, first: RegExp): Promise<WatchedPage> {
  const watched = await openPage(browser);
  closeAfterTest(() => watched.page.context().close());
  await watched.page.goto(url);
  await sees(watched.page, first);
  await watched.page.locator('.row-toggle').click();
  await watched.page.locator('.subject').waitFor();
  await watched.page.evaluate(REMEMBER);
  return watched;
}

/** The page did nothing forbidden, and was not reloaded. */
export async function expectClean({ page, complaints, foreign, url }: DaemonPage): Promise<void> {
  expect(complaints).toEqual([]);
  expect(foreign(url)).toEqual([]);
  expect(await page.evaluate('window.isTheSame')).toBe(true);
}

export async function sees(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}

export async function shown(page: Page): Promise<readonly string[]> {
  return (await page.evaluate('[...window.shown]')) as string[];
}

/** Fills in the fields that every change requires. */
export async function sign(dialog: Locator, reason: string, author = 'ann'): Promise<void> {
  await dialog.getByLabel('Reason').fill(reason);
  await dialog.getByLabel('Your name').fill(author);
  await dialog.getByLabel('Control token').fill(CONTROL_TOKEN);
}
