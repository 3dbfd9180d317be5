/** What a reader of the API is told when something is not given: `{ error: { code, message } }`. */
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
  'notFound',
  'methodNotAllowed',
  'notOffered',
  'contentType',
  'tooLarge',
  'refused',
  'depositRefused',
  'depositUnknown',
  'stateLost',
  'tooManyListeners',
  'failed',
] as const;

export type ApiErrorCode = (typeof API_ERROR_CODES)[number];

export function errorBody(code: ApiErrorCode, message: string): object {
  return { error: { code, message } };
}
