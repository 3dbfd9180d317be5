import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { columnsOf, tableLines } from '../table.ts';
import { CALL_ENDPOINTS, type CallEndpoint, findEndpoint } from './endpoints.ts';

const COLUMNS = columnsOf('parameter', 'type', 'needed', 'meaning');

/** What `call --list` prints: each endpoint with its path, what it changes, and its parameters. */
export function listEndpoints(io: CliIo, name: string | undefined, flags: { readonly json?: boolean }): void {
  const endpoints = name === undefined ? CALL_ENDPOINTS : [findEndpoint(name)];
  if (flags.json !== true)
    return printLine(io, endpoints.map((endpoint) => linesOf(io, endpoint).join('\n')).join('\n\n'));
  for (const { name, method, path, section, summary, changes = null, exposure, parameters } of endpoints) {
    const canOpenExposure = exposure !== undefined;
    printJson(io, { name, method, path, section, summary, changes, canOpenExposure, parameters });
  }
}

function linesOf(io: CliIo, { name, method, path, section, summary, changes, ...endpoint }: CallEndpoint) {
  const customer = endpoint.takesCustomer === true ? '; customer data from --customer-file' : '';
  const rows = endpoint.parameters.map(({ name, type, required, repeatable, note, aliases }) => [
    name,
    repeatable ? `${type}, repeatable` : type,
    required ? 'required' : '',
    [note, ...aliases.map((alias) => `also ${alias}`)].join('; '),
  ]);
  return [
    `${paint(io, 'stdout', 'bold', name)}  ${summary}`,
    `  ${method} ${path} (specification ${section})`,
    changes === undefined
      ? '  read: changes nothing'
      : `  ${paint(io, 'stdout', 'yellow', `${changes}: asks first, or --yes${customer}`)}`,
    ...(rows.length === 0 ? [] : tableLines(io, { columns: COLUMNS, rows }).map((line) => `    ${line}`)),
  ];
}

/** One line per endpoint, for the help. */
export function endpointSummary(): string {
  const lines = CALL_ENDPOINTS.map(
    ({ name, summary, changes }) => `  ${name.padEnd(18)} ${changes === undefined ? ' ' : '*'} ${summary}`,
  );
  return lines.join('\n');
}
