import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { closeAfterTest } from '../contract/support/world.ts';

/** Values that must appear nowhere, by kind. */
export const PLANTED = {
  redisPassword: 'planted-redis-Passw0rd-7f3a',
  readToken: 'planted-read-token-51c0ffee',
  controlToken: 'planted-control-token-0ddba11',
  hookAddress: 'planted-hook-path-9b1d',
  hookSecret: 'planted-hook-secret-33aa77',
  slackAddress: 'T0PLANTED/B0PLANTED/planted-slack-path',
  telegramToken: '987654321:planted-telegram-token-xyz',
  alertmanager: 'planted-alertmanager-credentials',
  ntfyTopic: 'planted-ntfy-topic-2c9e',
  ntfyToken: 'tk_planted-ntfy-token-8842',
  discordPath: '112233445566/planted-discord-token-5a5a',
  teamsSignature: 'planted-teams-signature-6d1c',
  pagerdutyKey: 'planted-pagerduty-routing-key-00',
  opsgenieKey: 'planted-opsgenie-key-77ab-12cd',
  mailPassword: 'planted-mail-Passw0rd-91',
  heartbeatPath: 'planted-heartbeat-path-e02f',
  exchangeProxy: 'planted-exchange-proxy-Passw0rd',
  egressProxy: 'planted-egress-proxy-Passw0rd',
  channelProxy: 'planted-channel-proxy-Passw0rd',
  refusedProxy: 'planted-refused-proxy-Passw0rd',
  heartbeatProxy: 'planted-heartbeat-proxy-Passw0rd',
  sentinelPassword: 'planted-sentinel-Passw0rd-4b',
  operatorsKey: 'planted-operators-key-9f41-0123456789abcdef',
  userToken: 'planted-user-token-of-carol-31337',
  withdrawalAddress: 'planted-withdrawal-address-0xAbCd',
  firstName: 'Zenobia',
  lastName: 'Quackenbush',
  email: 'zenobia.quackenbush@planted.example',
  birthDate: '1979-03-07',
  line1: 'Plantedstrasse 77b',
  line2: 'Hinterhaus Quoin',
  city: 'Plantville',
  zipCode: 'PLZ-47114',
} as const;

export interface Leak {
  readonly what: string;
  readonly where: string;
  readonly around: string;
}

/** Every place where one of the secrets can be read, in any encoding. */
export function leaksIn(
  texts: ReadonlyMap<string, string>,
  secrets: Readonly<Record<string, string>>,
): readonly Leak[] {
  const lowered = [...texts].map(([where, text]) => [where, text, text.toLowerCase()] as const);
  return Object.entries(secrets).flatMap(([what, secret]) =>
    formsOf(secret).flatMap((form) =>
      lowered.flatMap(([where, text, lower]): readonly Leak[] => {
        const at = lower.indexOf(form.toLowerCase());
        return at === -1
          ? []
          : [{ what, where, around: text.slice(Math.max(0, at - 60), at + form.length + 20) }];
      }),
    ),
  );
}

function formsOf(secret: string): readonly string[] {
  const base64 = Buffer.from(secret).toString('base64');
  return [
    ...new Set([
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      base64,
      base64.replace(/=+$/, ''),
      Buffer.from(secret).toString('base64url'),
      Buffer.from(secret).toString('hex'),
    ]),
  ];
}

/** Writes each secret to a file of its name, for a config; returns the folder. */
export async function plantFiles(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-planted-'));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  const files = { ...PLANTED, country: 'DE' };
  for (const [name, value] of Object.entries(files)) {
    await writeFile(path.join(folder, name), `${value}\n`, { mode: 0o600 });
  }
  return folder;
}

/** The full log of a daemon. */
export class LogText {
  readonly stream = new PassThrough();
  #text = '';

  constructor() {
    this.stream.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString();
    });
  }

  get text(): string {
    return this.#text;
  }
}
