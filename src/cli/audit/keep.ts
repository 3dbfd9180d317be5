import type { Command } from 'commander';
import type { Operations } from '../../app.ts';
import { GENESIS_HASH } from '../../core/audit/audit-record.ts';
import type { AuditExporter } from '../../core/ports/audit-reader.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, confirm, printJson, printLine, printNote } from '../io.ts';
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

async function exportChain(
  io: CliIo,
  { audit }: Operations,
  { account, from = 1, to = Number.POSITIVE_INFINITY }: ExportFlags,
  out: AuditExporter,
) {
  const attachments = new Set<string>();
  let exported = { records: 0, firstNumber: 0, lastNumber: 0, headHash: GENESIS_HASH };
  for (let next = from; next <= to; ) {
    io.signal.throwIfAborted();
    const page = await audit.read(account, { from: next, to: to, limit: PAGE });
    for (const { number, record, hash, text } of page) {
      await out.write(`${hash} ${text}`);
      for (const attached of Object.values(record.attachments)) attachments.add(attached);
      exported = {
        records: exported.records + 1,
        firstNumber: exported.firstNumber === 0 ? number : exported.firstNumber,
        lastNumber: number,
        headHash: hash,
      };
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

function reportExport(
  io: CliIo,
  flags: ExportFlags,
  exported: Awaited<ReturnType<typeof exportChain>>,
): void {
  const { records, firstNumber, lastNumber } = exported;
  if (flags.json === true) {
    printJson(io, { accountId: flags.account, file: flags.out, ...exported });
    return;
  }
  const where = flags.out === undefined ? '' : ` to ${flags.out}`;
  if (records === 0) printNote(io, 'No records: nothing was written.');
  else printNote(io, `Exported ${records} records, ${firstNumber} to ${lastNumber}${where}.`);
}

interface PruneFlags extends ChainFlags {
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
      'Writes the oldest records to a file, durably, and then takes them away. A checkpoint record in the chain ' +
        'stands for them and names the hash of the file, so that the chain stays whole.',
    )
    .requiredOption('--keep <count>', 'keep the newest so many records', whole(0, Number.MAX_SAFE_INTEGER))
    .option('--older-than <duration>', 'of the others, take away only what is older, such as 90d', durationMs)
    .requiredOption('-o, --out <file>', 'a new file for what is taken away', nonEmpty)
    .requiredOption('-r, --reason <text>', 'why; kept in the checkpoint', nonEmpty)
    .option('--author <name>', 'who prunes (default: the user of the system)', nonEmpty)
    .option('-y, --yes', 'do not ask');
  withChain(command);
  command.action((flags: PruneFlags) => prune(io, flags));
}

async function prune(io: CliIo, flags: PruneFlags): Promise<void> {
  const { account, keep, olderThan, out, reason } = flags;
  const author = authorOf(flags.author, io);
  await withOperations(io, flags, async (operations) => {
    await requireAccount(operations, account);
    if (flags.yes !== true) {
      const older = olderThan === undefined ? '' : ` that are older than ${roughly(olderThan)}`;
      printNote(
        io,
        `Takes away all records of ${account} but the newest ${keep}${older}, and writes them to ${out}.`,
      );
      await confirm(io, 'Prune?', 'nothing was pruned');
    }
    const nowMs = Date.now();
    const file = new LineFile(out);
    try {
      const result = await operations.audit.prune(account, {
        keepRecords: keep,
        reason: `${author}: ${reason}`,
        atMs: nowMs,
        exporter: file,
        ...(olderThan === undefined ? {} : { olderThanMs: nowMs - olderThan }),
      });
      if (flags.json === true)
        printJson(io, { accountId: account, file: result.pruned === 0 ? null : out, ...result });
      else if (result.pruned === 0) printLine(io, 'There was nothing to prune.');
      else
        printLine(
          io,
          `Pruned ${result.pruned} records of all chains of ${account}, up to number ${result.lastNumber}, into ${out}.`,
        );
    } finally {
      await file.close();
    }
  });
}
