/**
 * What goes back over the wire. A reply is finished text, so that faults can damage it and a cache can keep it;
 * what the request log wants to know of it travels beside the text.
 */
export interface Reply {
  readonly status: number;
  readonly body: string;
  /** Exchange error code, message and fields when the reply is an error; the log shows them. */
  readonly error?: ReplyError;
  /** JSON where absent. */
  readonly contentType?: string;
  readonly location?: string;
}

interface ReplyError {
  readonly code?: number;
  readonly message: string;
  readonly fields?: FieldErrors;
}

/** Parameter name to what is wrong with it (specification 7). */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

/** How the two things that an implementation of the specification may spell either way are spelled. */
export interface ErrorSpelling {
  /** An empty `errors` as `{}` or `[]`. */
  readonly empties: 'object' | 'array';
}

export function success(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value) };
}

/** A success whose body is already text, the empty text included. */
export function successText(body: string): Reply {
  return { status: 200, body };
}

/** Error body of private endpoints (specification 7): code, message, errors. */
export function privateError(
  status: number,
  code: number,
  message: string,
  fields: FieldErrors = {},
  spelling: ErrorSpelling = { empties: 'object' },
): Reply {
  return {
    status,
    body: JSON.stringify({ code, message, errors: emptiable(fields, spelling) }),
    error: { code, message, fields },
  };
}

/** A key without access: `success` false and code 0 with a permission message (specification 5, rule 3). */
export function permissionError(status: number, message: string): Reply {
  return {
    status,
    body: JSON.stringify({ success: false, code: 0, message, errors: {} }),
    error: { code: 0, message },
  };
}

/** Error body of public endpoints (specification 7): success, message, params. */
export function publicError(status: number, message: string, params: readonly string[] = []): Reply {
  return { status, body: JSON.stringify({ success: false, message, params }), error: { message } };
}

/** An empty list or object as the reading spells it. */
export function emptyBody(empties: 'object' | 'array'): unknown {
  return empties === 'array' ? [] : {};
}

function emptiable(fields: FieldErrors, spelling: ErrorSpelling): unknown {
  return Object.keys(fields).length === 0 ? emptyBody(spelling.empties) : fields;
}
