import type { Command } from 'commander';
import type { FileVerdict, Recomputation } from '../../app.ts';
import { type ChainHead, OPERATOR_CHAIN } from '../../core/audit/audit-record.ts';
import type { ChainVerdict, LaneChain } from '../../core/ports/audit-reader.ts';
import { UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { withJson, withRemarks } from '../help.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from '../operate/place.ts';
import { collectNonEmpty } from '../operate/values.ts';
import { whole } from '../option-values.ts';
import { printable } from '../table.ts';
import { linesOf } from './files.ts';

/** Default bound per chain: judging takes about a millisecond each. */
const DECISIONS = 1_000;

interface VerifyFlags extends PlaceFlags {
  readonly account?: readonly string[];
  readonly file?: readonly string[];
  readonly head?: ChainHead;
  readonly decisions: number;
}

export function registerVerify(audit: Command, io: CliIo): void {
  const command = audit
    .command('verify')
    .summary('check that no record was changed, added, taken away or reordered')
    .description(
      'Recomputes every hash and link of the chain of each account and of its lanes (one per market), compares their ' +
        'ends with the state of the account, and what the account has recorded of its lanes with them. Says the first ' +
        'record that is wrong. Then judges the decisions of what is intact once more, each from the inputs that were ' +
        'recorded with it, and compares what comes of it with what was recorded.',
    )
    .option('-a, --account <id>', 'only this chain (repeatable; default: all of the config)', collectNonEmpty)
    .option(
      '--head <seq:hash>',
      'of one account or file: a head from the log (auditHead) or a daily digest, which has to be in its chain',
      headOf,
    )
    .option('--file <path>', 'an export instead of a stored chain (repeatable)', collectNonEmpty)
    .option(
      '--decisions <count>',
      'of each chain judge at most so many decisions once more, spread evenly; 0: none',
      whole(0, 1_000_000),
      DECISIONS,
    );
  withJson(withPlace(command));
  withRemarks(
    command,
    '\nEnds with 1 when a chain is broken, or when a decision is not what its inputs give. Decisions of another version of ' +
      'Breakwater may differ without anybody having changed them.\n',
  );
  command.action(async (flags: VerifyFlags) => {
    requireOneOfHead(flags);
    if (flags.file !== undefined) await verifyFiles(io, flags.file, flags);
    else await verifyChains(io, flags);
  });
}

/** @throws UsageError for a combination of options that cannot be checked */
function requireOneOfHead({ account, file, head }: VerifyFlags): void {
  if (file !== undefined && account !== undefined) {
    throw new UsageError('--account is of stored chains, --file of exports.', 'Leave out one of the two.');
  }
  if (head === undefined || (file ?? account)?.length === 1) return;
  if (file === undefined) throw new UsageError('--head is of one account.', 'Add --account ID.');
  throw new UsageError('--head is of one file.', 'Name the file that has this record alone.');
}

function headOf(text: string): ChainHead {
  const [, seq, hash = ''] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined)
    throw new UsageError('--head: expected a number, a colon and 64 hexadecimal digits.');
  return { seq: Number(seq), hash };
}

async function verifyChains(io: CliIo, flags: VerifyFlags): Promise<void> {
  const { recomputeTrail } = await import('../../app.ts');
  await withOperations(io, flags, async (operations) => {
    const known = operations.accountIds;
    const ids = flags.account ?? (known === undefined ? undefined : [...known, OPERATOR_CHAIN]);
    if (ids === undefined) {
      throw new UsageError('without a config nobody knows which chains there are.', 'Add --account ID.');
    }
    for (const id of flags.account ?? []) await requireAccount(operations, id);
    for (const id of ids) {
      io.signal.throwIfAborted();
      const verdict = await operations.audit.verify(id, flags.head);
      await report(io, flags, {
        of: id,
        verdict,
        isExport: false,
        recompute: (options) => recomputeTrail(operations.audit, id, options),
      });
    }
  });
}

