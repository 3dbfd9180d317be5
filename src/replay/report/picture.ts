import {
  type AccountRecord,
  OWN_CONFIG,
  type PositionTrack,
  type ReplayEvent,
  type RuleBand,
  type RunRecord,
  type Track,
  UNPROTECTED,
  valueAt,
} from '../record.ts';
import { clock, money, price, wholePercent } from '../words.ts';
import { type Html, markup } from './html.ts';
import { mark, otherMark } from './marks.ts';
import { type Line, panel, timeAxis } from './panel.ts';
import { type Frame, type Range, rangeOf, scaleX, scaleY, thinned } from './scale.ts';

/** One account in several variants, all on one path. */
export interface AccountScene {
  readonly accountId: string;
  /** Part of every link of this account. */
  readonly key: string;
  readonly prices: RunRecord['prices'];
  /** The variant whose events are marked. */
  readonly own: AccountRecord;
  readonly variants: readonly { readonly variant: string; readonly account: AccountRecord }[];
}

export interface PictureView {
  readonly window: Range;
  readonly title: string;
  /** Whether the list has a line for this event. */
  readonly hasLine: (event: ReplayEvent) => boolean;
  /** Whether that line links to the mark in this picture. */
  readonly hasTarget: (event: ReplayEvent) => boolean;
}

const WIDTH = 1000;
const LEFT = 74;
const PLOT_WIDTH = 756;
const GAP = 34;

export function styleOf(variant: string, variants: readonly { readonly variant: string }[]): string {
  if (variant === UNPROTECTED) return 'none';
  if (variant === OWN_CONFIG) return 'own';
  const others = variants
    .map((one) => one.variant)
    .filter((one) => one !== UNPROTECTED && one !== OWN_CONFIG);
  return `other-${1 + (others.indexOf(variant) % 3)}`;
}

/** Price with all marks, distance, size, equity and rules, stacked on one time axis. */
export function picture(scene: AccountScene, view: PictureView): Html {
  const drawings: Html[] = [];
  let top = 26;
  let frame: Frame = { left: LEFT, top, width: PLOT_WIDTH, height: 0 };
  const add = (height: number, draw: (frame: Frame) => Html): void => {
    frame = { left: LEFT, top, width: PLOT_WIDTH, height };
    drawings.push(draw(frame));
    top += height + GAP;
  };
  const markets = marketsOf(scene);
  for (const market of markets)
    add(markets.length > 1 ? 180 : 230, (at) => pricePanel(scene, view, market, at));
  if (scene.own.positions.length > 0) {
    add(110, (at) => distancePanel(scene, view, at));
    add(70, (at) => sizePanel(scene, view, at));
  }
  add(110, (at) => equityPanel(scene, view, at));
  const { bands } = scene.own;
  if (bands.length > 0) add(bands.length * BAND_HEIGHT, (at) => bandPanel(bands, view, at));
  const height = top - GAP + 26;
  return markup`<svg class="picture" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${view.title}">${drawings}${timeAxis(frame, view.window)}</svg>`;
}

function marketsOf({ own, prices }: AccountScene): readonly string[] {
  const used = own.positions.map(({ market }) => market);
  const all = [...used, ...own.events.flatMap(({ market }) => market ?? [])];
  const known = [...new Set(all)].filter((market) => Object.hasOwn(prices, market));
  return known.length > 0 ? known : Object.keys(prices).slice(0, 1);
}

function pricePanel(scene: AccountScene, view: PictureView, market: string, frame: Frame): Html {
  const { window } = view;
  const course = scene.prices[market] ?? [];
  const shown = seen(course, window);
  const events = scene.own.events.filter(({ atMs }) => atMs >= window.from && atMs <= window.to);
  const marked = events.filter((event) => event.market === market && event.price !== undefined);
  const plain = rangeOf([...shown, ...marked.map((event) => event.price ?? 0)]);
  const barriers = barrierLines(scene, market);
  const reach = (plain.to - plain.from) * 0.7;
  const near = barriers
    .flatMap(({ track }) => seen(track, window))
    .filter((value) => value > plain.from - reach && value < plain.to + reach);
  const values = rangeOf([...shown, ...near, ...marked.map((event) => event.price ?? 0)]);
  const [x, y] = [scaleX(frame, window), scaleY(frame, values)];
  const rug = events.filter((event) => event.price === undefined && (event.market ?? market) === market);
  const spots = [...rug, ...marked].map((event) => {
    const key = eventKey(scene, event);
    const place = {
      x: x(event.atMs),
      y: event.price === undefined ? frame.top + frame.height - 6 : y(event.price),
    };
    if (!view.hasLine(event)) return mark(event, place);
    return mark(event, { ...place, href: `#e-${key}`, id: view.hasTarget(event) ? `m-${key}` : undefined });
  });
  const lines: Line[] = [...barriers, { track: course, style: 'price', label: market }];
  const ends = liquidationsElsewhere(scene, view, market).map(({ event, variant }) =>
    otherMark(event, shortName(variant), x(event.atMs), y(event.price ?? 0)),
  );
  return panel({ title: `${market}: price`, frame, window, values, format: price, lines }, [
    ...ends,
    ...spots,
  ]);
}

/** The first liquidation of each other variant in this market. */
function liquidationsElsewhere({ own, variants }: AccountScene, { window }: PictureView, market: string) {
  return variants.flatMap(({ variant, account }) => {
    const event = account.events.find((one) => one.kind === 'liquidation' && one.market === market);
    const isSeen = event !== undefined && event.atMs >= window.from && event.atMs <= window.to;
    return account === own || !isSeen ? [] : [{ variant, event }];
  });
}

