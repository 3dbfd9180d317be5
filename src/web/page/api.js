import { kept, knownAs } from './session.js';

/**
 * What the page asks of the API. Tokens travel in a header only: the daemon has no cookie, so that no other page can
 * make this browser ask for anything. A proxy before it may have one.
 */

/** A refusal, or no answer; `message` is for people. */
export class ApiError extends Error {
  /** @param {number} status 0: there was no answer @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

const TIMEOUT_MS = 15_000;

/** @returns {Record<string, string>} */
export function readHeaders() {
  const token = kept('read');
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/**
 * @template T
 * @param {string} path below /api/v1
 * @param {Readonly<Record<string, string | number | boolean | undefined>>} [query]
 * @returns {Promise<T>}
 * @throws ApiError
 */
export async function get(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  const answer = await ask(`/api/v1${path}${text === '' ? '' : `?${text}`}`, { headers: readHeaders() });
  return /** @type {T} */ (answer);
}

/**
 * Changes something, with the control token, or as whom the daemon knows anyway.
 * @template T
 * @param {'POST' | 'DELETE'} method
 * @param {string} path below /api/v1
 * @param {object} body
 * @returns {Promise<T>}
 * @throws ApiError
 */
export async function change(method, path, body) {
  const signed = knownAs() === null ? { authorization: `Bearer ${kept('control') ?? ''}` } : readHeaders();
  const headers = { 'content-type': 'application/json', ...signed };
  const answer = await ask(`/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
  return /** @type {T} */ (answer);
}

/** @param {string} url @param {RequestInit} init @returns {Promise<unknown>} */
async function ask(url, init) {
  let response;
  try {
    response = await fetch(url, {
      ...init,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    const why = isLate ? `no answer within ${TIMEOUT_MS / 1_000} s` : 'the daemon cannot be reached';
    throw new ApiError(0, 'no-answer', why);
  }
  const body = await response.json().catch(() => undefined);
  if (response.ok) return body;
  throw errorOf(response.status, body);
}

/**
 * `{ error: { code, message } }`; anything else, such as the page of a proxy, is said by its status.
 * @param {number} status
 * @param {unknown} body
 */
export function errorOf(status, body) {
  const error = /** @type {{ error?: { code?: unknown, message?: unknown } } | undefined} */ (body)?.error;
  const code = typeof error?.code === 'string' ? error.code : `status-${status}`;
  const message = typeof error?.message === 'string' ? error.message : `the answer was ${status}`;
  return new ApiError(status, code, message);
}

/** @param {unknown} error */
export function wordsOf(error) {
  return error instanceof Error ? error.message : String(error);
}
