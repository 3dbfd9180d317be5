/** A refusal of the API: `{ error: { code, message } }`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: ApiErrorCode;

  constructor(status: number, code: ApiErrorCode, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

export const API_ERROR_CODES = [
  'badRequest',
  'hostRefused',
  'originRefused',
  'readTokenNeeded',
  'controlTokenNeeded',
  'controlOff',
  'scopeMissing',
  'slowedDown',
  'notFound',
  'methodNotAllowed',
  'notOffered',
  'contentType',
  'tooLarge',
  'refused',
  'answeredBefore',
  'notWaiting',
  'depositRefused',
  'depositUnknown',
  'stateLost',
  'tooManyListeners',
  'tooManyScrapes',
  'failed',
] as const;

export type ApiErrorCode = (typeof API_ERROR_CODES)[number];

export function errorBody(code: ApiErrorCode, message: string): object {
  return { error: { code, message } };
}

/** The error of a failed request, as Fastify or the store throws it. */
export interface FailedRequest {
  readonly statusCode?: number;
  readonly code?: string;
}

export type Refusal = Pick<ApiError, 'status' | 'code' | 'message'>;

/** Returns the answer to an error. Only messages of `ApiError` are repeated: other errors may contain anything. */
export function refusalOf(error: FailedRequest): Refusal {
  if (error instanceof ApiError) return error;
  if (error.code === 'STORE_LOST')
    return { status: 503, code: 'stateLost', message: 'the state store does not answer' };
  const status = error.statusCode ?? 500;
  if (status === 413) return { status, code: 'tooLarge', message: 'the body is too large' };
  if (status === 415) return { status, code: 'contentType', message: 'send application/json' };
  if (status >= 400 && status < 500) return { status, code: 'badRequest', message: 'a bad request' };
  return { status: 500, code: 'failed', message: 'this could not be answered; the log says why' };
}

export function causeOf(error: unknown): unknown {
  return error instanceof ApiError ? (error.cause ?? error) : error;
}
