import {
  type EventKind,
  OWN_CONFIG,
  type ReplayEvent,
  type ReplayRecord,
  type RunRecord,
  UNPROTECTED,
} from '../record.ts';
import { variantWords } from '../summary.ts';
import { clock, counted, span } from '../words.ts';
import { type Html, markup } from './html.ts';
import { legend } from './marks.ts';
import { type AccountScene, eventKey, picture, styleOf } from './picture.ts';
import type { Range } from './scale.ts';

/** Nobody reads longer lists. */
const MOST_ROWS = 400;

/** Events with the lowest weight are listed first if there is no room for all. */
const WEIGHT: Readonly<Record<EventKind, number>> = {
  liquidation: 0,
  'margin-call': 0,
  fill: 1,
  rule: 2,
  decision: 2,
  order: 3,
  refusal: 4,
  cancel: 5,
  trigger: 6,
  notice: 7,
};

/** The events with a line of their own, in the order of time. */
function listedEvents(events: readonly ReplayEvent[]): readonly ReplayEvent[] {
  if (events.length <= MOST_ROWS) return events;
  const weighty = events.toSorted((a, b) => WEIGHT[a.kind] - WEIGHT[b.kind]).slice(0, MOST_ROWS);
  const kept = new Set(weighty);
  return events.filter((event) => kept.has(event));
}

/** One account: its picture, close-ups of eventful short times, and the list that links into them. */
export function accountSection(
  { fromMs, toMs, stoppedAtMs }: ReplayRecord,
  runs: readonly RunRecord[],
  { id, key }: { readonly id: string; readonly key: string },
): Html {
  const scene = sceneOf(runs, id, key);
  if (scene === undefined) return markup``;
  const whole: Range = { from: fromMs, to: stoppedAtMs ?? toMs };
  const { events } = scene.own;
  const closeUps = closeUpsOf(events, whole);
  const target = (event: ReplayEvent): Range =>
    closeUps.find(({ window }) => event.atMs >= window.from && event.atMs <= window.to)?.window ?? whole;
  const listed = listedEvents(events);
  const lines = new Set(listed);
  const draw = (window: Range, title: string): Html =>
    picture(scene, {
      window,
      title,
      hasLine: (event) => lines.has(event),
      hasTarget: (event) => target(event) === window,
    });
  return markup`<section id="account-${key}" class="account"><h2>${id}</h2>
${lineLegend(scene)}${legend(new Set(events.map(({ kind }) => kind)))}
<figure>${draw(whole, `${id}, the whole time`)}</figure>
${closeUps.map(({ window, events: count }) => {
  const title = `${clock(window.from)} to ${clock(window.to)} UTC: ${counted(count, 'event')} within ${span(window.to - window.from)}`;
  return markup`<figure><figcaption>${title}</figcaption>${draw(window, `${id}, ${title}`)}</figure>`;
})}
${list(scene, listed, fromMs)}</section>`;
}

function sceneOf(runs: readonly RunRecord[], accountId: string, key: string): AccountScene | undefined {
  const variants = runs.flatMap(({ variant, accounts }) =>
    accounts.filter(({ id }) => id === accountId).map((account) => ({ variant, account })),
  );
  const own =
    variants.find(({ variant }) => variant === OWN_CONFIG) ??
    variants.find(({ variant }) => variant !== UNPROTECTED) ??
    variants[0];
  if (own === undefined) return undefined;
  const prices = runs.find(({ variant }) => variant === own.variant)?.prices ?? {};
  return { accountId, key, prices, own: own.account, variants };
}

function lineLegend({ variants }: AccountScene): Html {
  const items = variants.map(
    ({ variant }) =>
      markup`<li><svg viewBox="0 0 26 10" width="26" height="10" aria-hidden="true"><path class="line ${styleOf(variant, variants)}" d="M0,5 H26"/></svg> ${variantWords(variant)}</li>`,
  );
  return markup`<ul class="legend">${items}</ul>`;
}

function list(scene: AccountScene, listed: readonly ReplayEvent[], startMs: number): Html {
  const { events } = scene.own;
  if (events.length === 0) return markup`<p>Nothing was decided or done.</p>`;
  const rows = listed.map((event) => {
    const key = eventKey(scene, event);
    const reason = event.reason === undefined ? markup`` : markup`<div class="reason">${event.reason}</div>`;
    return markup`<tr id="e-${key}"><td class="n"><a href="#m-${key}" title="show in the picture">${clock(event.atMs)}</a></td><td class="n">${span(event.atMs - startMs)}</td><td><span class="kind ${event.kind}">${event.kind}</span></td><td>${event.words}${reason}</td></tr>`;
  });
  return markup`<h3>What was decided and done, and why</h3><p class="hint">A time leads to its mark in the picture, a mark to its line here.</p>
<div class="wide"><table class="events"><thead><tr><th class="n">UTC</th><th class="n">after</th><th>Kind</th><th>What and why</th></tr></thead><tbody>${rows}</tbody></table></div>${unlisted(events, listed)}`;
}

function unlisted(events: readonly ReplayEvent[], listed: readonly ReplayEvent[]): Html {
  const lines = new Set(listed);
  const others = events.filter((event) => !lines.has(event));
  if (others.length === 0) return markup``;
  const kinds = Map.groupBy(others, ({ kind }) => kind);
  const words = [...kinds].map(([kind, ones]) => `${ones.length} ${kind}`).join(', ');
  return markup`<p>${counted(others.length, 'more event')} in the picture only, as the list would be too long: ${words}.</p>`;
}

/** Events nearer to each other than this share of the whole time overlap in the large picture. */
const NEAR_SHARE = 0.01;
/** A close-up is only worth it if it covers at most this share of the time. */
const LARGEST_SHARE = 0.5;
const SHORTEST_MS = 60_000;
const AIR_SHARE = 0.2;
const MOST = 4;

/** The most eventful parts, in order of time: each gets its own picture. */
function closeUpsOf(events: readonly ReplayEvent[], whole: Range) {
  const totalMs = whole.to - whole.from;
  const groups: ReplayEvent[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    const previousMs = last?.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    if (last !== undefined && event.atMs - previousMs <= totalMs * NEAR_SHARE) last.push(event);
    else groups.push([event]);
  }
  return groups
    .filter((group) => group.length > 1)
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MOST)
    .map((group) => ({ window: around(group, whole), events: group.length }))
    .filter(({ window }) => window.to - window.from <= totalMs * LARGEST_SHARE)
    .toSorted((a, b) => a.window.from - b.window.from);
}

function around(group: readonly ReplayEvent[], whole: Range): Range {
  const [firstMs, lastMs] = [group[0]?.atMs ?? 0, group.at(-1)?.atMs ?? 0];
  const air = Math.max((lastMs - firstMs) * AIR_SHARE, (SHORTEST_MS - (lastMs - firstMs)) / 2, 5_000);
  return { from: Math.max(whole.from, firstMs - air), to: Math.min(whole.to, lastMs + air) };
}
