import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/** Files that contributors meet first: issue forms, the pull request template, the editor's settings. */

const ROOT = new URL('../../', import.meta.url);
const FORMS = readdirSync(new URL('.github/ISSUE_TEMPLATE', ROOT)).filter((name) => name !== 'config.yml');
const read = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8');

interface Field {
  readonly type: 'markdown' | 'input' | 'textarea' | 'dropdown' | 'checkboxes';
  readonly id?: string;
  readonly attributes: {
    readonly label?: string;
    readonly description?: string;
    readonly value?: string;
    readonly options?: readonly string[];
  };
  readonly validations?: { readonly required?: boolean };
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly labels: readonly string[];
  readonly body: readonly Field[];
}

const formOf = (file: string): Form => parse(read(`.github/ISSUE_TEMPLATE/${file}`)) as Form;

describe('the issue forms', () => {
  test('are all there, and blank issues are disabled', () => {
    expect(FORMS.sort()).toEqual(['bug.yml', 'did-not-protect.yml', 'feature.yml']);
    expect(parse(read('.github/ISSUE_TEMPLATE/config.yml'))).toEqual({ blank_issues_enabled: false });
  });

  // GitHub silently hides a form that breaks one of these requirements.
  test.each(FORMS)("%s meets GitHub's requirements", (file) => {
    const { name, description, labels, body, ...rest } = formOf(file);
    expect(rest).toEqual({});
    for (const text of [name, description, ...labels]) expect(text).toMatch(/\S/);
    const fields = body.filter(({ type }) => type !== 'markdown');
    const ids = fields.map(({ id }) => id);
    const titles = fields.map(({ attributes }) => attributes.label);
    expect(fields.length).toBeGreaterThan(0);
    expect([new Set(ids).size, new Set(titles).size]).toEqual([fields.length, fields.length]);
    for (const { type, id, attributes } of body) {
      expect(['markdown', 'input', 'textarea', 'dropdown', 'checkboxes']).toContain(type);
      if (type === 'markdown') expect(attributes.value).toMatch(/\S/);
      else
        expect([id, attributes.label]).toEqual([
          expect.stringMatching(/^[\w-]+$/),
          expect.stringMatching(/\S/),
        ]);
      if (type === 'dropdown') {
        const options = attributes.options ?? [];
        expect(options.length).toBeGreaterThan(1);
        expect(new Set(options).size).toBe(options.length);
        // An unquoted yes or no would be a boolean, which GitHub refuses.
        expect(options.filter((option) => typeof option !== 'string')).toEqual([]);
      }
    }
  });

  test('"It did not protect" requires version, config, audit export and doctor, and warns of secrets', () => {
    const { body } = formOf('did-not-protect.yml');
    const required = body.filter(({ validations }) => validations?.required === true).map(({ id }) => id);
    expect(required).toEqual(expect.arrayContaining(['version', 'config', 'audit', 'doctor']));
    const descriptionOf = (id: string) => body.find((field) => field.id === id)?.attributes.description;
    expect(descriptionOf('config')).toContain('Keep secrets out');
    expect(descriptionOf('audit')).toContain('`breakwater audit export ');
    expect(descriptionOf('doctor')).toContain('`breakwater doctor --json`');
  });
});

test('the pull request template and CONTRIBUTING.md name existing npm scripts', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const file of ['.github/pull_request_template.md', 'CONTRIBUTING.md']) {
    const named = [...read(file).matchAll(/\bnpm (?:run (?:--silent )?([\w:]+)|(test|start)\b)/g)].map(
      ([, script, own]) => script ?? own ?? '',
    );
    expect(named).toEqual(expect.arrayContaining(['test', 'check', 'bench']));
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  }
});

test('no page has an e-mail address for reports: they go through the repository', () => {
  for (const file of ['SECURITY.md', 'CONTRIBUTING.md', '.github/pull_request_template.md']) {
    expect(read(file)).not.toMatch(/[\w.+-]+@[\w-]+\.\w+|mailto:/);
  }
  expect(read('SECURITY.md')).toContain('**Report a vulnerability**');
});

test('.editorconfig agrees with biome.json and .gitattributes', () => {
  const [, everything = ''] = /^\[\*\]\n([^[]*)/m.exec(read('.editorconfig')) ?? [];
  const settings = Object.fromEntries(
    everything
      .trim()
      .split('\n')
      .map((line) => line.split(' = ')),
  ) as Record<string, string>;
  const { formatter } = JSON.parse(read('biome.json')) as {
    formatter: { indentStyle: string; indentWidth: number; lineWidth: number };
  };
  expect(settings).toMatchObject({
    indent_style: formatter.indentStyle,
    indent_size: String(formatter.indentWidth),
    max_line_length: String(formatter.lineWidth),
    end_of_line: /eol=(\w+)/.exec(read('.gitattributes'))?.[1],
    insert_final_newline: 'true',
  });
});
