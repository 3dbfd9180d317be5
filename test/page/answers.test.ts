import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccountView } from '../../src/core/view/account-view.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { toldThenEscalated } from '../daemon/config.ts';
import { ours, polls, sizeOf } from '../daemon/scene.ts';
import { troubles } from '../daemon/world.ts';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { hasBrowser, launchBrowser } from '../support/browser.ts';
import { inTurn, sliceOf } from '../support/slice.ts';
import {
  CALM,
  type DaemonPage,
  expectClean,
  openDaemonPage,
  patiently,
  sees,
  sign,
  visit,
} from './daemon-page.ts';

const plays = inTurn(['approved', 'vetoed', 'two people'], 3, 'answers on the page');

/** Answers of people on the page of a real daemon, by the exchange's ledger and by the receivers' messages. */

const ASKING = /^long waiting for approval until /;

/** The position is about 31 % from liquidation, and stays there. */
const RULES = `  - id: near-liquidation
    on: position
    when: { liquidationDistance: { below: 40%, clearAbove: 60% } }
    do: [{ reduce: { untilDistance: 45%, slippage: 1% } }]
    severity: critical
`;

const hook = ({ url }: Receiver) =>
  `hook: { type: webhook, url: ${url}/hook, secret: { env: OPERATORS_KEY } }`;

const ORDER_WORDS =
  /^sell (?<amount>.+) BTC_PERP once the price is (?<activationPrice>.+) or less, limit (?<price>.+)$/;

/** Without the spaces that group thousands. */
const asShown = (words: string | null) => {
  const parts = ORDER_WORDS.exec(words ?? '')?.groups ?? expect.fail(`no order: ${words}`);
  return Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, text.replaceAll(/\s/g, '')]));
};

const asPlaced = (simulator: RunningSimulator) => {
  const [order] = ours(simulator, 'long');
  const { amount, price, details } = order ?? expect.fail('no order');
  return { amount, price, activationPrice: details?.['activationPrice'] };
};

