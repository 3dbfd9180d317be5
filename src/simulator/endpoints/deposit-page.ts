import type { Reply } from '../http/reply.ts';
import type { IssuedDepositLink } from '../model/types.ts';
import type { EndpointParts } from './parts.ts';

export const DEPOSIT_PAGE_PREFIX = '/fiat-deposit/';

/**
 * Serves the page of a fiat deposit link. That of the card provider needs a Referer, else it redirects to the home page
 * of the exchange (specification 4.1, rule 1). A POST means that the customer pays; it redirects to the success or
 * failure link. Returns `undefined` for other paths.
 */
export function depositPage(
  parts: EndpointParts,
  request: { readonly httpMethod: string; readonly path: string; readonly referer: string | undefined },
): Reply | undefined {
  if (request.path === '/') return page(200, 'Simulated exchange', '<p>The home page of the exchange.</p>');
  if (!request.path.startsWith(DEPOSIT_PAGE_PREFIX)) return undefined;
  const token = request.path.slice(DEPOSIT_PAGE_PREFIX.length);
  const link = parts.model.fiatDeposit(token);
  if (link === undefined) return page(404, 'Unknown deposit link', '<p>There is no such deposit.</p>');
  if (link.provider === parts.fiat.cardProvider && !request.referer) {
    return { status: 302, body: '', contentType: HTML, location: '/' };
  }
  if (request.httpMethod === 'POST') return paid(parts, link);
  return page(200, 'Deposit', offer(link));
}

const HTML = 'text/html; charset=utf-8';

function paid(parts: EndpointParts, link: IssuedDepositLink): Reply {
  const outcome = parts.model.payFiatDeposit(link.token);
  const target = outcome.ok ? link.successLink : link.failureLink;
  if (target !== undefined) return { status: 303, body: '', contentType: HTML, location: target };
  const back = backOption(link);
  return outcome.ok
    ? page(200, 'Deposit paid', `<p>The deposit has been paid.</p>${back}`)
    : page(409, 'Deposit refused', `<p>${escaped(outcome.message)}</p>${back}`);
}

function backOption({ returnLink }: IssuedDepositLink): string {
  const isWebPage = /^https?:$/.test(URL.parse(returnLink ?? '')?.protocol ?? '');
  return isWebPage ? `<p><a href="${escaped(returnLink ?? '')}">Back</a></p>` : '';
}

function offer(link: IssuedDepositLink): string {
  const sum = `${link.amount.toFixed()} ${link.ticker} by ${link.provider}`;
  if (link.paid) return `<p>${escaped(sum)}: paid.</p>`;
  return `<p>${escaped(sum)}</p><form method="post"><button>Pay</button></form>`;
}

function page(status: number, title: string, body: string): Reply {
  return {
    status,
    body: `<!doctype html><html lang="en"><title>${escaped(title)}</title><h1>${escaped(title)}</h1>${body}</html>`,
    contentType: HTML,
  };
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
