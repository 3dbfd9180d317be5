import type { CompiledConfig } from '../config/compiled-config.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { ChannelReport } from '../core/ports/delivery.ts';
import {
  type Notice,
  type NoticeEnding,
  type Notifier,
  OF_NO_RULE,
  RESOLVED,
} from '../core/ports/notifier.ts';
import { type RefusedAccount, StoreLostError } from '../core/ports/state-store.ts';
import type { DaemonEvent, EventOf, Telemetry } from '../core/ports/telemetry.ts';
import { foreignWords } from '../core/redaction/foreign-words.ts';
import { OWN_RULES, type OwnRule } from '../core/rules/own-rules.ts';
import type { Severity } from '../core/rules/rule.ts';
import { isFileOf } from '../state/mirror/mirror-text.ts';

interface Said {
  readonly rule: OwnRule;
  readonly severity: Severity;
  readonly words: string;
  /** Absent: it concerns this process. */
  readonly accountId?: string;
  /** The channel that it concerns, if any. */
  readonly channel?: string;
  /** Absent: all. */
  readonly channels?: readonly string[];
  readonly ending?: NoticeEnding;
}

/** Views of the config in force. */
export type NoticeScene = ReturnType<typeof noticeScene>;

export function noticeScene(config: () => CompiledConfig) {
  return {
    accounts: (): readonly string[] => config().accounts.map(({ id }) => id),
    channels: (): readonly string[] => config().channels.map(({ name }) => name),
    /** Mode of an account; of an unknown one, the config's. */
    modeOf: (accountId: string) =>
      config().accounts.find(({ id }) => id === accountId)?.settings.mode ?? config().mode,
  };
}

/**
 * Sends notices about problems that no rule sees: a refused config, an unreadable account state, a paused queue, a lost
 * Redis, a channel that does not deliver. One notice when it begins, and one when it is over.
 */
export class ProcessNotices implements Telemetry {
  readonly #clock: Clock;
  readonly #open = new Map<string, { readonly said: Said; readonly sinceMs: number }>();
  /** By account: since when its polls fail and judge nothing (monotonic clock, ms). */
  readonly #failing = new Map<string, number>();
  #notifier: Notifier | undefined;
  #scene: NoticeScene = { accounts: () => [], channels: () => [], modeOf: () => 'observe' };
  #instance = '';
  #count = 0;
  #isRedisLost = false;
  /** Told once notices can be sent: a mirror is read before. */
  readonly #early: EventOf<'mirror'>[] = [];
  #onError: (error: unknown) => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nothing is sent before: the person who starts the process sees what happens. */
  start(instance: string, notifier: Notifier, scene: NoticeScene, onError: (error: unknown) => void): void {
    this.#instance = instance;
    this.#notifier = notifier;
    this.#scene = scene;
    this.#onError = onError;
    for (const event of this.#early.splice(0)) this.emit(event);
  }

  emit(event: DaemonEvent): void {
    if (this.#notifier === undefined) {
      if (event.kind === 'mirror') this.#early.push(event);
      return;
    }
    switch (event.kind) {
      case 'configRefused':
        return this.#begin('config', configRefused(event.problems));
      case 'configReloaded':
        this.#endRemoved();
        if (event.lost.length > 0) this.#hand(watchesLess(event.lost), 'alarm');
        return this.#end('config');
      case 'standby':
        return event.state === 'alone' ? this.#begin('redis', withoutRedis(event)) : this.#end('redis');
      case 'mirror':
        return event.state === 'unread' ? this.#hand(this.#damaged(event), 'alarm') : undefined;
      case 'auditCut':
        return this.#hand({ rule: OWN_RULES.auditCut, severity: 'critical', words: event.words }, 'alarm');
      case 'company':
        if (event.fault === undefined) return this.#end('company');
        return this.#begin('company', { rule: OWN_RULES.company, severity: 'critical', words: event.fault });
      case 'queueResumed': {
        const words = `somebody had paused or limited the queue ${event.queue}: nothing went through it; it runs again`;
        return this.#hand({ rule: OWN_RULES.queuePaused, severity: 'critical', words }, 'alarm');
      }
      case 'ownTicks':
        return event.state === 'begun' ? this.#begin('ticks', OWN_TICKS) : this.#end('ticks');
      case 'delivered':
        return this.#noteDelivery(event.report);
      case 'botListens':
        return event.trouble === undefined
          ? this.#end(`bot ${event.channel}`)
          : this.#begin(`bot ${event.channel}`, deaf(event.channel, event.trouble));
      case 'accountRefused':
        return this.#begin(`state ${event.problem.accountId}`, stateRefused(event.problem));
      case 'redis':
        this.#isRedisLost = !event.available;
        return;
      case 'pollFailed':
        return this.#noteFailedPoll(event);
      case 'evaluated':
        this.#failing.delete(event.accountId);
        this.#end(`poll ${event.accountId}`);
        return this.#end(`state ${event.accountId}`);
      default:
    }
  }

  #damaged({ name, words, isStopped, error }: Extract<EventOf<'mirror'>, { state: 'unread' }>): Said {
    const accountId = this.#scene.accounts().find((id) => isFileOf(id, name));
    return {
      rule: OWN_RULES.mirrorDamaged,
      severity: isStopped ? 'critical' : 'warning',
      words: `${words} (${shown(error instanceof Error ? error.message : String(error))})`,
      ...(accountId !== undefined && { accountId }),
    };
  }

  /** A lost Redis has its own notice. Polls that fail for `TOLD_AFTER_MS` are not just bad luck. */
  #noteFailedPoll({ accountId, why, error }: EventOf<'pollFailed'>): void {
    if (why !== 'error' || this.#isRedisLost || error instanceof StoreLostError) return;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#failing.get(accountId) ?? nowMs;
    this.#failing.set(accountId, sinceMs);
    if (nowMs - sinceMs >= TOLD_AFTER_MS) this.#begin(`poll ${accountId}`, notJudged(accountId, error));
  }

