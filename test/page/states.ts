import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser, openPage } from '../support/browser.ts';
import { Closers } from '../support/closers.ts';
import { axeFindings } from './axe.ts';
import { openScene, type Scene, STATES, type State } from './state-scenes.ts';

/**
 * Takes pictures of the page in every state that people must tell apart, for 1, 20 and 200 accounts, on a desk and a
 * phone, light and dark: real daemons on a real Redis, with the simulated exchange. Fails if a page does not show its
 * expected text, or if axe-core finds something. `node test/page/states.ts [folder] [counts] [states]`
 */

const [
  ,
  ,
  folder = path.resolve(import.meta.dirname, '../../docs/pictures'),
  counts = '1,20,200',
  names = '',
] = process.argv;
const MODES = ['enforce', 'approve'] as const;
const DEVICES: Readonly<Record<string, BrowserContextOptions>> = {
  desk: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};
const QUALITY = 36;
/** Under load polls come late, which the page mentions for a minute. */
const SETTLED_WITHIN_MS = 240_000;

/** Errors of a page, in words. */
async function flawsOf(page: Page, { headline, firstLine }: State): Promise<readonly string[]> {
  const said = (await page.locator('.verdict-words').textContent()) ?? '';
  const first = page.locator('.account').first();
  const line = ((await first.textContent()) ?? '').replaceAll(/\s+/g, ' ');
  const box = await first.boundingBox();
  const bottom = (box?.y ?? Number.NaN) + (box?.height ?? Number.NaN);
  const text = await page.locator('body').innerText();
  return [
    ...(headline.test(said) ? [] : [`the headline is: ${said}`]),
    ...(firstLine.test(line) ? [] : [`the first line is: ${line}`]),
    ...(bottom <= (page.viewportSize()?.height ?? 0) ? [] : [`the first line ends ${bottom} pixels down`]),
    ...(text.includes(hostname()) ? ['it names this machine'] : []),
    ...(await axeFindings(page)),
  ];
}

/** `page.screenshot` cannot write WebP. */
async function picture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  return Buffer.from(data, 'base64');
}

async function shoot(browser: Browser, scene: Scene, state: State): Promise<readonly string[]> {
  const flaws: string[] = [];
  for (const [device, options] of Object.entries(DEVICES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const name = `${state.name}-${scene.count}-${device}-${colorScheme}`;
      const { page } = await openPage(browser, { ...options, colorScheme });
      await page.goto(scene.daemon.webUrl() ?? '');
      await page.getByText('Live', { exact: true }).waitFor();
      await page.locator('.account').first().waitFor();
      const headline = page.locator('.verdict-words').filter({ hasText: state.headline });
      // The check below reports the actual text.
      await headline.waitFor({ timeout: SETTLED_WITHIN_MS }).catch(() => {});
      await writeFile(path.join(folder, `${name}.webp`), await picture(page));
      flaws.push(...(await flawsOf(page, state)).map((flaw) => `${name}: ${flaw}`));
      await page.context().close();
    }
  }
  process.stderr.write(`${state.name}, ${scene.count} accounts: ${flaws.length} flaws\n`);
  return flaws;
}

async function withClosers<T>(run: (closers: Closers) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await run(closers);
  } finally {
    await closers.close();
  }
}

await mkdir(folder, { recursive: true });
const flaws = await withClosers(async (outer) => {
  const browser = await launchBrowser();
  outer.add(() => browser.close());
  const found: string[] = [];
  for (const count of counts.split(',').map(Number)) {
    for (const mode of MODES) {
      const states = STATES.filter(
        (state) => state.mode === mode && (names === '' || names.split(',').includes(state.name)),
      );
      if (states.length === 0) continue;
      await withClosers(async (closers) => {
        const scene = await openScene(mode, count, closers);
        for (const state of states) {
          await state.enter(scene);
          found.push(...(await shoot(browser, scene, state)));
        }
      });
    }
  }
  return found;
});
for (const flaw of flaws) process.stderr.write(`${flaw}\n`);
if (flaws.length > 0) process.exitCode = 1;
