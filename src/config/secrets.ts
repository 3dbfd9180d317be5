import type { Path } from './problem.ts';
import { Secret } from './secret.ts';
import { problemAt, type Report } from './shape/read.ts';
import type { SecretRef, UrlOrRef } from './shape/references.ts';
import type { ConfigSurroundings } from './surroundings.ts';
import type { YamlDocument } from './yaml/document.ts';

export interface SecretContext {
  readonly document: YamlDocument;
  readonly surroundings: ConfigSurroundings;
  /** `warning` for checking a config where its secrets are not at hand. */
  readonly missing: 'error' | 'warning';
  readonly report: Report;
}

/** The value that a reference stands for; `undefined` when it cannot be had (reported). */
export function resolveSecret(ref: SecretRef, path: Path, context: SecretContext): Secret | undefined {
  const value = resolveText(ref, path, context);
  if (value === undefined) return undefined;
  if (/[\r\n\0]/.test(value)) {
    complain(context, path, 'error', 'expected one line, got several (not repeated here)');
    return undefined;
  }
  return new Secret(value);
}

/** Lines of a referenced text, without empty ones and comments (#). */
export function resolveLines(
  ref: SecretRef,
  path: Path,
  context: SecretContext,
): readonly string[] | undefined {
  return resolveText(ref, path, context)
    ?.split(/[\r\n,]+/)
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '');
}

export function resolveUrl(
  ref: UrlOrRef,
  path: Path,
  protocols: readonly string[],
  context: SecretContext,
): Secret | undefined {
  if (ref.kind === 'plain') return new Secret(ref.url);
  const secret = resolveSecret(ref, path, context);
  if (secret === undefined) return undefined;
  const text = secret.reveal();
  if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return secret;
  const shown = protocols.map((protocol) => `${protocol}//`).join(' or ');
  complain(
    context,
    path,
    'error',
    `expected an address that starts with ${shown} behind it, got another text`,
  );
  return undefined;
}

function resolveText(ref: SecretRef, path: Path, context: SecretContext): string | undefined {
  if (ref.kind === 'env') {
    const value = context.surroundings.env[ref.name]?.trim();
    if (value !== undefined && value !== '') return value;
    const got = value === undefined ? 'it is not set' : 'it is empty';
    complain(
      context,
      path,
      context.missing,
      `expected a value in the environment variable ${ref.name}, got none: ${got}`,
    );
    return undefined;
  }
  const file = context.surroundings.resolvePath(context.document.file, ref.path);
  const reading = context.surroundings.readFile(file);
  if (reading.kind === 'failed') {
    complain(context, path, context.missing, `expected a readable file ${ref.path}, got ${reading.why}`);
    return undefined;
  }
  if (reading.worldReadable) {
    context.report(
      problemAt(context.document, path, {
        severity: 'warning',
        code: 'secret-world-readable',
        message: `expected a secret file that only its owner can read, got one that everybody on this machine can: chmod 600 ${ref.path}`,
      }),
    );
  }
  const value = reading.text.trim();
  if (value !== '') return value;
  complain(context, path, context.missing, `expected a value in the file ${ref.path}, got an empty file`);
  return undefined;
}

function complain(context: SecretContext, path: Path, severity: 'error' | 'warning', message: string): void {
  const found = problemAt(context.document, path, { code: 'secret-missing', message });
  context.report(severity === 'error' ? found : { ...found, severity });
}