  /** Sent through the other channels, if any. The first reason stays, as one channel fails in several ways. */
  #noteDelivery({ channel, delivery }: ChannelReport): void {
    const place = `channel ${channel}`;
    if (delivery.kind === 'delivered') return this.#end(place);
    const isGone = delivery.kind === 'failed' && delivery.reason === 'noSuchChannel';
    if (delivery.kind !== 'failed' || isGone || this.#open.has(place)) return;
    const others = this.#scene.channels().filter((name) => name !== channel);
    if (others.length === 0) return;
    const words = `the channel ${channel} does not deliver (${delivery.reason}): ${delivery.words}`;
    const about = { words, channel, channels: others };
    this.#begin(place, { rule: OWN_RULES.channelFailed, severity: 'warning', ...about });
  }

  #begin(place: string, said: Said): void {
    const before = this.#open.get(place);
    if (before?.said.words === said.words) return;
    const sinceMs = before?.sinceMs ?? this.#clock.nowMs();
    this.#open.set(place, { said, sinceMs });
    this.#hand(said, 'firing', sinceMs);
  }

  /** Nothing is heard any more of what a reload took out of the config. */
  #endRemoved(): void {
    const [accounts, channels] = [new Set(this.#scene.accounts()), new Set(this.#scene.channels())];
    for (const accountId of this.#failing.keys())
      if (!accounts.has(accountId)) this.#failing.delete(accountId);
    for (const [place, { said }] of this.#open) {
      const { accountId, channel } = said;
      if (accountId !== undefined && !accounts.has(accountId))
        this.#end(place, 'the account has left the config: this says nothing about its danger');
      if (channel !== undefined && !channels.has(channel))
        this.#end(place, 'the channel has left the config');
    }
  }

  /** `unjudged`: why nobody looks any more, although the cause may go on. */
  #end(place: string, unjudged?: string): void {
    const before = this.#open.get(place);
    if (before === undefined) return;
    this.#open.delete(place);
    const end =
      unjudged === undefined ? { words: RESOLVED } : { words: unjudged, ending: 'notJudged' as const };
    this.#hand({ ...before.said, ...end }, 'resolved', before.sinceMs);
  }

  #hand(
    { rule, severity, words, accountId = '', channels = [], ending }: Said,
    kind: Notice['kind'],
    sinceMs = this.#clock.nowMs(),
  ): void {
    const key = JSON.stringify([this.#instance, rule, accountId, sinceMs]);
    this.#count += 1;
    const notice: Notice = {
      ...OF_NO_RULE,
      id: JSON.stringify([key, this.#count, kind]),
      key,
      kind,
      accountId,
      ruleId: rule,
      subject: accountId === '' ? '' : 'account',
      severity,
      mode: this.#scene.modeOf(accountId),
      labels: { instance: this.#instance },
      words,
      sinceMs,
      atMs: this.#clock.nowMs(),
      channels,
      ...(ending !== undefined && { ending }),
    };
    this.#notifier?.hand([notice]).catch(this.#onError);
  }
}

function withoutRedis({ watchesOnly, error }: Extract<DaemonEvent, { state: 'alone' }>): Said {
  const what =
    watchesOnly === undefined
      ? 'Redis is lost: this process goes on from its own memory, and other processes cannot be seen'
      : `Redis is not in use: this process watches and does not act: ${watchesOnly}`;
  const words = `${what} (${shown(error instanceof Error ? error.message : String(error))})`;
  return { rule: OWN_RULES.withoutRedis, severity: 'critical', words };
}

const OWN_TICKS: Said = {
  rule: OWN_RULES.ownTicks,
  severity: 'warning',
  words:
    'no ticks of the queue reach this process: it polls by its own clock, and acts as usual. Look at Redis and at the clocks of the hosts',
};

function deaf(channel: string, trouble: string): Said {
  const words = `the channel ${channel} takes no commands, and its buttons do nothing: ${trouble}`;
  return { rule: OWN_RULES.channelFailed, severity: 'warning', words, channel };
}

const TOLD_AFTER_MS = 10_000;

/** Keeps secrets in error texts out of channels. */
const shown = foreignWords([], { maxLength: 160, opaqueLength: 20 });

function notJudged(accountId: string, error: unknown): Said {
  const words = `the account is not watched, as every poll of it fails: ${shown(error instanceof Error ? error.message : String(error))}. Only what stands at the exchange protects it: look there. This is a defect of Breakwater`;
  return { rule: OWN_RULES.notJudged, severity: 'critical', words, accountId };
}

const MOST_PROBLEMS = 3;

function configRefused(problems: readonly string[]): Said {
  const words = `the config file was refused, and the one before stays in force: ${firstOf(problems)}`;
  return { rule: OWN_RULES.configRefused, severity: 'warning', words };
}

function watchesLess(lost: readonly string[]): Said {
  const words = `the config file has changed: ${firstOf(lost)}. If that was not meant, restore the file`;
  return { rule: OWN_RULES.watchesLess, severity: 'warning', words };
}

function firstOf(words: readonly string[]): string {
  const more = words.length > MOST_PROBLEMS ? `; and ${words.length - MOST_PROBLEMS} more` : '';
  return `${words.slice(0, MOST_PROBLEMS).join('; ')}${more}`;
}

function stateRefused({ accountId, message }: RefusedAccount): Said {
  const words = `the account is not watched, as its stored state cannot be read: ${message}`;
  return { rule: OWN_RULES.stateRefused, severity: 'critical', words, accountId };
}
