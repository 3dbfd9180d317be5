import type { Command } from 'commander';
import type { Operations } from '../../app.ts';
import { readReference } from '../../core/approvals/question.ts';
import type { AnswerReply } from '../../core/ports/operator-controls.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import type { AccountView, QuestionLine } from '../../core/view/account-view.ts';
import { orderWords } from '../../core/view/state-of.ts';
import { CliError, UsageError } from '../errors.ts';
import { withExamples, withJson } from '../help.ts';
import { type CliIo, confirm, printJson, printLine, printNote, printWarning } from '../io.ts';
import { fieldLines, printListing } from '../table.ts';
import { requireNot } from './obeyed.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from './place.ts';
import { authorOf, nonEmpty, timeOf } from './values.ts';

type Decision = 'approve' | 'veto';

interface AnswerFlags extends PlaceFlags {
  readonly reason: string;
  readonly author?: string;
  readonly yes?: boolean;
}

const TEXTS: Readonly<Record<Decision, { readonly summary: string; readonly description: string }>> = {
  approve: {
    summary: 'let a rule act that asks for approval',
    description:
      'Approves what a rule in approve mode asks for: it acts with the next poll. The target is approved, not the ' +
      'prices; what goes beyond it is asked about again.',
  },
  veto: {
    summary: 'keep a rule from acting that asks for approval',
    description:
      'Vetoes what a rule in approve mode asks for: this stage of it does not act. A later stage, or liquidation ' +
      'clearly nearer, asks again; in a margin call the rule acts all the same.',
  },
};

/** `breakwater approve`: lets a rule in approve mode act, down to the target that was shown. */
export function registerApprove(program: Command, io: CliIo): void {
  registerAnswer(program, io, 'approve');
}

/** `breakwater veto`: keeps a rule in approve mode from acting. */
export function registerVeto(program: Command, io: CliIo): void {
  registerAnswer(program, io, 'veto');
}

/** The common part of both: without a reference they list the open questions. */
function registerAnswer(program: Command, io: CliIo, decision: Decision): void {
  const { summary, description } = TEXTS[decision];
  const command = program
    .command(decision)
    .summary(summary)
    .description(
      `${description} Without a reference it lists what people are asked now. The first answer counts.`,
    )
    .argument('[account]', 'the account that is asked about', nonEmpty)
    .argument('[reference]', 'what is asked, as the notice and the list have it', nonEmpty)
    .option('-r, --reason <text>', 'why; kept in the audit', nonEmpty, 'no reason given')
    .option('--author <name>', 'who answers (default: the user of the system)', nonEmpty);
  if (decision === 'approve') command.option('-y, --yes', 'do not ask');
  withJson(withPlace(command));
  withExamples(command, {
    'what is asked': decision,
    'answer it': `${decision} desk-1 4c604367-1 --reason "seen"`,
  });
  command.action((account: string | undefined, reference: string | undefined, flags: AnswerFlags) =>
    account === undefined || reference === undefined
      ? list(io, flags, account)
      : answer(io, flags, { account, reference, decision }),
  );
}

async function list(io: CliIo, flags: AnswerFlags, account: string | undefined): Promise<void> {
  await withOperations(io, flags, async (operations) => {
    const ids = account === undefined ? operations.accountIds : [account];
    if (ids === undefined) throw new UsageError('which account is meant is not known.', 'Name it.');
    for (const id of ids) await requireAccount(operations, id);
    const views = await Promise.all(ids.map((id) => operations.view(id)));
    const asked = views.flatMap(({ accountId, questions }) =>
      questions
        .filter(({ answerable }) => answerable)
        .map((question) => Object.assign({ accountId }, question)),
    );
    printListing(io, asked, {
      json: flags.json,
      none: 'Nobody is asked anything.',
      titles: ['ACCOUNT', 'REFERENCE', 'RULE', 'UNTIL', 'THEN', 'WOULD SEND'],
      cells: ({ accountId, ...question }) => [
        accountId,
        question.reference ?? '',
        question.ruleId,
        untilWords(question),
        question.withoutAnswer === 'act' ? 'it acts' : 'nothing',
        whatWords(question).join('; '),
      ],
    });
  });
}