async function verifyFiles(io: CliIo, files: readonly string[], flags: VerifyFlags): Promise<void> {
  const { operatorTrustOf, recomputeFile, verifyAuditFile } = await import('../../app.ts');
  const trust = await operatorTrustOf(flags.config, io.env);
  for (const file of files) {
    const verdict = await verifyAuditFile(linesOf(file), { trust, head: flags.head });
    await report(io, flags, {
      of: file,
      verdict,
      isExport: true,
      recompute: (how) => recomputeFile(linesOf(file), how),
    });
  }
}

interface Found {
  readonly of: string;
  readonly verdict: ChainVerdict | FileVerdict;
  /** Records of an export have only their numbers in the chain, and `audit show` finds none by those. */
  readonly isExport: boolean;
  readonly recompute: (options: { most: number; signal: AbortSignal }) => Promise<Recomputation>;
}

async function report(io: CliIo, { json, decisions: most }: VerifyFlags, found: Found): Promise<void> {
  const { of, verdict, recompute } = found;
  const isJudged = verdict.kind === 'intact' && most > 0;
  const recomputed = isJudged ? await recompute({ most, signal: io.signal }) : undefined;
  if (verdict.kind === 'broken' || (recomputed?.differing.length ?? 0) > 0) io.setExitCode(EXIT.failed);
  if (json === true) printJson(io, { of, ...verdict, recomputed });
  else if (verdict.kind === 'intact') {
    printLine(io, printable(`${of}: ${intactWords(verdict)}`));
    if (recomputed !== undefined) printRecomputed(io, found, recomputed);
  } else {
    const { market, number, seq, why } = verdict;
    const chain = market === undefined ? ' of its chain' : ` of the chain of ${market}`;
    const place = number === undefined ? `${seq}${chain}` : `${number} (${seq}${chain})`;
    const what = why === 'unproven' ? 'NOT PROVEN, up to record' : 'BROKEN at record';
    const text = `${of}: ${what} ${place} (${why}): ${verdict.words}`;
    printLine(io, paint(io, 'stdout', 'red', printable(text)));
  }
}

function printRecomputed(
  io: CliIo,
  { of, isExport }: Found,
  { decisions, computed, differing }: Recomputation,
): void {
  if (decisions === 0) return;
  const which = computed < decisions ? `${computed} of ${decisions} decisions` : `${decisions} decisions`;
  const were = differing.length === 0 ? 'as recorded' : `${differing.length} NOT AS RECORDED`;
  printLine(io, printable(`${of}: ${which} judged once more from their inputs: ${were}`));
  const chain = isExport ? ' of its chain' : '';
  for (const { record, found } of differing.slice(0, MOST_SHOWN)) {
    const what =
      found.kind === 'impossible'
        ? `its inputs cannot be judged (${found.why})`
        : `its ${PART_WORDS[found.part]} are not what its inputs give`;
    const where = isExport || found.kind === 'impossible' ? '' : `: look at audit show ${record} --inputs`;
    const text = `${of}: record ${record}${chain}: ${what}${where}`;
    printLine(io, paint(io, 'stdout', 'red', printable(text)));
  }
}

const MOST_SHOWN = 20;
const PART_WORDS = { transitions: 'transitions', decisions: 'decisions', active: 'requests' } as const;

function intactWords(verdict: Extract<ChainVerdict | FileVerdict, { kind: 'intact' }>): string {
  const { firstSeq, lastSeq, headHash, lanes } = verdict;
  if (lastSeq === 0 && lanes.length === 0) return 'intact, no records';
  const pruned =
    'prunedTo' in verdict && verdict.prunedTo > 0 ? `, pruned up to ${verdict.prunedTo} by checkpoint` : '';
  const follows = 'previousHash' in verdict ? `, follows ${verdict.previousHash}` : '';
  const ofLanes = lanes.map(laneWords).join(', ');
  const unsealed = 'isSealed' in verdict && !verdict.isSealed ? ', without the seal of operators.key' : '';
  const beside = lanes.length === 0 ? '' : `; chains of lanes: ${ofLanes}`;
  return `intact, records ${firstSeq} to ${lastSeq} of its chain${pruned}${follows}, ends with ${headHash}${unsealed}${beside}`;
}

function laneWords({ market, firstSeq, lastSeq }: LaneChain): string {
  return firstSeq === 0 ? `${market} none left, ends with ${lastSeq}` : `${market} ${firstSeq} to ${lastSeq}`;
}
