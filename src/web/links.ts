import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LINK_PATH, type LinkReading, type SignedLink } from '../core/controls/signed-link.ts';
import { escapeHtml } from '../core/text/escape-html.ts';
import { timeWords } from '../core/text/time-words.ts';
import { type AccessControl, authorWords, RETRY_AFTER } from './access.ts';
import { SECURITY_HEADERS } from './headers.ts';

/** Shows and executes the links in messages; see `LinkTarget`. */
export interface LinkDesk {
  read(token: string): LinkReading;
  /** Describes what the link would do now, or why there is nothing to do. Changes nothing. */
  look(id: string, link: SignedLink): Promise<LinkView>;
  /** Executes the link, once. */
  use(id: string, link: SignedLink, author: string): Promise<LinkView>;
}

export interface LinkView {
  readonly title: string;
  readonly lines: readonly string[];
  readonly button?: string;
}

interface LinkParts {
  readonly control: Pick<AccessControl, 'judgeLink'>;
  readonly onError: (error: unknown) => void;
}

interface Page extends LinkView {
  readonly status: number;
}

/**
 * Serves the links: pages without scripts, for people without a token. GET shows, POST executes. Invalid links are
 * counted and slowed down like wrong tokens.
 */
export function registerLinks(app: FastifyInstance, desk: LinkDesk, { control, onError }: LinkParts): void {
  void app.register(async (scope) => {
    // Content type of the form; only known fields are read from it.
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    const options = { config: { access: 'open' }, onRequest: judge } as const;
    // A wildcard, because links are longer than route parameters may be.
    scope.get(`${LINK_PATH}*`, options, async (request, reply) => {
      const page = await answer(request, (id, link) => desk.look(id, link));
      return send(reply, page);
    });
    scope.post(`${LINK_PATH}*`, options, async (request, reply) => {
      const page = await answer(request, (id, link) => desk.use(id, link, authorOf(request, link)));
      return send(reply, page);
    });
  });

  const readingOf = (request: FastifyRequest): LinkReading =>
    desk.read((request.params as { readonly '*': string })['*']);

  /** Before the body: a link that is not valid must not be waited for. */
  async function judge(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { kind } = readingOf(request);
    const verdict = control.judgeLink(request, kind === 'valid');
    if (verdict === 'slowedDown') return await send(reply, { status: 429, ...SLOWED_DOWN });
    return kind === 'wrong' ? await send(reply, { status: 404, ...WRONG }) : undefined;
  }

  async function answer(
    request: FastifyRequest,
    act: (id: string, link: SignedLink) => Promise<LinkView>,
  ): Promise<Page> {
    const reading = readingOf(request);
    if (reading.kind === 'wrong') return { status: 404, ...WRONG };
    const { kind, id, link } = reading;
    try {
      if (kind === 'valid') return { status: 200, ...(await act(id, link)) };
      // Show who used the link, which says more than that it has expired.
      return { status: 410, ...withoutButton(await desk.look(id, link), link) };
    } catch (error) {
      onError(error);
      return { status: 503, ...STORE_LOST };
    }
  }
}

const WRONG: LinkView = {
  title: 'This link is not valid',
  lines: ['It was cut off or changed on its way, or the key it was made with is not in use any more.'],
};
const STORE_LOST: LinkView = {
  title: 'This is not possible now',
  lines: ['The state store does not answer. It may have been done or not: open the link again to see.'],
};
const SLOWED_DOWN: LinkView = {
  title: 'Try again later',
  lines: ['Too many links or tokens that are not valid came from this address.'],
};

function withoutButton({ title, lines, button }: LinkView, { expiresAtMs }: SignedLink): LinkView {
  if (button === undefined) return { title, lines };
  return {
    title: 'This link has expired',
    lines: [`It was good until ${timeWords(expiresAtMs)}. A newer message has a newer one.`],
  };
}

const MOST_NAME = 80;

/** Removes control characters and line separators, which could forge a line in a log or a terminal. */
function authorOf({ body, caller }: FastifyRequest, { sentTo }: SignedLink): string {
  const given = body instanceof URLSearchParams ? (body.get('author') ?? '') : '';
  const name = given
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, MOST_NAME);
  return authorWords(caller, `${name === '' ? 'somebody' : name}, by a link sent to ${sentTo}`);
}

const STYLE = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}
body{max-width:36rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
form{display:grid;gap:1rem;margin-top:2rem}
label{display:grid;gap:.25rem}
input,button{font:inherit;padding:.75rem}
button{font-weight:600;cursor:pointer}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;

async function send(reply: FastifyReply, { status, ...view }: Page): Promise<FastifyReply> {
  if (status === 429) void reply.header('retry-after', RETRY_AFTER);
  return await reply
    .code(status)
    .headers({ ...SECURITY_HEADERS, 'content-security-policy': POLICY, 'x-robots-tag': 'noindex' })
    .type('text/html; charset=utf-8')
    .send(html(view));
}

/** The form has no `action`, so it posts to its own page. */
function html({ title, lines, button }: LinkView): string {
  const form =
    button === undefined
      ? ''
      : `<form method="post"><label>Your name, for the audit trail<input name="author" maxlength="${MOST_NAME}" autocomplete="name"></label><button>${escapeHtml(button)}</button></form>`;
  const text = lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Breakwater: ${escapeHtml(title)}</title><style>${STYLE}</style><main><h1>${escapeHtml(title)}</h1>${text}${form}</main></html>\n`;
}
