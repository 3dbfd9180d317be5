import type { Command } from 'commander';
import type { Operations } from '../../app.ts';
import { GENESIS_HASH } from '../../core/audit/audit-record.ts';
import type { AuditExporter } from '../../core/ports/audit-reader.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, confirm, printJson, printLine, printNote } from '../io.ts';
import { type DoorFlags, withDoor, withDoorAddress } from '../operate/door.ts';
import { requireAccount, withOperations } from '../operate/place.ts';
import { authorOf, durationMs, nonEmpty } from '../operate/values.ts';
import { whole } from '../option-values.ts';
import { LineFile, lineOutput } from './files.ts';
import { type ChainFlags, withChain } from './look.ts';

interface ExportFlags extends ChainFlags {
  readonly out?: string;
  readonly from?: number;
  readonly to?: number;
}

const PAGE = 500;
const sequence = whole(1, Number.MAX_SAFE_INTEGER);

export function registerExport(audit: Command, io: CliIo): void {
  const command = audit
    .command('export')
    .summary('write records out, so that they can be checked elsewhere')
    .description(
      'Writes records and what they name, one per line: hash, space, the exact text that was hashed. Nothing is ' +
        'taken away. `audit verify --file` checks what was written.',
    )
    .option('-o, --out <file>', 'a new file, readable by you only (default: standard output)', nonEmpty)
    .option('--from <number>', 'from this record on', sequence)
    .option('--to <number>', 'up to this record', sequence);
  withChain(command);
  command.action(async (flags: ExportFlags) => {
    if (flags.out === undefined && flags.json === true) {
      throw new UsageError('the lines of an export are not JSON.', 'Add --out FILE, or leave out --json.');
    }
    const { from = 1, to = from } = flags;
    if (to < from) throw new UsageError('--to: expected a record not before --from.');
    await withOperations(io, flags, async (operations) => {
      await requireAccount(operations, flags.account);
      const file = flags.out === undefined ? undefined : new LineFile(flags.out);
      try {
        const exported = await exportChain(io, operations, flags, file ?? lineOutput(io));
        reportExport(io, flags, exported);
      } finally {
        await file?.close();
      }
    });
  });
}

interface ExportedPart extends Pick<ChainFlags, 'account'> {
  readonly from?: number;
  readonly to?: number;
  /** The first record that is not older ends it, Unix milliseconds. */
  readonly olderThanMs?: number;
}

async function exportChain(
  io: CliIo,
  { audit }: Operations,
  { account, from = 1, to = Number.POSITIVE_INFINITY, olderThanMs = Number.POSITIVE_INFINITY }: ExportedPart,
  out: AuditExporter,
) {
  const attachments = new Set<string>();
  const exported = { records: 0, firstNumber: 0, lastNumber: 0, headHash: GENESIS_HASH };
  for (let next = from; next <= to; ) {
    io.signal.throwIfAborted();
    const found = await audit.read(account, { from: next, to, limit: PAGE });
    const young = found.findIndex(({ record }) => record.atMs >= olderThanMs);
    const page = young < 0 ? found : found.slice(0, young);
    for (const { number, record, hash, text } of page) {
      await out.write(`${hash} ${text}`);
      for (const attached of Object.values(record.attachments)) attachments.add(attached);
      exported.records += 1;
      exported.firstNumber ||= number;
      exported.lastNumber = number;
      exported.headHash = hash;
    }
    if (page.length < PAGE) break;
    next = exported.lastNumber + 1;
  }
  for (const hash of attachments) {
    const text = await audit.attachment(account, hash);
    if (text === undefined) {
      throw new CliError('attachment-missing', `attachment ${hash} is missing: the export is not complete.`, {
        cure: 'See: breakwater audit verify',
      });
    }
    await out.write(`${hash} ${text}`);
  }
  await out.end();
  return exported;
}

type Exported = Awaited<ReturnType<typeof exportChain>>;

