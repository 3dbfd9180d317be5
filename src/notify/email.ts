import type { NodemailerError, SendMailOptions, Transporter } from 'nodemailer';
import type { DeliveryFailure } from '../core/ports/delivery.ts';
import { unlessAborted } from '../core/ports/within.ts';
import { isLoopback } from '../core/text/loopback.ts';
import { type Channel, type FailedAttempt, firstReference, type Outgoing } from './channel.ts';
import { type ChannelParts, failed, safeWords } from './http-sender.ts';
import { cut, isCalm, type LinkTemplate, plainText, wordingOf } from './message-layout.ts';
import { shortId } from './short-id.ts';

export interface EmailOptions {
  /** `smtps://host:465` (TLS from the start), or `smtp://host:587` (STARTTLS, required unless the host is local). */
  readonly serverUrl: string;
  readonly user?: string;
  readonly password?: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly timeoutMs: number;
  readonly proxy?: string;
}

/** E-mail by SMTP. An episode is one thread; the same message sent again has the same Message-ID. */
export function createEmail(options: EmailOptions, { name, links, http }: ChannelParts): Channel {
  const { from, to, timeoutMs, user = '', password = '' } = options;
  let transport: Promise<Transporter> | undefined;
  return {
    name,
    type: 'email',
    audience: 'people',
    async send(outgoing, signal) {
      transport ??= openTransport(options);
      const mail = { ...emailOf(outgoing, links), from, to: [...to] };
      try {
        const mailer = await transport;
        // A signal that is aborted already calls no listener any more.
        signal?.throwIfAborted();
        const sent = await inTime(mailer.sendMail(mail), timeoutMs, signal);
        return { kind: 'delivered', reference: sent.messageId };
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason;
        return failureOf(error, [user, password]);
      }
    },
    async close() {
      (await transport)?.close();
      await http.close();
    },
  };
}

/** Loads nodemailer with the first message: most daemons send no mail. */
async function openTransport(options: EmailOptions): Promise<Transporter> {
  const { serverUrl, user, password, timeoutMs, proxy } = options;
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port } = new URL(serverUrl);
  const secure = protocol === 'smtps:';
  return createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !isLoopback(hostname),
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    ...(proxy === undefined ? {} : { proxy }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Bounds the whole sending: a mail takes several round trips, and nodemailer bounds each of them separately. */
function inTime<T>(sending: Promise<T>, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const stopped = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  return unlessAborted(stopped, sending, () => {
    throw Object.assign(new Error('no reply in time'), { code: 'ETIMEDOUT' });
  });
}

const MAX_SUBJECT = 200;

function emailOf(outgoing: Outgoing, templates: readonly LinkTemplate[]): SendMailOptions {
  const { message, receipts } = outgoing;
  const wording = wordingOf(outgoing, templates);
  const first = firstReference(receipts);
  return {
    subject: cut(wording.title, MAX_SUBJECT),
    text: plainText(wording),
    messageId: `<${shortId(message.id)}@breakwater>`,
    ...(first === undefined ? {} : { inReplyTo: first, references: [first] }),
    priority: isCalm(message) ? 'normal' : 'high',
    // Prevents automatic replies (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

/** Failure reasons by the error codes of nodemailer. */
const REASONS: Readonly<Record<string, readonly [DeliveryFailure, words: string]>> = {
  ETIMEDOUT: ['timeout', 'no reply in time'],
  EDNS: ['connectFailed', 'its host name is not known'],
  ESOCKET: ['connectFailed', 'no connection'],
  ECONNECTION: ['connectionLost', 'the connection broke'],
  ETLS: ['connectFailed', 'no encrypted connection: its certificate is not accepted, or it has no STARTTLS'],
  EPROXY: ['connectFailed', 'the proxy does not connect'],
  EAUTH: ['unauthorized', 'user or password is refused'],
  ENOAUTH: ['unauthorized', 'it asks for user and password'],
  EENVELOPE: ['notFound', 'sender or receivers are refused'],
  EMESSAGE: ['rejected', 'the message is refused'],
};

const FINAL: ReadonlySet<string> = new Set(['EAUTH', 'ENOAUTH', 'EENVELOPE', 'EMESSAGE']);

function failureOf(error: unknown, secrets: readonly string[]): FailedAttempt {
  const { code = '', responseCode, response = '' } = error as Partial<NodemailerError>;
  const [reason, words] = REASONS[code] ?? (['connectionLost', 'the mail could not be sent'] as const);
  // 4yz: try again later (RFC 5321, section 4.2.1).
  const isTemporary = responseCode !== undefined && responseCode >= 400 && responseCode < 500;
  const said = safeWords(response, secrets);
  const all = said === '' ? words : `${words}: ${said}`;
  return isTemporary ? failed('unavailable', all, false) : failed(reason, all, FINAL.has(code));
}
