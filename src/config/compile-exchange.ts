import type { z } from 'zod';
import type { ExchangeSettings } from './compiled-config.ts';
import { type exchangeSchema, KNOWN_LIMITS } from './exchange.ts';
import type { SecretContext } from './secrets.ts';
import { didYouMean, problemAt } from './shape/read.ts';
import { suggest } from './suggest.ts';
import { nodeAt } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

/** The exchange's section with its references resolved; the proxy is added by the caller. */
export function compileExchange(
  exchange: z.output<typeof exchangeSchema>,
  context: SecretContext,
): ExchangeSettings {
  const limits: Record<string, ExchangeSettings['limits'][string]> = {};
  for (const [name, { limit, period, paths }] of Object.entries(exchange.limits)) {
    limits[name] = {
      ...(limit === undefined ? {} : { limit }),
      ...(period === undefined ? {} : { periodMs: period }),
      ...(paths === undefined ? {} : { paths }),
    };
  }
  const certificates = exchange.ca === undefined ? undefined : readCertificates(exchange.ca, context);
  if (exchange.timeouts.call < exchange.timeouts.attempt) {
    const message = 'expected call to be at least as long as attempt, got a shorter time';
    context.report(
      problemAt(context.document, ['exchange', 'timeouts', 'call'], { code: 'wrong-value', message }),
    );
  }
  return {
    baseUrls: exchange.baseUrls.map((url) => url.replace(/\/+$/, '')),
    dialect: exchange.dialect,
    attemptTimeoutMs: exchange.timeouts.attempt,
    callTimeoutMs: exchange.timeouts.call,
    limits,
    ...(certificates === undefined ? {} : { certificateAuthorities: certificates }),
  };
}

function readCertificates(
  written: string,
  { document, surroundings, report }: SecretContext,
): string | undefined {
  const reading = surroundings.readFile(surroundings.resolvePath(document.file, written));
  if (reading.kind === 'read' && reading.text.includes('-----BEGIN CERTIFICATE-----')) return reading.text;
  const got = reading.kind === 'failed' ? reading.why : 'a file without "-----BEGIN CERTIFICATE-----"';
  const message = `expected a file with certificates (PEM) at ${JSON.stringify(written)}, got ${got}`;
  report(problemAt(document, ['exchange', 'ca'], { code: 'wrong-value', message }));
  return undefined;
}

/** On what is written, so that other mistakes in the section do not hide it. */
export function checkNewLimits({ document, report }: SecretContext): void {
  const limits = nodeAt(document.root, ['exchange', 'limits']);
  for (const [name, node] of limits?.children ?? []) {
    if ((KNOWN_LIMITS as readonly unknown[]).includes(name)) continue;
    if (['limit', 'period', 'paths'].every((key) => node.children.has(key))) continue;
    const hint = didYouMean(suggest(String(name), KNOWN_LIMITS));
    const message = `expected limit, period and paths for a budget of a new name, or one of ${KNOWN_LIMITS.join(', ')}, got ${describeText(String(name))}${hint}`;
    report(problemAt(document, ['exchange', 'limits', name], { code: 'wrong-value', message, at: 'key' }));
  }
}
