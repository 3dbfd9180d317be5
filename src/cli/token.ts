import { type Command, Option } from 'commander';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, printJson, printLine, printNote } from './io.ts';
import { configName, someOf } from './option-values.ts';

interface Flags {
  readonly scopes: readonly string[];
  readonly json?: boolean;
}

const SCOPES = ['read', 'control', 'operate'];
const readScopes = someOf(SCOPES, 'scope');

/** `breakwater token`: makes a token for the web server, and the config entry that admits it. */
export function registerToken(program: Command, io: CliIo): void {
  const command = program
    .command('token')
    .summary('make a token for somebody who uses the status page or the API')
    .description(
      'Makes a random token and the entry of web.users that lets it in. The config needs its hash only; the token is ' +
        'shown once and stored nowhere: give it to the person or program, and make another one if it is lost.',
    )
    .argument('<name>', 'the person or program; what the audit trail says who it was', configName)
    .addOption(
      new Option('--scopes <scopes>', `what they may do, some of ${SCOPES.join(',')}`)
        .argParser(readScopes)
        .default(['read'], 'read'),
    );
  withJson(command);
  withExamples(command, {
    'for somebody who looks': 'token ann',
    'for somebody who also pauses and silences': 'token ann --scopes control',
    'into a file that Prometheus reads': 'token prometheus > prometheus-token',
  });
  withRemarks(command, '\nThe token goes to standard output, the entry for the config to standard error.');
  command.action(async (name: string, { scopes: written, json }: Flags) => {
    const scopes = [...new Set(written)];
    const { makeToken } = await import('../app.ts');
    const { token, tokenHash } = await makeToken();
    if (json === true) return printJson(io, { name, scopes, token, tokenHash });
    printLine(io, token);
    printNote(
      io,
      `Shown only now. For the config:\n\nweb:\n  users:\n    ${name}:\n` +
        `      scopes: [${scopes.join(', ')}]\n      tokenHash: ${tokenHash}`,
    );
  });
}