function reportExport(io: CliIo, flags: ExportFlags, exported: Exported): void {
  const { records, firstNumber, lastNumber } = exported;
  if (flags.json === true) return printJson(io, { accountId: flags.account, file: flags.out, ...exported });
  const where = flags.out === undefined ? '' : ` to ${flags.out}`;
  if (records === 0) printNote(io, 'No records: nothing was written.');
  else printNote(io, `Exported ${records} records, ${firstNumber} to ${lastNumber}${where}.`);
}

interface PruneFlags extends ChainFlags, DoorFlags {
  readonly keep: number;
  readonly olderThan?: number;
  readonly out: string;
  readonly reason: string;
  readonly author?: string;
  readonly yes?: boolean;
}

export function registerPrune(audit: Command, io: CliIo): void {
  const command = audit
    .command('prune')
    .summary('write the oldest records out and take them away')
    .description(
      'Writes the oldest records to a file, durably, and then asks a running daemon to take them away; it compares ' +
        'them with the hash of the file first. A checkpoint record in the chain stands for them and names that hash, so ' +
        'that the chain stays whole.',
    )
    .requiredOption('--keep <count>', 'keep the newest so many records', whole(0, Number.MAX_SAFE_INTEGER))
    .option('--older-than <duration>', 'of the others, take away only what is older, such as 90d', durationMs)
    .requiredOption('-o, --out <file>', 'a new file for what is taken away', nonEmpty)
    .requiredOption('-r, --reason <text>', 'why; kept in the checkpoint', nonEmpty)
    .option('--author <name>', 'who prunes (default: the user of the system)', nonEmpty)
    .option('-y, --yes', 'do not ask');
  withDoorAddress(withChain(command));
  command.action((flags: PruneFlags) => prune(io, flags));
}

/** For the daemon to read and compare the records once more. */
const PRUNED_WITHIN_MS = 60_000;

async function prune(io: CliIo, flags: PruneFlags): Promise<void> {
  const { account, keep, olderThan, out, reason } = flags;
  const author = authorOf(flags.author, io);
  const words = {
    undone: 'nothing was pruned',
    again: `The records are in ${out}; audit tail shows whether they are gone from the chain.`,
    withinMs: PRUNED_WITHIN_MS,
  };
  // Redis first: a password on the command line is refused whether or not a daemon answers.
  await withOperations(io, flags, async (operations) => {
    await withDoor(io, flags, words, async (door) => {
      await requireAccount(operations, account);
      if (flags.yes !== true) {
        const older = olderThan === undefined ? '' : ` that are older than ${roughly(olderThan)}`;
        const what = `all records of ${account} but the newest ${keep}${older}`;
        printNote(io, `Takes away ${what}, and writes them to ${out}.`);
        await confirm(io, 'Prune?', words.undone);
      }
      const [newest] = await operations.audit.tail(account, 1);
      const file = new LineFile(out);
      const to = (newest?.number ?? 0) - keep;
      const before = olderThan === undefined ? {} : { olderThanMs: Date.now() - olderThan };
      let exported: Exported;
      try {
        exported = await exportChain(io, operations, { account, to, ...before }, file);
      } finally {
        await file.close();
      }
      const { records, lastNumber } = exported;
      door.startOver();
      const body = { lastNumber, exportSha256: file.sha256(), author, reason };
      const nothing = { pruned: 0, lastNumber, exportSha256: null };
      const result = records === 0 ? nothing : await door.ask('prune', { params: { id: account }, body });
      const { pruned } = result;
      if (flags.json === true)
        printJson(io, { accountId: account, file: records === 0 ? null : out, ...result });
      else if (records === 0) printLine(io, 'There was nothing to prune.');
      else
        printLine(
          io,
          `Pruned ${pruned} records of all chains of ${account}, up to number ${lastNumber}, into ${out}.`,
        );
    });
  });
}
