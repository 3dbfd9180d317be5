import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { launchBrowser, openPage } from '../support/browser.ts';
import { Closers } from '../support/closers.ts';
import { ACCOUNTS, openDesk, play, untilWell } from './desk.ts';
import { withPalette } from './png.ts';

/**
 * Takes the pictures of the page in docs/images: a real daemon on a real Redis, with the simulated exchange in the
 * middle of a fall. `node test/page/images.ts [folder]`
 */

const FOLDER = process.argv[2] ?? path.resolve(import.meta.dirname, '../../docs/images');

async function shoot(browser: Browser, url: string): Promise<void> {
  const devices = {
    desk: { viewport: { width: 1280, height: 1120 } },
    phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  };
  for (const [device, options] of Object.entries(devices)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openPage(browser, { ...options, colorScheme });
      await page.goto(url);
      await page
        .locator('.account')
        .nth(ACCOUNTS.length - 1)
        .waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await page.locator('.row-toggle').first().click();
      await page.locator('.subject').first().waitFor();
      const file = path.join(FOLDER, `page-${device}-${colorScheme}.png`);
      await writeFile(file, withPalette(await page.screenshot()));
      await page.context().close();
    }
  }
}

const closers = new Closers();
try {
  await mkdir(FOLDER, { recursive: true });
  const desk = await openDesk(closers);
  await play(desk);
  await untilWell(desk);
  const browser = await launchBrowser();
  closers.add(() => browser.close());
  await shoot(browser, desk.daemon.webUrl() ?? '');
} finally {
  await closers.close();
}