describe.skipIf(!hasBrowser())('answering on the page', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
  });

  async function openAsking(approval: string): Promise<DaemonPage> {
    const receiver = await startReceiver();
    closeAfterTest(() => receiver.close());
    const accounts = { long: { rules: ['near-liquidation'] } };
    const more = `approval: ${approval}\nchannels:\n  ${hook(receiver)}\n`;
    return await openDaemonPage(browser, { mode: 'approve', accounts, rules: RULES, more }, ASKING);
  }

  /** Does everything up to the last button. */
  async function open(page: Page, decision: 'Approve' | 'Veto', author: string): Promise<Locator> {
    await page.getByRole('button', { name: `${decision} near-liquidation` }).click();
    const dialog = page.getByRole('dialog');
    await sign(dialog, `${author} has looked`, author);
    await dialog.getByRole('button', { name: 'Show what it is about' }).click();
    await dialog.getByText(ORDER_WORDS).waitFor();
    return dialog;
  }

  const press = (dialog: Locator, decision: 'Approve' | 'Veto') =>
    dialog.getByRole('button', { name: decision, exact: true }).click();

  async function untilOrdered({ simulator, world }: DaemonPage): Promise<void> {
    await patiently(
      () => ours(simulator, 'long').length > 0,
      'an order at the exchange',
      () => troubles(world.events),
    );
  }

  it.runIf(plays('approved'))('after an approval the shown orders are sent, and none before', async () => {
    const scene = await openAsking('{ within: 50s, withoutAnswer: hold }');
    const { page, simulator } = scene;
    const dialog = await open(page, 'Approve', 'ann');
    const shown = asShown(await dialog.getByText(ORDER_WORDS).textContent());
    expect(ours(simulator, 'long')).toEqual([]);
    await press(dialog, 'Approve');
    await dialog.waitFor({ state: 'detached' });
    await untilOrdered(scene);
    expect(asPlaced(simulator)).toEqual(shown);
    await page.getByRole('button', { name: /^Approve/ }).waitFor({ state: 'detached' });
    await expectClean(scene);
  });

  it.runIf(plays('vetoed'))(
    'after a veto no order is sent although the rule keeps firing, even past the deadline',
    async () => {
      const scene = await openAsking('{ within: 30s, withoutAnswer: act }');
      const { page, simulator, world, url } = scene;
      const view = async () => (await (await fetch(`${url}/api/v1/accounts/long`)).json()) as AccountView;
      const untilMs = (await view()).questions[0]?.untilMs ?? expect.fail('nobody is asked');
      const dialog = await open(page, 'Veto', 'ben');
      await press(dialog, 'Veto');
      await dialog.waitFor({ state: 'detached' });
      await sees(page, /^long blocked: .*vetoed.*ben.*ben has looked/);
      await patiently(
        () => Date.now() > untilMs + 1_000,
        'the deadline',
        () => untilMs,
      );
      await polls(world, 'long', 5);
      expect((await view()).rules).toMatchObject([{ ruleId: 'near-liquidation', phase: 'firing' }]);
      expect(ours(simulator, 'long')).toEqual([]);
      expect(sizeOf(simulator, 'long')).toBe(0.5);
      await expectClean(scene);
    },
  );

  it.runIf(plays('two people'))(
    'two people at once: the first answer counts, and the second person sees who gave it',
    async () => {
      const scene = await openAsking('{ within: 50s, withoutAnswer: hold }');
      const { page, simulator, world } = scene;
      const other = await visit(browser, scene.url, ASKING);
      const [ann, ben] = [await open(page, 'Approve', 'ann'), await open(other.page, 'Veto', 'ben')];
      await Promise.all([press(ann, 'Approve'), press(ben, 'Veto')]);
      const refused = (dialog: Locator) =>
        dialog.getByRole('alert').filter({ hasText: 'Nothing was changed: ' });
      const told = async () => [await refused(ann).count(), await refused(ben).count()];
      await patiently(
        async () => (await told()).includes(1),
        'the refusal of the second answer',
        () => troubles(world.events),
      );
      const annWon = (await told())[1] === 1;
      const [winner, loser] = annWon ? [ann, ben] : [ben, ann];
      await winner.waitFor({ state: 'detached' });
      const words = `${annWon ? 'ann' : 'ben'} (control token, 127.0.0.1) ${annWon ? 'approved' : 'vetoed'} it`;
      expect(await refused(loser).textContent()).toBe(`Nothing was changed: ${words} before.`);
      for (const one of [page, other.page])
        await one.getByText(words).and(one.locator('.doing span')).waitFor();
      if (annWon) await untilOrdered(scene);
      await polls(world, 'long', 5);
      expect(ours(simulator, 'long').length > 0).toBe(annWon);
      // The browser itself reports the refusal; no other complaint is allowed.
      const complaints = [...scene.complaints, ...other.complaints].filter((text) => !text.includes('409'));
      await expectClean({ ...scene, complaints });
    },
  );

  it.each(sliceOf([true, false], 2, 'acknowledged or not'))(
    'a notice is escalated to the pager, unless it is acknowledged on the page: %s',
    async (isSeenTo) => {
      const receiver = await startReceiver();
      closeAfterTest(() => receiver.close());
      const scene = await openDaemonPage(browser, toldThenEscalated(receiver.url, '12s'), CALM);
      const { page, simulator, world } = scene;
      const kinds = (channel: string) =>
        receiver.received.filter(({ path }) => path === `/${channel}`).map(({ json }) => json['kind']);
      simulator.setPrice('BTC_PERP', '59000');
      await page.getByRole('button', { name: /^Acknowledge falls/ }).waitFor();
      const toldMs = Date.now();
      if (isSeenTo) {
        await page.getByRole('button', { name: /^Acknowledge falls/ }).click();
        const dialog = page.getByRole('dialog');
        await sign(dialog, 'on it');
        await dialog.getByRole('button', { name: 'Acknowledge', exact: true }).click();
        await dialog.waitFor({ state: 'detached' });
        await sees(page, /^ann \(control token, 127\.0\.0\.1\) sees to it/);
        // Longer than the escalation takes.
        await sleep(toldMs + 15_000 - Date.now());
        await polls(world, 'long', 3);
      } else {
        await patiently(
          () => kinds('pager').length > 0,
          'the pager',
          () => [receiver.received.map(({ raw }) => raw), troubles(world.events)],
        );
      }
      expect(kinds('chat')).toEqual(['firing']);
      expect(kinds('pager')).toEqual(isSeenTo ? [] : ['firing']);
      await expectClean(scene);
    },
  );
});
