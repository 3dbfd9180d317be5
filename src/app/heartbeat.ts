import type { CompiledHeartbeat } from '../config/heartbeat.ts';
import type { Secret } from '../config/secret.ts';
import type { Readiness } from '../web/sources.ts';
import type { Base } from './open-base.ts';

export interface HeartbeatParts extends Pick<Base, 'clock' | 'telemetry'> {
  /** As configured now. */
  readonly settings: () => CompiledHeartbeat | undefined;
  /** The answer of /readyz; does not reject. */
  readonly readiness: () => Promise<Readiness>;
  readonly conceal: (text: string) => string;
}

export type Heartbeat = ReturnType<typeof startHeartbeat>;

type Signal = 'start' | 'success' | 'fail';

interface Told {
  readonly url: Secret;
  readonly atMs: number;
  /** What the receiver last accepted (`start`: accepted or not); another signal is sent at once. */
  readonly signal: Signal | undefined;
}

const LOOK_EVERY_MS = 10_000;
/** Accounts may take this long until they are first judged. */
const START_MS = 10_000;
const START_LOOK_MS = 1_000;
const TIMEOUT_MS = 10_000;

/**
 * Pings a dead-man service while all accounts are judged in time, and its `/fail` with the reason while one is not. The
 * service raises an alarm when pings stop. A process that ends sends nothing, so its absence is noticed.
 */
export function startHeartbeat(parts: HeartbeatParts) {
  const over = new AbortController();
  const ended = beat(parts, over.signal);
  return {
    async stop(): Promise<void> {
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
      // No error may end the heartbeat.
      if (!over.aborted) telemetry.emit({ kind: 'workerError', queue: 'notify', error });
    }
    const everyMs = settings()?.everyMs ?? LOOK_EVERY_MS;
    const inMs = told?.signal === 'start' ? START_LOOK_MS : Math.min(everyMs, LOOK_EVERY_MS);
    await clock.sleep(inMs, over).catch(() => undefined);
  }
}

/** Sends the signal that is due, if any. */
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
    // Accepted or not: some receivers have no start signal.
    told = { url, atMs: clock.monotonicMs(), signal: 'start' };
  }
  const { ready, checks } = await readiness();
  if (!ready && isStarting && told.signal === 'start') return told;
  const signal = ready ? 'success' : 'fail';
  const nowMs = clock.monotonicMs();
  // Each look is a little late, so half an interval early counts as due.
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

/** Resolves to whether the receiver accepted it. Its reply text is ignored. */
async function tell(
  { telemetry, clock }: HeartbeatParts,
  { url, proxy }: CompiledHeartbeat,
  { signal, words }: { readonly signal: Signal; readonly words: string },
  over: AbortSignal,
): Promise<boolean> {
  const { createHttpSender, httpFailure } = await import('../notify/http-sender.ts');
  const http = createHttpSender({
    timeoutMs: TIMEOUT_MS,
    nowMs: () => clock.nowMs(),
    ...(proxy === undefined ? {} : { proxy: proxy.reveal() }),
  });
  try {
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    const address = addressOf(url?.reveal() ?? '', signal);
    const result = await http.post({ url: address, headers, body: words }, over);
    const isTaken = result.kind === 'reply' && result.reply.status >= 200 && result.reply.status < 300;
    const why = () => (result.kind === 'reply' ? httpFailure(result.reply).words : result.words);
    const told = { signal, words, atMs: clock.nowMs() };
    telemetry.emit({ kind: 'heartbeat', ...told, ...(isTaken ? {} : { refused: why() }) });
    return isTaken;
  } finally {
    await http.close();
  }
}

/** The convention of dead-man services: success at the address itself, other signals below it. */
function addressOf(address: string, signal: Signal): string {
  if (signal === 'success') return address;
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${signal}`;
  return url.href;
}
