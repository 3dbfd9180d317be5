import type { ExchangeError, SetAsideRecord } from '../core/ports/exchange.ts';
import { printable } from './table.ts';

/** The error's message, fields, name, status and code in one line. */
export function errorWords(error: ExchangeError): string {
  const { name, message, httpStatus, code, retryAfterMs, fields = {}, params = [] } = error;
  const named = Object.entries(fields).map(([field, texts]) => `${field}: ${texts.join(' ')}`);
  const said = [message.replace(/\.$/, ''), ...named, ...params].join('; ').replace(/\.$/, '');
  const status = httpStatus === undefined ? '' : `, HTTP ${httpStatus}`;
  const number = code === undefined ? '' : `, code ${code}`;
  const wait = retryAfterMs === undefined ? '' : `, retry after ${Math.ceil(retryAfterMs / 1000)} s`;
  return printable(`${said} (${name}${status}${number}${wait})`);
}

/** Where and how a reply differs from the documentation. */
export function faultWords({ path, expected, got }: SetAsideRecord): string {
  return printable(`${path}: expected ${expected}, got ${got}`);
}

/** What to do about errors that the request did not cause, by name. `flag`: the option with the exchange's address. */
export function exchangeCures(flag: string): Readonly<Record<string, string>> {
  return {
    unauthenticated: 'Check that key and secret belong together and to this exchange.',
    rateLimited: 'Wait a few seconds.',
    addressNotAllowed: 'Allow the address of this host in the settings of the key, its IPv6 address too.',
    gatewayRefused: 'Something in front of the exchange refused: try its other address.',
    nameNotResolved: `Check ${flag}, and the name servers of this host.`,
    certificateRefused: `Check ${flag}, and whether something intercepts the connection.`,
    connectionRefused: `Check ${flag}, and whether the exchange is running.`,
    connectTimeout: `Check ${flag}, the network and the firewall.`,
    connectFailed: `Check ${flag}, and whether the exchange is running.`,
  };
}
