import { type Problem, sortProblems } from '../../config/problem.ts';
import type { YamlDocument } from '../../config/yaml/document.ts';
import { parseYaml } from '../../config/yaml/parse.ts';
import type { Kinds } from '../../core/schema/parts.ts';
import { readCallOutput } from './call-output.ts';
import { readOwnFormat } from './own-format.ts';
import type { PositionsReading } from './reading.ts';
import type { StartingBook } from './starting-account.ts';
import { readStatusOutput } from './status-output.ts';

export type PositionsResult = Kinds<{
  /** `notes`: how the file was read, in whole sentences for the user. */
  read: { accounts: readonly StartingBook[]; notes: readonly string[] };
  refused: { problems: readonly Problem[] };
}>;

export interface PositionsFile extends Pick<PositionsReading, 'configured'> {
  readonly file: string;
  readonly text: string;
  /** Owner of the positions, for output that does not name it. */
  readonly accountId?: string;
}

/** Enough for the output of `status` for a thousand accounts. */
const BOUNDS = { maxCharacters: 30_000_000, maxNodes: 2_000_000 };

/** Reads starting holdings: accounts (YAML or JSON), or the output of `status --json` or `call positions --json`. */
export function readPositions({ file, text, configured, accountId }: PositionsFile): PositionsResult {
  const { document, problems: syntax } = parseYaml(text, file, BOUNDS);
  const problems: Problem[] = [...syntax];
  const notes: string[] = [];
  const unread = new Set<string>();
  const accounts =
    document === undefined
      ? []
      : readerFor(document)({
          document,
          configured,
          accountId,
          report: (problem) => problems.push(problem),
          note: (sentence) => notes.push(sentence),
          unread: (id) => unread.add(id),
        });
  if (problems.length > 0) return { kind: 'refused', problems: sortProblems(problems, file) };
  for (const { id } of configured) {
    if (unread.has(id)) notes.push(`Account ${id} had not been read yet when ${file} was printed: left out.`);
    else if (!accounts.some((account) => account.id === id)) {
      notes.push(`Account ${id} of the config holds nothing in ${file}: left out.`);
    }
  }
  return { kind: 'read', accounts, notes };
}

function readerFor({ root }: YamlDocument): (reading: PositionsReading) => readonly StartingBook[] {
  if (root.children.has('endpoint')) return readCallOutput;
  return root.children.has('controls') ? readStatusOutput : readOwnFormat;
}
