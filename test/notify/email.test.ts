import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterEach, describe, expect, test } from 'vitest';
import type { Channel } from '../../src/notify/channel.ts';
import { closeOpened, open, outgoing } from './opened.ts';
import { AT, message } from './receiver.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  await closeOpened();
  for (const close of closers.splice(0).reverse()) await close();
});

const PASSWORD = 'planted-mail-password-1';

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  readonly raw: string;
}

interface Server {
  readonly port: number;
  readonly mails: readonly Mail[];
}

/** A real SMTP server on the loopback. */
async function startServer(options: SMTPServerOptions = {}): Promise<Server> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onAuth({ username, password }, _session, done) {
      if (username === 'desk' && password === PASSWORD) done(null, { user: username });
      else done(Object.assign(new Error('Invalid login'), { responseCode: 535 }));
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('utf8');
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), ...parsed(raw), raw });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  closers.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, mails };
}

function parsed(raw: string): Pick<Mail, 'headers' | 'body'> {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  return { headers, body: raw.slice(end + 4) };
}

function email(
  port: number,
  { host = '127.0.0.1', login = false, timeoutMs = 60_000, protocol = 'smtp' } = {},
): Channel {
  return open(
    {
      type: 'email',
      serverUrl: `${protocol}://${host}:${port}`,
      from: 'breakwater@desk.example',
      to: ['ann@desk.example', 'bob@desk.example'],
      ...(login ? { user: 'desk', password: PASSWORD } : {}),
    },
    timeoutMs,
  );
}

/** A server that handles every connection this way. */
async function startRaw(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return (server.address() as AddressInfo).port;
}

describe('e-mail', () => {
  test('reaches all receivers with its words, marked as sent by a program', async () => {
    const { port, mails } = await startServer();
    const attempt = await email(port, { login: true }).send(outgoing());
    expect(attempt.kind).toBe('delivered');
    const [mail] = mails;
    expect(mail?.from).toBe('breakwater@desk.example');
    expect(mail?.to).toEqual(['ann@desk.example', 'bob@desk.example']);
    expect(mail?.headers.get('subject')).toContain('CRITICAL firing: near-liquidation, desk-1');
    expect(mail?.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail?.headers.get('importance')).toBe('High');
    expect(mail?.body).toContain('LiquidationDistance 4.1 % is below 5 %.');
    expect(mail?.raw).not.toContain(PASSWORD);
  });

  test('sent again is the same message, and later ones answer the first of their episode', async () => {
    const { port, mails } = await startServer();
    const channel = email(port);
    const first = await channel.send(outgoing());
    await channel.send(outgoing());
    const reference = first.kind === 'delivered' ? (first.reference ?? '') : '';
    const receipt = { kind: 'delivered', atMs: AT, saidAtMs: AT, final: false, reference } as const;
    const resolved = message({ id: 'id-2', kind: 'resolved' });
    await channel.send(outgoing({ message: resolved, receipts: { 'id-1': receipt } }));
    const ids = mails.map(({ headers }) => headers.get('message-id'));
    expect(ids[0]).toBe(reference);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(mails[2]?.headers.get('in-reply-to')).toBe(reference);
    expect(mails[2]?.headers.has('importance')).toBe(false);
  });

  test('takes no header and no receiver from outside text', async () => {
    const { port, mails } = await startServer();
    const market = 'BTC\r\nBcc: eve@evil.example\r\n\r\nhello';
    await email(port).send(outgoing({ message: message({ market, ruleId: 'x\r\nBcc: eve@evil.example' }) }));
    expect(mails[0]?.headers.has('bcc')).toBe(false);
    expect(mails[0]?.to).toEqual(['ann@desk.example', 'bob@desk.example']);
  });
});

describe('a mail server', () => {
  const refusing = (responseCode: number, words: string): Error =>
    Object.assign(new Error(words), { responseCode });

  test('that refuses the password is not asked again, and the password is not shown', async () => {
    const { port } = await startServer({
      onAuth: (_auth, _session, done) => done(refusing(535, `no such login ${PASSWORD}`)),
    });
    const attempt = await email(port, { login: true }).send(outgoing());
    expect(attempt).toMatchObject({ kind: 'failed', reason: 'unauthorized', permanent: true });
    expect(JSON.stringify(attempt)).not.toContain(PASSWORD);
  });

  test('that knows no receiver is not asked again; if it knows some, the message is delivered', async () => {
    const { port, mails } = await startServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('ann') ? refusing(550, 'no such user') : null),
    });
    expect((await email(port).send(outgoing())).kind).toBe('delivered');
    expect(mails[0]?.to).toEqual(['bob@desk.example']);
    const none = await startServer({
      onRcptTo: (_to, _session, done) => done(refusing(550, 'no such user')),
    });
    expect(await email(none.port).send(outgoing())).toMatchObject({ reason: 'notFound', permanent: true });
  });

  test('that asks to come back later is asked again; one that refuses the message is not', async () => {
    const later = await startServer({
      onMailFrom: (_from, _session, done) => done(refusing(451, 'greylisted')),
    });
    expect(await email(later.port).send(outgoing())).toMatchObject({
      reason: 'unavailable',
      permanent: false,
      words: expect.stringContaining('greylisted'),
    });
    const refused = await startServer({
      onData(stream, _session, done) {
        stream.resume();
        stream.on('end', () => done(refusing(554, 'not wanted')));
      },
    });
    expect(await email(refused.port).send(outgoing())).toMatchObject({ reason: 'rejected', permanent: true });
  });

  test('that is silent, hangs up or is missing is reported', async () => {
    const silent = await startRaw(() => undefined);
    expect(await email(silent, { timeoutMs: 150 }).send(outgoing())).toMatchObject({
      reason: 'timeout',
      permanent: false,
    });
    const rude = await startRaw((socket) => socket.destroy());
    expect(await email(rude).send(outgoing())).toMatchObject({ kind: 'failed', permanent: false });
    expect(await email(1).send(outgoing())).toMatchObject({ reason: 'connectFailed', permanent: false });
  });

  test('on another machine gets nothing readable: without STARTTLS nothing is sent', async () => {
    const { port, mails } = await startServer();
    // An address of this machine other than the loopback one.
    const attempt = await email(port, { host: '0.0.0.0', login: true }).send(outgoing());
    expect(attempt).toMatchObject({
      reason: 'connectFailed',
      words: expect.stringContaining('no encrypted connection'),
    });
    expect(mails).toEqual([]);
  });

  test('with an untrusted certificate gets nothing', async () => {
    const { port, mails } = await startServer({ secure: true });
    expect(await email(port, { protocol: 'smtps' }).send(outgoing())).toMatchObject({ kind: 'failed' });
    expect(mails).toEqual([]);
  });

  test('is disconnected when the daemon stops', async () => {
    const port = await startRaw(() => undefined);
    const controller = new AbortController();
    const sending = email(port, { timeoutMs: 20_000 }).send(outgoing(), controller.signal);
    setTimeout(() => controller.abort(new Error('stopping')), 100);
    await expect(sending).rejects.toThrow('stopping');
  });

  test('was written to although the daemon had stopped already', async () => {
    const { port, mails } = await startServer();
    const stopped = AbortSignal.abort(new Error('stopping'));
    await expect(email(port).send(outgoing(), stopped)).rejects.toThrow('stopping');
    expect(mails).toEqual([]);
  });
});
