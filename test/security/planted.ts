import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { closeAfterTest } from '../contract/support/world.ts';

/** Values that must turn up nowhere, by what they are. */
export const PLANTED = {
  redisPassword: 'planted-redis-Passw0rd-7f3a',
  readToken: 'planted-read-token-51c0ffee',
  controlToken: 'planted-control-token-0ddba11',
  hookAddress: 'planted-hook-path-9b1d',
  hookSecret: 'planted-hook-secret-33aa77',
  slackAddress: 'T0PLANTED/B0PLANTED/planted-slack-path',
  telegramToken: '987654321:planted-telegram-token-xyz',
  alertmanager: 'planted-alertmanager-credentials',
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

/** Every place at which one of the secrets can be read, however it is written there. */
export function leaksIn(
  texts: ReadonlyMap<string, string>,
  secrets: Readonly<Record<string, string>>,
): readonly Leak[] {
  return Object.entries(secrets).flatMap(([what, secret]) =>
    formsOf(secret).flatMap((form) =>
      [...texts].flatMap(([where, text]): readonly Leak[] => {
        const at = text.toLowerCase().indexOf(form.toLowerCase());
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

export interface Received {
  readonly url: string;
  readonly body: string;
}

/** Takes every message; what comes to `/services/` it fails, and says its address while doing so. */
export async function startReceiver(): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const url = request.url ?? '';
      received.push({ url, body });
      response.statusCode = url.startsWith('/services/') ? 500 : 200;
      response.end(response.statusCode === 500 ? `cannot take ${url} now` : '{"ok":true,"result":{}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Secrets of people as files, for a config: the folder. */
export async function plantFiles(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-planted-'));
  closeAfterTest(() => rm(folder, { recursive: true, force: true }));
  const files = { ...PLANTED, country: 'DE' };
  for (const [name, value] of Object.entries(files)) {
    await writeFile(path.join(folder, name), `${value}\n`, { mode: 0o600 });
  }
  return folder;
}

/** The log of a daemon, all of it. */
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
