import type { z } from 'zod';
import type { CompiledConfig } from './compiled-config.ts';
import { compileOperators } from './operators.ts';
import type { Problem } from './problem.ts';
import { compileRedis } from './redis.ts';
import { withoutRemovedKeys } from './removed-keys.ts';
import { ROOT_KEYS, sectionsSchema } from './root.ts';
import { type Secret, secretValues } from './secret.ts';
import { resolveSecret, type SecretContext } from './secrets.ts';
import { readShape, withMeantKeys } from './shape/read.ts';
import { secretRef } from './shape/references.ts';
import type { ConfigSurroundings } from './surroundings.ts';
import { compileWeb } from './web.ts';
import { isMapping, nodeAt, type YamlDocument, type YamlNode } from './yaml/document.ts';
import { parseYaml } from './yaml/parse.ts';

/** The settings that an operator's commands need. Absent: that section of the file has a mistake. */
export interface ConfigHandles
  extends Partial<Pick<CompiledConfig, 'redis' | 'web' | 'operators' | 'stateDir'>> {
  /** The file names no Redis server. */
  readonly isWithoutRedis: boolean;
  readonly accountIds: readonly string[];
  /** Every available secret that the file refers to, in the clear, for redaction. */
  readonly secrets: readonly string[];
}

const SECTIONS = ['redis', 'stateDir', 'web', 'operators', 'accounts'] as const;

/**
 * Reads the handles of a file that cannot be used as a whole: a mistake elsewhere in it must not prevent a pause.
 * Returns undefined if the file cannot be read. It reports no problems; `loadConfig` does.
 */
export function loadHandles(file: string, surroundings: ConfigSurroundings): ConfigHandles | undefined {
  const reading = surroundings.readFile(file);
  if (reading.kind === 'failed') return undefined;
  const parsed = parseYaml(reading.text, file);
  const whole = parsed.document && withMeantKeys(sectionsSchema, parsed.document, () => undefined);
  const document = withoutRemovedKeys(whole ?? sectionsAlone(reading.text, file), () => undefined);
  if (!isMapping(document.root)) return { isWithoutRedis: false, accountIds: [], secrets: [] };
  const read = <W, T>(
    section: (typeof SECTIONS)[number],
    schema: z.ZodType<W>,
    compile: (written: W, context: SecretContext) => T,
  ): T | undefined => {
    const isOptional = section === 'redis' || section === 'stateDir';
    // Any other missing section has its defaults, unless broken YAML may have swallowed it.
    if ((isOptional || whole === undefined) && nodeAt(document.root, [section]) === undefined)
      return undefined;
    const problems = parsed.problems.filter(({ path }) => path === section || path.startsWith(`${section}.`));
    const report = (problem: Problem): void => void problems.push(problem);
    const context = { document, surroundings, missing: 'warning', report } as const;
    const written = readShape(schema, document, [section], report);
    const compiled = written && compile(written, context);
    return problems.some(({ severity }) => severity === 'error') ? undefined : compiled;
  };
  const redis = read('redis', ROOT_KEYS.redis, compileRedis);
  const stateDir = read('stateDir', ROOT_KEYS.stateDir, (written) => surroundings.resolvePath(file, written));
  const web = read('web', ROOT_KEYS.web, compileWeb);
  const operators = read('operators', ROOT_KEYS.operators, compileOperators);
  const silent: SecretContext = { document, surroundings, missing: 'warning', report: () => undefined };
  return {
    isWithoutRedis: whole !== undefined && nodeAt(document.root, ['redis']) === undefined,
    ...(redis === undefined ? {} : { redis }),
    ...(stateDir === undefined ? {} : { stateDir }),
    ...(web === undefined ? {} : { web }),
    ...(operators === undefined ? {} : { operators }),
    accountIds: accountIds(document),
    secrets: secretValues({ redis, web, operators, others: secretsIn(document.root, silent) }),
  };
}

/** Matches a section that starts at the margin, with all lines below it that start no other section. */
export function sectionPattern(section: string): string {
  return `^${section}:.*(?:\\r?\\n(?:[ \\t#-].*)?$)*`;
}

/** Parses each section separately, for a file that is no valid YAML: a mistake in one section does not spoil others. */
function sectionsAlone(text: string, file: string): YamlDocument {
  const children = new Map<string | number, YamlNode>();
  for (const section of SECTIONS) {
    const written = [...text.matchAll(new RegExp(sectionPattern(section), 'gm'))];
    const [only, ...more] = written;
    if (only === undefined || more.length > 0) continue;
    const { document, problems } = parseYaml(only[0], file);
    const node = document && nodeAt(document.root, [section]);
    if (node !== undefined && problems.length === 0) children.set(section, node);
  }
  const value = Object.fromEntries([...children].map(([key, node]) => [key, node.value]));
  return { file, root: { value, place: { file, line: 1, column: 1 }, children } };
}

function accountIds({ root }: YamlDocument): readonly string[] {
  const accounts = nodeAt(root, ['accounts'])?.children.values() ?? [];
  return [...accounts].flatMap((account) => {
    const id = account.children.get('id')?.value;
    return typeof id === 'string' && id !== '' ? [id] : [];
  });
}

function secretsIn(node: YamlNode, context: SecretContext): readonly Secret[] {
  const reference = isMapping(node) ? secretRef().safeParse(node.value).data : undefined;
  const secret = reference && resolveSecret(reference, [], context);
  if (secret !== undefined) return [secret];
  return [...node.children.values()].flatMap((child) => secretsIn(child, context));
}
