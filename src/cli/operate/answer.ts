import type { Command } from 'commander';
import { readReference } from '../../core/approvals/question.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import type { AccountView, QuestionLine } from '../../core/view/account-view.ts';
import { orderWords } from '../../core/view/state-of.ts';
import { CliError, UsageError } from '../errors.ts';
import { withExamples, withJson } from '../help.ts';
import { type CliIo, confirm, printJson, printLine, printNote } from '../io.ts';
import { fieldLines, printListing } from '../table.ts';
import { type DoorFlags, isRefusal, viewsOf, withDoor, withDoorPlace } from './door.ts';
import { authorOf, nonEmpty, timeOf } from './values.ts';

type Decision = 'approve' | 'veto';

interface AnswerFlags extends DoorFlags {
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
  withJson(withDoorPlace(command));
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
  await withDoor(io, flags, { undone: 'nothing can be listed' }, async (door) => {
    const views = await viewsOf(door, account);
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
  if (readReference(reference) === undefined) {
    throw new UsageError(`${JSON.stringify(reference)} is no reference such as 4c604367-1.`);
  }
  const undone = `nothing was ${decision === 'approve' ? 'approved' : 'vetoed'}`;
  await withDoor(io, flags, { undone }, async (door) => {
    const view = await door.ask('account', { params: { id: account } });
    if (decision === 'approve') await show(io, flags, view, reference);
    door.startOver();
    const by = { author: authorOf(flags.author, io), reason: flags.reason };
    const asked = { params: { id: account }, body: { reference, decision, ...by } };
    const { order } = await door.ask('answer', asked).catch((error: unknown) => {
      throw isRefusal(error, 404) ? notAsked(given) : error;
    });
    if (flags.json === true) printJson(io, order);
    else printLine(io, decision === 'approve' ? `Approved: ${reference}.` : `Vetoed: ${reference}.`);
  });
}

function notAsked({ account, reference, decision }: Given): CliError {
  const words = `nobody is asked about ${reference} of account ${account}.`;
  return new CliError('not-asked', words, { cure: `What is asked: breakwater ${decision}` });
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
