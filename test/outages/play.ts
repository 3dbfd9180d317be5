import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { POINT_PREFIX } from '../../src/pipeline/points.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { chanceOf } from '../../src/world/chance.ts';
import { type Judged, judge } from './judge.ts';
import type { Link } from './link.ts';
import { MOMENTS, type Moment, type Outage } from './outage.ts';
import {
  ACCOUNT,
  BREACH_PRICE,
  type Heard,
  LATE_ARRIVAL_MS,
  openScene,
  type Scene,
  type Times,
} from './scene.ts';

const FALL_BEFORE_MS = 6_000;
const PRICE_EVERY_MS = 100;
const LONGEST_WAIT_MS = 240_000;

/** Plays an outage on real parts and judges it by the exchange's ledger. Rejects if it cannot be played to its end. */
export async function play(outage: Outage, signal?: AbortSignal): Promise<Judged> {
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const scene = await openScene(outage, closers);
    const times = await run(scene, signal);
    return await judgeTogether(scene, times, signal);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** Under load a daemon may briefly take Redis for lost; while it is alone, its state is incomplete. */
async function judgeTogether(scene: Scene, times: Times, signal: AbortSignal | undefined): Promise<Judged> {
  const areTogether = (): boolean => scene.daemons.every(({ state }) => state.standby?.isAlone !== true);
  for (let attempt = 1; ; attempt++) {
    await until(areTogether, 'all handed back', signal);
    const before = lossesOf(scene);
    const judged = await judge(scene, times);
    if (attempt === MOST_JUDGED || (areTogether() && lossesOf(scene) === before)) return judged;
  }
}

function lossesOf({ heard }: Scene): number {
  const isLoss = ({ event }: Heard): boolean => event.kind === 'standby' && event.state === 'alone';
  return heard.reduce((sum, own) => sum + own.filter(isLoss).length, 0);
}

const MOST_JUDGED = 5;

async function run(scene: Scene, signal: AbortSignal | undefined): Promise<Times> {
  const { outage, simulator } = scene;
  const nowMs = (): number => simulator.model.nowMs();
  await until(
    () => totalPolls(scene) >= 4 && seeEachOther(scene),
    'polls, and daemons that see each other',
    signal,
  );
  const market = startMarket(simulator);
  try {
    const lostMs = market.breachMs + (outage.kind === 'partition' ? outage.afterBreachMs : 0);
    const begun =
      outage.kind === 'killed' ? await killAt(scene, market, signal) : await cutAt(scene, lostMs, signal);
    const { backMs } = await begun.end();
    await until(
      () => scene.daemons.every(({ state }) => state.standby?.isAlone !== true),
      'all handed back',
      signal,
    );
    await until(() => hasSettled(scene), 'the target reached', signal, 20_000).catch(() => undefined);
    // A duplicate request would follow soon.
    await sleep(3_000 + LATE_ARRIVAL_MS, undefined, { signal });
    return { breachMs: market.breachMs, lostMs: begun.lostMs, backMs };
  } finally {
    market.stop();
  }

  function hasSettled({ simulator: { model } }: Scene): boolean {
    const size = model.openPositions(ACCOUNT)[0]?.amount.toNumber() ?? 0;
    return nowMs() > 0 && size < 0.2505 && model.openOrders(ACCOUNT).length === 0;
  }
}

function totalPolls({ heard }: Scene): number {
  const isPoll = ({ event }: Heard): boolean => event.kind === 'evaluated';
  return heard.reduce((sum, own) => sum + own.filter(isPoll).length, 0);
}

function seeEachOther({ daemons }: Scene): boolean {
  return daemons.length === 1 || daemons.every(({ state }) => state.standby?.hasCompany === true);
}

interface Market {
  /** When the price passes the rule's threshold. */
  readonly breachMs: number;
  hasBreached(): boolean;
  stop(): void;
}

/** Falls fast to the threshold, then slowly, so that stops are reached one after another. */
function startMarket(simulator: RunningSimulator): Market {
  const breachMs = simulator.model.nowMs() + FALL_BEFORE_MS;
  const priceAt = (leftMs: number): number =>
    leftMs > 0
      ? BREACH_PRICE + leftMs / 4
      : Math.max(BREACH_PRICE - 4_500, BREACH_PRICE - 1 + leftMs * 0.045);
  const timer = setInterval(() => {
    const leftMs = breachMs - simulator.model.nowMs();
    simulator.setPrice('BTC_PERP', priceAt(leftMs).toFixed(1));
  }, PRICE_EVERY_MS);
  return {
    breachMs,
    hasBreached: () => simulator.model.nowMs() >= breachMs,
    stop: () => clearInterval(timer),
  };
}

interface Begun {
  readonly lostMs: number;
  end(): Promise<{ readonly backMs: number }>;
}

async function killAt(scene: Scene, market: Market, signal: AbortSignal | undefined): Promise<Begun> {
  const { outage, simulator, server } = scene;
  if (outage.kind !== 'killed') throw new TypeError('there is no moment');
  const moment = MOMENTS[outage.moment];
  if (moment === undefined) throw new RangeError(`there is no moment ${outage.moment}`);
  let killed: Promise<void> | undefined;
  let lostMs = 0;
  const kill = (): void => {
    if (killed !== undefined) return;
    lostMs = simulator.model.nowMs();
    killed = server.kill();
  };
  await reach(moment, { scene, market, kill, signal });
  await killed;
  return {
    lostMs,
    async end() {
      await sleep(outage.downMs, undefined, { signal });
      await server.start();
      return { backMs: simulator.model.nowMs() };
    },
  };
}

interface Reaching {
  readonly scene: Scene;
  readonly market: Market;
  readonly kill: () => void;
  readonly signal: AbortSignal | undefined;
}

async function reach(moment: Moment, { scene, market, kill, signal }: Reaching): Promise<void> {
  const { simulator } = scene;
  const nowMs = (): number => simulator.model.nowMs();
  switch (moment.kind) {
    case 'time':
      await until(() => nowMs() >= market.breachMs + moment.afterBreachMs, moment.name, signal);
      return kill();
    case 'point': {
      let isReached = false;
      const onPoint = (): void => {
        if (!market.hasBreached()) return;
        isReached = true;
        kill();
      };
      const name = POINT_PREFIX + moment.point;
      subscribe(name, onPoint);
      try {
        await until(() => isReached, moment.name, signal);
      } finally {
        unsubscribe(name, onPoint);
      }
      return;
    }
    case 'order': {
      const effect =
        moment.reply === 'late'
          ? ({ kind: 'latency', delayMs: 600, at: 'reply' } as const)
          : ({ kind: 'lostReply', connection: 'hang' } as const);
      if (moment.afterMs === 0)
        simulator.injectFault({ effect, target: { endpoint: 'stopLimit' }, count: 1 });
      await until(() => simulator.ledger({ kinds: ['order_placed'] }).length > 0, moment.name, signal);
      if (moment.afterMs > 0) await sleep(moment.afterMs, undefined, { signal });
      return kill();
    }
    case 'fill':
      await until(() => simulator.ledger({ kinds: ['fill'] }).length > 0, moment.name, signal);
      return kill();
  }
}

async function cutAt(scene: Scene, lostMs: number, signal: AbortSignal | undefined): Promise<Begun> {
  const { outage, simulator } = scene;
  if (outage.kind !== 'partition') throw new TypeError('nothing is cut');
  const nowMs = (): number => simulator.model.nowMs();
  await until(() => nowMs() >= lostMs, 'the moment of the cut', signal);
  const { between, cut } = outage;
  const links = linksOf(scene, between, cut);
  const isExchange = between === 'exchange' || between === 'oneWay';
  for (const link of links) link.set(between === 'oneWay' ? 'oneWay' : 'closed');
  const begunMs = nowMs();
  return {
    lostMs: begunMs,
    async end() {
      if (between === 'flapping') await flap(links, outage, signal);
      else await sleep(outage.downMs, undefined, { signal });
      for (const link of links) {
        if (isExchange) link.reset();
        else link.set('open');
      }
      return { backMs: nowMs() };
    },
  };
}

function linksOf({ redisLinks, exchangeLinks }: Scene, between: string, cut: 0 | 1): readonly Link[] {
  switch (between) {
    case 'exchange':
    case 'oneWay':
      return exchangeLinks;
    case 'oneFromRedis':
      return redisLinks.slice(cut, cut + 1);
    default:
      return redisLinks;
  }
}

/** Up for less time than it takes to be trusted, or for barely longer. */
async function flap(
  links: readonly Link[],
  { seed, downMs }: Outage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const chance = chanceOf(seed, 'flapping');
  const endMs = performance.now() + downMs;
  for (let isOpen = false; performance.now() < endMs; isOpen = !isOpen) {
    for (const link of links) link.set(isOpen ? 'open' : 'closed');
    await sleep(500 + chance.uniform() * 3_500, undefined, { signal });
  }
}

async function until(
  holds: () => boolean,
  what: string,
  signal: AbortSignal | undefined,
  withinMs = LONGEST_WAIT_MS,
): Promise<void> {
  const giveUpMs = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > giveUpMs) throw new Error(`never: ${what}`);
    await sleep(4, undefined, { signal });
  }
}
