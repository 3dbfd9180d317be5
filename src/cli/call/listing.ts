import { ENDPOINTS } from '../../app.ts';
import { type CliIo, paint, printJson, printLine } from '../io.ts';
import { tableLines } from '../table.ts';
import type { CallEndpoint } from './endpoints.ts';

/** What `call --list` prints: each endpoint with its path, what it changes, and its parameters. */
export function listEndpoints(io: CliIo, endpoints: readonly CallEndpoint[], asJson: boolean): void {
  endpoints.forEach((endpoint, index) => {
    const described = describeEndpoint(endpoint);
    if (asJson) {
      printJson(io, described);
      return;
    }
    const { name, method, path, section, summary } = described;
    if (index > 0) printLine(io, '');
    printLine(io, `${paint(io, 'stdout', 'bold', name)}  ${summary}`);
    printLine(io, `  ${method} ${path} (specification ${section})`);
    printLine(io, `  ${effectOf(io, endpoint)}`);
    const rows = described.parameters.map(({ name, type, required, repeatable, note, aliases }) => [
      name,
      repeatable ? `${type}, repeatable` : type,
      required ? 'required' : '',
      [note, ...aliases.map((alias) => `also ${alias}`)].join('; '),
    ]);
    const columns = ['parameter', 'type', 'needed', 'meaning'].map((title) => ({ title }));
    const lines = rows.length === 0 ? [] : tableLines(io, { columns, rows });
    for (const line of lines) printLine(io, `    ${line}`);
  });
}

/** One line per endpoint, for the help. */
export function endpointSummary(endpoints: readonly CallEndpoint[]): string {
  return endpoints
    .map(
      ({ name, summary, changes }) => `  ${name.padEnd(18)} ${changes === undefined ? ' ' : '*'} ${summary}`,
    )
    .join('\n');
}

function effectOf(io: CliIo, { changes, takesCustomer }: CallEndpoint): string {
  if (changes === undefined) return 'read: changes nothing';
  const customer = takesCustomer === true ? '; customer data from --customer-file' : '';
  return paint(io, 'stdout', 'yellow', `${changes}: asks first, or --yes${customer}`);
}

function describeEndpoint({ id, name, summary, changes, exposure, parameters }: CallEndpoint) {
  const { method, path, section } = ENDPOINTS[id];
  return {
    name,
    method,
    path,
    section,
    summary,
    changes: changes ?? null,
    canOpenExposure: exposure !== undefined,
    parameters: Object.entries(parameters).map(([name, { aliases, type, form, note }]) => ({
      name,
      aliases,
      type: type.says,
      required: form === 'required',
      repeatable: form === 'repeatable',
      note,
    })),
  };
}
