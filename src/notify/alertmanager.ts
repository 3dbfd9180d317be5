import type { Message } from '../core/ports/delivery.ts';
import type { Channel, DeliveryAttempt, Outgoing } from './channel.ts';
import { modeOf } from './figure-words.ts';
import { attempt, judgeBy } from './http-channel.ts';
import type { ChannelParts, JsonObject } from './http-sender.ts';
import { assetOf, isOver, type LinkTemplate, wordingOf } from './message-layout.ts';

export interface AlertmanagerOptions {
  /** All instances of a cluster, because they do not forward alerts to each other. Without a trailing slash. */
  readonly urls: readonly string[];
  readonly authorization?: string;
  /** An alert that is not repeated ends after this. It must be longer than the interval of reminders. */
  readonly expireAfterMs: number;
}

/** Alertmanager's API v2, `POST /api/v2/alerts`. Delivered if one instance takes it, as in Prometheus. */
export function createAlertmanager(options: AlertmanagerOptions, parts: ChannelParts): Channel {
  const { urls, authorization, expireAfterMs } = options;
  const { name, links, http } = parts;
  const headers: Readonly<Record<string, string>> = authorization === undefined ? {} : { authorization };
  // In `Bearer x` the secret is x.
  const secrets = authorization === undefined ? [] : [authorization, ...authorization.split(' ').slice(1)];
  const judge = judgeBy({ secrets: () => secrets });
  return {
    name,
    type: 'alertmanager',
    audience: 'machine',
    endsBySilence: true,
    async send(outgoing, signal) {
      const body = JSON.stringify(alertmanagerPayload(outgoing, links, expireAfterMs));
      const attempts = await Promise.all(
        urls.map((url) => attempt(http, { url: `${url}/api/v2/alerts`, headers, body }, judge, signal)),
      );
      return best(attempts);
    },
    close: () => http.close(),
  };
}

function best(attempts: readonly DeliveryAttempt[]): DeliveryAttempt {
  const found =
    attempts.find(({ kind }) => kind === 'delivered') ??
    attempts.find((attempt) => attempt.kind === 'failed' && !attempt.permanent) ??
    attempts[0];
  if (found === undefined) throw new TypeError('an Alertmanager channel without addresses');
  return found;
}

/**
 * Returns one alert. Its labels are its identity and stay the same from firing to resolved. `startsAt` is the beginning
 * of the episode; `endsAt` is the time of the message if the alert is over, otherwise in the future.
 */
function alertmanagerPayload(
  outgoing: Outgoing,
  links: readonly LinkTemplate[],
  expireAfterMs: number,
): readonly JsonObject[] {
  const { message } = outgoing;
  const wording = wordingOf(outgoing, links);
  const [link] = wording.links;
  const endsAtMs = isOver(message) ? message.atMs : message.atMs + expireAfterMs;
  return [
    {
      labels: labelsOf(message),
      annotations: nonEmpty({
        summary: wording.title,
        description: wording.lines.join('\n'),
        stage: message.stage > 0 ? String(message.stage) : '',
        ...Object.fromEntries(
          wording.links.slice(1).map(({ title, url }) => [`link_${labelName(title)}`, url]),
        ),
      }),
      startsAt: new Date(Math.min(message.sinceMs, endsAtMs)).toISOString(),
      endsAt: new Date(endsAtMs).toISOString(),
      ...(link === undefined ? {} : { generatorURL: link.url }),
    },
  ];
}

/** Alert names of messages that belong to no rule. Each such message is a separate alert. */
const NAMES: Partial<Readonly<Record<Message['kind'], string>>> = {
  test: 'BreakwaterTest',
  alarm: 'BreakwaterAlarm',
  approval: 'BreakwaterApproval',
  digest: 'BreakwaterDigest',
};

function labelsOf(message: Message): Readonly<Record<string, string>> {
  const own = {
    alertname: NAMES[message.kind] ?? message.ruleId,
    account: message.accountId,
    rule: message.ruleId,
    subject: message.subject,
    market: message.market ?? '',
    asset: assetOf(message.subject) ?? '',
    severity: message.severity,
    mode: modeOf(message) ?? '',
    source: 'breakwater',
  };
  // The key makes an alarm about the same thing at another time a separate alert.
  const episode = NAMES[message.kind] === undefined ? {} : { key: message.key };
  const given = Object.entries(message.labels).map(([name, value]): [string, string] => {
    const safe = labelName(name);
    return [Object.hasOwn(own, safe) || safe === 'key' ? `label_${safe}` : safe, value];
  });
  return nonEmpty({ ...Object.fromEntries(given), ...own, ...episode });
}

/** Makes a valid label name: `[a-zA-Z_][a-zA-Z0-9_]*`. */
function labelName(text: string): string {
  const safe = text.replaceAll(/[^a-zA-Z0-9_]/g, '_');
  return /^[0-9]/.test(safe) || safe === '' ? `_${safe}` : safe;
}

/** Omits empty labels, which Alertmanager would drop anyway. */
function nonEmpty(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''));
}
