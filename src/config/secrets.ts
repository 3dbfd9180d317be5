import type { Path } from './problem.ts';
import { Secret } from './secret.ts';
import { complain, problemAt, type Reporting, warningAt } from './shape/read.ts';
import { Reference } from './shape/references.ts';
import type { ConfigSurroundings } from './surroundings.ts';

export interface SecretContext extends Reporting {
  readonly surroundings: ConfigSurroundings;
  /** Severity of a missing secret; `warning` for a check without secrets. Absent: it may be missing. */
  readonly missing?: 'error' | 'warning';
}

type ReferenceKey<T> = { [K in keyof T]-?: Reference extends T[K] ? K : never }[keyof T];

/** A section with secrets in place of references. They are absent only in a check without secrets. */
export type Resolved<T> = T extends unknown
  ? Omit<T, ReferenceKey<T>> & { readonly [K in ReferenceKey<T>]?: Secret }
  : never;

/** Resolves the references of the mapping at `path`. Those that cannot be resolved are reported and left out. */
export function resolved<T extends object>(written: T, path: Path, context: SecretContext): Resolved<T> {
  const entries = Object.entries(written).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
    if (!(value instanceof Reference)) return [[key, value]];
    const secret = resolveSecret(value, [...path, key], context);
    return secret === undefined ? [] : [[key, secret]];
  });
  return Object.fromEntries(entries) as Resolved<T>;
}

/** Resolves a reference; reports a problem and returns undefined if that fails. */
export function resolveSecret(reference: Reference, path: Path, context: SecretContext): Secret | undefined {
  const { source, address } = reference;
  if (source.kind === 'plain') return new Secret(source.url);
  const value = resolveText(reference, path, context);
  if (value === undefined) return undefined;
  const got = address?.problem(value);
  const message = /[\r\n\0]/.test(value)
    ? 'expected one line, got several (not repeated here)'
    : got === undefined
      ? undefined
      : `expected an address ${address?.words} behind it, got ${got}`;
  if (message === undefined) return new Secret(value);
  complain(context, path, 'secret-missing', message);
  return undefined;
}

/** Returns the entries of a referenced text, separated by lines or commas, without empty ones and comments (#). */
export function resolveLines(reference: Reference, path: Path, context: SecretContext) {
  return resolveText(reference, path, context)
    ?.split(/[\r\n,]+/)
    .map((line) => line.split('#', 1).join('').trim())
    .filter((line) => line !== '');
}

function resolveText({ source }: Reference, path: Path, context: SecretContext): string | undefined {
  const missing = (message: string): undefined => {
    missingSecret(context, path, message);
  };
  if (source.kind === 'plain') return source.url;
  if (source.kind === 'env') {
    const { env } = context.surroundings;
    // A file may name `__proto__`, which is no variable.
    const value = Object.hasOwn(env, source.name) ? env[source.name]?.trim() : undefined;
    if (value !== undefined && value !== '') return value;
    const got = value === undefined ? 'it is not set' : 'it is empty';
    return missing(`expected a value in the environment variable ${source.name}, got none: ${got}`);
  }
  const file = context.surroundings.resolvePath(context.document.file, source.path);
  const reading = context.surroundings.readFile(file);
  if (reading.kind === 'failed')
    return missing(`expected a readable file ${source.path}, got ${reading.why}`);
  warnOfExposure(context, path, { ...reading, file: source.path });
  const value = reading.text.trim();
  return value === '' ? missing(`expected a value in the file ${source.path}, got an empty file`) : value;
}

export function missingSecret(context: SecretContext, path: Path, message: string): void {
  const { document, report, missing: severity } = context;
  if (severity === undefined) return;
  report({ ...problemAt(document, path, { code: 'secret-missing', message }), severity });
}

type Exposure = { readonly file: string } & Record<'worldReadable' | 'othersMayWrite', boolean>;

export function warnOfExposure(
  { document, report }: SecretContext,
  path: Path,
  { file, worldReadable, othersMayWrite }: Exposure,
): void {
  if (worldReadable) {
    const message = `expected a secret file that only its owner can read, got one that everybody on this machine can: chmod 600 ${file}`;
    report(warningAt(document, path, 'secret-world-readable', message));
  }
  if (othersMayWrite) {
    const message = `expected a secret file that only this user or root can change, got one that others can: chmod 600, and chown if it is not yours, ${file}`;
    report(warningAt(document, path, 'secret-writable-by-others', message));
  }
}