function barrierLines({ own, variants }: AccountScene, market: string): readonly Line[] {
  const of = (account: AccountRecord | undefined, style: string, label: string): readonly Line[] =>
    (account?.positions ?? [])
      .filter((position) => position.market === market)
      .map(({ liquidationPrice }) => ({ track: liquidationPrice, style, label, isStep: true }));
  const unprotected = variants.find(({ variant }) => variant === UNPROTECTED)?.account;
  return [
    ...(unprotected === own ? [] : of(unprotected, 'barrier none', 'unprotected: liquidation')),
    ...of(own, 'barrier', 'liquidation'),
  ];
}

/** Number of an event in the account's list, for links. */
export function eventKey({ own, key }: AccountScene, event: ReplayEvent): string {
  return `${key}-${own.events.indexOf(event)}`;
}

function distancePanel(scene: AccountScene, { window }: PictureView, frame: Frame): Html {
  const thresholds = scene.own.thresholds.map(({ ruleId, distance }) => ({
    track: [[window.from, distance]] as const,
    style: 'threshold',
    label: ruleId,
    isStep: true,
  }));
  const lines = [...thresholds, ...positionLines(scene, ({ distance }) => distance)];
  const seenValues = lines.flatMap(({ track }) => seen(track, window));
  const values = rangeOf([0, ...seenValues.map((value) => Math.min(value, 0.6))]);
  return panel({ title: 'Distance to liquidation', frame, window, values, format: wholePercent, lines });
}

function sizePanel(scene: AccountScene, { window }: PictureView, frame: Frame): Html {
  const lines = positionLines(scene, ({ size }) => shareOf(size), true);
  const values = rangeOf([0, 1, ...lines.flatMap(({ track }) => seen(track, window))], 0.08);
  const title = 'Size of the position, of what it was at the start';
  return panel({ title, frame, window, values, format: wholePercent, lines });
}

function shareOf(size: Track): Track {
  const first = size.find(([, value]) => value !== null && value > 0)?.[1] ?? 1;
  return size.map(([atMs, value]) => [atMs, value === null ? null : value / first]);
}

/** Every position in every variant; own ones last, so that they are on top. */
function positionLines(
  scene: AccountScene,
  trackOf: (position: PositionTrack) => Track,
  isStep = false,
): readonly Line[] {
  const { variants } = scene;
  const isOnly = scene.own.positions.length === 1;
  return ownLast(variants).flatMap(({ variant, account }) =>
    account.positions.map((position) => ({
      track: trackOf(position),
      isStep,
      style: styleOf(variant, variants),
      label: isOnly ? shortName(variant) : `${position.market} ${position.side}`,
    })),
  );
}

/** Puts own variants last: the last line drawn is on top. */
function ownLast(variants: AccountScene['variants']): AccountScene['variants'] {
  return variants.toSorted((a, b) => Number(a.variant === OWN_CONFIG) - Number(b.variant === OWN_CONFIG));
}

function shortName(variant: string): string {
  return variant === OWN_CONFIG ? 'your rules' : variant;
}

function equityPanel({ variants, own }: AccountScene, { window }: PictureView, frame: Frame): Html {
  const lines = ownLast(variants).map(({ variant, account }) => ({
    track: account.equity,
    style: styleOf(variant, variants),
    label: shortName(variant),
  }));
  const values = rangeOf([0, ...lines.flatMap(({ track }) => seen(track, window))]);
  return panel({ title: `Equity, ${own.money}`, frame, window, values, format: money, lines });
}

const BAND_HEIGHT = 22;

function bandPanel(bands: readonly RuleBand[], { window }: PictureView, frame: Frame): Html {
  const x = scaleX(frame, window);
  const rows = bands.map(({ ruleId, subject, words, spans }, index) => {
    const top = frame.top + index * BAND_HEIGHT;
    const boxes = spans
      .filter(({ fromMs, toMs }) => toMs >= window.from && fromMs <= window.to)
      .map(({ fromMs, toMs, state }) => {
        const [left, right] = [x(Math.max(fromMs, window.from)), x(Math.min(toMs, window.to))];
        const about = `${ruleId}: ${state} from ${clock(fromMs)} to ${clock(toMs)}`;
        return markup`<rect class="band ${state}" x="${left}" y="${top + 4}" width="${Math.max(1.5, right - left)}" height="${BAND_HEIGHT - 8}"><title>${about}</title></rect>`;
      });
    const label = `${ruleId} (${subject})`;
    return markup`<line class="grid" x1="${frame.left}" x2="${frame.left + frame.width}" y1="${top + BAND_HEIGHT / 2}" y2="${top + BAND_HEIGHT / 2}"/>${boxes}<text class="label" x="${frame.left + frame.width + 8}" y="${top + BAND_HEIGHT / 2 + 4}"><title>${words}</title>${label.length > 27 ? `${label.slice(0, 26)}\u2026` : label}</text>`;
  });
  return markup`<g><text class="panel-title" x="${frame.left}" y="${frame.top - 4}">Rules: pending, firing, frozen</text>${rows}</g>`;
}

function seen(track: Track, window: Range): readonly number[] {
  const start = valueAt(track, window.from);
  const inside = thinned(track, window, PLOT_WIDTH).filter(([atMs]) => atMs <= window.to);
  const values = inside.flatMap(([, value]) => value ?? []);
  return start === null ? values : [start, ...values];
}
