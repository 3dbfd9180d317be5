import type { CompiledHeartbeat } from '../config/heartbeat.ts';
import type { Secret } from '../config/secret.ts';
import type { Readiness } from '../web/sources.ts';
import type { Base } from './open-base.ts';

export interface HeartbeatParts extends Pick<Base, 'clock' | 'telemetry'> {
  /** As configured now. */
  readonly settings: () => CompiledHeartbeat | undefined;
  /** What /readyz answers; does not reject. */
  readonly readiness: () => Promise<Readiness>;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => string;
}

export interface Heartbeat {
  stop(): Promise<void>;
}

type Signal = 'start' | 'success' | 'fail';

interface Told {
  readonly url: Secret;
  readonly atMs: number;
  /** What the receiver last accepted; it is repeated where it changes. */
  readonly signal: Signal | undefined;
}

const LOOK_EVERY_MS = 10_000;
/** So long accounts may take to be judged first. */
const START_MS = 10_000;
const START_LOOK_MS = 1_000;
const TIMEOUT_MS = 10_000;

/**
 * Pings a dead-man service while all accounts are judged in time, and its `/fail` with the reason while one is not. The
 * service alarms when it hears nothing. A process that ends sends nothing, so that one that stays away is missed.
 */
export function startHeartbeat(parts: HeartbeatParts): Heartbeat {
  const over = new AbortController();
  const ended = beat(parts, over.signal);
  return {
    async stop() {
      over.abort(new Error('the heartbeat has ended'));
      await ended;
    },
  };
}

async function beat(parts: HeartbeatParts, over: AbortSignal): Promise<void> {
  const { clock, settings, telemetry } = parts;
  const startedMs = clock.monotonicMs();
  let told: Told | undefined;
  while (!over.aborted) {
    try {
      const isStarting = clock.monotonicMs() - startedMs < START_MS;
      told = await look(parts, told, isStarting, over);
    } catch (error) {
      // Whatever it is, it must not end what watches.
      if (!over.aborted) telemetry.emit({ kind: 'workerError', queue: 'notify', error });
    }
    const everyMs = settings()?.everyMs ?? LOOK_EVERY_MS;
    const inMs = told?.signal === 'start' ? START_LOOK_MS : Math.min(everyMs, LOOK_EVERY_MS);
    await clock.sleep(inMs, over).catch(() => undefined);
  }
}

/** What is told now, if anything is to be. */
async function look(
  parts: HeartbeatParts,
  before: Told | undefined,
  isStarting: boolean,
  over: AbortSignal,
): Promise<Told | undefined> {
  const { clock, readiness, conceal } = parts;
  const settings = parts.settings();
  if (settings?.url === undefined) return undefined;
  const { url, everyMs } = settings;
  let told = before;
  if (told === undefined || !told.url.equals(url)) {
    await tell(parts, settings, { signal: 'start', words: 'it starts to watch' }, over);
    // Taken or not: there are receivers that know no start.
    told = { url, atMs: clock.monotonicMs(), signal: 'start' };
  }
  const { ready, checks } = await readiness();
  if (!ready && isStarting && told.signal === 'start') return told;
  const signal = ready ? 'success' : 'fail';
  const nowMs = clock.monotonicMs();
  // A look comes a little late each time: half of one early is in time.
  const isDue = nowMs - told.atMs >= everyMs - Math.min(everyMs, LOOK_EVERY_MS) / 2;
  if (told.signal === signal && !isDue) return told;
  const words = conceal(
    checks
      .filter(({ ok }) => ok === ready)
      .map(({ name, why }) => `${name}: ${why}`)
      .join('; '),
  );
  const isTaken = await tell(parts, settings, { signal, words }, over);
  return { url, atMs: nowMs, signal: isTaken ? signal : undefined };
}

interface Ping {
  readonly signal: Signal;
  readonly words: string;
}

/** Resolves to whether the receiver took it. What it says is not looked at. */
async function tell(
  { telemetry, clock }: HeartbeatParts,
  { url, proxy }: CompiledHeartbeat,
  { signal, words }: Ping,
  over: AbortSignal,
): Promise<boolean> {
  const { createHttpSender, httpFailure } = await import('../notify/http-sender.ts');
  const http = createHttpSender({
    timeoutMs: TIMEOUT_MS,
    nowMs: () => clock.nowMs(),
    ...(proxy === undefined ? {} : { proxy: proxy.reveal() }),
  });
  try {
    const result = await http.post(
      {
        url: addressOf(url?.reveal() ?? '', signal),
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: words,
      },
      over,
    );
    const isTaken = result.kind === 'reply' && result.reply.status >= 200 && result.reply.status < 300;
    const refused = isTaken
      ? undefined
      : result.kind === 'reply'
        ? httpFailure(result.reply).words
        : result.words;
    telemetry.emit({
      kind: 'heartbeat',
      signal,
      words,
      atMs: clock.nowMs(),
      ...(refused === undefined ? {} : { refused }),
    });
    return isTaken;
  } finally {
    await http.close();
  }
}

/** As dead-man services have it: success at the address itself, the others below it. */
function addressOf(address: string, signal: Signal): string {
  if (signal === 'success') return address;
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${signal}`;
  return url.href;
}