function untilWords({ state, untilMs }: QuestionLine): string {
  return state === 'waiting' ? `${timeOf(untilMs)} (${roughly(untilMs - Date.now())})` : 'somebody approves';
}

/** The exact orders; without any, the targets. */
function whatWords({ orders, targets }: QuestionLine): readonly string[] {
  return orders.length > 0
    ? orders.map(orderWords)
    : targets.map(({ market, sizeBase, targetBase }) => `reduce ${market} from ${sizeBase} to ${targetBase}`);
}

interface Given {
  readonly account: string;
  readonly reference: string;
  readonly decision: Decision;
}

async function answer(io: CliIo, flags: AnswerFlags, given: Given): Promise<void> {
  const { account, reference, decision } = given;
  const named = readReference(reference);
  if (named === undefined) {
    throw new UsageError(`${JSON.stringify(reference)} is no reference such as 4c604367-1.`);
  }
  await withOperations(io, flags, async (operations) => {
    await requireAccount(operations, account);
    const expected = await operations.expected(account, {
      slippageSteps: [],
      holdsBack: decision === 'veto',
    });
    requireNot(expected, `not ${decision === 'approve' ? 'approved' : 'vetoed'}`);
    if (expected.kind === 'unsure') {
      printWarning(io, `One of several daemons would not take it: ${expected.why}.`);
    }
    if (decision === 'approve') await show(io, flags, await operations.view(account), reference);
    const author = authorOf(flags.author, io);
    const reply = await operations.controls.answer(account, {
      ...named,
      decision,
      author,
      reason: flags.reason,
    });
    report(io, flags, given, reply);
    if (expected.kind === 'nobody') warnUnsealed(io, operations);
  });
}

async function show(io: CliIo, flags: AnswerFlags, view: AccountView, reference: string): Promise<void> {
  const question = view.questions.find((one) => one.reference === reference);
  if (question === undefined) return;
  const fields: [string, string][] = [
    ['account', view.accountId],
    ['rule', `${question.ruleId} (${question.subject})`],
    ...whatWords(question).map((words): [string, string] => ['would send', words]),
    ['until', untilWords(question)],
  ];
  for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
  printNote(io, 'The target is approved, not the prices: it is priced anew when it is sent.');
  if (flags.yes !== true) await confirm(io, 'Approve it?', 'nothing was approved');
}

function warnUnsealed(io: CliIo, { orderProof }: Operations): void {
  if (orderProof === 'password') {
    printNote(
      io,
      'The answer has no seal (operators.key in the config): a daemon with a key does not believe it.',
    );
  }
}

function report(
  io: CliIo,
  flags: AnswerFlags,
  { account, reference, decision }: Given,
  reply: AnswerReply,
): void {
  switch (reply.kind) {
    case 'taken':
      if (flags.json === true) printJson(io, reply.order);
      else printLine(io, decision === 'approve' ? `Approved: ${reference}.` : `Vetoed: ${reference}.`);
      return;
    case 'answered': {
      const did = reply.decision === 'approve' ? 'approved' : 'vetoed';
      const words = `${reply.author} ${did} ${reference} before, at ${timeOf(reply.atMs)}.`;
      throw new CliError('answered-before', words);
    }
    case 'over':
      throw new CliError('not-waiting', `${reference} is not waited for any longer.`, {
        cure: `What became of it: breakwater audit tail --account ${account}`,
      });
    case 'notAsked':
      throw new CliError('not-asked', `nobody is asked about ${reference} of account ${account}.`, {
        cure: `What is asked: breakwater ${decision}`,
      });
  }
}
