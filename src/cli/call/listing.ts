import { ENDPOINTS } from '../../app.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { tableLines } from '../table.ts';
import { CALL_ENDPOINTS, type CallEndpoint } from './endpoints.ts';
import { spellingsOf } from './parameters.ts';

const COLUMNS = ['parameter', 'type', 'needed', 'meaning'].map((title) => ({ title }));

/** What `call --list` prints: each endpoint with its path, what it changes, and its parameters. */
export function listEndpoints(io: CliIo, endpoints: readonly CallEndpoint[], asJson: boolean): void {
  for (const endpoint of endpoints) {
    const described = describeEndpoint(endpoint);
    if (asJson) {
      printJson(io, described);
      continue;
    }
    const { name, method, path, section, summary, parameters } = described;
    const rows = parameters.map(({ name, type, required, repeatable, note, aliases }) => [
      name,
      repeatable ? `${type}, repeatable` : type,
      required ? 'required' : '',
      [note, ...aliases.map((alias) => `also ${alias}`)].join('; '),
    ]);
    if (endpoint !== endpoints[0]) printLine(io, '');
    printLine(io, `${paint(io, 'stdout', 'bold', name)}  ${summary}`);
    printLine(io, `  ${method} ${path} (specification ${section})`);
    printLine(io, `  ${effectOf(io, endpoint)}`);
    const lines = rows.length === 0 ? [] : tableLines(io, { columns: COLUMNS, rows });
    for (const line of lines) printLine(io, `    ${line}`);
  }
}

/** One line per endpoint, for the help. */
export function endpointSummary(): string {
  const lines = CALL_ENDPOINTS.map(
    ({ name, summary, changes }) => `  ${name.padEnd(18)} ${changes === undefined ? ' ' : '*'} ${summary}`,
  );
  return lines.join('\n');
}

function effectOf(io: CliIo, { changes, takesCustomer }: CallEndpoint): string {
  if (changes === undefined) return 'read: changes nothing';
  const customer = takesCustomer === true ? '; customer data from --customer-file' : '';
  return paint(io, 'stdout', 'yellow', `${changes}: asks first, or --yes${customer}`);
}

function describeEndpoint({ id, name, summary, changes, exposure, parameters }: CallEndpoint) {
  const { method, path, section } = ENDPOINTS[id];
  const said = Object.entries(parameters).map(([name, parameter]) => ({
    name,
    aliases: spellingsOf([name, parameter]).slice(1),
    type: parameter.type.says,
    required: parameter.form === 'required',
    repeatable: parameter.form === 'repeatable',
    note: parameter.note,
  }));
  const effect = { changes: changes ?? null, canOpenExposure: exposure !== undefined };
  return { name, method, path, section, summary, ...effect, parameters: said };
}
