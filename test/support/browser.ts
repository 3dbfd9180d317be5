import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** A real Chromium of the system, with a record of forbidden actions of a page. */

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome'];

/** The browser on the PATH; undefined if there is none. */
export function findBrowser(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return PROGRAMS.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(existsSync);
}

/** For skipping tests: prints the reason once. */
export function hasBrowser(): boolean {
  if (findBrowser() !== undefined) return true;
  process.stderr.write(`Skipped: no browser (${PROGRAMS.join(', ')}) on the PATH; install chromium.\n`);
  return false;
}

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

export async function launchBrowser(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error('there is no browser; ask hasBrowser() first');
  return await chromium.launch({ executablePath, args: FLAGS, timeout: 240_000 });
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the console, including violations of the Content-Security-Policy, and uncaught errors. */
  readonly complaints: readonly string[];
  /** Every request of any origin. */
  readonly requests: readonly string[];
  /** Requests to any other origin than the given one. */
  readonly foreign: (origin: string) => readonly string[];
}

/** A tab with its own context, which records errors in it. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const complaints: string[] = [];
  const requests: string[] = [];
  context.on('request', (request) => void requests.push(request.url()));
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  page.on('pageerror', (error) => void complaints.push(`uncaught: ${error.stack ?? error.message}`));
  return {
    page,
    complaints,
    requests,
    foreign: (origin) =>
      requests.filter(
        (url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:') && url !== 'about:blank',
      ),
  };
}
